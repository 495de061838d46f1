"""The page counts as the scheduler does, and asks about exactly what was pasted: its modules run in Node.js here."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from kube32_controllers.scheduler_cache import SchedulerCache
from kube32_controllers.scheduler_figures import amount, pod_request

from kube32_sim.api.yamltext import YamlError, loads
from kube32_sim.kestrel.profiles import KUBE32
from kube32_sim.server import pages
from tests.support import clients

SHOWN = ("memory", "esp32.io/psram", "esp32.io/gpio")
PLACES = [KUBE32.fitted.index(name) for name in SHOWN]
NO_FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)


class Modules:
    """The page's functions, by module and name."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, module: str, call: str, *given: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"module": module, "call": call, "given": given}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@contextmanager
def running_modules() -> Iterator[Modules]:
    command = [clients.node(), "--no-warnings", str(Path(__file__).with_name("evaluate.mjs")), str(pages.FOLDER)]
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Modules(process)
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture(scope="module")
def modules() -> Iterator[Modules]:
    with running_modules() as running:
        yield running


# amounts

numbers = st.from_regex(r"[+-]?(0|[1-9][0-9]{0,5})(\.[0-9]{1,3})?", fullmatch=True)
suffixes = st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E2"])
quantities = st.builds(str.__add__, numbers, suffixes)


@NO_FIXTURE
@given(text=quantities | st.sampled_from(["", "x", "1e", "1 Ki", "1KI", ".", "+", ".5Ki", "5.", "0.1m", "1E"]))
@example(text="100.1Ki")
@example(text="94000.1Gi")
def test_amounts_are_read_as_the_scheduler_reads_them(modules: Modules, text: str) -> None:
    assert modules("figures.js", "amount", text) == amount(text)


resources = st.dictionaries(
    st.sampled_from(["memory", "esp32.io/psram", "esp.io/psram", "esp32.io/gpio", "cpu"]),
    st.sampled_from(["0", "1", "2", "16Ki", "100Ki", "1Mi", "1500m"]),
    max_size=3,
)
declared = st.fixed_dictionaries({}, optional={"requests": resources, "limits": resources})
containers = st.lists(st.fixed_dictionaries({}, optional={"resources": declared}), max_size=3)
specs = st.fixed_dictionaries({"containers": containers}, optional={"initContainers": containers})


@NO_FIXTURE
@given(spec=specs)
def test_a_pod_asks_for_what_the_scheduler_says_it_does(modules: Modules, spec: dict[str, Any]) -> None:
    amounts = pod_request(spec).amounts
    assert modules("figures.js", "requestOf", spec) == [amounts[place] for place in PLACES]


# what is free

pods = st.fixed_dictionaries(
    {
        "what": st.just("pod"),
        "name": st.sampled_from("pqrs"),
        "gone": st.booleans(),
        "node": st.sampled_from(["", "a", "b"]),
        "phase": st.sampled_from(["Pending", "Running", "Running", "Succeeded", "Failed"]),
        "waits": st.booleans(),
        "memory": st.sampled_from(["10Ki", "32Ki"]),
    }
)
nodes = st.fixed_dictionaries(
    {
        "what": st.just("node"),
        "name": st.sampled_from("ab"),
        "gone": st.sampled_from([False, False, False, True]),
        "memory": st.sampled_from(["300Ki", "200Ki", "120Ki"]),
    }
)


def made(step: dict[str, Any], revision: int) -> dict[str, Any]:
    metadata = {"name": step["name"], "resourceVersion": str(revision)}
    if step["what"] == "node":
        amounts = {"memory": step["memory"], "esp32.io/gpio": "30"}
        return {"metadata": metadata, "status": {"capacity": {"memory": "300Ki"}, "allocatable": amounts}}
    container = {"name": "c", "resources": {"requests": {"memory": step["memory"], "esp32.io/gpio": "1"}}}
    state = {"waiting": {"reason": "ContainerCreating"}} if step["waits"] else {"running": {}}
    metadata |= {"namespace": "d", "uid": step["name"], "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {
        "metadata": metadata,
        "spec": {"nodeName": step["node"], "containers": [container]},
        "status": {"phase": step["phase"], "containerStatuses": [{"name": "c", "state": state}]},
    }


