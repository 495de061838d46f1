"""JSON Patch as upstream applies it."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube32_sim.api.errors import ApiError
from kube32_sim.api.patch import NotApplicable, apply_json_patch

OBJECT = {
    "data": {"one": "1", "two": "2"},
    "list": ["a", "b", "c"],
    "meta": {"notes": {"ex.io/slash": "s", "ti~x": "t"}},
}


@pytest.mark.parametrize(
    ("operation", "path", "value"),
    [
        ({"op": "add", "path": "/data/three", "value": "3"}, "data", {"one": "1", "two": "2", "three": "3"}),
        ({"op": "add", "path": "/data/x"}, "data", {"one": "1", "two": "2", "x": None}),
        ({"op": "add", "path": "/list/-", "value": "d"}, "list", ["a", "b", "c", "d"]),
        ({"op": "add", "path": "/list/0", "value": "d"}, "list", ["d", "a", "b", "c"]),
        ({"op": "add", "path": "/list/3", "value": "d"}, "list", ["a", "b", "c", "d"]),
        ({"op": "add", "path": "/list/-1", "value": "d"}, "list", ["a", "b", "c", "d"]),
        ({"op": "remove", "path": "/data/one"}, "data", {"two": "2"}),
        ({"op": "remove", "path": "/list/1"}, "list", ["a", "c"]),
        ({"op": "remove", "path": "/list/-1"}, "list", ["a", "b"]),
        ({"op": "replace", "path": "/data/none", "value": "x"}, "data", {"one": "1", "two": "2", "none": "x"}),
        ({"op": "replace", "path": "/list/1", "value": "x"}, "list", ["a", "x", "c"]),
        ({"op": "replace", "path": "data/two", "value": "x"}, "two", "x"),
        ({"op": "move", "from": "/data/one", "path": "/data/q"}, "data", {"two": "2", "q": "1"}),
        ({"op": "move", "from": "/list/0", "path": "/list/2"}, "list", ["b", "c", "a"]),
        ({"op": "copy", "from": "/data/one", "path": "/list/0"}, "list", ["1", "a", "b", "c"]),
        (
            {"op": "replace", "path": "/meta/notes/ex.io~1slash", "value": "S"},
            "meta",
            {"notes": {"ex.io/slash": "S", "ti~x": "t"}},
        ),
        ({"op": "remove", "path": "/meta/notes/ti~0x"}, "meta", {"notes": {"ex.io/slash": "s"}}),
        ({"op": "test", "path": "/data/two", "value": "2"}, "data", OBJECT["data"]),
        ({"op": "test", "path": "/data/none", "value": None}, "data", OBJECT["data"]),
        ({"op": "test", "path": "", "value": OBJECT}, "data", OBJECT["data"]),
    ],
)
def test_one_operation(operation: dict[str, Any], path: str, value: Any) -> None:
    before = copy.deepcopy(OBJECT)
    assert apply_json_patch(OBJECT, [operation])[path] == value
    assert before == OBJECT


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/data/two", "value": "no"},
        {"op": "test", "path": "/data", "value": {"one": True, "two": "2"}},
        {"op": "remove", "path": "/data/none"},
        {"op": "remove", "path": "/list/3"},
        {"op": "replace", "path": "/list/9", "value": 1},
        {"op": "add", "path": "/list/5", "value": 1},
        {"op": "add", "path": "/list/x", "value": 1},
        {"op": "add", "path": "/list/+-1", "value": 1},
        {"op": "add", "path": "/spec/deep/er", "value": "x"},
        {"op": "add", "path": "/data/one/x", "value": "x"},
        {"op": "add", "path": "", "value": {}},
        {"op": "move", "from": "/data/none", "path": "/data/q"},
        {"op": "frobnicate", "path": "/data/two"},
        {"op": ["add"], "path": "/data/two"},
        {"path": "/data/two"},
        {"op": "add", "value": 1},
        {"op": "add", "path": 5, "value": 1},
        {"op": "copy", "path": "/data/two"},
        {"op": "replace", "path": "", "value": "x"},
    ],
)
def test_what_does_not_apply(operation: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as raised:
        apply_json_patch(OBJECT, [operation])
    assert raised.value.code == 422
    assert raised.value.message == "the server rejected our request due to an error in our request"
    assert raised.value.details == {}


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        (
            {"op": "add", "path": "/a/b", "value": 1},
            'add operation does not apply: doc is missing path: "/a/b": missing value',
        ),
        (
            {"op": "remove", "path": "/a/b"},
            'remove operation does not apply: doc is missing path: "/a/b": missing value',
        ),
        (
            {"op": "replace", "path": "/a/b"},
            "replace operation does not apply: doc is missing path: /a/b: missing value",
        ),
        ({"op": "test", "path": "/a/b"}, "test operation does not apply: is missing path: /a/b: missing value"),
        (
            {"op": "move", "from": "/a/b", "path": "/c"},
            "move operation does not apply: doc is missing from path: /a/b: missing value",
        ),
        (
            {"op": "copy", "from": "/data/one", "path": "/a/b"},
            "copy operation does not apply: doc is missing destination path: /a/b: missing value",
        ),
        (
            {"op": "remove", "path": "/a"},
            "error in remove for path: '/a': Unable to remove nonexistent key: a: missing value",
        ),
        (
            {"op": "remove", "path": "/list/3"},
            "error in remove for path: '/list/3': Unable to access invalid index: 3: invalid index referenced",
        ),
        (
            {"op": "add", "path": "/list/x", "value": 1},
            "error in add for path: '/list/x': strconv.Atoi: parsing \"x\": invalid syntax",
        ),
        ({"op": "test", "path": "/data/one", "value": 1}, "testing path /data/one failed: test failed"),
        ({"op": "add", "value": 1}, "add operation failed to decode path: missing value"),
        ({"op": "put", "path": "/a"}, "Unexpected kind: put"),
        ({"path": "/a"}, "Unexpected kind: unknown"),
    ],
)
def test_why_it_does_not_apply(operation: dict[str, Any], why: str) -> None:
    """In the words of evanphx/json-patch, which upstream passes on of webhooks' patches."""
    with pytest.raises(NotApplicable) as raised:
        apply_json_patch(OBJECT, [operation])
    assert raised.value.why == why


