"""The filters that look at one node and one request, in their order, and the words for what fails.

Selector and taints (`static_ok`) do not change with the pods on a node; what fits does.  `affinity` has the rules about
other pods.  Words are kube-scheduler's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kube32_sim.kestrel.models import Labels, Node, Request, Taint, Toleration
from kube32_sim.kestrel.profiles import Profile
from kube32_sim.kestrel.score import mean, percent

WRONG_NAME = "node(s) didn't match the requested node name"
MISMATCH = "node(s) didn't match Pod's node affinity/selector"
UNTOLERATED = "node(s) had untolerated taint(s)"
NO_NODES = "no nodes available to schedule pods"


def selector_matches(match: Labels, labels: Mapping[str, str]) -> bool:
    """Whether labels contain every pair of a match; an empty match matches everything."""
    return all(labels.get(key) == value for key, value in match)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Exists with an empty key covers every key; a taint or toleration without a value has the value ""."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint.key)
    return (toleration.key, toleration.value) == (taint.key, taint.value)


def untolerated(taints: Iterable[Taint], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """The first taint that none of the tolerations covers."""
    for taint in taints:
        if not any(tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return None


def static_reason(profile: Profile, request: Request, node: Node) -> str:
    """Why a node will not do whatever runs on it, or ""; `Columns` has the same filters for all nodes at once."""
    if node.barred:
        return node.barred
    if request.node_name and request.node_name != node.name:
        return WRONG_NAME
    if request.selector and not selector_matches(request.selector, node.labels):
        return MISMATCH
    if profile.taints and node.taints and untolerated(node.taints, request.tolerations) is not None:
        return UNTOLERATED
    return ""


def static_ok(profile: Profile, request: Request, node: Node) -> bool:
    return not static_reason(profile, request, node)


def shortage(request: Request, node: Node) -> str:
    """What a node has too little of for a request, or "" where it fits; an exact fit is one."""
    free = node.free
    for place, least, reason in request.checks:
        if least > free[place]:
            return reason
    return ""


def evaluate(profile: Profile, request: Request, node: Node) -> int | str:
    """The score of a node for a request, or the reason of the first filter that it fails."""
    reason = static_reason(profile, request, node) or shortage(request, node)
    return reason or mean(*percentages(profile, request, node))


def percentages(profile: Profile, request: Request, node: Node) -> tuple[int, int]:
    """What would be left of the two scored resources with the pod on the node."""
    first, second = profile.scored_places
    free, taken, capacity = node.free, request.amounts, node.capacity
    return percent(free[first] - taken[first], capacity[first]), percent(free[second] - taken[second], capacity[second])


def no_fit(reasons: Mapping[str, int], nodes: int) -> str:
    """kube-scheduler's message for a pod that fits nowhere; reasons: how many of the nodes failed for which."""
    if not nodes:
        return NO_NODES
    counted = sorted(f"{count} {reason}" for reason, count in reasons.items() if count)
    return f"0/{nodes} nodes are available: {', '.join(counted)}."
