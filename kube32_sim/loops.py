"""Which control loops run, and how each is started."""

from __future__ import annotations

from kube32_controllers.deployment_controller import DeploymentController
from kube32_controllers.garbage_collector import GarbageCollector
from kube32_controllers.namespace_controller import NamespaceController
from kube32_controllers.node_lifecycle_controller import NodeLifecycle, Timeouts
from kube32_controllers.scheduler import Scheduler
from kube32_controllers.serviceaccount_controller import ServiceAccountController
from kube32_controllers.workload_controller import DaemonSetController, JobController

from kube32_sim.api.resources import ResourceTable
from kube32_sim.clock import Clock
from kube32_sim.computed import ComputedEndpoints
from kube32_sim.local_client import LocalClient
from kube32_sim.options import ServeOptions
from kube32_sim.runtime.event_ttl import EventExpiry
from kube32_sim.runtime.loop import Runner
from kube32_sim.runtime.recorder import Recorder
from kube32_sim.runtime.view import StoreView
from kube32_sim.storage.memory import MemoryStore


def make_scheduler(options: ServeOptions, store: MemoryStore) -> Scheduler | None:
    """The scheduler, following the store; None where it is switched off."""
    if "scheduler" not in options.loops:
        return None
    scheduler = Scheduler(options.reconcile_interval)
    scheduler.load(store)
    store.subscribe(scheduler.cache.observe, [("", "nodes"), ("", "pods")])
    return scheduler


def timeouts(options: ServeOptions) -> Timeouts:
    return Timeouts(options.not_ready_timeout, options.eviction_timeout, options.lease_check_interval)


class Loops:
    """The runners of all loops that are switched on."""

    def __init__(
        self,
        options: ServeOptions,
        scheduler: Scheduler | None,
        table: ResourceTable,
        store: MemoryStore,
        client: LocalClient,
        recorder: Recorder,
        clock: Clock,
    ) -> None:
        period = options.reconcile_interval
        view = StoreView(store)
        self._runners = [Runner(EventExpiry(), view, client, recorder, clock, 60.0)]

        def add(loop: object, interval: float | None) -> None:
            self._runners.append(Runner(loop, view, client, recorder, clock, interval))  # type: ignore[arg-type]

        if scheduler is not None:
            add(scheduler, period)
        on = options.loops
        if "deployment" in on:
            add(DeploymentController(), period)
        if "daemonset" in on:
            add(DaemonSetController(), period)
        if "job" in on:
            add(JobController(), period)
        if "serviceaccount" in on:
            add(ServiceAccountController(), None)
        if "node-lifecycle" in on:
            add(NodeLifecycle(clock.now, timeouts(options)), options.lease_check_interval)
        computed = ComputedEndpoints.storages if "endpoints" in on else ()
        if "namespace" in on:
            namespaces = NamespaceController(store, table, computed)
            self._runners.append(Runner(namespaces, namespaces.source, client, recorder, clock, None))
        if "garbage-collector" in on:
            garbage = GarbageCollector(store, table, computed)
            self._runners.append(Runner(garbage, garbage.source, client, recorder, clock, None))

    def start(self) -> None:
        for runner in self._runners:
            runner.start()

    async def stop(self) -> None:
        for runner in reversed(self._runners):
            await runner.stop()
