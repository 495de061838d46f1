"""JSON Merge Patch: the examples of RFC 7396, and that nothing is copied that need not be."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.api.patch import apply_merge_patch


@pytest.mark.parametrize(
    ("obj", "patch", "merged"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": "x"}, {"a": {"b": 1, "c": None}}, {"a": {"b": 1}}),
    ],
)
def test_examples(obj: dict[str, Any], patch: dict[str, Any], merged: dict[str, Any]) -> None:
    before = repr((obj, patch))
    assert apply_merge_patch(obj, patch) == merged
    assert repr((obj, patch)) == before


def test_untouched_parts_are_shared() -> None:
    obj = {"spec": {"a": {}}, "status": {"x": 1, "deep": {}}}
    merged = apply_merge_patch(obj, {"status": {"x": 2}})
    assert merged["spec"] is obj["spec"]
    assert merged["status"]["deep"] is obj["status"]["deep"]
    assert obj["status"]["x"] == 1


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (None, "Invalid JSON Patch"),
        ([1], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("x", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"),
    ],
)
def test_what_is_no_merge_patch(patch: Any, message: str) -> None:
    with pytest.raises(ApiError) as raised:
        apply_merge_patch({}, patch)
    assert (raised.value.code, raised.value.message) == (400, message)


def test_deep_nesting_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(3000):
        deep = {"a": deep}
    with pytest.raises(ApiError, match="exceeded max depth"):
        apply_merge_patch({}, deep)
