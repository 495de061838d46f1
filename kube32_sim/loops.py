"""Which control loops run, and how each is started."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kube32_controllers.deployment_controller import DeploymentController
from kube32_controllers.disruption_controller import DisruptionController
from kube32_controllers.garbage_collector import GarbageCollector
from kube32_controllers.namespace_controller import NamespaceController
from kube32_controllers.node_lifecycle_controller import NodeLifecycle, Timeouts
from kube32_controllers.pod_garbage_collector import CHECK_PERIOD, PodGarbageCollector
from kube32_controllers.resource_quota_controller import ResourceQuotaController
from kube32_controllers.scheduler import COMPONENT as SCHEDULING
from kube32_controllers.scheduler import Scheduler
from kube32_controllers.serviceaccount_controller import ServiceAccountController
from kube32_controllers.serviceaccount_token_controller import ServiceAccountTokenController
from kube32_controllers.volume_protection import VolumeProtection
from kube32_controllers.workload_controller import DaemonSetController, JobController

from kube32_sim.api.account_tokens import OF_THIS_PROCESS, SigningKey
from kube32_sim.api.resources import ResourceTable
from kube32_sim.api.users import User, service_account
from kube32_sim.clock import Clock, turn
from kube32_sim.local_client import LocalClient
from kube32_sim.metrics.meters import LoopMeter, Meters, SchedulingMeter, stopwatch
from kube32_sim.options import ServeOptions
from kube32_sim.registry.computed import ComputedEndpoints
from kube32_sim.runtime.actions import Create, Loop
from kube32_sim.runtime.event_ttl import EventExpiry
from kube32_sim.runtime.loop import Runner, Source
from kube32_sim.runtime.recorder import Recorder
from kube32_sim.runtime.view import StoreView
from kube32_sim.storage.interface import Store

EXPIRY_PERIOD = 60.0
"""Seconds between two looks for events that have been kept long enough."""
LOAD_STRIDE = 128
"""Pods that the scheduler takes note of before others have their turn."""
CONTROLLERS, SCHEDULER = "kube-controller-manager", "kube-scheduler"
"""The programs that loops are parts of: the field managers of what they write."""
_ACCOUNTS = {
    "deployment": "deployment-controller",
    "daemonset": "daemon-set-controller",
    "job": "job-controller",
    "node-lifecycle": "node-controller",
    "serviceaccount": "service-account-controller",
    "pod-garbage-collector": "pod-garbage-collector",
    "namespace": "namespace-controller",
    "garbage-collector": "generic-garbage-collector",
    "disruption": "disruption-controller",
    "resourcequota": "resourcequota-controller",
    "volume-protection": "pvc-protection-controller",
}
"""The ServiceAccounts (of kube-system) as which Kubernetes runs the loops: webhooks and policies go by who writes."""


def _user(program: str) -> User:
    return User(f"system:{program}", "", ("system:authenticated",))


def user_of(loop: str) -> User:
    """As whom a loop writes; those without an account of their own as the program that they are a part of."""
    if loop == "scheduler":
        return _user(SCHEDULER)
    return service_account("kube-system", _ACCOUNTS[loop]) if loop in _ACCOUNTS else _user(CONTROLLERS)


async def make_scheduler(options: ServeOptions, store: Store, *, still: bool = False) -> Scheduler | None:
    """The scheduler, following the store; None where it is switched off.

    still: nobody writes yet, so others may have their turns while it looks at what there is.
    """
    if "scheduler" not in options.loops:
        return None
    scheduler = _scheduler_of(options.scheduler_profile, options.reconcile_interval)
    if still and scheduler.profile == "kube32":  # the other one takes pods by their age, all at once
        scheduler.cache.load(store.list(("", "nodes")), ())
        pods = store.list(("", "pods"))
        for start in range(0, len(pods), LOAD_STRIDE):
            scheduler.cache.load((), pods[start : start + LOAD_STRIDE])
            await turn()
    else:
        scheduler.load(store)
    store.subscribe(scheduler.cache.observe, [("", "nodes"), ("", "pods")], [("", "nodes")])
    return scheduler


def _scheduler_of(profile: str, interval: float) -> Scheduler:
    if profile == Scheduler.profile:
        return Scheduler(interval)
    from kube32_controllers.kestrel_scheduler import KestrelScheduler  # with affinity and preemption: few want it

    return KestrelScheduler(interval)


def make_recorder(client: LocalClient, clock: Clock) -> Recorder:
    """What writes the events of all loops, each as the program that it is a part of."""
    programs = {program: client.of(program, _user(program)) for program in (CONTROLLERS, SCHEDULER)}
    return Recorder(programs[CONTROLLERS], clock, others={SCHEDULING: programs[SCHEDULER]})


def timeouts(options: ServeOptions) -> Timeouts:
    return Timeouts(options.not_ready_timeout, options.eviction_timeout, options.lease_check_interval)


class MeteredBinder:
    """The scheduler inside the create request, with its attempts counted (a `hooks.Binder`)."""

    def __init__(self, scheduler: Scheduler, meter: SchedulingMeter) -> None:
        self._scheduler, self._meter = scheduler, meter

    def bind_on_create(self, pod: dict[str, object], now: str) -> object:
        begun = stopwatch()
        events = self._scheduler.bind_on_create(pod, now)
        if events:
            self._meter.note("scheduled" if events[0].type == "Normal" else "unschedulable", stopwatch() - begun)
        return events

    def misfit(self, pod: dict[str, object], node: str) -> str:
        return self._scheduler.misfit(pod, node)


class RetryMeter(LoopMeter):
    """The scheduler's loop: its work is attempts."""

    __slots__ = ("_scheduling",)

    def __init__(self, scheduling: SchedulingMeter) -> None:
        super().__init__()
        self._scheduling = scheduling

    def note(self, actions: Sequence[object], seconds: float, *, done: bool) -> None:
        super().note(actions, seconds, done=done)
        if actions:
            binds = any(isinstance(one, Create) for one in actions)
            self._scheduling.note("error" if not done else "scheduled" if binds else "unschedulable", seconds)


