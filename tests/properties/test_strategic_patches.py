"""Laws of strategic merge patch, on objects of real kinds, and of the patches that kubectl computes."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.api.patch import apply_merge_patch, apply_strategic
from kube32_sim.api.patch.strategic import Meta, fields
from tests.properties.making import objects, trying
from tests.properties.test_merge_patches import difference

JsonObject = dict[str, Any]

POD_SPEC = "io.k8s.api.core.v1.PodSpec"
KINDS = (
    POD_SPEC,
    "io.k8s.api.core.v1.Service",
    "io.k8s.api.core.v1.ServiceAccount",
    "io.k8s.api.core.v1.NodeStatus",
    "io.k8s.api.apps.v1.Deployment",
    "io.k8s.api.batch.v1.JobSpec",
    "io.k8s.api.networking.v1.NetworkPolicy",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
)
kinds = st.sampled_from(KINDS)


def strategic_difference(old: JsonObject, new: JsonObject, key: str) -> JsonObject:
    """The patch that kubectl computes from one object to another: with nulls, `$patch`, and the order of lists."""
    made: JsonObject = dict.fromkeys(old.keys() - new.keys())
    for name, value in new.items():
        before, meta = old.get(name), fields(key).get(name, Meta())
        if isinstance(value, dict) and isinstance(before, dict):
            inner = strategic_difference(before, value, meta.key)
            if inner:
                made[name] = inner
        elif isinstance(value, list) and isinstance(before, list) and meta.merge and value != before:
            made |= list_difference(name, before, value, meta)
        elif value != before or name not in old:
            made[name] = value
    return made


def list_difference(name: str, old: list[Any], new: list[Any], meta: Meta) -> JsonObject:
    if not meta.merge_key:
        more, less = [item for item in new if item not in old], [item for item in old if item not in new]
        parts = {name: more, f"$deleteFromPrimitiveList/{name}": less, f"$setElementOrder/{name}": new}
        return {part: items for part, items in parts.items() if items}
    before = {item[meta.merge_key]: item for item in old}
    wanted = [{meta.merge_key: item[meta.merge_key]} for item in new]
    items = []
    for item in new:
        mine = {meta.merge_key: item[meta.merge_key]}
        changed = strategic_difference(before[item[meta.merge_key]], item, meta.key) if mine_in(before, mine) else item
        if changed:
            items.append(changed | mine)
    kept = {item[meta.merge_key] for item in new}
    items += [{"$patch": "delete", meta.merge_key: one} for one in before if one not in kept]
    return {name: items, f"$setElementOrder/{name}": wanted}


def mine_in(before: JsonObject, mine: JsonObject) -> bool:
    (value,) = mine.values()
    return value in before


@trying(80)
@given(kinds, st.data())
def test_an_object_as_its_own_patch_changes_nothing(key: str, data: st.DataObject) -> None:
    obj = data.draw(objects(key))
    assert apply_strategic(obj, obj, key) == obj
    assert apply_strategic(obj, {}, key) == obj


@trying(80)
@given(kinds, st.data())
def test_where_there_are_no_lists_it_is_a_merge_patch(key: str, data: st.DataObject) -> None:
    old, new = data.draw(objects(key, lists=False)), data.draw(objects(key, lists=False))
    patch = difference(old, new)
    assert apply_strategic(old, patch, key) == apply_merge_patch(old, patch) == new
    assert apply_strategic(old, new, key) == apply_merge_patch(old, new)


@trying(120)
@given(kinds, st.data())
def test_a_patch_as_kubectl_computes_it_makes_the_one_of_the_other(key: str, data: st.DataObject) -> None:
    old, new = data.draw(objects(key)), data.draw(objects(key))
    before = copy.deepcopy(old)
    patch = strategic_difference(old, new, key)
    made = apply_strategic(old, patch, key)
    assert (made, old) == (new, before)
    assert apply_strategic(made, patch, key) == new


@trying(60)
@given(st.data())
def test_items_are_found_by_their_keys_and_the_others_stay(data: st.DataObject) -> None:
    spec = {"containers": [{"name": name, "image": "old"} for name in data.draw(st.permutations(["a", "b", "c"]))]}
    wanted = data.draw(st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), unique=True, max_size=4))
    made = apply_strategic(spec, {"containers": [{"name": name, "image": "new"} for name in wanted]}, POD_SPEC)
    images = {item["name"]: item["image"] for item in made["containers"]}
    assert images == {"a": "old", "b": "old", "c": "old"} | dict.fromkeys(wanted, "new")
    left = [item["name"] for item in made["containers"] if item["name"] not in wanted]
    assert left == [item["name"] for item in spec["containers"] if item["name"] not in wanted]
    assert [item["name"] for item in made["containers"] if item["name"] in wanted] == wanted


@trying(60)
@given(st.permutations(["a", "b", "c", "d"]), st.permutations(["a", "b", "c", "d"]))
def test_the_order_is_the_one_that_the_patch_sets(now: list[str], wanted: list[str]) -> None:
    spec = {"containers": [{"name": name} for name in now]}
    patch = {"$setElementOrder/containers": [{"name": name} for name in wanted]}
    made = apply_strategic(spec, patch, POD_SPEC)
    assert [item["name"] for item in made["containers"]] == wanted


@trying(60)
@given(st.data())
def test_three_ways_keep_what_others_have_set(data: st.DataObject) -> None:
    """What kubectl apply does: deletions by what was applied last, everything else by what is there."""
    applied, wanted = data.draw(objects(POD_SPEC)), data.draw(objects(POD_SPEC))
    others = {"nodeName": "theirs", "containers": [{"name": "theirs", "image": "i"}]}
    live = apply_strategic({name: applied[name] for name in applied if name != "nodeName"}, others, POD_SPEC)
    wanted = {name: value for name, value in wanted.items() if name not in ("nodeName", "containers")}
    applied = {name: value for name, value in applied.items() if name not in ("nodeName", "containers")}
    gone = dict.fromkeys(applied.keys() - wanted.keys())
    made = apply_strategic(live, gone | strategic_difference(live, live | wanted, POD_SPEC), POD_SPEC)
    assert made["nodeName"] == "theirs"
    assert any(item == {"name": "theirs", "image": "i"} for item in made["containers"])
    assert {name: made[name] for name in wanted} == wanted
    assert not gone.keys() & made.keys()


@pytest.mark.parametrize("key", KINDS)
def test_kinds_have_lists_that_merge(key: str) -> None:
    assert fields(key)