@pytest.mark.parametrize("operations", [{"op": "add"}, "x", 5, [1], [[]]])
def test_what_is_no_json_patch(operations: Any) -> None:
    with pytest.raises(ApiError, match="error decoding patch: json: cannot unmarshal") as raised:
        apply_json_patch(OBJECT, operations)
    assert raised.value.code == 400


@pytest.mark.parametrize(("value", "same"), [(2, True), (2.0, False), (True, False), ("2", False)])
def test_numbers_are_the_same_as_they_are_written(value: Any, same: bool) -> None:
    operations = [{"op": "test", "path": "/replicas", "value": value}]
    if same:
        assert apply_json_patch({"replicas": 2}, operations) == {"replicas": 2}
        return
    with pytest.raises(ApiError):
        apply_json_patch({"replicas": 2}, operations)


def test_null_is_a_patch_but_no_operation() -> None:
    assert apply_json_patch(OBJECT, None) == OBJECT
    with pytest.raises(ApiError) as raised:
        apply_json_patch(OBJECT, [None])
    assert raised.value.code == 422


def test_too_many_operations() -> None:
    why = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    with pytest.raises(ApiError, match=f"^{why}$") as raised:
        apply_json_patch(OBJECT, [{"op": "test", "path": "/a"}] * 10001)
    assert raised.value.code == 413


def test_a_copy_is_independent() -> None:
    operations = [
        {"op": "add", "path": "/data/deep", "value": {"x": 1}},
        {"op": "copy", "from": "/data/deep", "path": "/other"},
        {"op": "add", "path": "/data/deep/y", "value": 2},
    ]
    patched = apply_json_patch(OBJECT, operations)
    assert patched["other"] == {"x": 1}
    assert operations[0]["value"] == {"x": 1}


def test_copies_of_copies_end() -> None:
    operations = [{"op": "copy", "from": "/data", "path": f"/data/{n}"} for n in range(60)]
    with pytest.raises(ApiError):
        apply_json_patch(OBJECT, operations)


PATHS = st.sampled_from(
    ["", "/", "/data", "/data/one", "/list", "/list/0", "/list/-", "/list/-1", "/meta/notes/x", "x"]
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"])},
    optional={"path": PATHS, "from": PATHS, "value": st.sampled_from([None, 1, "x", {}, [], {"a": [1]}])},
)


@settings(max_examples=300, deadline=None)
@given(st.lists(OPERATIONS, max_size=6))
def test_the_object_never_changes(operations: list[dict[str, Any]]) -> None:
    before, asked = copy.deepcopy(OBJECT), copy.deepcopy(operations)
    with suppress(ApiError):
        apply_json_patch(OBJECT, operations)
    assert before == OBJECT
    assert operations == asked
