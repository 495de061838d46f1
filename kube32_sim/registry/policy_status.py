"""The status of ValidatingAdmissionPolicies: what has been looked at, and what expressions get wrong."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from kube32_sim.api.errors import ApiError
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import JsonObject, Storage
from kube32_sim.storage.objects import StoredObject

log = logging.getLogger(__name__)

POLICIES: Storage = ("admissionregistration.k8s.io", "validatingadmissionpolicies")
MANAGER = "validatingadmissionpolicy-status-controller"


async def catch_up(registry: Registry) -> None:
    """Look at the policies that nobody has looked at: an earlier run ended before it could."""
    follow = policy_status(registry)
    for stored in registry.store.list(POLICIES):
        try:
            await follow(stored)
        except ApiError as error:
            log.warning("the policy %s is not looked at at the start: %s", stored.name, error.message)


def policy_status(registry: Registry) -> Callable[[StoredObject], Awaitable[None]]:
    """What is to be called after every write of a policy."""

    async def follow(stored: StoredObject) -> None:
        current = registry.store.get(POLICIES, stored.key)
        if current is None or current.deleting:
            return
        generation = current.object()["metadata"].get("generation")
        if (current.object().get("status") or {}).get("observedGeneration") == generation:
            return
        from kube32_sim.api.policies.typechecking import type_warnings  # with all that knows CEL

        asked = Asked(registry.table.by_storage(POLICIES), "", stored.name, subresource="status", manager=MANAGER)

        warnings = type_warnings(current.object(), registry.table)
        checked = {"expressionWarnings": warnings} if warnings else {}

        def changed(obj: JsonObject) -> JsonObject:
            seen = {"observedGeneration": generation, "typeChecking": checked}
            return {**obj, "metadata": dict(obj["metadata"]), "status": {**(obj.get("status") or {}), **seen}}

        await registry.patch(asked, changed)

    return follow
