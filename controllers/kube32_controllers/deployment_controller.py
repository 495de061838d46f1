"""The Deployment loop: as many pods as `spec.replicas`, all made from the current template in the end.

There are no ReplicaSets: a Deployment owns its pods, and their `pod-template-hash` label tells from which template each
was made.  `plan_deployment` decides; `deployment_status.py` says how things stand; `pod_control.py` knows pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kube32_controllers.deployment_causes import why_cleared, why_created, why_deleted
from kube32_controllers.deployment_status import (
    REPLICA_FAILURE,
    Observed,
    condition,
    max_unavailable,
    new_status,
    replica_failure,
    times_out_at,
)
from kube32_controllers.pod_control import (
    BURST,
    available,
    available_at,
    controlled,
    create_pod,
    created,
    delete_pod,
    merge_patch,
    newest_first,
    own_key,
    owner_key,
    plan_leftover,
    pod_from_template,
    pods_of,
    room,
    template_hash,
    terminating_namespace,
)
from kube32_sim.api.pod_state import finished, ready, terminating
from kube32_sim.api.rollouts import REVISION, ROLLED_OUT
from kube32_sim.client import DEPLOYMENTS, PODS, Resource
from kube32_sim.runtime.actions import Action, Create, Delete, Emit, Patch, Plan, View, reference

JsonObject = dict[str, Any]

COMPONENT = "deployment-controller"
HASH_LABEL = "pod-template-hash"

LONGEST_BACKOFF = 300.0
KEPT_FAILED = 10
"""Finished pods that a Deployment keeps for people to look at."""
_ACQUIRED = frozenset({"nodeName", "priority", "preemptionPolicy", "ephemeralContainers"})
"""What a pod has got since it was made, and may not be made with."""


@dataclass(frozen=True, slots=True)
class Pods:
    """The Deployment's pods, sorted out.

    fresh (of the current template) and stale are active: neither finished nor terminating.  ended and outdated are
    finished ones, of the template that pods are made from (see `_goal`) and of others.
    """

    fresh: list[JsonObject] = field(default_factory=list)
    stale: list[JsonObject] = field(default_factory=list)
    ended: list[JsonObject] = field(default_factory=list)
    outdated: list[JsonObject] = field(default_factory=list)
    terminating: list[JsonObject] = field(default_factory=list)

    @property
    def active(self) -> list[JsonObject]:
        return self.fresh + self.stale


def plan_deployment(deployment: JsonObject, pods: Iterable[JsonObject], now: float) -> Plan:
    """Everything to do for one Deployment.  pods: those that name it as their owner."""
    spec = deployment["spec"]
    current = template_hash(spec["template"])
    metadata = deployment["metadata"]
    going = "deletionTimestamp" in metadata
    goal = _goal(deployment, current)
    seen = sort_out(controlled(pods, "Deployment", metadata), current, goal)
    started = current if goal == current != _rolled_out(deployment) and not going else ""
    observed = Observed(deployment, seen.active, seen.fresh, len(seen.terminating), started)
    status = new_status(observed, now)
    actions: list[Action] = []
    later: float | None = None
    if not going:
        actions, later = _pod_actions(deployment, seen, current, goal, now)
    grows = any(isinstance(action, Create) for action in actions)
    actions += _report(deployment, status, started, replica_failure(observed, status, now) if grows else None)
    moments = [at for at in (later, _again_at(spec, status, seen, now)) if at is not None]
    return Plan(tuple(actions), min(moments, default=None))


def _report(deployment: JsonObject, status: JsonObject, started: str, failing: JsonObject | None) -> list[Patch]:
    """Write the status, and with it the revision that a new template makes: so it is no new generation.

    failing: the status to write instead where a pod is refused.
    """
    metadata = deployment["metadata"]
    revision = _revision(deployment, started) if started else {}
    patch = _changes(deployment, status, revision)
    instead = None if failing is None else _changes(deployment, failing, revision)
    if not patch and not instead:
        return []
    return [Patch(DEPLOYMENTS, metadata["namespace"], metadata["name"], patch, "status", instead)]


def _changes(deployment: JsonObject, status: JsonObject, annotations: dict[str, str]) -> JsonObject:
    uid = deployment["metadata"]["uid"]  # what another one of this name is not to be told
    patch: JsonObject = {"metadata": {"uid": uid, "annotations": annotations}} if annotations else {}
    changes = merge_patch(deployment.get("status", {}), status)
    return patch | {"status": changes} if changes else patch


def _rolled_out(deployment: JsonObject) -> str:
    """The hash of the template that was rolled out last.

    A Deployment that has no status yet has rolled out nothing, whatever annotations it was copied with.
    """
    if not deployment.get("status", {}).get("observedGeneration"):
        return ""
    found: str = deployment["metadata"].get("annotations", {}).get(ROLLED_OUT, "")
    return found


def _goal(deployment: JsonObject, current: str) -> str:
    """The hash of the template that pods are made from; while paused that of what was rolled out before."""
    return _rolled_out(deployment) if deployment["spec"].get("paused") else current


def _revision(deployment: JsonObject, started: str) -> dict[str, str]:
    before = deployment["metadata"].get("annotations", {}).get(REVISION, "") if _rolled_out(deployment) else ""
    number = int(before) if before.isascii() and before.isdecimal() and len(before) < 10 else 0
    return {REVISION: str(number + 1), ROLLED_OUT: started}


def sort_out(pods: Iterable[JsonObject], current: str, goal: str) -> Pods:
    seen = Pods()
    for pod in pods:
        if terminating(pod):
            seen.terminating.append(pod)
        elif finished(pod):
            (seen.ended if _hash_of(pod) == goal else seen.outdated).append(pod)
        else:
            (seen.fresh if _hash_of(pod) == current else seen.stale).append(pod)
    return seen


def _hash_of(pod: JsonObject) -> str:
    found: str = pod["metadata"].get("labels", {}).get(HASH_LABEL, "")
    return found


# which pods come and go


def _pod_actions(
    deployment: JsonObject, seen: Pods, current: str, goal: str, now: float
) -> tuple[list[Action], float | None]:
    """As much as one plan may do; and when to go on, where pods still missing are to wait."""
    spec = deployment["spec"]
    doomed = _doomed(spec, seen, now)
    gone = {id(pod) for pod in doomed}
    stale = [pod for pod in seen.stale if id(pod) not in gone]
    fresh = [pod for pod in seen.fresh if id(pod) not in gone]
    template = deployment["spec"]["template"] if goal == current else _template_of(seen, goal)
    missing = 0 if template is None else _missing(spec, seen, len(stale) + len(fresh), current, now)
    most, later = room(seen.active, now) if missing else (0, None)
    births = min(missing, most)
    scaled = deployment["metadata"].get("generation", 0) != deployment.get("status", {}).get("observedGeneration", 0)
    about = reference("apps/v1", "Deployment", deployment)
    events: list[Emit] = []
    if scaled or seen.stale:
        # while pods are refused, that they were to come has been told already
        coming = 0 if condition(deployment.get("status", {}), REPLICA_FAILURE) else missing
        if seen.stale:  # a rollout is told step by step
            coming = min(coming, births)
        events += _events(deployment, about, seen, len(stale), len(fresh) + coming)
    growing = _still_growing(deployment, seen, missing)
    tell = not events and not growing
    born = _made(template, deployment, goal, births) if template is not None else ()
    arriving = why_created(deployment, seen, grows=scaled or growing) if births else None
    creates = [create_pod(pod, about, COMPONENT, tell=tell, cause=arriving) for pod in born]
    leaving = why_deleted(deployment, seen)
    deletes: list[Delete] = [delete_pod(pod, leaving) for pod in doomed[:BURST]]
    deletes += [delete_pod(pod, why_cleared(deployment)) for pod in _forgotten(seen)[: BURST - len(deletes)]]
    return [*deletes, *creates, *events], later


def _still_growing(deployment: JsonObject, seen: Pods, missing: int) -> bool:
    """Whether the missing pods are the rest of a scaling that took more than one plan, and has been told as a whole."""
    before: int = deployment.get("status", {}).get("replicas", 0)
    return missing > BURST or len(seen.active) >= max(BURST, before + 1)


def _doomed(spec: JsonObject, seen: Pods, now: float) -> list[JsonObject]:
    """Surplus pods, or else those whose turn it is to be replaced."""
    surplus = len(seen.active) - spec.get("replicas", 1)
    if surplus > 0:
        return removal_order(seen)[:surplus]
    if spec.get("paused") or not seen.stale:
        return []
    if spec.get("strategy", {}).get("type") == "Recreate":
        return seen.stale
    return _replaceable(spec, seen, now)


def removal_order(seen: Pods) -> list[JsonObject]:
    """Not-ready pods before ready ones, stale ones before fresh ones, then the newest first."""
    old = {id(pod) for pod in seen.stale}
    return sorted(newest_first(seen.active), key=lambda pod: (ready(pod), id(pod) not in old))


def _replaceable(spec: JsonObject, seen: Pods, now: float) -> list[JsonObject]:
    """The one stale pod that may be replaced in this pass: a not-ready one, or one that availability can spare."""
    pod = removal_order(Pods(stale=seen.stale))[0]
    if not ready(pod):
        return [pod]
    seconds = spec.get("minReadySeconds", 0)
    left = sum(available(other, seconds, now) for other in seen.active if other is not pod)
    return [pod] if left >= spec.get("replicas", 1) - max_unavailable(spec) else []


def _missing(spec: JsonObject, seen: Pods, staying: int, current: str, now: float) -> int:
    """How many pods are to be made beside those that stay."""
    missing: int = spec.get("replicas", 1) - staying
    if now < backoff_until(seen.ended, now):
        missing -= len(_latest(seen.ended))
    return 0 if _old_ones_remain(spec, seen, current) else max(0, missing)


def _made(template: JsonObject, deployment: JsonObject, mark: str, number: int) -> list[JsonObject]:
    about = reference("apps/v1", "Deployment", deployment)
    prefix = f"{deployment['metadata']['name']}-{mark}-"
    return [pod_from_template(template, about, prefix, {HASH_LABEL: mark}) for _ in range(number)]


def _old_ones_remain(spec: JsonObject, seen: Pods, current: str) -> bool:
    """Strategy Recreate waits until the pods of older templates have left their nodes."""
    if spec.get("strategy", {}).get("type") != "Recreate" or spec.get("paused"):
        return False
    return bool(seen.stale) or any(_hash_of(pod) != current for pod in seen.terminating)


def _template_of(seen: Pods, goal: str) -> JsonObject | None:
    """A template that is no longer in the Deployment, as one of its pods shows it; None where there is no such pod."""
    known = (*seen.stale, *seen.ended, *seen.terminating)
    pod = next((pod for pod in known if _hash_of(pod) == goal), None)
    if pod is None:
        return None
    metadata = {key: pod["metadata"][key] for key in ("labels", "annotations") if key in pod["metadata"]}
    return {"metadata": metadata, "spec": {key: value for key, value in pod["spec"].items() if key not in _ACQUIRED}}


# pods that fail at once, such as those a board refuses to run


def _latest(ended: Sequence[JsonObject]) -> list[JsonObject]:
    """Failed pods of the last attempt."""
    failed = [pod for pod in ended if pod["status"]["phase"] == "Failed"]
    last = max((created(pod) for pod in failed), default=0.0)
    return [pod for pod in failed if created(pod) == last]


def backoff_until(ended: Sequence[JsonObject], now: float) -> float:
    """When the pods of the last failed attempt may be replaced.

    It waits as long as the attempts have been failing so far, which doubles the wait each time, up to five minutes.
    """
    since = now - 2 * LONGEST_BACKOFF
    attempts = [at for pod in ended if pod["status"]["phase"] == "Failed" and (at := created(pod)) >= since]
    if not attempts:
        return 0.0
    return max(attempts) + min(LONGEST_BACKOFF, max(1.0, max(attempts) - min(attempts)))


def _forgotten(seen: Pods) -> list[JsonObject]:
    """Finished pods that nobody needs any more: those of older templates, and all but the last few."""
    return seen.outdated + newest_first(seen.ended)[KEPT_FAILED:]


# telling


def _events(deployment: JsonObject, about: JsonObject, seen: Pods, stale: int, fresh: int) -> list[Emit]:
    """ScalingReplicaSet events; during a rollout the old and the new pods are told apart."""
    name = deployment["metadata"]["name"]
    if not seen.stale:
        return _scaling(about, f"deployment {name}", len(seen.fresh), fresh)
    old = _scaling(about, f"old pods of deployment {name}", len(seen.stale), stale)
    return old + _scaling(about, f"new pods of deployment {name}", len(seen.fresh), fresh)


def _scaling(about: JsonObject, what: str, before: int, after: int) -> list[Emit]:
    if before == after:
        return []
    direction = "up" if after > before else "down"
    message = f"Scaled {direction} {what} from {before} to {after}"
    return [Emit(about, "Normal", "ScalingReplicaSet", message, COMPONENT)]


def _again_at(spec: JsonObject, status: JsonObject, seen: Pods, now: float) -> float | None:
    """When time alone changes something: a pod becomes available, a deadline passes, a back-off ends."""
    seconds = spec.get("minReadySeconds", 0)
    moments = [at for pod in seen.active if (at := available_at(pod, seconds)) is not None]
    due = times_out_at(spec, condition(status, "Progressing"))
    if due is not None:
        moments.append(due + 1)
    moments.append(backoff_until(seen.ended, now))
    return min((at for at in moments if at > now), default=None)


class DeploymentController:
    """See `runtime.actions.Loop`."""

    name = "deployment"
    watches = (DEPLOYMENTS, PODS)

    def keys(self, resource: Resource, obj: JsonObject, view: View) -> Iterable[str]:
        if resource == DEPLOYMENTS:
            return (own_key(obj, DEPLOYMENTS, view),)
        key = owner_key(obj, DEPLOYMENTS, "apps", "Deployment", view)
        return (key,) if key is not None else ()

    def owned_by(self, key: str, view: View) -> tuple[Resource, str] | None:
        return pods_of(DEPLOYMENTS, key, view)

    def plan(self, key: str, view: View, now: float) -> Plan:
        namespace, name, *gone = key.split("/")
        if gone:
            return plan_leftover(view, "Deployment", key)
        deployment = view.get(DEPLOYMENTS, namespace, name)
        if deployment is None or terminating_namespace(view, namespace):
            return Plan()
        return plan_deployment(deployment, view.owned(PODS, deployment["metadata"]["uid"]), now)
