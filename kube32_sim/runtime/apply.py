"""Carries out what a loop decided: the one place where actions become calls of the API."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

from kube32_sim.api.errors import ApiError
from kube32_sim.causes import BECAUSE, because
from kube32_sim.client import Client, Resource
from kube32_sim.clock import turn
from kube32_sim.runtime.actions import Action, Create, Delete, Emit, Patch, Update

Key = tuple[Resource, str, str]
"""(type, namespace, subresource) of what is created, or `delete`."""

STRIDE = 8
"""Actions of one plan done before others get their turn: a client in this process answers without ever waiting."""


class Recorder(Protocol):
    def record(self, emit: Emit) -> None: ...


async def apply(actions: Iterable[Action], client: Client, recorder: Recorder) -> bool:
    """Do these things in order.  Answers whether the world was other than the loop believed (then look again).

    Raises ApiError where something is refused.  A refused Create is raised when everything else has been done, for what
    a loop tells of an object is true whether its pods come or not; only further Creates of the same type, which would
    fare alike, are left out.  So is a refused Delete that others do not count on.  Anything else that is refused ends
    the plan: what follows counts on it.
    """
    with because(None):
        return await _apply(actions, client, recorder)


async def _apply(actions: Iterable[Action], client: Client, recorder: Recorder) -> bool:
    surprised = False
    refusals: dict[Key, ApiError] = {}
    for number, action in enumerate(actions, 1):
        if number % STRIDE == 0:
            await turn()
        if isinstance(action, Emit):
            recorder.record(action)
            continue
        BECAUSE.set(action.cause)
        if isinstance(action, Create):
            key = (action.resource, action.namespace, action.subresource)
            if key not in refusals:
                try:
                    surprised |= await _create(action, client, recorder)
                except ApiError as error:
                    refusals[key] = error
        elif isinstance(action, Delete):
            try:
                surprised |= await _delete(action, client)
            except ApiError as error:
                if not action.others_go_on:
                    raise
                refusals.setdefault((action.resource, action.namespace, "delete"), error)
        elif isinstance(action, Update):
            await client.update(action.resource, action.namespace, action.obj, subresource=action.subresource)
        elif isinstance(action, Patch):
            await _patch(action, client, next(iter(refusals.values()), None))
    for refusal in refusals.values():
        raise refusal
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


async def _patch(action: Patch, client: Client, refusal: ApiError | None) -> None:
    patch = action.patch
    if refusal is not None and action.if_refused is not None:
        patch = _told(action.if_refused, refusal.message)
    if patch:
        await client.patch(action.resource, action.namespace, action.name, patch, subresource=action.subresource)


def _told(value: Any, error: str) -> Any:
    """A JSON value with the error filled into its texts."""
    if isinstance(value, str):
        return value.replace("{error}", error)
    if isinstance(value, dict):
        return {key: _told(one, error) for key, one in value.items()}
    return [_told(one, error) for one in value] if isinstance(value, list) else value


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
