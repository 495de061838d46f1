"""Laws of JSON Patch (RFC 6902)."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kube32_sim.api.errors import ApiError
from kube32_sim.api.patch import apply_json_patch
from tests.properties.making import documents, names, trying, values

JsonObject = dict[str, Any]


def places(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Every pointer into a value but that to it all, and what is there."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in pairs:
        yield f"{at}/{name}", item
        yield from places(item, f"{at}/{name}")


def at(value: Any, pointer: str) -> Any:
    for segment in pointer.split("/")[1:]:
        value = value[int(segment)] if isinstance(value, list) else value[segment]
    return value


def patched(document: JsonObject, *operations: JsonObject) -> JsonObject:
    before = copy.deepcopy(document)
    made = apply_json_patch(document, list(operations))
    assert document == before
    return made


full = documents.filter(bool)


@trying(80)
@given(full, values, st.data())
def test_what_was_tested_is_replaced(document: JsonObject, new: Any, data: st.DataObject) -> None:
    pointer, old = data.draw(st.sampled_from(list(places(document))))
    test = {"op": "test", "path": pointer, "value": old}
    replace = {"op": "replace", "path": pointer, "value": new}
    made = patched(document, test, replace)
    assert at(made, pointer) == new
    assert patched(made, {**replace, "value": old}) == document
    assume(new != old)
    with pytest.raises(ApiError) as refused:
        patched(document, {**test, "value": new}, replace)
    assert refused.value.code == 422


@trying(80)
@given(full, names, st.data())
def test_to_move_is_to_copy_and_to_remove(document: JsonObject, name: str, data: st.DataObject) -> None:
    pointer, _ = data.draw(st.sampled_from(list(places(document))))
    target = f"/{name}"
    assume(target != pointer and not pointer.startswith(f"{target}/"))
    made = patched(document, {"op": "move", "from": pointer, "path": target})
    copied = {"op": "copy", "from": pointer, "path": target}
    assert made == patched(document, copied, {"op": "remove", "path": pointer})
    assert made == patched(
        document, {"op": "remove", "path": pointer}, {"op": "add", "path": target, "value": at(document, pointer)}
    )


@trying(80)
@given(full, values, st.data())
def test_to_remove_undoes_to_add(document: JsonObject, new: Any, data: st.DataObject) -> None:
    containers = [
        ("", document),
        *((path, value) for path, value in places(document) if isinstance(value, dict | list)),
    ]
    path, container = data.draw(st.sampled_from(containers))
    where = data.draw(st.integers(0, len(container))) if isinstance(container, list) else "new"
    made = patched(document, {"op": "add", "path": f"{path}/{where}", "value": new})
    assert at(made, f"{path}/{where}") == new
    assert patched(made, {"op": "remove", "path": f"{path}/{where}"}) == document


@trying(60)
@given(full, values)
def test_a_dash_is_the_end_of_a_list(document: JsonObject, new: Any) -> None:
    for path, value in places(document):
        if isinstance(value, list):
            made = patched(document, {"op": "add", "path": f"{path}/-", "value": new})
            assert at(made, path) == [*value, new]


@trying(60)
@given(full, values, st.data())
def test_all_operations_apply_or_none(document: JsonObject, new: Any, data: st.DataObject) -> None:
    pointer, _ = data.draw(st.sampled_from(list(places(document))))
    with pytest.raises(ApiError):
        patched(document, {"op": "replace", "path": pointer, "value": new}, {"op": "remove", "path": "/not/there"})
