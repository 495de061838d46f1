"""PodDisruptionBudgets: how many of the pods they select may be evicted just now.

The status is what the eviction subresource goes by (`registry/subresources`): it takes one from `disruptionsAllowed`
for each pod it deletes and notes the pod among `disruptedPods`, until this loop has counted anew.  Rules and words are
those of kube-controller-manager's disruption controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kube32_controllers.pod_control import int_or_percent
from kube32_sim.api.errors import qualified
from kube32_sim.api.pod_state import ready, terminating
from kube32_sim.api.resources import ResourceTable
from kube32_sim.api.scale import scale_of
from kube32_sim.api.selectors import label_selector
from kube32_sim.client import DEPLOYMENTS, PODS, Resource
from kube32_sim.clock import parse_time, rfc3339
from kube32_sim.runtime.actions import Emit, Plan, Update, View, reference

JsonObject = dict[str, Any]

COMPONENT = "controllermanager"
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets")
REPLICA_SETS = Resource("apps", "v1", "replicasets")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets")
REPLICATION_CONTROLLERS = Resource("", "v1", "replicationcontrollers")
DELETION_TIMEOUT = 120.0
"""Seconds after which an evicted pod that is still there counts again."""
_SCALED = (DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, REPLICATION_CONTROLLERS)
_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of "
    "the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please "
    'set ".spec.minAvailable" field of the PDB to an integer value.'
)


class Scale(NamedTuple):
    """What decides how many pods of a controller there should be: the controller itself, or its own controller."""

    uid: str
    replicas: int


Scales = Mapping[str, Scale | str]
"""uid of a pod's controller -> its scale, or why it has none; it is missing where the controller is gone."""


class Expected(NamedTuple):
    """How many pods there should be, and how many of them healthy.  unmanaged: some have no controller to tell."""

    pods: int
    healthy: int
    unmanaged: bool = False


class Unknown(Exception):
    """How many pods there should be cannot be told; the message says why."""


def plan_budget(budget: JsonObject, pods: Sequence[JsonObject], scales: Scales, now: float) -> Plan:
    """The status of a budget.  pods: those it selects."""
    about = reference("policy/v1", "PodDisruptionBudget", budget)
    old = budget.get("status") or {}
    disrupted, again = still_disrupted(pods, old.get("disruptedPods") or {}, now)
    events = [] if pods else [Emit(about, "Normal", "NoPods", "No matching pods found", COMPONENT)]
    try:
        expected = expectation(budget["spec"], pods, scales)
    except Unknown as why:
        message = f"Failed to calculate the number of expected pods: {why}"
        events.append(Emit(about, "Warning", "CalculateExpectedPodCountFailed", message, COMPONENT))
        status, again = _failed(old, str(why), now), None
    else:
        if expected.unmanaged:
            message = _UNMANAGED.format(label_selector(budget["spec"].get("selector")).text)
            events.append(Emit(about, "Warning", "UnmanagedPods", message, COMPONENT))
        healthy = sum(ready(pod) and not terminating(pod) and pod["metadata"]["name"] not in disrupted for pod in pods)
        status = new_status(budget, expected, healthy, disrupted, now)
    if status == old:
        return Plan((), again)
    update = Update(BUDGETS, about["namespace"], {**budget, "status": status}, "status")
    return Plan((update, *events), again)


def still_disrupted(
    pods: Iterable[JsonObject], noted: Mapping[str, str], now: float
) -> tuple[dict[str, str], float | None]:
    """Evicted pods whose deletion has not begun, and when the first of them is given up."""
    found, due = {}, []
    for pod in pods:
        name = pod["metadata"]["name"]
        if name not in noted or terminating(pod):
            continue
        until = parse_time(noted[name]) + DELETION_TIMEOUT
        if until > now:
            found[name] = noted[name]
            due.append(until)
    return found, min(due, default=None)


# how many there should be


def expectation(spec: JsonObject, pods: Sequence[JsonObject], scales: Scales) -> Expected:
    """A number that must be available is taken as it is; all else is counted from the scales of the controllers."""
    most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
    if most is not None:
        count, unmanaged = expected_scale(pods, scales)
        return Expected(count, max(0, count - int_or_percent(most, count, up=True)), unmanaged)
    if isinstance(least, str):
        count, unmanaged = expected_scale(pods, scales)
        return Expected(count, int_or_percent(least, count, up=True), unmanaged)
    return Expected(0, 0) if least is None else Expected(len(pods), least)


def expected_scale(pods: Iterable[JsonObject], scales: Scales) -> tuple[int, bool]:
    """(replicas of all controllers of the pods, whether a pod has none).  Raises Unknown."""
    counted: dict[str, int] = {}
    unmanaged = False
    for pod in pods:
        owner = controller(pod)
        if owner is None:
            unmanaged = True
            continue
        scale = scales.get(owner["uid"])
        if isinstance(scale, str):
            raise Unknown(scale)
        if scale is None:
            raise Unknown(f'found no controllers for pod "{pod["metadata"]["name"]}"')
        counted[scale.uid] = scale.replicas
    return sum(counted.values()), unmanaged


