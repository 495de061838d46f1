"""CustomResourceDefinitions in a load: whatever their status says of names, and whatever is missing."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from kube32_sim import Cluster
from kube32_sim.api.errors import ApiError
from kube32_sim.client import Resource
from kube32_sim.options import CommandError
from tests.snapshot.loads import JsonObject, load_objects

THINGS = Resource("example.com", "v1", "things")
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
SCALE = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
COLUMN = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
DEFINITION: JsonObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [
            {
                "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA},
                "subresources": {"status": {}, "scale": SCALE},
                "additionalPrinterColumns": [COLUMN], "selectableFields": [{"jsonPath": ".spec.size"}],
            },
        ],
    },
}  # fmt: skip
THING = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "default"}}
NONE = {"kind": "", "plural": ""}
ALL = DEFINITION["spec"]["names"]


@pytest.mark.parametrize(
    "status",
    [
        None,
        {},
        {"storedVersions": ["v1"]},
        {"acceptedNames": NONE, "conditions": [], "storedVersions": []},
        {"acceptedNames": {"plural": "things"}},
        {"acceptedNames": {"kind": "Thing"}, "storedVersions": ["v1"]},
        {"acceptedNames": ALL, "storedVersions": ["v1"]},
    ],
)
async def test_a_definition_and_its_objects_are_loaded(status: JsonObject | None) -> None:
    definition = deepcopy(DEFINITION) if status is None else {**deepcopy(DEFINITION), "status": status}
    objects = [definition, THING]
    async with Cluster(nodes=0, port=0, clock="virtual") as cluster:
        tried = await load_objects(cluster, objects, dry_run=True)
        assert (tried.loaded, tried.notes) == (2, [])
        done = await load_objects(cluster, objects)
        assert (done.loaded, done.notes) == (2, [])
        assert [one["metadata"]["name"] for one in (await cluster.client.list(THINGS, "default")).items] == ["a"]


def mutilated(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """(path, the value with what is there left out, null, or something else)."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in parts:
        for other in (None, 7, "x", {}, []):
            changed = deepcopy(value)
            changed[key] = other
            yield (*path, key, other), changed
        left = deepcopy(value)
        del left[key]
        yield (*path, key), left
        for where, made in mutilated(inner, (*path, key)):
            changed = deepcopy(value)
            changed[key] = made
            yield where, changed


async def test_whatever_is_wrong_with_a_definition_is_told() -> None:
    told: dict[str, str] = {}
    async with Cluster(nodes=0, port=0, clock="virtual") as cluster:
        for where, definition in mutilated(DEFINITION):
            try:
                await load_objects(cluster, [definition, THING], dry_run=True)
            except CommandError as error:
                told[str(where)] = str(error)
            except ApiError as error:
                told[str(where)] = f"{error.code} {error.message}"
    assert len(told) > 100
    assert not [(where, text) for where, text in told.items() if "nothing was loaded" not in text]
