"""`/metrics`: everything that there is to tell at this moment."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kube32_sim.clock import Clock, RealClock
from kube32_sim.metrics.meters import Meters
from kube32_sim.metrics.text import family, histograms, labelled
from kube32_sim.metrics.traffic import Traffic
from kube32_sim.storage.interface import Store
from kube32_sim.storage.watching import Hub
from kube32_sim.version import GIT_VERSION, VERSION

_STARTED = RealClock().now()
Seats = Callable[[], Mapping[str, int]]


class Metrics:
    """leads: whether this process is the leader; None where none is elected.  refused: how many requests met a bound,
    by status code.  inflight: requests that are worked on, by kind.
    """

    def __init__(
        self,
        store: Store,
        hub: Hub,
        clock: Clock,
        traffic: Traffic,
        meters: Meters,
        leads: Callable[[], bool | None] = lambda: None,
        refused: Mapping[int, int] = MappingProxyType({}),
        inflight: Seats = dict,
    ) -> None:
        self._store, self._hub, self._clock = store, hub, clock
        self._traffic, self._meters = traffic, meters
        self._leads, self._refused, self._inflight = leads, refused, inflight

    def text(self) -> str:
        parts = (
            self._server(),
            self._traffic.lines(),
            self._stored(),
            self._scheduler(),
            self._loops(),
            self._process(),
        )
        return "\n".join(line for part in parts for line in part) + "\n"

    def _server(self) -> Iterator[str]:
        version = labelled({"git_version": GIT_VERSION, "simulator_version": VERSION})
        yield from family("kubernetes_build_info", "gauge", "Which version is served, and by which.", [(version, 1)])
        yield from family(
            "apiserver_current_inflight_requests",
            "gauge",
            "Number of requests that are worked on, by kind; those of one object are answered at once.",
            [(labelled({"request_kind": kind}), number) for kind, number in self._inflight().items()],
        )
        watches = [('verb="WATCH"', self._hub.count())]
        yield from family("apiserver_longrunning_requests", "gauge", "Number of open watches.", watches)
        yield from family(
            "apiserver_watch_events_total",
            "counter",
            "Number of events that were sent to watches, by resource.",
            (
                (labelled({"group": group, "resource": plural}), number)
                for (group, plural), number in sorted(self._hub.told.items())
            ),
        )
        yield from family(
            "apiserver_request_terminations_total",
            "counter",
            "Number of requests that met a bound, by status code.",
            (
                (labelled({"code": str(code), "component": "apiserver"}), number)
                for code, number in sorted(self._refused.items())
            ),
        )
        if (leads := self._leads()) is not None:
            about = "Whether this replica runs the control loops."
            yield from family("leader_election_master_status", "gauge", about, [('name="kube32-sim"', int(leads))])

    def _stored(self) -> Iterator[str]:
        store = self._store
        yield from family(
            "apiserver_storage_objects",
            "gauge",
            "Number of stored objects, by resource.",
            [
                (labelled({"resource": f"{plural}.{group}" if group else plural}), store.count((group, plural)))
                for group, plural in sorted(store.storages())
            ],
        )
        about = "Newest resourceVersion."
        yield from family("kube32_sim_store_revision", "gauge", about, [("", store.revision)])
        about = "Whether what is written can be kept now (1) or not (0)."
        yield from family("kube32_sim_store_up", "gauge", about, [("", int(not store.trouble))])
        about = "The time that it is in the cluster, in seconds since 1970."
        labels = labelled({"mode": self._clock.mode})
        yield from family("kube32_sim_clock_seconds", "gauge", about, [(labels, self._clock.now())])

    def _scheduler(self) -> Iterator[str]:
        meter, scheduler = self._meters.scheduling, self._meters.scheduler
        profile = {"profile": scheduler.profile if scheduler is not None else ""}
        yield from family(
            "scheduler_schedule_attempts_total",
            "counter",
            "Number of attempts to find a node for a pod, by result.",
            ((labelled({**profile, "result": result}), number) for result, number in sorted(meter.attempts.items())),
        )
        yield from histograms(
            "scheduler_scheduling_attempt_duration_seconds",
            "How long attempts take, in seconds of the machine's time.",
            ((labelled({**profile, "result": result}), one) for result, one in sorted(meter.durations.items())),
        )
        if scheduler is not None:
            about, waiting = "Number of pods that wait for a node.", len(scheduler.cache.waiting)
            yield from family("scheduler_pending_pods", "gauge", about, [('queue="unschedulable"', waiting)])

    def _loops(self) -> Iterator[str]:
        loops = [(labelled({"name": name}), meter) for name, meter in sorted(self._meters.loops.items())]
        for name, kind, about, value in (
            ("workqueue_adds_total", "counter", "Number of keys that a loop looked at.", "adds"),
            ("workqueue_retries_total", "counter", "Number of them that had failed before.", "retries"),
            ("workqueue_depth", "gauge", "Number of keys that wait for the next pass.", "depth"),
            ("kube32_sim_loop_passes_total", "counter", "Number of passes of a loop.", "passes"),
        ):
            yield from family(name, kind, about, [(labels, getattr(meter, value)) for labels, meter in loops])
        yield from histograms(
            "workqueue_work_duration_seconds",
            "How long a loop works on a key, in seconds of the machine's time.",
            [(labels, meter.duration) for labels, meter in loops],
        )

    def _process(self) -> Iterator[str]:
        times = os.times()
        about = "Processor time of the process, in seconds."
        yield from family("process_cpu_seconds_total", "counter", about, [("", round(times.user + times.system, 3))])
        about = "When the process began, in seconds since 1970."
        yield from family("process_start_time_seconds", "gauge", about, [("", round(_STARTED, 3))])
        if sys.platform == "linux":
            yield from _linux()


def _linux() -> Iterator[str]:
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = file.read().split()
    size = os.sysconf("SC_PAGE_SIZE")
    about = "Memory of the process, in bytes."
    yield from family("process_resident_memory_bytes", "gauge", about, [("", int(pages[1]) * size)])
    yield from family("process_virtual_memory_bytes", "gauge", "Addresses, in bytes.", [("", int(pages[0]) * size)])
    number = len(os.listdir("/proc/self/fd")) - 1  # without the one by which they are listed
    yield from family("process_open_fds", "gauge", "Number of open files and connections.", [("", number)])