def controller(obj: JsonObject) -> JsonObject | None:
    """The ownerReference that is marked as the controller's."""
    owners: Sequence[JsonObject] = obj["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


# status


def new_status(
    budget: JsonObject, expected: Expected, healthy: int, disrupted: Mapping[str, str], now: float
) -> JsonObject:
    """While nothing is selected nothing may be evicted: pods that come are safe before they are counted."""
    allowed = max(0, healthy - expected.healthy) if expected.pods > 0 else 0
    generation = budget["metadata"].get("generation", 0)
    value, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    status: JsonObject = {
        "currentHealthy": healthy,
        "desiredHealthy": expected.healthy,
        "expectedPods": expected.pods,
        "disruptionsAllowed": allowed,
        "conditions": _conditions(budget.get("status") or {}, value, reason, "", generation, now),
    }
    if generation:
        status["observedGeneration"] = generation
    if disrupted:
        status["disruptedPods"] = dict(disrupted)
    return status


def _failed(old: JsonObject, why: str, now: float) -> JsonObject:
    """Nothing may be evicted until it is known how many pods there should be."""
    conditions = _conditions(old, "False", "SyncFailed", why, old.get("observedGeneration", 0), now)
    return {**old, "disruptionsAllowed": 0, "conditions": conditions}


def _conditions(
    old: JsonObject, value: str, reason: str, message: str, generation: int, now: float
) -> list[JsonObject]:
    conditions: list[JsonObject] = old.get("conditions") or []
    current = next((one for one in conditions if one["type"] == "DisruptionAllowed"), None)
    since = current.get("lastTransitionTime") if current is not None and current["status"] == value else None
    changed: JsonObject = {
        "type": "DisruptionAllowed",
        "status": value,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since or rfc3339(now),
    }
    if generation:
        changed["observedGeneration"] = generation
    if current is None:
        return [*conditions, changed]
    return [changed if one is current else one for one in conditions]


class DisruptionController:
    """See `runtime.actions.Loop`.  It has no name in `--controllers`: it runs where any loop does, at once."""

    name = "disruption"
    watches = (BUDGETS, PODS, *_SCALED)

    def __init__(self, table: ResourceTable) -> None:
        self._table = table

    def keys(self, resource: Resource, obj: JsonObject, view: View) -> Iterable[str]:
        metadata = obj["metadata"]
        if resource == BUDGETS:
            return (f"{metadata['namespace']}/{metadata['name']}",)
        budgets = view.list(BUDGETS, metadata["namespace"])
        if not budgets:
            return ()
        carrier = metadata if resource == PODS else ((obj["spec"].get("template") or {}).get("metadata") or {})
        labels = carrier.get("labels") or {}
        return [_key(budget) for budget in budgets if _selector(budget).matches(labels)]

    def plan(self, key: str, view: View, now: float) -> Plan:
        namespace, _, name = key.partition("/")
        budget = view.get(BUDGETS, namespace, name)
        if budget is None:
            return Plan()
        selector = _selector(budget)
        pods = [pod for pod in view.list(PODS, namespace) if selector.matches(pod["metadata"].get("labels") or {})]
        return plan_budget(budget, pods, self._scales(pods, view), now)

    def _scales(self, pods: Iterable[JsonObject], view: View) -> Scales:
        owners = {owner["uid"]: (owner, pod) for pod in pods if (owner := controller(pod)) is not None}
        scales = {uid: self._scale(owner, pod["metadata"]["namespace"], view) for uid, (owner, pod) in owners.items()}
        return {uid: scale for uid, scale in scales.items() if scale is not None}

    def _scale(self, owner: JsonObject, namespace: str, view: View) -> Scale | str | None:
        group, _, version = owner["apiVersion"].rpartition("/")
        row = self._table.by_kind(group, version, owner["kind"])
        if row is None:
            return f'no matches for kind "{owner["kind"]}" in version "{owner["apiVersion"]}"'
        if row.subresource("scale") is None:
            return f"{qualified(group, row.plural)} does not implement the scale subresource"
        found = view.get(Resource(group, version, row.plural), namespace, owner["name"])
        if found is None or found["metadata"]["uid"] != owner["uid"]:
            return None
        above = controller(found) if row.kind == "ReplicaSet" else None
        if above is not None and above["kind"] == "Deployment":
            return self._scale(above, namespace, view)
        return Scale(owner["uid"], scale_of(row, found)["spec"].get("replicas", 0))


def _selector(budget: JsonObject) -> Any:
    return label_selector(budget["spec"].get("selector"))


def _key(budget: JsonObject) -> str:
    return f"{budget['metadata']['namespace']}/{budget['metadata']['name']}"
