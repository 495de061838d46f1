"""Carries out what a loop decided: the one place where actions become calls of the API."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

from kube32_sim.api.errors import ApiError
from kube32_sim.client import Client
from kube32_sim.runtime.actions import Action, Create, Delete, Emit, Patch, Update


class Recorder(Protocol):
    def record(self, emit: Emit) -> None: ...


async def apply(actions: Iterable[Action], client: Client, recorder: Recorder) -> bool:
    """Do these things in order.  Answers whether the world was other than the loop believed (then look again).

    Raises ApiError at the first one that is refused; those after it are left undone.
    """
    surprised = False
    for action in actions:
        if isinstance(action, Emit):
            recorder.record(action)
        elif isinstance(action, Create):
            surprised |= await _create(action, client, recorder)
        elif isinstance(action, Delete):
            surprised |= await _delete(action, client)
        elif isinstance(action, Update):
            await client.update(action.resource, action.namespace, action.obj, subresource=action.subresource)
        elif isinstance(action, Patch):
            await client.patch(
                action.resource, action.namespace, action.name, action.patch, subresource=action.subresource
            )
    return surprised


async def _create(action: Create, client: Client, recorder: Recorder) -> bool:
    try:
        created = await client.create(
            action.resource, action.namespace, action.obj, subresource=action.subresource, name=action.name
        )
    except ApiError as error:
        if error.reason == "AlreadyExists":
            return True
        if action.refused is not None:
            recorder.record(_filled(action.refused, action.obj["metadata"].get("name", ""), error.message))
        raise
    if action.succeeded is not None:
        recorder.record(_filled(action.succeeded, created.get("metadata", {}).get("name", ""), ""))
    return False


def _filled(emit: Emit, name: str, error: str) -> Emit:
    return replace(emit, message=emit.message.replace("{name}", name).replace("{error}", error))


async def _delete(action: Delete, client: Client) -> bool:
    options: dict[str, Any] = {"propagationPolicy": action.propagation, "preconditions": {"uid": action.uid}}
    if action.grace_period_seconds is not None:
        options["gracePeriodSeconds"] = action.grace_period_seconds
    try:
        await client.delete(action.resource, action.namespace, action.name, options=options)
    except ApiError as error:
        if error.reason not in ("NotFound", "Conflict"):
            raise
        return error.reason == "Conflict"
    return False
