"""The scheduler: binds pods inside their create request, and tries again those that fitted nowhere.

`Scheduler` is both halves over one picture of the cluster (`scheduler_cache`): the registry asks `bind_on_create`, and
as a loop it retries the unbound pods, in the order of their creation.  Which node is best is Kestrel's to say, by the
profile `kube32`; `scheduler_figures` puts pods and nodes into its terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from kube32_controllers.pod_conditions import with_condition
from kube32_controllers.scheduler_cache import Decision, PodRecord, SchedulerCache, scheduled_condition, waits_for_node
from kube32_controllers.scheduler_figures import pod_request
from kube32_sim.causes import Cause, Placement, placed
from kube32_sim.client import NODES, PODS, Resource
from kube32_sim.clock import rfc3339
from kube32_sim.runtime.actions import Action, Create, Emit, Patch, Plan, Update, View, reference

JsonObject = dict[str, Any]

COMPONENT = "default-scheduler"
EAGER_TRIES, PATIENT_PERIOD = 30, 10.0
"""A hopeless pod is tried every interval so many times, then at this period (kube-scheduler's longest back-off)."""
TRIES_A_SECOND = 100
"""Hopeless pods tried again a second, at most, while nothing changes: more of them wait longer."""
REFUSALS = 500
"""Pods that one pass tells that they fit nowhere, at most: each costs two writes."""
STRIDE = 64
"""Pods looked at before others get their turn."""

Attempt = tuple[str, int | None]
"""What is tried: a pod's uid and the generation of its spec."""


class Store(Protocol):
    def list(self, storage: tuple[str, str], namespace: str = "") -> Sequence[Any]: ...


def scheduled_event(pod: JsonObject, node: str) -> Emit:
    metadata = pod["metadata"]
    message = f"Successfully assigned {metadata.get('namespace', '')}/{metadata['name']} to {node}"
    return Emit(reference("v1", "Pod", pod), "Normal", "Scheduled", message, COMPONENT)


def failed_event(pod: JsonObject, message: str) -> Emit:
    return Emit(reference("v1", "Pod", pod), "Warning", "FailedScheduling", message, COMPONENT)


def creation_events(pod: JsonObject) -> list[Emit]:
    """What `bind_on_create` did to a pod that is stored now (a generated name may have changed since)."""
    condition = scheduled_condition(pod)
    if condition.get("status") == "True" and pod["spec"].get("nodeName"):
        return [scheduled_event(pod, pod["spec"]["nodeName"])]
    if condition.get("status") == "False" and condition.get("reason") == "Unschedulable":
        return [failed_event(pod, condition.get("message", ""))]
    return []


def scheduled(now: str) -> JsonObject:
    return {"type": "PodScheduled", "status": "True", "lastTransitionTime": now}


def unschedulable(message: str, now: str, generation: int | None = None) -> JsonObject:
    """generation: of the pod that was tried."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastTransitionTime": now,
    }
    return {**condition, "observedGeneration": generation} if generation else condition


def bind_actions(pod: JsonObject, node: str, placement: Placement | None = None) -> tuple[Action, ...]:
    """Bind a stored pod.  What an eviction left in status.reason and message goes first; DisruptionTarget stays.

    placement: what spoke for the node, where more is known of it.
    """
    metadata, status = pod["metadata"], pod.get("status") or {}
    namespace, name = metadata["namespace"], metadata["name"]
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": namespace, "name": name, "uid": metadata["uid"]},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    told, cause = scheduled_event(pod, node), Cause(COMPONENT, "Scheduled", placement=placement or Placement(node))
    bind = Create(PODS, namespace, binding, succeeded=told, subresource="binding", name=name, cause=cause)
    if status.get("reason") or status.get("message"):
        return Patch(PODS, namespace, name, {"status": {"reason": None, "message": None}}, "status"), bind
    return (bind,)


def refuse_actions(pod: JsonObject, message: str, now: str) -> tuple[Action, ...]:
    """Tell that a stored pod fits nowhere; the condition is written only where it says something new."""
    event = failed_event(pod, message)
    old = scheduled_condition(pod)
    new = unschedulable(message, now, pod["metadata"].get("generation"))
    if all(old.get(key) == value for key, value in new.items() if key != "lastTransitionTime"):
        return (event,)
    status = with_condition(pod.get("status") or {}, new)
    # that it fits nowhere still, for another reason, is no news to those who ask why
    again = old.get("reason") == "Unschedulable"
    cause = None if again else Cause(COMPONENT, "FailedScheduling", placement=Placement("", message=message))
    return Update(PODS, pod["metadata"]["namespace"], {**pod, "status": status}, "status", cause), event


def retry_period(tries: int, waiting: int, interval: float) -> float:
    """Seconds until a pod that fits nowhere is tried again though nothing has changed."""
    period = interval if tries < EAGER_TRIES else max(interval, PATIENT_PERIOD)
    return max(period, waiting / TRIES_A_SECOND)


class Scheduler:
    """interval: of the retry loop (seconds); the runner is started with the same."""

    name = "scheduler"
    profile = "kube32"
    """The rules by which it schedules, as `--scheduler-profile` knows them; `cache` is a picture by these rules."""
    watches: tuple[Resource, ...] = (PODS, NODES)
    heartbeats: tuple[Resource, ...] = (NODES,)

    def __init__(self, interval: float = 1.0) -> None:
        self.cache = SchedulerCache()
        self._interval = interval
        self._tries: dict[Attempt, int] = {}
        self._swept = -1
        self._told: tuple[str, int] = ("", 0)
        self._left = False

    def load(self, store: Store) -> None:
        """Read what is stored; the caller subscribes `cache.observe` to Nodes and Pods in the same breath."""
        self.cache.load(store.list(("", "nodes")), store.list(("", "pods")))

    # inside the create request

    def assign(self, pod: JsonObject) -> Decision:
        """Where a pod goes now.  Binds nothing."""
        return self.cache.decide(pod_request(pod["spec"]))

    def bind_on_create(self, pod: JsonObject, now: str) -> list[Emit]:
        """Place a pod that is about to be stored (changed in place); answers the events to record once it is.

        Between this and the store's append nothing else may run: the picture learns of the binding from the append.
        """
        if not waits_for_node(pod):
            return []
        decision = self.assign(pod)
        if decision.node is None:
            condition = unschedulable(decision.message, now, pod["metadata"].get("generation"))
        else:
            condition = scheduled(now)
            pod["spec"]["nodeName"] = decision.node
        placed(pod, decision.placement(self.cache.second() if decision.node is not None else None))
        pod["status"] = with_condition(pod.get("status") or {}, condition)
        if decision.nominated:
            pod["status"]["nominatedNodeName"] = decision.nominated
        return creation_events(pod)

    def misfit(self, pod: JsonObject, node: str) -> str:
        """Why a pod does not fit on a node now; "" where it does."""
        return self.cache.misfit(pod_request(pod["spec"]), node)

    def verdicts(self, pod: JsonObject) -> dict[str, str]:
        """Of each node by its name why a pod does not fit there now; "" where it does."""
        return self.cache.verdicts(pod_request(pod["spec"]))

    @contextmanager
    def supposing(self) -> Iterator[SchedulerCache]:
        """The picture, for somebody who changes it and changes it back, with no turn of others in between.

        That is no news to the retry loop.
        """
        position = self.cache.position
        try:
            yield self.cache
        finally:
            if self._swept == position:
                self._swept = self.cache.position

    # the retry loop

    def keys(self, resource: Resource, obj: JsonObject, view: View) -> Iterable[str]:
        return ()

    def heeds(self, event: Any) -> bool:
        """A heartbeat matters where it makes the report of a node newer than its pods, and somebody waits."""
        return bool(self.cache.waiting) and self.cache.position != self._swept

    def sweep(self, view: View, now: float) -> Iterator[str | None]:
        """The unbound pods about which there is something new, those that now fit in the order of their creation.

        Computed as the pass goes on, so that each sees the bindings before it; None wherever others may run.
        """
        waiting = sorted(self.cache.waiting.values(), key=lambda pod: pod.order)
        self._tries = {pod.attempt: self._tries[pod.attempt] for pod in waiting if pod.attempt in self._tries}
        still, self._swept = self.cache.position == self._swept, self.cache.position
        refused = []
        for place, pod in enumerate(waiting, 1):
            if place % STRIDE == 0:
                yield None
            if still and pod.attempt in self._tries and self.cache.position == self._swept:
                continue
            if self.cache.waiting.get(pod.key) is not pod:
                continue
            decision = self._decide(pod)
            if decision.node is not None or decision.nominated:
                yield pod.key
            elif pod.attempt not in self._tries or decision.message != pod.message:
                refused.append(pod)
        yield from self._some_of(refused)

    def _some_of(self, refused: list[PodRecord]) -> list[str]:
        """As many of the pods to be told no as one pass may tell, the others' turn being the next.

        It is the last of them that brings the next pass about (see `plan`): no change of any object may.
        """
        self._left = len(refused) > REFUSALS
        if len(refused) > REFUSALS:
            self._swept = -1
            later = [pod for pod in refused if pod.order > self._told]
            refused = [*later, *refused][:REFUSALS]
            self._told = refused[-1].order
        return [pod.key for pod in refused]

    def plan(self, key: str, view: View, now: float) -> Plan:
        record = self.cache.waiting.get(key)
        namespace, _, name = key.partition("/")
        pod = view.get(PODS, namespace, name)
        if record is None or pod is None or pod["metadata"].get("uid", "") != record.uid:
            return Plan()
        decision = self._decide(record)
        if decision.node is not None:
            return Plan(bind_actions(pod, decision.node, decision.placement(self.cache.second())))
        tries = self._tries[record.attempt] = self._tries.get(record.attempt, 0) + 1
        again = now + retry_period(tries, len(self.cache.waiting), self._interval)
        if self._left and record.order == self._told:
            again = now + self._interval
        return Plan(self._refuse(pod, decision, view, rfc3339(now)), again)

    # what another profile does otherwise

    def _decide(self, record: PodRecord) -> Decision:
        return self.cache.decide(record.request)

    def _refuse(self, pod: JsonObject, decision: Decision, view: View, now: str) -> tuple[Action, ...]:
        return refuse_actions(pod, decision.message, now)
