"""What a whole pod asks for: sums over its containers, as upstream's resource helpers count them."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.quantity import Quantity, add, parse

JsonObject = dict[str, Any]
Amounts = dict[str, Quantity]


def pod_totals(spec: JsonObject) -> tuple[Amounts, Amounts]:
    """(requests, limits) of a pod: its containers together, or its largest init container where that is more.

    Sidecars (init containers that restart always) run beside the containers and beside later init containers.
    """
    return _total(spec, "requests"), _total(spec, "limits")


def _total(spec: JsonObject, kind: str) -> Amounts:
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, kind))
    beside: Amounts = {}
    most: Amounts = {}
    for container in spec.get("initContainers") or ():
        amounts = _amounts(container, kind)
        if container.get("restartPolicy") == "Always":
            _add(beside, amounts)
            _raise(most, beside)
        else:
            together = dict(beside)
            _add(together, amounts)
            _raise(most, together)
    _add(total, beside)
    _raise(total, most)
    _add(total, {name: parse(text) for name, text in (spec.get("overhead") or {}).items()})
    return total


def _amounts(container: JsonObject, kind: str) -> Amounts:
    given = (container.get("resources") or {}).get(kind) or {}
    return {name: parse(text) for name, text in given.items()}


def _add(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = add(total[name], amount) if name in total else amount


def _raise(total: Amounts, amounts: Amounts) -> None:
    """Make each amount at least what `amounts` has."""
    for name, amount in amounts.items():
        if name not in total or total[name].nanos < amount.nanos:
            total[name] = amount
