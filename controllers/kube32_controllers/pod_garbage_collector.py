"""Pod garbage collection: pods that nobody will ever clear away otherwise.

    pods of nodes that are gone for 40 s             become Failed and are removed
    terminating pods without a node                  are removed
    finished pods beyond 12,500                      are removed, the oldest first

The rules and figures are those of Kubernetes' podgc controller.  Keys: `node/NAME`, `pod/NAMESPACE/NAME`, `finished`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kube32_controllers.pod_conditions import disruption_target, with_condition
from kube32_controllers.pod_control import created
from kube32_sim.api.pod_state import finished, terminating
from kube32_sim.causes import Cause, Ref
from kube32_sim.client import NODES, PODS, Resource
from kube32_sim.clock import rfc3339
from kube32_sim.runtime.actions import Action, Delete, Patch, Plan, View

JsonObject = dict[str, Any]

COMPONENT = "pod-garbage-collector"
CHECK_PERIOD = 20.0
"""The interval its runner is to have, in seconds."""
QUARANTINE = 40.0
"""How long a node has to be gone (seconds): it may come back under its name."""
MOST_FINISHED = 12_500
REASON, MESSAGE = "DeletionByPodGC", "PodGC: node no longer exists"


def plan_orphans(pods: Iterable[JsonObject], gone_since: float, now: float) -> Plan:
    """Pods bound to a node that has been gone since a moment (seconds since 1970)."""
    due = gone_since + QUARANTINE
    bound = list(pods)
    if not bound:
        return Plan()
    if now < due:
        return Plan((), due)
    actions: list[Action] = []
    for pod in bound:
        if not finished(pod):
            actions.append(_failed(pod, now))
        if not _removed(pod):
            node = pod["spec"]["nodeName"]
            actions.append(_remove(pod, "NodeGone", f"its node {node} does not exist any more", Ref("Node", "", node)))
    return Plan(tuple(actions))


def _removed(pod: JsonObject) -> bool:
    """Whether it is only there for its finalizers still."""
    return terminating(pod) and pod["metadata"].get("deletionGracePeriodSeconds") == 0


def _failed(pod: JsonObject, now: float) -> Patch:
    metadata = pod["metadata"]
    target = disruption_target(REASON, MESSAGE, rfc3339(now))
    conditions = with_condition(pod.get("status") or {}, target)["conditions"]
    # with its uid: a pod that has been made anew under the name is another
    patch = {"metadata": {"uid": metadata["uid"]}, "status": {"phase": "Failed", "conditions": conditions}}
    return Patch(PODS, metadata["namespace"], metadata["name"], patch, "status")


def _remove(pod: JsonObject, reason: str, message: str, about: Ref | None = None) -> Delete:
    metadata, cause = pod["metadata"], Cause(COMPONENT, reason, message, about)
    return Delete(PODS, metadata["namespace"], metadata["name"], metadata["uid"], grace_period_seconds=0, cause=cause)


def plan_unscheduled(pod: JsonObject | None) -> Plan:
    """A pod that is being deleted and that no kubelet has."""
    if pod is None or not terminating(pod) or _removed(pod) or pod["spec"].get("nodeName"):
        return Plan()
    return Plan((_remove(pod, "NeverBound", "it was being deleted, and no kubelet has it"),))


def plan_finished(pods: Sequence[JsonObject], most: int = MOST_FINISHED) -> Plan:
    """Finished pods beyond a number; evicted ones go first, then the oldest."""
    done = [pod for pod in pods if finished(pod) and not terminating(pod)]
    done.sort(key=lambda pod: (pod["status"].get("reason") != "Evicted", created(pod), pod["metadata"]["name"]))
    why = f"it has ended, and there are more than {most} ended pods"
    return Plan(tuple(_remove(pod, "TooManyEnded", why) for pod in done[: max(0, len(done) - most)]))


class PodGarbageCollector:
    """See `runtime.actions.Loop`."""

    name = "pod-garbage-collector"
    watches = (PODS, NODES)

    def __init__(self, most_finished: int = MOST_FINISHED) -> None:
        self._most = most_finished
        self._gone: dict[str, float] = {}
        """Nodes that pods name and that are not there, since when."""
        self._finished: set[tuple[str, str]] = set()

    def keys(self, resource: Resource, obj: JsonObject, view: View) -> Iterable[str]:
        metadata = obj["metadata"]
        if resource == NODES:
            return (f"node/{metadata['name']}",)
        return self._pod_keys(obj, view.get(PODS, metadata["namespace"], metadata["name"]), view)

    def _pod_keys(self, obj: JsonObject, current: JsonObject | None, view: View) -> Iterable[str]:
        namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
        if current is None or not finished(current):
            self._finished.discard((namespace, name))
        else:
            self._finished.add((namespace, name))
            if len(self._finished) > self._most:
                yield "finished"
        if current is None:
            node = (obj.get("spec") or {}).get("nodeName")
            if node in self._gone:  # was it the last one?
                yield f"node/{node}"
            return
        node = current["spec"].get("nodeName")
        if node and view.get(NODES, "", node) is None:
            yield f"node/{node}"
        elif not node and terminating(current):
            yield f"pod/{namespace}/{name}"

    def plan(self, key: str, view: View, now: float) -> Plan:
        kind, _, rest = key.partition("/")
        if kind == "finished":
            return plan_finished(view.list(PODS), self._most)
        if kind == "pod":
            namespace, _, name = rest.partition("/")
            return plan_unscheduled(view.get(PODS, namespace, name))
        if view.get(NODES, "", rest) is not None:
            self._gone.pop(rest, None)
            return Plan()
        since = self._gone[rest] = min(now, self._gone.get(rest, now))  # the clock may have been set back
        plan = plan_orphans(view.by_field(PODS, "spec.nodeName", rest), since, now)
        if plan == Plan():
            self._gone.pop(rest, None)
        return plan
