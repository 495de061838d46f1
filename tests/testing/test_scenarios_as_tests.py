"""Scenarios that pytest collects; and docs/scenarios.md, whose commands are run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from kube32_sim.scenarios.reading import Wrong, scenario
from tests.support.documents import blocks, commands, run, user_environment
from tests.support.plugin import Suite
from tests.support.servers import CLONE

pytest_plugins = ["pytester"]

DOCUMENT = (CLONE / "docs/scenarios.md").read_text(encoding="utf-8")
LOST_BOARD = CLONE / "docs/examples/scenarios/lost-board.scenario.yaml"
ONE = """
apiVersion: sim.kube32.io/v1alpha1
kind: Scenario
metadata: {name: %s}
spec: {cluster: {nodes: 0}, steps: [{advance: 1s}, {assert: {objects: pods, count: %d}}]}
"""


def test_each_document_of_a_file_is_a_test(suite: Suite) -> None:
    (suite.home / "some.scenario.yaml").write_text(f"{ONE % ('good', 0)}---{ONE % ('bad', 7)}", encoding="utf-8")
    (suite.home / "other.yaml").write_text("a: [", encoding="utf-8")
    done = suite.run("-q")
    done.assert_outcomes(passed=1, failed=1)
    told = done.stdout.str()
    assert "FAILED some.scenario.yaml::bad" in told
    assert "      +1s  FAILED  assert pods" in told
    assert "there are 0, and 7 are expected" in told
    assert "Traceback" not in told


def test_a_file_that_cannot_be_read_is_told(suite: Suite) -> None:
    (suite.home / "some.scenario.yaml").write_text(ONE.replace("advance", "advanc") % ("x", 0), encoding="utf-8")
    done = suite.run("-q")
    done.assert_outcomes(errors=1)
    assert "spec.steps[0].advanc: there is no such field; did you mean advance?" in done.stdout.str()


def test_the_commands_of_the_page_do_what_it_says(tmp_path: Path) -> None:
    environment = user_environment(tmp_path, tmp_path / "none")
    told = [each for each in commands(DOCUMENT) if not each.text.startswith("pytest")]
    assert len(told) == 2
    for each in told:
        assert _timeless(run(each.text, environment)) == _timeless(each.output), each.text


def test_the_examples_are_tests(suite: Suite) -> None:
    (command,) = [each for each in commands(DOCUMENT) if each.text.startswith("pytest")]
    done = suite.run(*command.text.split()[1:-1], "-p", "no:randomly", str(CLONE / command.text.split()[-1]))
    done.assert_outcomes(passed=2)


def test_the_page_quotes_the_example() -> None:
    quoted = blocks(DOCUMENT, "yaml")[0]
    assert quoted in LOST_BOARD.read_text(encoding="utf-8")


def test_the_page_tells_all_actions_and_checks() -> None:
    (actions,) = re.findall(r"one of (.*) is expected; there is none", _refusal("{at: 1s}"))
    (checks,) = re.findall(r"one of (.*) is expected", _refusal("{assert: {has: 1}}"))
    for word in [*actions.split(", "), *checks.split(", ")]:
        assert re.search(rf"^\| `{word}\b", DOCUMENT, re.M), word


def _refusal(step: str) -> str:
    value = yaml.safe_load(ONE.replace("{advance: 1s}", step) % ("x", 0))
    with pytest.raises(Wrong) as caught:
        scenario(value, Path("none"))
    return str(caught.value)


def _timeless(output: str) -> str:
    return re.sub(r" in [\d.]+s$", "", output, flags=re.M)
