"""Which strategy a kind has: the per-area tables put together.

Each area module holds `STRATEGIES`, a map of (group, kind) to a strategy; a kind in none of them gets the generic one.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from kube32_sim.api.strategies.base import Strategy

_AREAS = (
    "pods",
    "core",
    "workloads",
    "batch",
    "services",
    "config",
    "admission_registration",
    "custom_definitions",
    "storage",
    "policy",
)


@cache
def _strategies() -> dict[tuple[str, str], Strategy]:
    merged: dict[tuple[str, str], Strategy] = {}
    for area in _AREAS:
        merged.update(import_module(f"{__name__}.{area}").STRATEGIES)
    return merged


_GENERIC = Strategy()


def strategy_for(group: str, kind: str) -> Strategy:
    """The strategy of a kind (the same for all its versions)."""
    return _strategies().get((group, kind), _GENERIC)
