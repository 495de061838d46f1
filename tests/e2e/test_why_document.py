"""docs/why.md is run as it stands, and prints what it says, on the virtual clock to the letter.

After a change that is meant, `python -m tests.e2e.test_why_document` writes the page anew.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.e2e.test_node_failure import parts, played, transcript
from tests.support.servers import CLONE

PAGE = CLONE / "docs/why.md"


def test_the_page_is_run(tmp_path: Path) -> None:
    (story,) = parts(PAGE.read_text(encoding="utf-8"))
    assert len(story.commands) > 15
    assert transcript(played(story, tmp_path / "run")) == transcript(story.commands)


def write_anew() -> None:
    page, place = PAGE.read_text(encoding="utf-8"), 0
    with tempfile.TemporaryDirectory() as directory:
        (story,) = parts(page)
        for before, after in zip(story.commands, played(story, Path(directory, "run")), strict=True):
            old, new = transcript([before]), transcript([after])
            place = page.index(old, place)
            page = page[:place] + new + page[place + len(old) :]
            place += len(new)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    write_anew()
