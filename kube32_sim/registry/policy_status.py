"""The status of ValidatingAdmissionPolicies: which generation has been looked at.

Upstream's controller checks the types of expressions against the schemas of what a policy is for and tells what it
finds as `typeChecking`; here nothing is found.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kube32_sim.registry.asked import Asked
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import JsonObject, Storage
from kube32_sim.storage.objects import StoredObject

POLICIES: Storage = ("admissionregistration.k8s.io", "validatingadmissionpolicies")
MANAGER = "validatingadmissionpolicy-status-controller"


def policy_status(registry: Registry) -> Callable[[StoredObject], Awaitable[None]]:
    """What is to be called after every write of a policy."""

    async def follow(stored: StoredObject) -> None:
        current = registry.store.get(POLICIES, stored.key)
        if current is None or current.deleting:
            return
        generation = current.object()["metadata"].get("generation")
        if (current.object().get("status") or {}).get("observedGeneration") == generation:
            return
        asked = Asked(registry.table.by_storage(POLICIES), "", stored.name, subresource="status", manager=MANAGER)

        def changed(obj: JsonObject) -> JsonObject:
            seen = {"observedGeneration": generation, "typeChecking": {}}
            return {**obj, "metadata": dict(obj["metadata"]), "status": {**(obj.get("status") or {}), **seen}}

        await registry.patch(asked, changed)

    return follow
