"""The life of a pod on a board, as a pure state machine: what its containers have done, and what is due next.

A `PodLife` is what a kubelet remembers of a pod.  `begin` starts one, `advance` moves it on to a point in time, from
due moment to due moment, so that it comes to the same whether it is looked at often or once.  `pod_status.py` prints
a life as `status` (and reads one back); `agent.py` keeps the lives of one board and talks to the API server.

Containers start at once; init containers are done at once, in their order.  How long the others run and how they end
is in the pod's annotations (`behaviour.py`).  SIGTERM ends a container at once, after the sleep of a preStop hook.
Restarts wait as a kubelet's do: the first not at all, then 10 s, doubled up to 5 min.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kube32_sim.durations import format_duration
from kube32_sim.kubelet.behaviour import Behaviour, behaviour_of, lasts
from kube32_sim.kubelet.claims import Rejection

JsonObject = dict[str, Any]

BACK_OFF = 10.0
MAX_BACK_OFF = 300.0
BACK_OFF_FORGOTTEN = 600.0
"""A container that ran this long starts its back-off anew."""
KILLED = 143
"""Exit code of a process that SIGTERM ended."""
POWER_LOST = 255
"""Exit code of a container that ended without a kubelet to see it."""
BROWNOUT = "Brownout detector was triggered"
"""What an ESP32 prints when its supply voltage has dropped, and it resets."""
LOST = Rejection("Terminated", "The board was switched off, and nothing is left of the pod")


@dataclass(frozen=True, slots=True)
class Ended:
    """One finished run of a container.  message: what is known of its end besides."""

    code: int
    started: float
    finished: float
    message: str = ""


@dataclass(frozen=True, slots=True)
class ContainerLife:
    """running: since when.  ended: the run that was the final one.  last: the latest run before a restart.

    waiting_until: when the back-off ends; None unless in back-off.  back_off: seconds that the latest restart waited,
    None before the first.
    A container with none of running, ended and waiting_until was never started.
    """

    name: str
    running: float | None = None
    ended: Ended | None = None
    last: Ended | None = None
    restarts: int = 0
    back_off: float | None = None
    waiting_until: float | None = None


@dataclass(frozen=True, slots=True)
class PodLife:
    """seen: how far the life has been followed.  stopping: since when the pod is being deleted.

    failed: why the pod as a whole failed: refused at admission, past its deadline, or lost with its board.
    """

    started: float
    seen: float
    init: tuple[ContainerLife, ...]
    containers: tuple[ContainerLife, ...]
    stopping: float | None = None
    failed: Rejection | None = None

    @property
    def over(self) -> bool:
        """Nothing runs, and nothing will again."""
        return self.failed is not None or all(container.ended for container in self.containers)


@dataclass(frozen=True, slots=True)
class Happening:
    """Something to tell as an event.  field: path of the container concerned, "" for the pod itself."""

    type: str
    reason: str
    message: str
    field: str = ""


@dataclass(frozen=True, slots=True)
class Advanced:
    """again_at: when to look again though nothing changes.  gone: stopped, the object can be removed."""

    life: PodLife
    happenings: tuple[Happening, ...] = ()
    again_at: float | None = None
    gone: bool = False


def begin(pod: JsonObject, now: float) -> tuple[PodLife, tuple[Happening, ...]]:
    """A pod that the board takes on: its init containers are done, the others run."""
    spec = pod["spec"]
    happenings: list[Happening] = []
    init = []
    for container in spec.get("initContainers") or ():
        happenings.extend(_starting(pod, container))
        if is_sidecar(container):
            init.append(ContainerLife(container["name"], running=now))
        else:
            init.append(ContainerLife(container["name"], ended=Ended(0, now, now)))
    for container in spec["containers"]:
        happenings.extend(_starting(pod, container))
    containers = tuple(ContainerLife(container["name"], running=now) for container in spec["containers"])
    return PodLife(now, now, tuple(init), containers), tuple(happenings)


def refuse(pod: JsonObject, now: float, why: Rejection) -> tuple[PodLife, tuple[Happening, ...]]:
    """A pod that the board does not take on: it has failed, and no container was started."""
    spec = pod["spec"]
    init = tuple(ContainerLife(container["name"]) for container in spec.get("initContainers") or ())
    containers = tuple(ContainerLife(container["name"]) for container in spec["containers"])
    message = why.message.removeprefix("Pod was rejected: ")
    return PodLife(now, now, init, containers, failed=why), (Happening("Warning", why.reason, message),)


def advance(pod: JsonObject, life: PodLife, now: float) -> Advanced:
    """Follow a life up to `now`."""
    happenings: list[Happening] = []
    behaviour = behaviour_of(pod)
    if life.stopping is None and pod["metadata"].get("deletionTimestamp"):
        life = replace(life, stopping=now)
        happenings.extend(killing(pod, life))
    while (due := _due(pod, life, behaviour)) is not None and due <= now:
        life = _step(pod, life, behaviour, max(due, life.seen), happenings)
    life = replace(life, seen=max(now, life.seen))
    if life.stopping is not None and life.over:
        return Advanced(life, tuple(happenings), gone=True)
    moments = [moment for moment in (due, _next_ready(life, behaviour)) if moment is not None]
    return Advanced(life, tuple(happenings), min(moments, default=None))


def lose(life: PodLife, off: float, now: float) -> tuple[PodLife, Happening]:
    """The board was off since `off` and is back: it knows nothing of its pods any more, and they are to be removed."""
    lost = replace(
        life,
        init=tuple(_lost(container, off) for container in life.init),
        containers=tuple(_lost(container, off) for container in life.containers),
        stopping=now,
        failed=LOST,
        seen=now,
    )
    return lost, Happening("Warning", LOST.reason, LOST.message)


def _lost(container: ContainerLife, off: float) -> ContainerLife:
    if container.running is None:
        return _stopped(container, off)
    ended = Ended(POWER_LOST, container.running, max(off, container.running))
    return replace(container, running=None, ended=ended)


def reset(pod: JsonObject, life: PodLife, off: float, now: float) -> tuple[PodLife, tuple[Happening, ...]]:
    """The chip was reset at `off` and has booted: what ran is started again where the pod's policy has it so.

    `life` has been followed up to `off`.  As with a kubelet's machine that was restarted, back-off begins anew.
    """
    if life.over:
        return life, ()
    happenings = [Happening("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")]
    spec = pod["spec"]

    def again(container: JsonObject, before: ContainerLife) -> ContainerLife:
        ended = before.last if before.running is None else Ended(POWER_LOST, before.running, off, BROWNOUT)
        if before.ended is not None or ended is None:
            return before
        if not (is_sidecar(container) or runs_again(pod, container, ended.code)) or life.stopping is not None:
            return replace(before, running=None, waiting_until=None, ended=ended, last=None)
        happenings.extend(_starting(pod, container))
        return ContainerLife(before.name, running=now, last=ended, restarts=before.restarts + 1)

    init = tuple(again(*pair) for pair in zip(spec.get("initContainers") or (), life.init, strict=True))
    containers = tuple(again(*pair) for pair in zip(spec["containers"], life.containers, strict=True))
    after = replace(life, init=init, containers=containers, seen=now)
    if after.over:
        return _stop(after, now), ()
    return after, tuple(happenings)


def is_sidecar(container: JsonObject) -> bool:
    """An init container that keeps running beside the others."""
    return container.get("restartPolicy") == "Always"


def _due(pod: JsonObject, life: PodLife, behaviour: Behaviour) -> float | None:
    """When the next thing happens in this life."""
    return None if life.over else min(_moments(pod, life, behaviour), default=None)


def _moments(pod: JsonObject, life: PodLife, behaviour: Behaviour) -> Iterator[float]:
    if life.stopping is not None:
        yield life.stopping + _pre_stop_seconds(pod)
    deadline = _deadline(pod, life)
    if deadline is not None:
        yield deadline
    for spec, container in zip(pod["spec"]["containers"], life.containers, strict=True):
        if container.waiting_until is not None and life.stopping is None:
            yield container.waiting_until
        seconds = lasts(pod, spec, behaviour)
        if container.running is not None and seconds is not None:
            yield container.running + seconds


def _next_ready(life: PodLife, behaviour: Behaviour) -> float | None:
    moments = [c.running + behaviour.ready_after for c in life.containers if c.running is not None]
    return min((moment for moment in moments if moment > life.seen), default=None)


def _deadline(pod: JsonObject, life: PodLife) -> float | None:
    seconds = pod["spec"].get("activeDeadlineSeconds")
    return None if seconds is None else life.started + float(seconds)


def _pre_stop_seconds(pod: JsonObject) -> float:
    """How long a pod that is deleted goes on: the longest sleep of its preStop hooks, within its grace period."""
    grace = pod["metadata"].get("deletionGracePeriodSeconds", 30)
    sleeps = [0.0]
    for container in pod["spec"]["containers"]:
        sleep = ((container.get("lifecycle") or {}).get("preStop") or {}).get("sleep") or {}
        sleeps.append(float(sleep.get("seconds", 0)))
    return min(float(grace), max(sleeps))


def _step(pod: JsonObject, life: PodLife, behaviour: Behaviour, now: float, happenings: list[Happening]) -> PodLife:
    """What is due at one moment."""
    if life.stopping is not None and life.stopping + _pre_stop_seconds(pod) <= now:
        return _stop(life, now)
    deadline = _deadline(pod, life)
    if deadline is not None and deadline <= now:
        message = "Pod was active on the node longer than the specified deadline"
        happenings.append(Happening("Normal", "DeadlineExceeded", message))
        happenings.extend(killing(pod, life))
        return replace(_stop(life, now), failed=Rejection("DeadlineExceeded", message))
    containers = tuple(
        _container_step(pod, spec, container, behaviour, now, happenings)
        for spec, container in zip(pod["spec"]["containers"], life.containers, strict=True)
    )
    life = replace(life, containers=containers, seen=now)
    return _stop(life, now) if life.over else life  # sidecars end with the containers


def _container_step(
    pod: JsonObject,
    spec: JsonObject,
    container: ContainerLife,
    behaviour: Behaviour,
    now: float,
    happenings: list[Happening],
) -> ContainerLife:
    if container.waiting_until is not None and container.waiting_until <= now:
        happenings.extend(_starting(pod, spec))
        return replace(container, running=now, waiting_until=None, restarts=container.restarts + 1)
    seconds = lasts(pod, spec, behaviour)
    if container.running is None or seconds is None or container.running + seconds > now:
        return container
    ended = Ended(behaviour.exit_code, container.running, now)
    if runs_again(pod, spec, ended.code):
        return _restart(pod, spec, container, ended, happenings)
    return replace(container, running=None, ended=ended)


def runs_again(pod: JsonObject, spec: JsonObject, code: int) -> bool:
    """Whether a container that ended with this code is started again: by a rule of its own, its own policy, or the
    pod's, the first that there is."""
    if pod["metadata"].get("deletionTimestamp"):
        return False
    own = spec.get("restartPolicy")
    if own is not None and any(_applies(rule, code) for rule in spec.get("restartPolicyRules") or ()):
        return True
    policy = own or pod["spec"].get("restartPolicy", "Always")
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _applies(rule: JsonObject, code: int) -> bool:
    """Whether a rule, all of which restart, is about this exit code."""
    codes = rule.get("exitCodes") or {}
    among = code in (codes.get("values") or ())
    return among if codes.get("operator") == "In" else not among


