"""The scheduler by Kestrel's own rules: cpu and memory, taints, affinity, and preemption.

As `scheduler` with the profile `kube32`; a pod that fits nowhere, and may evict others, is nominated for a node in its
create request already.  The loop then has its victims deleted, and binds it when they have gone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kube32_controllers.kestrel_cache import KestrelCache
from kube32_controllers.kestrel_pods import KestrelRecord, read_pod
from kube32_controllers.pod_conditions import disruption_target, with_condition
from kube32_controllers.scheduler import COMPONENT, Scheduler, failed_event, refuse_actions, unschedulable
from kube32_controllers.scheduler_cache import Decision, PodRecord
from kube32_sim.api.pod_state import finished, terminating
from kube32_sim.causes import Cause, ref
from kube32_sim.client import PODS
from kube32_sim.runtime.actions import Action, Delete, Emit, Update, View, reference

JsonObject = dict[str, Any]

PREEMPTING = f"{COMPONENT}: preempting to accommodate a higher priority pod"


class KestrelScheduler(Scheduler):
    profile = "kestrel"

    def __init__(self, interval: float = 1.0) -> None:
        super().__init__(interval)
        self._picture = KestrelCache()
        self.cache = self._picture

    def assign(self, pod: JsonObject) -> Decision:
        return self._picture.place(pod)

    def misfit(self, pod: JsonObject, node: str) -> str:
        return self._picture.misfit_of(read_pod(pod, 0, 0, None), node)

    def verdicts(self, pod: JsonObject) -> dict[str, str]:
        key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        record = self._picture.waiting.get(key)
        return self._picture.verdicts_of(record if isinstance(record, KestrelRecord) else read_pod(pod, 0, 0, None))

    def _decide(self, record: PodRecord) -> Decision:
        assert isinstance(record, KestrelRecord)
        return self._picture.decide_for(record)

    def _refuse(self, pod: JsonObject, decision: Decision, view: View, now: str) -> tuple[Action, ...]:
        """Tell that a pod has to wait, and have the pods go that are in its way."""
        actions = list(_tell(pod, decision, now))
        for key in decision.victims:
            namespace, _, name = key.partition("/")
            victim = view.get(PODS, namespace, name)
            if victim is not None and not terminating(victim) and not finished(victim):
                actions += _evict(victim, pod, decision.nominated, now)
        return tuple(actions)


def _tell(pod: JsonObject, decision: Decision, now: str) -> tuple[Action, ...]:
    status = pod.get("status") or {}
    if (status.get("nominatedNodeName") or "") != decision.nominated:
        condition = unschedulable(decision.message, now, pod["metadata"].get("generation"))
        changed = with_condition(_nominated(status, decision.nominated), condition)
        return _update(pod, changed), failed_event(pod, decision.message)
    actions = refuse_actions(pod, decision.message, now)
    return () if decision.nominated and len(actions) == 1 else actions  # what it waits for has been told


def _evict(victim: JsonObject, preemptor: JsonObject, node: str, now: str) -> tuple[Action, ...]:
    """What kube-scheduler does to a victim; one for which only room was kept loses that."""
    metadata, status = victim["metadata"], victim.get("status") or {}
    if not victim["spec"].get("nodeName"):
        return (_update(victim, _nominated(status, "")),)
    target = disruption_target("PreemptionByScheduler", PREEMPTING, now)
    message = f"Preempted by pod {preemptor['metadata']['uid']} on node {node}"
    whom = f"{preemptor['metadata']['namespace']}/{preemptor['metadata']['name']}"
    text = f"it made room on {node} for pod {whom}, which has a higher priority"
    cause = Cause(COMPONENT, "Preempted", text, about=ref("Pod", preemptor))
    return (
        replace(_update(victim, with_condition(status, target)), cause=cause),
        Delete(PODS, metadata["namespace"], metadata["name"], metadata["uid"], cause=cause),
        Emit(reference("v1", "Pod", victim), "Normal", "Preempted", message, COMPONENT),
    )


def _nominated(status: JsonObject, node: str) -> JsonObject:
    others = {key: value for key, value in status.items() if key != "nominatedNodeName"}
    return {**others, "nominatedNodeName": node} if node else others


def _update(pod: JsonObject, status: JsonObject) -> Update:
    return Update(PODS, pod["metadata"]["namespace"], {**pod, "status": status}, "status")
