"""Who manages the replicas of an object after a write of its Scale."""

from __future__ import annotations

import pytest

from kube32_sim.api.managed.entries import APPLY, UPDATE, Manager, Owned
from kube32_sim.api.managed.fieldset import paths, text
from kube32_sim.api.managed.scaled import of_parent, of_scale, path_of

APPS, SCALE = "apps/v1", "autoscaling/v1"
REPLICAS_PATH = path_of(("spec", "replicas"))
REPLICAS = {"f:spec": {"f:replicas": {}}}
BOTH = {"f:spec": {"f:replicas": {}, "f:selector": {}}}
SELECTOR = {"f:spec": {"f:selector": {}}}


def manager(name, operation, version="", subresource=""):
    return Manager(name, operation, version if operation == UPDATE else "", subresource)


def shown(owners):
    return {
        f"{one.name} {one.operation} {one.subresource}".strip(): [text(path) for path in paths(owned.fields)]
        for one, owned in owners.items()
    }


@pytest.mark.parametrize("before", [APPLY, UPDATE])
@pytest.mark.parametrize("after", [APPLY, UPDATE])
@pytest.mark.parametrize("name", ["test", "other"])
def test_who_writes_the_scale_takes_the_replicas_over(before, after, name):
    """One name is two managers here: through the scale and not."""
    owners = {manager("test", before, APPS): Owned(BOTH, APPS, "t")}
    scale = {manager(name, after, SCALE, "scale"): Owned(REPLICAS, SCALE, "u")}
    left = of_parent(owners, scale, APPS, REPLICAS_PATH)
    assert shown(left) == {f"test {before}": [".spec.selector"], f"{name} {after} scale": [".spec.replicas"]}
    assert {owned.version for owned in left.values()} == {APPS}
    assert [owned.time for owned in left.values()] == ["t", ""], "scaling leaves no time"


def test_who_had_nothing_else_is_gone():
    owners = {manager("test", APPLY): Owned(REPLICAS, APPS)}
    scale = {manager("hpa", UPDATE, SCALE, "scale"): Owned(REPLICAS, SCALE)}
    assert shown(of_parent(owners, scale, APPS, REPLICAS_PATH)) == {"hpa Update scale": [".spec.replicas"]}


def test_who_says_the_same_shares_them():
    mine, other = manager("test", APPLY), manager("hpa", APPLY, SCALE, "scale")
    owners = {mine: Owned(BOTH, APPS, "t")}
    assert shown(of_scale(owners, REPLICAS_PATH)) == {"test Apply": [".spec.replicas"]}
    left = of_parent(owners, {**of_scale(owners, REPLICAS_PATH), other: Owned(REPLICAS, SCALE)}, APPS, REPLICAS_PATH)
    assert shown(left) == {"test Apply": [".spec.replicas", ".spec.selector"], "hpa Apply scale": [".spec.replicas"]}


def test_who_does_not_say_how_many_gets_nothing():
    owners = {manager("test", APPLY): Owned(SELECTOR, APPS)}
    for fields in ({"f:status": {"f:replicas": {}}}, {"f:spec": {}}, {"f:metadata": {"f:labels": {}}}):
        scale = {manager("hpa", UPDATE, SCALE, "scale"): Owned(fields, SCALE)}
        assert shown(of_parent(owners, scale, APPS, REPLICAS_PATH)) == {"test Apply": [".spec.selector"]}


def test_who_does_not_manage_the_replicas_does_not_manage_the_scale():
    owners = {manager("a", APPLY): Owned(SELECTOR, APPS), manager("b", UPDATE, APPS): Owned(BOTH, APPS, "t")}
    ((one, owned),) = of_scale(owners, REPLICAS_PATH).items()
    assert (one, owned) == (Manager("b", UPDATE, SCALE), Owned(REPLICAS, SCALE, "t"))