@NO_FIXTURE
@given(steps=st.lists(pods | nodes, max_size=14))
def test_what_is_free_is_what_the_scheduler_counts(modules: Modules, steps: list[dict[str, Any]]) -> None:
    cache, heard = SchedulerCache(), []
    bound: dict[str, str] = {}
    for revision, step in enumerate(map(dict, steps), 1):
        if step["what"] == "pod":
            step["node"] = bound.setdefault(step["name"], step["node"]) or step["node"]
            bound[step["name"]] = "" if step["gone"] else step["node"]  # a pod stays where it is
        obj = made(step, revision)
        heard.append([f"{step['what']}Event", "DELETED" if step["gone"] else "MODIFIED", obj])
        if step["what"] == "pod":
            cache.drop_pod(f"d/{step['name']}") if step["gone"] else cache.put_pod(obj, revision)
        else:
            cache.drop_node(step["name"]) if step["gone"] else cache.put_node(obj, revision)
    expected = {name: [node.free[PLACES[0]], node.free[PLACES[2]]] for name, node in cache.table.nodes.items()}
    found = modules("", "replayed", heard)
    assert {name: [free[0], free[2]] for name, free in found.items()} == expected


# manifests

values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab: -#\n'\"%&*", max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
documents = st.dictionaries(st.sampled_from(["kind", "metadata", "spec", "x"]), values, min_size=1, max_size=3)


def objects_of(modules: Modules, text: str) -> Any:
    made = modules("manifests.js", "previewBody", text, "kube32")
    if made["type"] == "application/json":
        return json.loads(made["body"])["spec"]["objects"]
    return loads(made["body"].encode())[0]["spec"]["objects"]


@NO_FIXTURE
@given(all_of_them=st.lists(documents, min_size=1, max_size=4), data=st.data())
def test_documents_are_asked_about_as_they_are(modules: Modules, all_of_them: list[Any], data: st.DataObject) -> None:
    import yaml

    flow, start = data.draw(st.sampled_from([None, True, False])), data.draw(st.booleans())
    style = data.draw(st.sampled_from([None, "|", '"', "'"]))
    text = yaml.safe_dump_all(all_of_them, default_flow_style=flow, explicit_start=start, default_style=style)
    expected = [loads(yaml.safe_dump(one, default_style=style).encode())[0] for one in all_of_them]
    assert objects_of(modules, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\n", [{"a": 1}]),
        ("# only\na: 1\n---\n# nothing\n---\nb: 2\n---\n", [{"a": 1}, {"b": 2}]),
        ("--- # first\na: 1\n--- {b: 2}\n", [{"a": 1}, {"b": 2}]),
        ("---\r\na: 1\r\n---\r\nb: 2\r\n", [{"a": 1}, {"b": 2}]),
        ("\ufeffa: 1\n", [{"a": 1}]),
        ("%YAML 1.1\n---\na: 1\n...\n# after\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("a: |\n  one\n\n    two\nb: >-\n  x\n  y\n", [{"a": "one\n\n  two\n", "b": "x y"}]),
        ("a: |2\n   x\n", [{"a": " x\n"}]),
        ("a: 'it''s\n\n  on'\nb: \"x\\\n  y\"\n", [{"a": "it's\non", "b": "xy"}]),
        ("a: &x {b: 1}\nc: *x\n---\nd: &x 2\ne: *x\n", [{"a": {"b": 1}, "c": {"b": 1}}, {"d": 2, "e": 2}]),
        ('{"a":\n\t1}', [{"a": 1}]),
        ('[{"a": 1}, {"b": 2}]', [{"a": 1}, {"b": 2}]),
    ],
)
def test_documents_of_all_kinds(modules: Modules, text: str, expected: Any) -> None:
    assert objects_of(modules, text) == expected


@NO_FIXTURE
@given(before=st.lists(st.sampled_from(["a: 1", "---", "# x", "", "b: [1,", "  2]"]), max_size=6))
def test_lines_keep_their_numbers(modules: Modules, before: list[str]) -> None:
    marked = [*before, "mark: here"]
    made = modules("manifests.js", "previewBody", "\n".join(marked), "kube32")
    place = next(number for number, line in enumerate(made["body"].split("\n"), 1) if "mark: here" in line)
    told = modules("manifests.js", "aboutText", f"yaml: line {place}: it is wrong", made["offset"])
    assert told == f"yaml: line {len(marked)}: it is wrong"


def test_what_is_no_yaml_stays_none(modules: Modules) -> None:
    with pytest.raises(YamlError):
        objects_of(modules, "a: [1\n")


def test_bytes_are_written_short(modules: Modules) -> None:
    expected = {0: "0", 1023: "1023", 1024: "1Ki", 245760: "240Ki", 1572864: "1.5Mi", -1024: "-1Ki"}
    assert {amount: modules("figures.js", "bytesText", amount) for amount in expected} == expected