class Loops:
    """The runners of all loops that are switched on."""

    def __init__(
        self,
        options: ServeOptions,
        scheduler: Scheduler | None,
        table: ResourceTable,
        store: Store,
        client: LocalClient,
        recorder: Recorder,
        clock: Clock,
        ca: str = "",
        key: SigningKey = OF_THIS_PROCESS,
        meters: Meters | None = None,
    ) -> None:
        """ca: the certificate by which clients know the server, PEM; "" for none.  key: signs tokens.

        meters: of the loops' work.
        """
        view = StoreView(store)
        computed = ComputedEndpoints.storages if "endpoints" in options.loops else ()
        every, at_once = options.reconcile_interval, None
        meters = meters or Meters()

        def runner(loop: Loop, interval: float | None, source: Source = view) -> Runner:
            writer = client.of(SCHEDULER if loop is scheduler else CONTROLLERS, user_of(loop.name))
            meter = meters.loops.get(loop.name)
            if meter is None:
                meter = RetryMeter(meters.scheduling) if loop is scheduler else LoopMeter()
                meters.loops[loop.name] = meter
            return Runner(loop, source, writer, recorder, clock, interval, meter)

        def sweeping(loop: NamespaceController | GarbageCollector | ResourceQuotaController) -> Runner:
            return runner(loop, at_once, loop.source)

        makers: dict[str, Callable[[], Runner]] = {
            "deployment": lambda: runner(DeploymentController(), every),
            "daemonset": lambda: runner(DaemonSetController(), every),
            "job": lambda: runner(JobController(), every),
            "node-lifecycle": lambda: runner(NodeLifecycle(clock.now, timeouts(options)), options.lease_check_interval),
            "serviceaccount": lambda: runner(ServiceAccountController(), at_once),
            "pod-garbage-collector": lambda: runner(PodGarbageCollector(), CHECK_PERIOD),
            "namespace": lambda: sweeping(NamespaceController(store, table, computed)),
            "garbage-collector": lambda: sweeping(GarbageCollector(store, table, computed)),
        }
        self._runners = [runner(EventExpiry(), EXPIRY_PERIOD)]
        if scheduler is not None:
            self._runners.append(runner(scheduler, every))
        if options.loops:  # with others to act, what only tells of it or clears up is not to be missing either
            self._runners.append(runner(DisruptionController(table), at_once))
            self._runners.append(sweeping(ResourceQuotaController(store, table)))
            self._runners.append(runner(VolumeProtection(), at_once))
        if "serviceaccount" in options.loops:
            self._runners.append(runner(ServiceAccountTokenController(ca, key), at_once))
        self._runners += [make() for name, make in makers.items() if name in options.loops]

    def start(self) -> None:
        for runner in self._runners:
            runner.start()

    async def stop(self) -> None:
        for runner in reversed(self._runners):
            await runner.stop()
