"""What a whole pod asks for: sums over its containers, as upstream's resource helpers count them."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.quantity import Quantity, add, parse
from kube32_sim.api.validation.pod_resources import aggregate

JsonObject = dict[str, Any]
Amounts = dict[str, Quantity]


_POD_LEVEL = ("cpu", "memory")
"""What a pod may say of itself as a whole, besides huge pages; that stands in the place of the containers' sums."""


def pod_totals(spec: JsonObject) -> tuple[Amounts, Amounts]:
    """(requests, limits) of a pod: its containers together, or its largest init container where that is more.

    Sidecars (init containers that restart always) run beside the containers and beside later init containers.
    """
    return _total(spec, "requests"), _total(spec, "limits")


def _total(spec: JsonObject, kind: str) -> Amounts:
    total = aggregate(spec, kind)
    for name, text in ((spec.get("resources") or {}).get(kind) or {}).items():
        if name in _POD_LEVEL or name.startswith("hugepages-"):
            total[name] = parse(text)
    for name, text in (spec.get("overhead") or {}).items():
        amount = parse(text)
        total[name] = add(total[name], amount) if name in total else amount
    return total
