"""Types of the simulator's own, group `sim.kube32.io`: their definitions, beside those of Kubernetes (`schema`).

One module a type.  The rows that serve them are in `builtin.py`, like all others; decoding, OpenAPI and messages follow
from both.  What answers for them is put together in `assembling.py`.
"""

from __future__ import annotations

from kube32_sim.api.own import clocks, explanations, faults, forks, previews, recordings, snapshots
from kube32_sim.api.own.parts import API_VERSION, GROUP, PREFIX, VERSION, JsonObject

__all__ = ["API_VERSION", "GROUP", "PREFIX", "VERSION", "definitions"]

_TYPES = (clocks, explanations, faults, forks, previews, recordings, snapshots)


def definitions() -> dict[str, JsonObject]:
    """By key, in the form of `schema.all_definitions`."""
    return {f"{PREFIX}.{name}": entry for one in _TYPES for name, entry in one.definitions().items()}
