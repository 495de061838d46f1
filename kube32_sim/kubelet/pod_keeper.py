"""The pods of one board: which there are, what each is doing, and writing that down at the API server.

What happens to a pod is decided in `pod_life.py`, what a board takes on in `claims.py`; here is who remembers it and
how it is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kube32_sim.api.errors import ApiError
from kube32_sim.api.requests import Amounts
from kube32_sim.api.steering import problems
from kube32_sim.client import PODS, Client, WatchEvent
from kube32_sim.clock import Clock
from kube32_sim.kubelet import addresses
from kube32_sim.kubelet.boards import Profile
from kube32_sim.kubelet.claims import admit, free, pod_requests
from kube32_sim.kubelet.pod_life import Advanced, Happening, PodLife, advance, begin, killing, lose, refuse, reset
from kube32_sim.kubelet.pod_status import pod_status, resume, status_patch
from kube32_sim.runtime.actions import Emit, reference
from kube32_sim.runtime.recorder import Recorder

JsonObject = dict[str, Any]

COMPONENT = "kubelet"
Key = tuple[str, str]


FIRST_RETRY = 0.5
LONGEST_RETRY = 10.0


@dataclass(slots=True)
class Entry:
    """One pod.  due: when to look at it next, None until it changes.  untold: events still to be recorded.

    complaints: what is wrong with its annotations, as far as it has been noted.
    pause: how long to wait should the API server not take what there is to tell.
    """

    pod: JsonObject
    requests: Amounts
    due: float | None = 0.0
    life: PodLife | None = None
    ip: str = ""
    untold: list[Happening] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    deleted: bool = False
    pause: float = FIRST_RETRY

    @property
    def holds(self) -> bool:
        """Whether it has a part of the board."""
        return self.life is not None and not self.life.over

    @property
    def reported(self) -> bool:
        """Whether the board's report counts it: running as the API server knows it, and not waiting to restart.

        The scheduler subtracts all other pods itself.
        """
        life = self.life
        running = (self.pod.get("status") or {}).get("phase") == "Running"
        return life is not None and not life.over and running and not any(c.waiting_until for c in life.containers)

    def look_again(self, at: float | None) -> None:
        """Be due at `at`, unless it is sooner already: the pod may have changed meanwhile."""
        if at is not None and (self.due is None or at < self.due):
            self.due = at


class PodKeeper:
    """All pods bound to one board.  Only `tend` talks to the API server."""

    def __init__(self, client: Client, clock: Clock, recorder: Recorder, name: str, profile: Profile) -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._profile = profile
        self._number = addresses.node_number(name)
        self._host_ip = profile.host_ip or addresses.node_ip(self._number)
        self._entries: dict[Key, Entry] = {}
        self._addresses: set[str] = set()

    def free(self) -> Amounts:
        """What the board measures as left."""
        return free(self._profile, (entry.requests for entry in self._entries.values() if entry.reported))

    def next_due(self) -> float | None:
        return min((entry.due for entry in self._entries.values() if entry.due is not None), default=None)

    def due(self) -> list[Entry]:
        """Pods to look at now, in the order in which they came."""
        now = self._clock.now()
        return [entry for entry in self._entries.values() if entry.due is not None and entry.due <= now]

    def replace_all(self, pods: list[JsonObject]) -> None:
        """The whole truth about which pods are bound to the board."""
        for key in self._entries.keys() - {_key(pod) for pod in pods}:
            self._forget(key)
        for pod in pods:
            self._see(pod)

    def resume_all(self) -> None:
        """Go on with the pods that run already."""
        for entry in self._entries.values():
            if entry.life is None and resume(entry.pod, self._clock.now()) is not None:
                self._take_on(entry)

    def look_at_all(self) -> None:
        for entry in self._entries.values():
            entry.due = 0.0

    def power_cycle(self, off: float) -> None:
        """The board was off since `off`, and keeps nothing in flash.

        Pods that it had, and had not reported as finished, are gone, and so is what it had to tell of others.  Those
        that came meanwhile are new to it.
        """
        for entry in self._entries.values():
            if entry.life is None:
                continue
            entry.untold.clear()
            if (entry.pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
                entry.life, lost = lose(entry.life, off, self._clock.now())
                entry.untold.append(lost)

    def halt(self) -> None:
        """Follow all up to now, when the chip is reset; what there was to tell is lost with its memory."""
        for entry in self._entries.values():
            if entry.life is not None:
                self._follow(entry, entry.life)
                entry.untold.clear()

    def reset(self, off: float) -> None:
        """It has booted, having been reset at `off`: its pods go on as far as their policies have it so."""
        now = self._clock.now()
        for entry in self._entries.values():
            if entry.life is not None:
                entry.life, happenings = reset(entry.pod, entry.life, off, now)
                entry.untold.extend(happenings)

    def on_event(self, event: WatchEvent) -> None:
        pod = event.object
        entry = self._entries.get(_key(pod))
        if event.type == "DELETED":
            if entry is not None and _uid(entry.pod) == _uid(pod):
                self._forget(_key(pod))
        elif entry is None or _revision(entry.pod) != _revision(pod):  # equal: the board's own write
            self._see(pod)

    def _see(self, pod: JsonObject) -> None:
        entry = self._entries.get(_key(pod))
        if entry is not None and _uid(entry.pod) != _uid(pod):
            self._forget(_key(pod))
            entry = None
        if entry is None:
            entry = self._entries[_key(pod)] = Entry(pod, pod_requests(pod))
        elif entry.pod["metadata"].get("generation") != pod["metadata"].get("generation"):
            entry.requests = pod_requests(pod)  # it was resized
        if entry.life is not None and _annotations(entry.pod) != _annotations(pod):
            self._follow(entry, entry.life)  # what it was told before holds until now
        entry.pod, entry.due = pod, 0.0

    def _follow(self, entry: Entry, life: PodLife) -> Advanced:
        """Its life up to now."""
        step = advance(entry.pod, life, self._clock.now())
        entry.life = step.life
        entry.untold.extend(step.happenings)
        return step

    def _forget(self, key: Key) -> None:
        self._addresses.discard(self._entries.pop(key).ip)

    async def tend(self, entry: Entry, *, silent: bool = False) -> None:
        """Bring one pod up to date: its life, then what the API server knows of it.

        silent: the board is cut off; the pod goes on, and what there is to tell waits.
        """
        if self._entries.get(_key(entry.pod)) is not entry:
            return  # it has gone since it was due
        entry.due = None
        if entry.life is None:
            self._take_on(entry)
        if entry.life is None:
            if not silent:
                await self._remove(entry)
            return
        _complain(entry)
        step = self._follow(entry, entry.life)
        entry.look_again(step.again_at)
        if not silent:
            await self._tell(entry, step.life, step.gone)

    def _take_on(self, entry: Entry) -> None:
        """A pod that is new to the agent: it may run already, from before the agent was restarted.

        One that is being deleted is not started any more: it gets no life.
        """
        pod, now = entry.pod, self._clock.now()
        entry.ip = self._address(pod)
        entry.life = resume(pod, now)
        if entry.life is not None:
            entry.complaints = problems("Pod", pod["metadata"])  # the agent before has told them
            entry.untold.extend(killing(pod, entry.life) if entry.life.stopping is not None else ())
        if entry.life is not None or pod["metadata"].get("deletionTimestamp"):
            return
        refused = admit(pod, self._profile, [other.requests for other in self._others(entry)])
        entry.life, happenings = begin(pod, now) if refused is None else refuse(pod, now, refused)
        entry.untold.extend(happenings)

    def _address(self, pod: JsonObject) -> str:
        if pod["spec"].get("hostNetwork"):
            return self._host_ip
        ip = (pod.get("status") or {}).get("podIP") or addresses.pod_ip(self._number, self._addresses)
        self._addresses.add(ip)
        return str(ip)

    def _others(self, entry: Entry) -> Iterator[Entry]:
        return (other for other in self._entries.values() if other is not entry and other.holds)

    async def _tell(self, entry: Entry, life: PodLife, gone: bool) -> None:
        """Write the status where it differs, then the events, then remove a pod that has stopped."""
        if entry.deleted:
            return
        try:
            await self._write_status(entry, life)
            for told in entry.untold:
                about = reference("v1", "Pod", entry.pod, told.field)
                self._recorder.record(Emit(about, told.type, told.reason, told.message, COMPONENT))
            entry.untold.clear()
            if gone:
                await self._remove(entry)
        except ApiError as error:
            if error.code != 404:
                raise  # a conflict too: the newer pod comes by watch, or the next try sees it

    async def _write_status(self, entry: Entry, life: PodLife) -> None:
        pod, meta = entry.pod, entry.pod["metadata"]
        old = pod.get("status") or {}
        changes = status_patch(old, pod_status(pod, life, self._host_ip, entry.ip))
        if not changes:
            return
        patch = {"metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}, "status": changes}
        written = await self._client.patch(PODS, meta["namespace"], meta["name"], patch, subresource="status")
        if entry.pod is pod:
            entry.pod = written

    async def _remove(self, entry: Entry) -> None:
        """The last word on a pod that has stopped; it may stay on for its finalizers."""
        meta = entry.pod["metadata"]
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
        try:
            await self._client.delete(PODS, meta["namespace"], meta["name"], options=options)
        except ApiError as error:
            if error.code != 404:
                raise
        entry.deleted = True


def _complain(entry: Entry) -> None:
    """Note what is newly wrong with the pod's annotations."""
    found = problems("Pod", entry.pod["metadata"])
    new = (problem for problem in found if problem not in entry.complaints)
    entry.untold.extend(Happening("Warning", "InvalidAnnotation", problem) for problem in new)
    entry.complaints = found


def _key(pod: JsonObject) -> Key:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def _annotations(pod: JsonObject) -> JsonObject:
    return pod["metadata"].get("annotations") or {}


def _uid(pod: JsonObject) -> str:
    return str(pod["metadata"]["uid"])


def _revision(pod: JsonObject) -> str:
    return str(pod["metadata"]["resourceVersion"])
