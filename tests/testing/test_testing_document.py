"""docs/testing.md: its examples run, and what it quotes is there."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from kube32_sim.blocking import AsyncCluster, BlockingCluster
from tests.support.documents import blocks
from tests.support.plugin import Suite
from tests.support.servers import CLONE

pytest_plugins = ["pytester"]

DOCUMENT = (CLONE / "docs/testing.md").read_text(encoding="utf-8")
EXAMPLES = CLONE / "docs/examples/testing"


def quoted() -> str:
    return "".join(path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.py")))


def programs() -> Sequence[str]:
    """Those that are not quoted from an example."""
    return [block for block in blocks(DOCUMENT, "python") if block not in quoted()]


def test_its_examples_run(suite: Suite) -> None:
    (settings,) = blocks(DOCUMENT, "toml")
    suite.settings(re.sub(r'^\[.*\]$|"', "", settings, flags=re.M).join(("[pytest]\n", "\n")))
    found = programs()
    assert len(blocks(DOCUMENT, "python")) == len(found) + 1, "the operator's fixture is quoted as it is"
    tests = [text for text in found if "def test_" in text]
    suite.write(**{f"test_document_{number}": text for number, text in enumerate(tests)})
    (script,) = (text for text in found if text not in tests)
    suite.write(test_script="def test_script():\n" + re.sub(r"^(?=.)", "    ", script, flags=re.M))
    suite.run("--asyncio-mode=strict").assert_outcomes(passed=len(tests) + 1)


def test_the_suites_to_copy_run(suite: Suite) -> None:
    done = suite.run("--asyncio-mode=strict", f"--rootdir={suite.home}", "-c", "pytest.ini", str(EXAMPLES))
    done.assert_outcomes(passed=9)


@pytest.mark.parametrize("held", [BlockingCluster, AsyncCluster])
def test_all_methods_are_told(held: type) -> None:
    internal = {"run", "close", "port", "options"}
    public = {name for name in vars(held) if not name.startswith("_")} - internal
    missing = {name for name in public if not re.search(rf"`{name}\b", DOCUMENT)}
    assert missing == set()