def _restart(
    pod: JsonObject, spec: JsonObject, container: ContainerLife, ended: Ended, happenings: list[Happening]
) -> ContainerLife:
    """Start a container again, at once or after its back-off."""
    wait = _back_off(container, ended.finished - ended.started)
    if wait == 0.0:
        happenings.extend(_starting(pod, spec))
        return replace(container, running=ended.finished, last=ended, restarts=container.restarts + 1, back_off=wait)
    message = f"Back-off restarting failed container {container.name} in pod {pod_title(pod)}"
    happenings.append(Happening("Warning", "BackOff", message, _field(pod, spec)))
    return replace(container, running=None, last=ended, waiting_until=ended.finished + wait, back_off=wait)


def _back_off(container: ContainerLife, ran: float) -> float:
    if container.back_off is None or ran > BACK_OFF_FORGOTTEN:
        return 0.0
    return min(MAX_BACK_OFF, container.back_off * 2 or BACK_OFF)


def _stop(life: PodLife, now: float) -> PodLife:
    """End what still runs.  A container that waits for its restart has ended already: that run was its last."""
    return replace(
        life,
        init=tuple(_stopped(container, now) for container in life.init),
        containers=tuple(_stopped(container, now) for container in life.containers),
        seen=now,
    )


def _stopped(container: ContainerLife, now: float) -> ContainerLife:
    if container.running is not None:
        return replace(container, running=None, ended=Ended(KILLED, container.running, now))
    if container.waiting_until is not None:
        return replace(container, waiting_until=None, ended=container.last, last=None)
    return container


