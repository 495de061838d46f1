"""Laws of JSON Merge Patch (RFC 7396)."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import assume, given

from kube32_sim.api.patch import apply_merge_patch
from tests.properties.making import documents, patches, trying

JsonObject = dict[str, Any]


def difference(old: JsonObject, new: JsonObject) -> JsonObject:
    """The merge patch from one document without nulls to another."""
    made: JsonObject = dict.fromkeys(old.keys() - new.keys())
    for name, value in new.items():
        if isinstance(value, dict) and isinstance(old.get(name), dict):
            inner = difference(old[name], value)
            if inner:
                made[name] = inner
        elif name not in old or old[name] != value:
            made[name] = value
    return made


def both(first: JsonObject, second: JsonObject) -> JsonObject | None:
    """One patch for two; None where there is none, for what replaces a value by an object cannot be told in one."""
    made = dict(first)
    for name, value in second.items():
        if not isinstance(value, dict) or name not in first:
            made[name] = value
            continue
        if not isinstance(first[name], dict):
            return None
        inner = both(first[name], value)
        if inner is None:
            return None
        made[name] = inner
    return made


def has_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(item is None or has_null(item) for item in value.values())
    return False


@trying(80)
@given(documents, documents)
def test_a_difference_makes_the_one_of_the_other(old: JsonObject, new: JsonObject) -> None:
    assert apply_merge_patch(old, difference(old, new)) == new
    assert difference(old, old) == {}


@trying(80)
@given(documents, patches)
def test_a_patch_changes_nothing_the_second_time(document: JsonObject, patch: JsonObject) -> None:
    once = apply_merge_patch(document, patch)
    assert apply_merge_patch(once, patch) == once


@trying(120)
@given(documents, patches, patches)
def test_two_patches_are_one(document: JsonObject, first: JsonObject, second: JsonObject) -> None:
    together = both(first, second)
    assume(together is not None)
    assert apply_merge_patch(document, together) == apply_merge_patch(apply_merge_patch(document, first), second)


@trying(80)
@given(documents, patches)
def test_nulls_delete_and_nothing_else_is_touched(document: JsonObject, patch: JsonObject) -> None:
    before, asked = copy.deepcopy(document), copy.deepcopy(patch)
    made = apply_merge_patch(document, patch)
    assert (document, patch) == (before, asked)
    assert not has_null(made)
    for name in before.keys() - patch.keys():
        assert made[name] == before[name]
    assert apply_merge_patch(document, {}) == document
