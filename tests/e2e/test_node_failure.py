"""docs/node-failure.md is run as it stands, and prints what it says: on the virtual clock to the letter.

After a change that is meant, `python -m tests.e2e.test_node_failure` writes the page anew.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.documents import Command, commands, run, timeless, user_environment
from tests.support.servers import CLONE, running_server

PAGE = CLONE / "docs/node-failure.md"


class Part(NamedTuple):
    """What follows a `serve` in the page, up to the next.  options: of that serve."""

    options: list[str]
    commands: list[Command]


def parts(page: str) -> Iterator[Part]:
    _, *found = re.split(r"^```sh\n", page, flags=re.M)
    for part in found:
        line, _, rest = part.partition("\n```\n")
        words = shlex.split(line)
        assert words[:3] == ["python3", "run.py", "serve"], line
        yield Part(words[3:], commands(rest))


def played(part: Part, directory: Path) -> list[Command]:
    """Its commands with what they print now."""
    directory.mkdir()
    with running_server(directory, *part.options) as server:
        environment = user_environment(directory, server.kubeconfig)
        return [Command(one.text, "" if is_export(one) else run(one.text, environment)) for one in part.commands]


def is_export(command: Command) -> bool:
    return command.text.startswith("export ")


def transcript(commands: list[Command]) -> str:
    return "".join(f"$ {command.text}\n{command.output}" for command in commands)


def test_the_story_on_the_virtual_clock(tmp_path: Path) -> None:
    story, _ = parts(PAGE.read_text(encoding="utf-8"))
    assert len(story.commands) > 25
    assert transcript(played(story, tmp_path / "virtual")) == transcript(story.commands)


def test_the_story_in_real_time(tmp_path: Path) -> None:
    _, story = parts(PAGE.read_text(encoding="utf-8"))
    assert len(story.commands) > 5
    assert timeless(transcript(played(story, tmp_path / "real"))) == timeless(transcript(story.commands))


def write_anew() -> None:
    page, place = PAGE.read_text(encoding="utf-8"), 0
    with tempfile.TemporaryDirectory() as directory:
        for number, part in enumerate(list(parts(page))):
            for before, after in zip(part.commands, played(part, Path(directory, str(number))), strict=True):
                old, new = transcript([before]), transcript([after])
                place = page.index(old, place)
                page = page[:place] + new + page[place + len(old) :]
                place += len(new)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    write_anew()
