"""Kestrel, the scheduling core: exact, incremental, over integers; knows no Kubernetes, no I/O, no clock.

`run(operations)` replays operations against an empty cluster.  Who keeps a picture of a cluster of his own, as the
simulator's scheduler does, takes `profiles`, `models`, `nodes`, `choosing` and `filters`; `cluster` adds what happens
to pods: affinity, preemption, a log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kube32_sim.kestrel.operations import run

__all__ = ["run"]


def __getattr__(name: str) -> Any:
    """Import replays when they are asked for: a scheduler starts without them."""
    if name == "run":
        from kube32_sim.kestrel.operations import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
