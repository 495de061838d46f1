"""Scenarios: what can be written in their files, what is told of what cannot, and how they run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from kube32_sim import cli
from kube32_sim.options import CommandError
from kube32_sim.scenarios.reading import files_of, read
from kube32_sim.scenarios.running import Report, run
from tests.support.servers import CLONE

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
}
LOST = {"type": "Ready", "status": "Unknown"}
OWN = "apiVersion: sim.kube32.io/v1alpha1, kind: Scenario"
EXAMPLES = CLONE / "docs/examples/scenarios"


def write(folder: Path, *steps: Any, cluster: dict[str, Any] | None = None, **more: Any) -> Path:
    spec = {"cluster": cluster or {"nodes": 1}, "steps": list(steps), **more}
    obj = {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "Scenario", "metadata": {"name": "one"}, "spec": spec}
    path = folder / "one.scenario.yaml"
    path.write_text(yaml.safe_dump(obj, sort_keys=False), encoding="utf-8")
    return path


async def done(folder: Path, *steps: Any, **more: Any) -> Report:
    (scenario,) = read(write(folder, *steps, **more))
    return await run(scenario)


async def problem(folder: Path, *steps: Any, **more: Any) -> str:
    """What is told of the last step."""
    report = await done(folder, *steps, **more)
    assert not any(one.problem for one in report.outcomes[:-1])
    return report.outcomes[-1].problem


# running


async def test_every_action(tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: file}}", encoding="utf-8")
    report = await done(
        tmp_path,
        {"apply": "map.yaml"},
        {"create": [POD]},
        {"wait": {"object": "pod/web", "for": "condition=Ready"}},
        {"patch": {"object": "pod/web", "with": {"metadata": {"labels": {"tier": "one"}}}}},
        {"fail": {"nodes": ["esp32-0"], "fault": "partitioned"}},
        {
            "at": "1m",
            "assert": {
                "object": "node/esp32-0",
                "has": {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
            },
        },
        {"heal": "esp32-0"},
        {"advance": "30s"},
        {
            "assert": [
                {
                    "pods": "tier=one",
                    "count": 1,
                    "on": "esp32-0",
                    "phase": "Running",
                    "has": {"metadata": {"name": "web"}},
                },
                {"objects": "configmaps", "has": {"kind": "ConfigMap"}},
                {"event": "Scheduled", "about": "pod/web", "count": 1},
                {"absent": "pod/other"},
            ]
        },
        {"delete": ["pod/web", "configmap/file"]},
        {"advance": "1m"},
        {"assert": [{"absent": "pod/web"}, {"pods": "*", "count": 0}]},
    )
    assert [(one.step.where, one.problem) for one in report.failed] == []
    assert report.left_out == 0
    assert report.outcomes[-1].after == pytest.approx(150)


async def test_on_needs_no_quotes(tmp_path: Path) -> None:
    path = write(tmp_path, {"create": POD}, {"assert": {"pods": "app=web", "notOn": "esp32-0"}})
    path.write_text(path.read_text(encoding="utf-8").replace("notOn:", "on:"), encoding="utf-8")
    (scenario,) = read(path)
    assert not (await run(scenario)).failed


async def test_a_scenario_runs_the_same_every_time(tmp_path: Path) -> None:
    (scenario,) = read(EXAMPLES / "lost-board.scenario.yaml")
    one, other = await run(scenario), await run(scenario)
    assert [(each.after, each.problem) for each in one.outcomes] == [
        (each.after, each.problem) for each in other.outcomes
    ]
    assert not one.failed


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
async def test_examples_go_as_they_say(path: Path) -> None:
    for scenario in read(path):
        assert not (await run(scenario)).failed


@pytest.mark.parametrize(
    ("check", "told"),
    [
        (
            {"object": "pod/web", "has": {"status": {"phase": "Failed"}}},
            r'pod/web in default is not as expected\n  .status.phase\n    expected: "Failed"\n    actual:   "Running"',
        ),
        ({"object": "pod/none", "has": {}}, "pod/none in default is not there"),
        ({"absent": "pod/web"}, "pod/web is there, and should not be"),
        ({"pods": "app=web", "count": 2}, "there are 1, and 2 are expected"),
        ({"pods": "app=web", "on": "esp32-7"}, "web is on esp32-0"),
        ({"pods": "app=web", "notOn": ["esp32-0"]}, "web is on esp32-0"),
        ({"pods": "app=web", "phase": "Succeeded"}, "web is Running, on esp32-0; Succeeded is expected"),
        ({"pods": "app=web", "has": {"spec": {"nodeName": "x"}}}, r"web:\n    .spec.nodeName"),
        ({"event": "Evicted"}, "there is no event Evicted; there are: .*Scheduled"),
        ({"event": "Scheduled", "about": "pod/web", "count": 3}, "1 times, and 3 times are expected"),
    ],
)
async def test_what_is_otherwise_is_told(check: dict[str, Any], told: str, tmp_path: Path) -> None:
    steps = {"create": POD}, {"wait": {"object": "pod/web", "for": "condition=Ready"}}, {"assert": check}
    assert re.search(told, await problem(tmp_path, *steps))


async def test_all_checks_of_a_step_are_told_together(tmp_path: Path) -> None:
    told = await problem(tmp_path, {"assert": [{"pods": "*", "count": 1}, {"event": "Nothing"}]})
    assert "there are 0, and 1 are expected" in told
    assert "there is no event Nothing" in told


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ({"delete": "pod/none"}, 'it was refused: pods "none" not found'),
        ({"delete": "nonsense/none"}, "nonsense"),
        ({"create": {**POD, "spec": {"containers": []}}}, "it was refused: .*spec.containers"),
        ({"wait": {"object": "pod/none", "for": "condition=Ready", "timeout": "5s"}}, "pod/none"),
        ({"fail": {"node": "none"}}, 'it was refused: nodes "none" not found'),
    ],
)
async def test_what_cannot_be_done_is_told(step: dict[str, Any], told: str, tmp_path: Path) -> None:
    assert re.search(told, await problem(tmp_path, step))


async def test_the_steps_after_one_that_fails_are_left_out(tmp_path: Path) -> None:
    report = await done(tmp_path, {"delete": "pod/none"}, {"create": POD}, {"advance": "1m"})
    assert (len(report.outcomes), report.left_out) == (1, 2)


async def test_a_time_that_has_passed_is_told(tmp_path: Path) -> None:
    told = await problem(tmp_path, {"advance": "1m"}, {"at": "30s", "create": POD})
    assert told == "at: 30s has passed already: it is 1m0s since the beginning"


# reading


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([{"aply": "x.yaml"}], r"spec.steps\[0\].aply: there is no such field; did you mean apply\?"),
        ([{"at": "1m"}], r"spec.steps\[0\]: one of apply, create, .* is expected; there is none"),
        ([{"advance": "1m", "heal": "x"}], "there is heal and advance"),
        ([{"apply": "none.yaml"}], r"spec.steps\[0\].apply: none.yaml: there is no such file"),
        ([{"apply": {"kind": "Pod"}}], "an object without apiVersion"),
        ([{"apply": []}], "nothing is given"),
        ([{"at": "soon", "advance": "1m"}], r"spec.steps\[0\].at: "),
        ([{"advance": "-1m"}], r"spec.steps\[0\].advance: "),
        (
            [{"fail": {"node": "a", "fault": "sleepy"}}],
            r"spec.steps\[0\].fail.fault: 'sleepy' is no fault; there are: ",
        ),
        ([{"fail": {"fault": "stopped"}}], r"spec.steps\[0\].fail.node: the name of a node is expected"),
        ([{"fail": "esp32-0"}], r"spec.steps\[0\].fail: an object with node or nodes or fault is expected"),
        ([{"wait": {"object": "pod/a", "for": "sometime"}}], r"spec.steps\[0\].wait.for: "),
        ([{"wait": {"object": "pod/a"}}], r"spec.steps\[0\].wait.for: a text is expected"),
        ([{"patch": {"object": "pod/a"}}], r"spec.steps\[0\].patch.with: the merge patch is expected"),
        ([{"assert": []}], "nothing is given"),
        ([{"assert": {"has": {}}}], "one of object, absent, pods, objects, event is expected"),
        ([{"assert": {"object": "pod/a"}}], r"spec.steps\[0\].assert.has: "),
        (
            [{"assert": [{"absent": "pod/a", "count": 1}]}],
            r"assert\[0\].count: it does not go with absent",
        ),
        ([{"assert": {"pods": "a=b"}}], "what has to be so of them"),
        ([{"assert": {"pods": "a=b", "count": -1}}], "a number of 0 or more is expected"),
        ([{"assert": {"pods": "a=b", "count": True}}], "a number of 0 or more is expected"),
        ([{"delete": 7}], "a text, or a list of texts, is expected"),
        (["advance"], r"spec.steps\[0\]: an object with "),
        ([], "spec.steps: a list of steps is expected"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(steps: list[Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=told):
        read(write(tmp_path, *steps))


@pytest.mark.parametrize(
    ("cluster", "told"),
    [
        ({"node": 3}, r"spec.cluster.node: there is no such field; did you mean nodes\?"),
        ({"store": "memory"}, "spec.cluster.store: there is no such field"),
        ({"nodes": -1}, "spec.cluster: --nodes: -1 is less than 0"),
        ({"nodes": []}, "spec.cluster.nodes: a number or a text is expected, not"),
        ({"evictionTimeout": "soon"}, "spec.cluster.evictionTimeout: "),
        ({"schedulerProfile": "none"}, "spec.cluster: --scheduler-profile"),
    ],
)
def test_wrong_options_of_the_cluster_are_named(cluster: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=told):
        read(write(tmp_path, {"advance": "1s"}, cluster=cluster))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there is no scenario in it"),
        ("[1]", "document 1: it is no object"),
        ("a: [", "document 1: "),
        ("{apiVersion: v1, kind: Pod}", "document 1: apiVersion and kind: sim.kube32.io/v1alpha1 and Scenario"),
        ("{OWN, spec: 1}", "document 1: spec: must be an object"),
        (
            "{OWN, spce: 1}",
            "spce: there is no such field; did you mean spec",
        ),
    ],
)
def test_what_is_no_scenario_is_told(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "x.scenario.yaml"
    path.write_text(text.replace("OWN", OWN), encoding="utf-8")
    with pytest.raises(CommandError, match=told):
        read(path)


def test_directories_stand_for_the_scenarios_in_them(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    path = write(tmp_path / "inner", {"advance": "1s"})
    (tmp_path / "other.yaml").write_text("{}", encoding="utf-8")
    assert files_of([str(tmp_path), str(path)]) == [path]
    with pytest.raises(CommandError, match="there is no scenario in it"):
        files_of([str(CLONE / "manifests")])


# the command


def test_the_command_tells_each_step_and_its_report_is_junits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, {"create": POD}, {"assert": {"absent": "pod/web"}}, {"advance": "1s"})
    report = tmp_path / "report.xml"
    assert cli.run(["scenario", str(path), "--junit", str(report)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "one",
        "        +0s  ok      create pod/web",
        "        +0s  FAILED  assert no pod/web",
        "                     pod/web is there, and should not be",
    ]
    assert re.fullmatch(r"1 of 1 scenario failed in [\d.]+s: one", lines[4])
    suite = ElementTree.parse(report).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.text == "pod/web is there, and should not be"


def test_the_answer_as_an_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, {"create": POD}, {"delete": "pod/none"}, {"advance": "1s"})
    assert cli.run(["scenario", str(path), "-o", "json"]) == 1
    (item,) = json.loads(capsys.readouterr().out)["items"]
    assert (item["name"], item["passed"], item["leftOut"]) == ("one", False, 1)
    assert [step["passed"] for step in item["steps"]] == [True, False]


def test_quiet_tells_of_failures_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["scenario", "-q", str(EXAMPLES)]) == 0
    assert re.fullmatch(r"2 scenarios passed in [\d.]+s\n", capsys.readouterr().out)


def test_all_that_is_wrong_is_told_before_anything_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, {"aply": "x"})
    other = tmp_path / "none.scenario.yaml"
    assert cli.run(["scenario", str(path), str(other), str(EXAMPLES)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "did you mean apply?" in captured.err
    assert "none.scenario.yaml: No such file or directory" in captured.err


def test_check_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["scenario", "--check", str(write(tmp_path, {"delete": "pod/none"}))]) == 0
    assert capsys.readouterr().out == "1 scenario can be run\n"
