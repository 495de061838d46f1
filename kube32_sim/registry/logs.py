"""A pod's log: the text that its annotation `sim.kube32.io/log` gives each of its containers, as a kubelet tells it.

Nothing runs that could write lines one by one: a container has written the whole text in the moment it was started,
and each run of it the same.  Which run is meant, and whether there was one, is read off the pod's status.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kube32_sim.api import errors
from kube32_sim.api.options import LogOptions
from kube32_sim.api.steering import LOG
from kube32_sim.clock import parse_time, rfc3339
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import JsonObject

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a container of one pod."""

    uid: str
    container: str
    restarts: int
    started: str


@dataclass(frozen=True, slots=True)
class Log:
    """run: the run that may still write to it; None where it has ended, or nothing more is wanted of it."""

    body: bytes
    run: Run | None


def read(registry: Registry, asked: Asked, wanted: LogOptions) -> Log | None:
    """The log of one container; None for a pod without a node, which has no log to be asked for."""
    pod = registry.get(asked).object()
    container = container_named(pod, asked.name, wanted.container)
    if not pod["spec"].get("nodeName"):
        return None
    check_node(registry, pod)
    started = _started(pod, _state_shown(pod, asked.name, container, wanted.previous))
    text = _annotations(pod).get(LOG, "") if _is_recent(started, registry.clock.now(), wanted) else ""
    body = _cut(text, started, wanted)
    full = wanted.limit_bytes is not None and len(body) >= wanted.limit_bytes
    return Log(body, None if full or wanted.previous else current_run(pod, container))


def check_node(registry: Registry, pod: JsonObject) -> None:
    """Raises ApiError 404 where the node of a pod is not known: it would be asked for what runs on it."""
    registry.get(Asked(registry.table.by_storage(("", "nodes")), "", pod["spec"]["nodeName"]))


def current_run(pod: JsonObject, container: str) -> Run | None:
    """The run of a container that goes on; None where it does not run."""
    status = _status_of(pod, container)
    running = (status.get("state") or {}).get("running")
    if running is None:
        return None
    return Run(pod["metadata"]["uid"], container, status.get("restartCount", 0), running.get("startedAt", ""))


def _annotations(pod: JsonObject) -> JsonObject:
    return pod["metadata"].get("annotations") or {}


def container_named(pod: JsonObject, pod_name: str, wanted: str) -> str:
    """The container that is meant: a pod's only one needs no name.  Raises ApiError 400.

    (Which of several is meant by default, clients read off an annotation of the pod.)
    """
    spec = pod["spec"]
    names: list[str] = [container["name"] for key in CONTAINERS for container in spec.get(key) or ()]
    if wanted:
        if wanted not in names:
            raise errors.bad_request(f"container {wanted} is not valid for pod {pod_name}")
        return wanted
    if len(spec["containers"]) == 1:
        return str(spec["containers"][0]["name"])
    choice = " ".join(names)
    raise errors.bad_request(f"a container name must be specified for pod {pod_name}, choose one of: [{choice}]")


def _status_of(pod: JsonObject, container: str) -> JsonObject:
    status = pod.get("status") or {}
    statuses = (one for key in STATUSES for one in status.get(key) or () if one.get("name") == container)
    return next(statuses, {})


def _state_shown(pod: JsonObject, pod_name: str, container: str, previous: bool) -> dict[str, Any]:
    """The state, `running` or `terminated`, of the run whose log is meant.

    A container that waits to be restarted shows its latest run.
    """
    status = _status_of(pod, container)
    state: dict[str, Any] = status.get("state") or {}
    last: dict[str, Any] | None = (status.get("lastState") or {}).get("terminated")
    if previous:
        if last is None:
            raise errors.bad_request(f'previous terminated container "{container}" in pod "{pod_name}" not found')
        return last
    for shown in (state.get("running"), state.get("terminated"), last):
        if shown is not None:
            return shown
    reason = (state.get("waiting") or {}).get("reason") or "ContainerCreating"
    raise errors.bad_request(f'container "{container}" in pod "{pod_name}" is waiting to start: {reason}')


def _started(pod: JsonObject, state: dict[str, Any]) -> float:
    """When a run began; a status that somebody wrote by hand may not say it."""
    return parse_time(state.get("startedAt") or pod["metadata"]["creationTimestamp"])


def _is_recent(started: float, now: float, wanted: LogOptions) -> bool:
    """Whether the lines are of the time asked for; statuses know whole seconds only."""
    since = wanted.since_time if wanted.since_seconds is None else now - wanted.since_seconds
    return since is None or started >= since // 1


def _cut(text: str, started: float, wanted: LogOptions) -> bytes:
    lines = text.removesuffix("\n").split("\n") if text else []
    if wanted.tail_lines is not None:
        lines = lines[max(0, len(lines) - wanted.tail_lines) :]
    if wanted.timestamps:
        stamp = rfc3339(started).replace("Z", ".000000000Z")
        lines = [f"{stamp} {line}" for line in lines]
    body = "".join(f"{line}\n" for line in lines).encode()
    return body if wanted.limit_bytes is None else body[: wanted.limit_bytes]
