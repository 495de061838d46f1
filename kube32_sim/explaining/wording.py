"""How a write is told: (who, one CamelCase word, one sentence)."""

from __future__ import annotations

from kube32_sim.api.steering import FAULT
from kube32_sim.causes import Placement
from kube32_sim.explaining.notes import KUBELET, REPLICAS, TEMPLATE
from kube32_sim.registry.journal import CREATED, DELETED, PODS, REMOVED, Noted

Words = tuple[str, str, str]


def who(noted: Noted) -> str:
    """The component that decided, or the user who asked."""
    return noted.cause.by if noted.cause is not None else noted.user


def client(noted: Noted) -> str:
    return f"{noted.manager} as {noted.user}" if noted.manager else noted.user


def of_write(noted: Noted, predecessor: Noted | None) -> Words:
    """predecessor: of a new pod, the end of the one whose place it takes."""
    actor = who(noted)
    if noted.did == CREATED:
        return actor, *_created(noted, predecessor)
    if noted.did in (DELETED, REMOVED):
        return actor, *_ended(noted)
    if noted.storage == PODS and noted.node != noted.before:
        return actor, *(_bound(noted) if noted.node else _taken_off(noted))
    if noted.cause is not None:
        reason, message = noted.cause.reason, noted.cause.message
        if noted.cause.placement is not None:
            message = where(noted.cause.placement)
        return actor, reason, message
    return actor, *_changed(noted)


def _created(noted: Noted, predecessor: Noted | None) -> tuple[str, str]:
    if noted.cause is None:
        return "Created", f"created by {client(noted)}"
    instead = ""
    if predecessor is not None and noted.storage == PODS:
        instead = f"; it takes the place of {predecessor.name}"
    return noted.cause.reason, f"{noted.cause.message}{instead}"


def _ended(noted: Noted) -> tuple[str, str]:
    if noted.cause is not None:
        return noted.cause.reason, noted.cause.message
    if noted.did == REMOVED and not noted.first:
        if noted.manager == KUBELET:
            return "Removed", f"removed by the kubelet of {noted.node}, where its containers have stopped"
        return "Removed", f"removed: {client(noted)} took away what held it"
    if noted.via == "eviction":
        return "EvictionRequested", f"evicted, through the eviction API, by {client(noted)}"
    if noted.manager == KUBELET and noted.storage == PODS:
        return "Terminated", f"deleted by the kubelet of {noted.node}, whose board has lost it"
    how = ", at once" if noted.did == REMOVED and noted.storage == PODS and noted.node else ""
    return "Deleted", f"deleted{how} by {client(noted)}"


def _bound(noted: Noted) -> tuple[str, str]:
    cause = noted.cause
    if cause is not None and cause.placement is not None:
        return cause.reason, where(cause.placement)
    return "Bound", f"bound to {noted.node} by {client(noted)}"


def _taken_off(noted: Noted) -> tuple[str, str]:
    if noted.cause is not None:
        return noted.cause.reason, noted.cause.message
    return "Unbound", f"taken off {noted.before} by {client(noted)}"


_SPECIAL = {
    REPLICAS: "Scaled",
    FAULT: "FaultChanged",
    "spec.unschedulable": "CordonChanged",
    "spec.taints": "TaintsChanged",
}


def _changed(noted: Noted) -> tuple[str, str]:
    fields = [detail.field for detail in noted.details]
    reason = next((_SPECIAL[field] for field in fields if field in _SPECIAL), "Changed")
    if any(field.startswith(TEMPLATE) for field in fields):
        reason = "TemplateChanged"
    told = ", ".join(f"{one.field} {one.before or '(none)'} -> {one.after or '(none)'}" for one in noted.details)
    return reason, f"changed by {client(noted)}: {told}"


# where to


def of_placement(noted: Noted) -> Words:
    """Of a pod that was put somewhere in its create request."""
    if noted.placement is None:
        return who(noted), "NodeNamed", f"its spec names the node {noted.node}"
    reason = "Scheduled" if noted.placement.node else "FailedScheduling"
    return noted.placement.by, reason, where(noted.placement)


def where(placement: Placement) -> str:
    if not placement.node:
        return f"no node for it: {placement.message}".removesuffix(".")
    told = rank(placement)
    return f"bound to {placement.node} with {told}" if told else f"bound to {placement.node}"


def rank(placement: Placement) -> str:
    """Why this node and no other; "" where no score is known."""
    score, second = placement.score, placement.second
    if score is None:
        return ""
    if second is None:
        return f"score {score}: it fits on no other node"
    if second[0] == score:
        return f"score {score}, as {second[1]} has: the first by name"
    return f"score {score}, before {second[1]} with {second[0]}"