def _starting(pod: JsonObject, spec: JsonObject) -> Iterator[Happening]:
    field = _field(pod, spec)
    present = f'Container image "{spec.get("image", "")}" already present on machine and can be accessed by the pod'
    yield Happening("Normal", "Pulled", present, field)
    yield Happening("Normal", "Created", "Container created", field)
    yield Happening("Normal", "Started", "Container started", field)


def killing(pod: JsonObject, life: PodLife) -> Iterator[Happening]:
    """What is told of a pod whose containers are being stopped."""
    spec = pod["spec"]
    specs = (*(spec.get("initContainers") or ()), *spec["containers"])
    for container, life_of_it in zip(specs, (*life.init, *life.containers), strict=True):
        if life_of_it.running is not None:
            message = f"Stopping container {container['name']}"
            yield Happening("Normal", "Killing", message, _field(pod, container))


def _field(pod: JsonObject, spec: JsonObject) -> str:
    section = "containers" if spec in pod["spec"]["containers"] else "initContainers"
    return f"spec.{section}{{{spec['name']}}}"


def pod_title(pod: JsonObject) -> str:
    """As kubelet messages name a pod: `name_namespace(uid)`."""
    meta = pod["metadata"]
    return f"{meta['name']}_{meta.get('namespace', '')}({meta.get('uid', '')})"


def back_off_message(pod: JsonObject, container: ContainerLife) -> str:
    """status message of a container that waits to be restarted."""
    wait = format_duration(container.back_off or 0.0)
    return f"back-off {wait} restarting failed container={container.name} pod={pod_title(pod)}"
