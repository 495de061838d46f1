"""`matching` and `assert_object`: an object holds what is expected, or it is told where it does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.blocking.matching import MOST, differences, matching, told

POD = {
    "metadata": {"name": "web", "labels": {"app.kubernetes.io/name": "web"}},
    "spec": {"containers": [{"name": "a", "image": "one"}, {"name": "b", "image": "two", "command": ["x", "y"]}]},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "message": None, "ready": True},
}


@pytest.mark.parametrize(
    "expected",
    [
        {},
        {"status": {"phase": "Running"}},
        {"spec": {"containers": [{"name": "b", "image": "two"}]}},
        {"spec": {"containers": [{"name": "b"}, {"name": "a"}]}},
        {"spec": {"containers": [{"image": "one"}, {"command": ["x", "y"]}]}},
        {"status": {"conditions": [{"type": "Ready"}], "message": None, "reason": None, "phase": ...}},
        {"status": matching({"phase": "Running"})},
    ],
)
def test_what_is_held(expected: Any) -> None:
    held = matching(expected)
    assert held == POD
    assert POD == held  # noqa: SIM300 - as tests write it


@pytest.mark.parametrize(
    ("expected", "path", "wanted", "actual"),
    [
        ({"status": {"phase": "Failed"}}, ".status.phase", '"Failed"', '"Running"'),
        ({"status": {"ready": 1}}, ".status.ready", "1", "true"),
        ({"status": {"phase": None}}, ".status.phase", "nothing", '"Running"'),
        ({"status": {"message": ...}}, ".status.message", "anything", "null"),
        ({"status": {"reason": "x"}}, ".status.reason", '"x"', "not there"),
        ({"status": {"phase": {"a": 1}}}, ".status.phase", '{"a": 1}', '"Running"'),
        (
            {"metadata": {"labels": {"app.kubernetes.io/name": "x"}}},
            ".metadata.labels['app.kubernetes.io/name']",
            '"x"',
            '"web"',
        ),
        ({"spec": {"containers": [{"name": "b", "image": "x"}]}}, ".spec.containers[name=b].image", '"x"', '"two"'),
        (
            {"spec": {"containers": [{"name": "c"}]}},
            ".spec.containers[name=c]",
            '{"name": "c"}',
            "not there; there are: a, b",
        ),
        ({"spec": {"containers": [{"image": "x"}, {}]}}, ".spec.containers[0].image", '"x"', '"one"'),
        (
            {"status": {"conditions": []}},
            ".status.conditions",
            "0 items: []",
            '1: [{"type": "Ready", "status": "True"}]',
        ),
    ],
)
def test_what_differs(expected: Any, path: str, wanted: str, actual: str) -> None:
    assert list(differences(expected, POD)) == [(path, wanted, actual)]
    assert matching(expected) != POD


def test_long_values_and_many_differences_are_cut() -> None:
    found = list(differences({str(number): "x" * 1000 for number in range(MOST + 5)}, {}))
    lines = told(found)
    assert lines[-1] == "and 5 more differences"
    assert "(1002 characters)" in lines[1]
    assert len(lines) == 3 * MOST + 1


PLAIN = st.one_of(st.booleans(), st.integers(), st.text(max_size=3))
TREES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


@given(TREES, st.data())
def test_every_part_of_a_value_is_held_by_it(value: Any, data: st.DataObject) -> None:
    def part(of: Any) -> Any:
        if isinstance(of, dict):
            return {name: part(inner) for name, inner in of.items() if data.draw(st.booleans())}
        return [part(inner) for inner in of] if isinstance(of, list) else of

    assert list(differences(part(value), value)) == []


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [leaf for name, inner in items for leaf in leaves(inner, (*path, name))] or [path]


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), TREES, min_size=1, max_size=3), st.data())
def test_one_change_is_one_difference(value: dict[str, Any], data: st.DataObject) -> None:
    *way, last = data.draw(st.sampled_from(leaves(value)))

    def changed(of: Any, steps: list[Any]) -> Any:
        made = dict(of) if isinstance(of, dict) else list(of)
        made[(steps or [last])[0]] = changed(of[steps[0]], steps[1:]) if steps else {"is": "another"}
        return made

    assert len(list(differences(value, changed(value, way)))) == (0 if leaf_of(value, [*way, last]) == {} else 1)


def leaf_of(value: Any, steps: list[Any]) -> Any:
    for step in steps:
        value = value[step]
    return value
