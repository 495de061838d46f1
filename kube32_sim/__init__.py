"""kube32-sim: a Kubernetes-API-compatible fake control plane for ESP32 boards.

As a library: `async with kube32_sim.Cluster(kube32_sim.ServeOptions(port=0)) as cluster`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kube32_sim.cluster import Cluster
    from kube32_sim.options import ServeOptions

__all__ = ["Cluster", "ServeOptions"]


def __getattr__(name: str) -> Any:
    """Import a part when it is asked for: the command line answers `--help` without importing everything."""
    if name == "Cluster":
        from kube32_sim.cluster import Cluster

        return Cluster
    if name == "ServeOptions":
        from kube32_sim.options import ServeOptions

        return ServeOptions
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
