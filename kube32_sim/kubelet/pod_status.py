"""A pod's life as its `status`, and back: what a kubelet writes, and what one that was restarted reads.

Only the fields that a kubelet owns are touched; conditions of others (PodScheduled, DisruptionTarget, readiness
gates) are kept as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kube32_sim.clock import parse_time, rfc3339
from kube32_sim.kubelet.behaviour import Behaviour, behaviour_of
from kube32_sim.kubelet.pod_life import (
    BACK_OFF,
    MAX_BACK_OFF,
    ContainerLife,
    Ended,
    PodLife,
    back_off_message,
    is_sidecar,
)

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a pod, before it is compared with the one that is there."""

    type: str
    true: bool
    reason: str = ""
    message: str = ""


def pod_status(pod: JsonObject, life: PodLife, host_ip: str, pod_ip: str) -> JsonObject:
    """The whole status: the pod's own with the kubelet's fields brought up to date.  `life` says what time it is."""
    behaviour = behaviour_of(pod)
    spec, old = pod["spec"], pod.get("status") or {}
    specs = spec.get("initContainers") or ()
    status: JsonObject = {**old, "phase": _phase(life), "startTime": rfc3339(life.started)}
    if life.failed is not None:
        status |= {"reason": life.failed.reason, "message": life.failed.message}
    if not _started(life):
        return _with_generation(pod, status)
    status |= {"hostIP": host_ip, "hostIPs": [{"ip": host_ip}], "podIP": pod_ip, "podIPs": [{"ip": pod_ip}]}
    if specs:
        status["initContainerStatuses"] = [
            _container_status(pod, spec, container, container.ended is not None or container.running is not None, life)
            for spec, container in zip(specs, life.init, strict=True)
        ]
    status["containerStatuses"] = [
        _container_status(pod, spec, container, _ready(container, behaviour, life), life)
        for spec, container in zip(spec["containers"], life.containers, strict=True)
    ]
    status["conditions"] = _merge(pod, old.get("conditions") or [], _conditions(pod, life, behaviour), life.seen)
    return _with_generation(pod, status)


def status_patch(old: JsonObject, new: JsonObject) -> JsonObject:
    """The fields in which they differ, as a merge patch of status."""
    return {key: value for key, value in new.items() if old.get(key) != value}


def resume(pod: JsonObject, now: float) -> PodLife | None:
    """The life of a pod that runs (or has run) already, as its status tells; None for one that was never started.

    One that is being deleted stops since it was asked to, and not anew.
    """
    status = pod.get("status") or {}
    phase, statuses = status.get("phase"), _by_name(status.get("containerStatuses"))
    spec = pod["spec"]
    if phase not in ("Succeeded", "Failed") and not statuses:
        return None
    inits = _by_name(status.get("initContainerStatuses"))
    meta = pod["metadata"]
    end = _time(meta.get("deletionTimestamp"), now)
    life = PodLife(
        started=_time(status.get("startTime"), now),
        seen=now,
        init=tuple(
            _resumed(container, inits.get(container["name"]), now, is_sidecar(container))
            for container in spec.get("initContainers") or ()
        ),
        containers=tuple(
            _resumed(container, statuses.get(container["name"]), now, True) for container in spec["containers"]
        ),
        stopping=end - (meta.get("deletionGracePeriodSeconds") or 0) if "deletionTimestamp" in meta else None,
    )
    return _finished(life, now) if phase in ("Succeeded", "Failed") else life


def _finished(life: PodLife, now: float) -> PodLife:
    """Nothing of a pod in a final phase runs, whatever its container statuses say."""
    ended = tuple(
        container if container.ended else ContainerLife(container.name, ended=Ended(0, life.started, now))
        for container in life.containers
    )
    return replace(life, init=tuple(replace(c, running=None) for c in life.init), containers=ended)


def _phase(life: PodLife) -> str:
    if life.failed is not None:
        return "Failed"
    if not life.over:
        return "Running"
    return "Failed" if any(c.ended is not None and c.ended.code != 0 for c in life.containers) else "Succeeded"


def _started(life: PodLife) -> bool:
    """Not refused at admission."""
    return any(c.running is not None or c.ended is not None or c.last is not None for c in life.containers)


def _ready(container: ContainerLife, behaviour: Behaviour, life: PodLife) -> bool:
    return container.running is not None and container.running + behaviour.ready_after <= life.seen


def _with_generation(pod: JsonObject, status: JsonObject) -> JsonObject:
    generation = pod["metadata"].get("generation")
    if generation:
        status["observedGeneration"] = generation
    return status


def _container_status(
    pod: JsonObject, spec: JsonObject, container: ContainerLife, ready: bool, life: PodLife
) -> JsonObject:
    image = spec.get("image", "")
    status: JsonObject = {
        "name": container.name,
        "image": image,
        "imageID": f"{image.partition('@')[0]}@sha256:{_digest(image)}",
        "ready": ready,
        "restartCount": container.restarts,
        "started": container.running is not None,
        "state": _state(pod, container, container.restarts),
        "lastState": {},
        "containerID": _container_id(pod, container.name, container.restarts),
    }
    if container.last is not None:
        runs = container.restarts if container.waiting_until is not None else container.restarts - 1
        status["lastState"] = {"terminated": _terminated(pod, container.name, container.last, runs)}
    return status


def _state(pod: JsonObject, container: ContainerLife, runs: int) -> JsonObject:
    if container.running is not None:
        return {"running": {"startedAt": rfc3339(container.running)}}
    if container.ended is not None:
        return {"terminated": _terminated(pod, container.name, container.ended, runs)}
    return {"waiting": {"reason": "CrashLoopBackOff", "message": back_off_message(pod, container)}}


