"""Custom types that change while a webhook is asked about an object of theirs, or about their definition."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.cluster import Cluster
from tests.support.definitions import CRDS, custom, definition, object_schema, served, version
from tests.support.webhook import MUTATING, VALIDATING, Hook, patched, refused, rule

WIDGETS = served()
NAME = "widgets.example.com"
ALL_WIDGETS = rule(["widgets"], ["*"], "example.com")
NUMBERS = version(schema=object_schema(spec=object_schema(a={"type": "integer"}, b={"type": "integer"})))
FEWER = version(schema=object_schema(spec=object_schema(a={"type": "integer"}, c={"type": "integer", "default": 3})))
Object = dict[str, Any]


@pytest_asyncio.fixture
async def hook() -> AsyncIterator[Hook]:
    async with Hook().serving() as serving:
        yield serving


@pytest.mark.parametrize("again", [None, "Namespaced", "Cluster"])
async def test_nothing_is_stored_of_a_type_that_goes_meanwhile(bare: Cluster, hook: Hook, again: str | None) -> None:
    """Nobody could read it, and the next definition of that name would have it."""
    await bare.client.create(CRDS, "", definition())

    async def answer(_: Object) -> Object:
        await bare.client.delete(CRDS, "", NAME)
        if again:
            await bare.client.create(CRDS, "", definition(scope=again))
        return {"allowed": True}

    await hook.configure(bare, VALIDATING, "v", ALL_WIDGETS, answer=answer)
    assert (await refused(bare.client.create(WIDGETS, "default", custom("a")))).code == 404
    assert bare.store.count(("example.com", "widgets")) == 0


@pytest.mark.parametrize("verb", ["create", "patch"])
async def test_what_is_stored_has_the_form_that_its_type_has_by_then(bare: Cluster, hook: Hook, verb: str) -> None:
    await bare.client.create(CRDS, "", definition("widgets", "Widget", NUMBERS))
    await bare.client.create(WIDGETS, "default", custom("old", spec={"a": 1, "b": 1}))

    async def answer(_: Object) -> Object:
        await bare.client.patch(CRDS, "", NAME, {"spec": {"versions": [FEWER]}})
        return {"allowed": True}

    await hook.configure(bare, VALIDATING, "v", ALL_WIDGETS, answer=answer)
    if verb == "create":
        await bare.client.create(WIDGETS, "default", custom("new", spec={"a": 2, "b": 2}))
    else:
        await bare.client.patch(WIDGETS, "default", "old", {"spec": {"a": 2, "b": 2}})
    name = "new" if verb == "create" else "old"
    assert (await bare.client.get(WIDGETS, "default", name))["spec"] == {"a": 2, "c": 3}


async def test_a_webhook_that_undoes_the_status_of_definitions_is_not_asked_for_ever(bare: Cluster, hook: Hook) -> None:
    status = {"conditions": [], "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}
    undone = patched({"op": "add", "path": "/status", "value": status})
    definitions = rule(["customresourcedefinitions/status"], ["*"], "apiextensions.k8s.io")
    await hook.configure(bare, MUTATING, "m", definitions, answer=lambda _: undone)
    await bare.client.create(CRDS, "", definition())
    assert len(hook.reviews) < 20
    await bare.client.delete(MUTATING, "", "m")
    await bare.client.patch(CRDS, "", NAME, {"metadata": {"labels": {"a": "b"}}})
    await bare.client.create(WIDGETS, "default", custom("a"))
