"""Store, registry, in-process client, recorder and loops on a virtual clock, without a server."""

from contextlib import asynccontextmanager

from kube32_controllers.scheduler import Scheduler, creation_events
from kube32_controllers.taint_eviction import UNBIND

from kube32_sim.api.admission import AdmissionConfig
from kube32_sim.api.allocation import Allocators
from kube32_sim.api.builtin import builtin_table
from kube32_sim.bootstrap import SYSTEM_NAMESPACES
from kube32_sim.client import NAMESPACES
from kube32_sim.clock import VirtualClock
from kube32_sim.ids import Ids
from kube32_sim.local_client import LocalClient
from kube32_sim.registry.hooks import WriteHooks
from kube32_sim.registry.journal import Journal
from kube32_sim.registry.registry import Registry
from kube32_sim.registry.unbinding import unbind
from kube32_sim.runtime.loop import Runner
from kube32_sim.runtime.recorder import Recorder
from kube32_sim.runtime.view import StoreView
from kube32_sim.storage.memory import MemoryStore
from kube32_sim.storage.watching import Hub


class Client(LocalClient):
    async def update(self, resource, namespace, obj, *, subresource=""):
        if subresource == UNBIND:
            asked = self._asked(self._row(resource), namespace, obj["metadata"]["name"], subresource)
            return await unbind(self._registry, asked, obj)
        return await super().update(resource, namespace, obj, subresource=subresource)


class ControlPlane:
    """`run(loop, interval)` starts a loop; `clock.advance` and `clock.settle` drive everything."""

    def __init__(self, binds=True):
        self.clock = VirtualClock()
        table = builtin_table()
        self.store = MemoryStore(table, self.clock)
        self.view = StoreView(self.store)
        self.scheduler = Scheduler()
        self.scheduler.load(self.store)
        self.store.subscribe(self.scheduler.cache.observe, [("", "nodes"), ("", "pods")], [("", "nodes")])
        ids = Ids(0)
        hub = Hub(self.store, self.clock.gauge)
        self.journal = Journal(self.clock)
        addresses = Allocators(ids, "10.96.0.0/16", (30000, 32767))
        hooks = WriteHooks(addresses, self.scheduler if binds else None, self._announce, ids, self.journal)
        config = AdmissionConfig(default_toleration_seconds=300, taint_new_nodes=False, service_accounts=False)
        registry = Registry(table, self.store, self.clock, ids, config, hooks)
        self.client = Client(registry, hub)
        self.recorder = Recorder(self.client, self.clock)
        self._running = []

    def _announce(self, pod):
        for event in creation_events(pod):
            self.recorder.record(event)

    def run(self, loop, interval):
        runner = Runner(loop, self.view, self.client, self.recorder, self.clock, interval)
        runner.start()
        self._running.append(runner)
        return runner

    async def start(self):
        for name in SYSTEM_NAMESPACES:
            await self.client.create(NAMESPACES, "", {"metadata": {"name": name}})
        self.recorder.start()
        self._running.append(self.recorder)

    async def stop(self):
        while self._running:
            await self._running.pop().stop()


@asynccontextmanager
async def control_plane(**options):
    plane = ControlPlane(**options)
    await plane.start()
    try:
        yield plane
    finally:
        await plane.stop()