def _terminated(pod: JsonObject, name: str, ended: Ended, run: int) -> JsonObject:
    return {
        "exitCode": ended.code,
        "reason": "Completed" if ended.code == 0 else "Error",
        **({"message": ended.message} if ended.message else {}),
        "startedAt": rfc3339(ended.started),
        "finishedAt": rfc3339(ended.finished),
        "containerID": _container_id(pod, name, run),
    }


def _container_id(pod: JsonObject, name: str, run: int) -> str:
    return f"kube32://{_digest(pod['metadata'].get('uid', ''), name, str(run))}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("/".join(parts).encode()).hexdigest()


def _conditions(pod: JsonObject, life: PodLife, behaviour: Behaviour) -> Iterator[Condition]:
    """In the order in which a kubelet writes them.  Reasons and messages are a kubelet's."""
    yield Condition("PodReadyToStartContainers", not life.over)
    if life.over:
        reason = "PodFailed" if _phase(life) == "Failed" else "PodCompleted"
        yield Condition("Initialized", True, "" if reason == "PodFailed" else reason)
        yield Condition("Ready", False, reason)
        yield Condition("ContainersReady", False, reason)
        return
    yield Condition("Initialized", True)
    unready = [c.name for c in life.containers if not _ready(c, behaviour, life)]
    message = f"containers with unready status: [{' '.join(unready)}]"
    containers = Condition("ContainersReady", not unready, *(("ContainersNotReady", message) if unready else ()))
    gates = _closed_gates(pod)
    if unready or not gates:
        yield replace(containers, type="Ready")
    else:
        yield Condition("Ready", False, "ReadinessGatesNotReady", gates)
    yield containers


def _closed_gates(pod: JsonObject) -> str:
    """What is wrong with the pod's readiness gates; "" where nothing is."""
    gates = [gate.get("conditionType") for gate in pod["spec"].get("readinessGates") or ()]
    there = {c.get("type"): c.get("status") for c in (pod.get("status") or {}).get("conditions") or ()}
    complaints = [
        f'corresponding condition of pod readiness gate "{gate}" does not exist.'
        if gate not in there
        else f'the status of pod readiness gate "{gate}" is not "True", but {there[gate]}'
        for gate in gates
        if there.get(gate) != "True"
    ]
    return f"[{', '.join(complaints)}]" if len(complaints) > 1 else "".join(complaints)


def _merge(pod: JsonObject, old: Sequence[JsonObject], wanted: Iterator[Condition], now: float) -> list[JsonObject]:
    """The wanted conditions, then those of others; lastTransitionTime moves only when the status flips."""
    before = {condition.get("type"): condition for condition in old}
    generation = pod["metadata"].get("generation")
    merged = [_condition(before.pop(condition.type, None), condition, generation, now) for condition in wanted]
    if "PodScheduled" not in before:  # bound by hand: as a kubelet does
        merged.append(_condition(None, Condition("PodScheduled", True), generation, now))
    return merged + list(before.values())


def _condition(old: JsonObject | None, wanted: Condition, generation: Any, now: float) -> JsonObject:
    status = "True" if wanted.true else "False"
    same = old is not None and old.get("status") == status and old.get("lastTransitionTime")
    condition: JsonObject = {
        "type": wanted.type,
        "status": status,
        "lastTransitionTime": old["lastTransitionTime"] if old is not None and same else rfc3339(now),
    }
    if generation:
        condition["observedGeneration"] = generation
    if old is not None and "lastProbeTime" in old:  # as it is stored; left out it would count as a difference
        condition["lastProbeTime"] = old["lastProbeTime"]
    if wanted.reason:
        condition["reason"] = wanted.reason
    if wanted.message:
        condition["message"] = wanted.message
    return condition


def _by_name(statuses: Any) -> dict[str, JsonObject]:
    return {status["name"]: status for status in statuses or () if isinstance(status.get("name"), str)}


def _time(text: Any, default: float) -> float:
    try:
        return parse_time(text) if isinstance(text, str) else default
    except ValueError:
        return default


def _resumed(spec: JsonObject, status: JsonObject | None, now: float, runs_on: bool) -> ContainerLife:
    """A container as its status tells.  One that no status speaks of was started just now (or is done, by init)."""
    name = spec["name"]
    if status is None:
        return ContainerLife(name, running=now) if runs_on else ContainerLife(name, ended=Ended(0, now, now))
    state = status.get("state") or {}
    restarts = int(status.get("restartCount") or 0)
    last = _ended((status.get("lastState") or {}).get("terminated"), now)
    container = ContainerLife(name, last=last, restarts=restarts, back_off=_waited(restarts) if restarts else None)
    if state.get("terminated"):
        return replace(container, ended=_ended(state["terminated"], now))
    if state.get("waiting") and last is not None:
        wait = _waited(restarts + 1)
        return replace(container, back_off=wait, waiting_until=last.finished + wait)
    return replace(container, running=_time((state.get("running") or {}).get("startedAt"), now))


def _ended(terminated: Any, now: float) -> Ended | None:
    if not terminated:
        return None
    started = _time(terminated.get("startedAt"), now)
    return Ended(
        int(terminated.get("exitCode") or 0),
        started,
        _time(terminated.get("finishedAt"), now),
        terminated.get("message") or "",
    )


def _waited(restart: int) -> float:
    """How long the restart of that number waits, after runs that were all short."""
    return 0.0 if restart < 2 else min(MAX_BACK_OFF, BACK_OFF * 2.0 ** min(restart - 2, 10))
