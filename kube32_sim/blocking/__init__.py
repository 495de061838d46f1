"""A cluster for programs that do not await: it runs in the event loop of a thread of its own.

with Cluster(nodes=2, clock="virtual") as cluster:
    cluster.advance("330s")
    pods = cluster.list("pods")

`Cluster.__enter__` answers a `BlockingCluster`, and so does the fixture `kube32` of the plugin for pytest
(`kube32_sim.testing`).  Every method waits for its answer; `cluster.aio` has the same methods for programs that await,
in an event loop of their own.
"""

from __future__ import annotations

from kube32_sim.blocking.handle import AsyncCluster, BlockingCluster, entered
from kube32_sim.blocking.loop import lease, release
from kube32_sim.blocking.matching import Matching, matching

__all__ = ["AsyncCluster", "BlockingCluster", "Matching", "entered", "lease", "matching", "release"]
