"""What `kube32-sim serve` runs: a cluster, until it is cancelled."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace

from kube32_sim.cluster import Cluster
from kube32_sim.greeting import greeting
from kube32_sim.kubeconfig import full_path
from kube32_sim.options import KUBECONFIG, ServeOptions


def _settle_memory() -> None:
    """What is there at the start stays: spare the garbage collector looking at it, and let it look more rarely."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


async def serve(options: ServeOptions) -> None:
    """Run a cluster until cancelled; prints one line when it is ready, and how to use it."""
    path = full_path(options.kubeconfig or KUBECONFIG)
    gc.disable()  # it would look again and again at all that a store brings back
    async with Cluster(replace(options, kubeconfig=path)) as cluster:
        _settle_memory()
        # in one piece: who reads only the first line, and closes the pipe, stops nothing
        print("\n".join(greeting(options, cluster.url, cluster.port, path)), flush=True)
        await asyncio.get_running_loop().create_future()
