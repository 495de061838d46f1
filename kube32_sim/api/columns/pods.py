"""Printing columns of pods and of what carries a pod template only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kube32_sim.api.columns.form import AGE, NAME, age_of, containers_and_images, labels_text, name_of, section, text
from kube32_sim.api.tables import Age, Cell, Columns

JsonObject = dict[str, Any]


@dataclass(slots=True)
class _Summary:
    """What the containers' statuses come to: the Status column, ready containers, restarts and the time of the last."""

    reason: str
    ready: int = 0
    restarts: int = 0
    last_restart: str = ""

    def restarted(self, status: JsonObject) -> None:
        self.restarts += status.get("restartCount") or 0
        finished = section(status, "lastState", "terminated").get("finishedAt") or ""
        self.last_restart = max(self.last_restart, finished)  # RFC 3339 in UTC and whole seconds sorts as text


def _restartable(container: JsonObject | None) -> bool:
    """A sidecar: an init container that keeps running."""
    return container is not None and container.get("restartPolicy") == "Always"


def _ended(terminated: JsonObject, prefix: str = "") -> str:
    if reason := terminated.get("reason"):
        return f"{prefix}{reason}"
    if signal := terminated.get("signal"):
        return f"{prefix}Signal:{signal}"
    return f"{prefix}ExitCode:{terminated.get('exitCode') or 0}"


def _init_reason(status: JsonObject, index: int, total: int) -> str:
    state = section(status, "state")
    if (terminated := state.get("terminated")) is not None:
        return _ended(terminated, "Init:")
    waiting = section(state, "waiting").get("reason") or ""
    if waiting not in ("", "PodInitializing"):
        return f"Init:{waiting}"
    return f"Init:{index}/{total}"


def _summarize_init(summary: _Summary, sidecars: _Summary, pod: JsonObject) -> bool:
    """Count in the init containers up to the first that is not done; whether there is such a one."""
    containers = section(pod, "spec").get("initContainers") or ()
    by_name = {container.get("name"): container for container in containers}
    for index, status in enumerate(section(pod, "status").get("initContainerStatuses") or ()):
        summary.restarted(status)
        sidecar = _restartable(by_name.get(status.get("name")))
        if sidecar:
            sidecars.restarted(status)
        terminated = section(status, "state").get("terminated")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if not (sidecar and status.get("started")):
            summary.reason = _init_reason(status, index, len(containers))
            return True
        summary.ready += bool(status.get("ready"))
    return False


def _summarize_containers(summary: _Summary, status: JsonObject) -> None:
    """Count in the ordinary containers; the first one with something to tell gives the reason."""
    running = False
    for container in reversed(status.get("containerStatuses") or ()):
        summary.restarted(container)
        state = section(container, "state")
        if waiting := section(state, "waiting").get("reason"):
            summary.reason = waiting
        elif (terminated := state.get("terminated")) is not None:
            summary.reason = _ended(terminated)
        elif container.get("ready") and "running" in state:
            running = True
            summary.ready += 1
    if summary.reason == "Completed" and running:
        summary.reason = "Running" if _condition(status, "Ready") else "NotReady"


def _condition(status: JsonObject, kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "True" for c in status.get("conditions") or ())


def _gated(status: JsonObject) -> bool:
    conditions = status.get("conditions") or ()
    return any(c.get("type") == "PodScheduled" and c.get("reason") == "SchedulingGated" for c in conditions)


def _summarize(pod: JsonObject) -> _Summary:
    status = section(pod, "status")
    phase = status.get("phase") or ""
    summary = _Summary("SchedulingGated" if _gated(status) else status.get("reason") or phase)
    sidecars = _Summary("")
    initializing = bool(status.get("initContainerStatuses")) and _summarize_init(summary, sidecars, pod)
    if not initializing or _condition(status, "Initialized"):
        # From here on restarts of init containers are history, but for those of sidecars.
        summary.restarts, summary.last_restart = sidecars.restarts, sidecars.last_restart
        _summarize_containers(summary, status)
    if "deletionTimestamp" in pod["metadata"]:
        if status.get("reason") == "NodeLost":
            summary.reason = "Unknown"
        elif phase not in ("Succeeded", "Failed"):
            summary.reason = "Terminating"
    return summary


def _readiness_gates(spec: JsonObject, status: JsonObject) -> str:
    gates = spec.get("readinessGates")
    if not gates:
        return "<none>"
    return f"{sum(_condition(status, gate.get('conditionType', '')) for gate in gates)}/{len(gates)}"


def _restarts(summary: _Summary) -> Cell:
    if summary.restarts and summary.last_restart:
        return Age(summary.last_restart, f"{summary.restarts} (", " ago)")
    return str(summary.restarts)


def _pod_ip(status: JsonObject) -> str:
    addresses = status.get("podIPs") or ()
    address = addresses[0].get("ip") if addresses else status.get("podIP")
    return address or "<none>"


def _pod(pod: JsonObject) -> Sequence[Cell]:
    spec, status = section(pod, "spec"), section(pod, "status")
    summary = _summarize(pod)
    total = len(spec.get("containers") or ()) + sum(map(_restartable, spec.get("initContainers") or ()))
    return (
        name_of(pod),
        f"{summary.ready}/{total}",
        summary.reason,
        _restarts(summary),
        age_of(pod),
        _pod_ip(status),
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        _readiness_gates(spec, status),
    )


_SUCCEEDED = {
    "type": "Completed",
    "status": "True",
    "reason": "Succeeded",
    "message": "The pod has completed successfully.",
}
_FAILED = {"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}


def _pod_conditions(pod: JsonObject) -> Sequence[JsonObject]:
    phase = section(pod, "status").get("phase")
    if phase == "Succeeded":
        return (_SUCCEEDED,)
    return (_FAILED,) if phase == "Failed" else ()


def _pod_template(obj: JsonObject) -> Sequence[Cell]:
    template = section(obj, "template")
    return name_of(obj), *containers_and_images(template), labels_text(section(template, "metadata").get("labels"))


COLUMNS = {
    ("", "Pod"): Columns(
        (
            NAME,
            text("Ready", "Containers that are ready, of all."),
            text("Status", "What the containers come to: the phase, or why it is not reached."),
            text("Restarts", "How often containers were restarted, and when the last one was."),
            AGE,
            text("IP", "The pod's first address.", wide=True),
            text("Node", "The node the pod is bound to.", wide=True),
            text("Nominated Node", "The node on which others make room for the pod.", wide=True),
            text("Readiness Gates", "Readiness gates that are met, of all.", wide=True),
        ),
        _pod,
        _pod_conditions,
    ),
    ("", "PodTemplate"): Columns(
        (
            NAME,
            text("Containers", "The names of the template's containers."),
            text("Images", "The images of the template's containers."),
            text("Pod Labels", "The labels of the template's pods."),
        ),
        _pod_template,
    ),
}
