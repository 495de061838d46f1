"""Taking a bound pod off its node: what the API has no verb for and node lifecycle needs.

Reachable in process only: `unbind` is in no row's subresources, so no path leads to it.
"""

from __future__ import annotations

from kube32_sim.api import errors
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import JsonObject


async def unbind(registry: Registry, asked: Asked, pod: JsonObject) -> JsonObject:
    """Replace a pod by its evicted form, provided it is still the one that was looked at (else 409)."""
    row = asked.row

    def change(current: JsonObject) -> JsonObject:
        if current["metadata"]["resourceVersion"] != pod["metadata"]["resourceVersion"]:
            raise errors.conflict(row.group, row.plural, asked.name, errors.MODIFIED)
        return {**current, "spec": pod["spec"], "status": pod["status"]}

    result = await registry.finish(asked, change)
    return {"kind": row.kind, "apiVersion": row.api_version, **result.object()}
