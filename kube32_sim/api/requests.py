"""What a pod asks for: the one rule that scheduler and boards count by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

JsonObject = dict[str, Any]
Amounts = dict[str, int]

DEFAULT_MEMORY = 16 * 1024
"""Bytes, of a pod in which no container says how much memory it wants: what a board sets aside for it."""


def declared(container: JsonObject) -> Mapping[str, Any]:
    """Quantities by resource: the container's request, or its limit where it has no request."""
    resources = container.get("resources")
    if not resources:
        return {}
    return {**(resources.get("limits") or {}), **(resources.get("requests") or {})}


def pod_totals(
    spec: JsonObject, amounts_of: Callable[[JsonObject], Amounts], defaults: Mapping[str, int] | None = None
) -> Amounts:
    """Per resource the larger of the sum over the containers and the largest init container.

    amounts_of: what one container asks for, as numbers.  defaults: of resources that no container declares; None: of
    memory alone.
    """
    totals: Amounts = {}
    for container in spec.get("containers") or ():
        for name, value in amounts_of(container).items():
            totals[name] = totals.get(name, 0) + value
    for container in spec.get("initContainers") or ():
        for name, value in amounts_of(container).items():
            totals[name] = max(totals.get(name, 0), value)
    return {"memory": DEFAULT_MEMORY, **totals} if defaults is None else {**defaults, **totals}
