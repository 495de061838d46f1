"""A pod as the scheduler of the profile `kestrel` keeps it: what it asks for in Kestrel's terms, and what they lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kube32_controllers.scheduler_cache import PodRecord, is_unsettled, key_of, scheduled_condition, waits_for_node
from kube32_sim.api import quantity
from kube32_sim.api.pod_state import terminating
from kube32_sim.api.requests import declared, pod_totals
from kube32_sim.kestrel.models import PodSpec
from kube32_sim.translation.beyond import Problem
from kube32_sim.translation.kubernetes import problems_of_new, translation
from kube32_sim.translation.terms import NAMESPACE, ReadTerm, labels_of

JsonObject = dict[str, Any]

KIB = 1024
HIGHEST = 2**31
"""Above every priority that a pod can have."""


@dataclass(slots=True, kw_only=True)
class KestrelRecord(PodRecord):
    """spec: without what has a problem.  problems: why it cannot be placed by these rules.  lasting: why a node that it
    is on is not known well enough for any pod.

    repelling: anti-affinity terms that spec has not.  nominated: the node where room is made for it.  going: it is
    being deleted.  memory: what a board leaves out of its report for it while it runs, in bytes.
    """

    spec: PodSpec
    problems: tuple[Problem, ...]
    lasting: tuple[Problem, ...]
    repelling: tuple[ReadTerm, ...]
    nominated: str
    going: bool
    memory: int

    @property
    def place(self) -> str:
        """The node where it counts: its own, or the one that is kept for it; "" where there is none."""
        return self.node or self.nominated

    @property
    def identity(self) -> JsonObject:
        """The part of the pod that terms of others are about."""
        labels = dict(self.spec.labels)
        namespace = labels.pop(NAMESPACE)
        return {"metadata": {"namespace": namespace, "labels": labels}}


def read_pod(obj: JsonObject, revision: int, arrival: int, old: KestrelRecord | None) -> KestrelRecord:
    """arrival: its place among the pods that came.  old: what was known of it: what it asks for may be the same."""
    metadata, spec, status = obj["metadata"], obj["spec"], obj.get("status") or {}
    waits = waits_for_node(obj)
    if old is not None and _reads_alike(old, obj):
        problems, lasting, repelling, memory = old.problems, old.lasting, old.repelling, old.memory
        labels = labels_of(obj)
        read = old.spec if old.spec.labels == labels else replace(old.spec, labels=labels)
    else:
        found = translation(obj)
        read, lasting, repelling = found.spec, found.lasting, found.repelling
        problems, memory = problems_of_new(obj, found), _left_out(spec)
    return KestrelRecord(
        key_of(obj) if "name" in metadata else "",
        metadata.get("uid", ""),
        (f"{HIGHEST - read.priority:010d} {metadata.get('creationTimestamp', '')}", arrival),
        metadata.get("generation"),
        revision,
        spec.get("nodeName") or "",
        read.request,
        is_unsettled(status),
        waits,
        scheduled_condition(obj).get("message", "") if waits else "",
        spec=read,
        problems=problems,
        lasting=lasting,
        repelling=repelling,
        nominated=(status.get("nominatedNodeName") or "") if waits else "",
        going=terminating(obj),
        memory=memory,
    )


def _reads_alike(old: KestrelRecord, obj: JsonObject) -> bool:
    """Whether what was read of a pod is still true: a status counts only while a resize is under way."""
    generation, status = obj["metadata"].get("generation"), obj.get("status") or {}
    if generation is None or generation != old.generation or status.get("nodeAllocatableResourceClaimStatuses"):
        return False
    if old.node and old.node != obj["spec"].get("nodeName"):  # it waits again, and more counts then
        return False
    statuses = (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
    return not old.lasting and not any(one.get("resources") or one.get("allocatedResources") for one in statuses)


def _left_out(spec: JsonObject) -> int:
    """As boards count: whole KiB of each container."""
    return pod_totals(spec, _memory).get("memory", 0)


def _memory(container: JsonObject) -> dict[str, int]:
    amount = declared(container).get("memory")
    if amount is None:
        return {}
    try:
        return {"memory": -(-quantity.value(str(amount)) // KIB) * KIB}
    except quantity.QuantityError:
        return {"memory": 0}


def told(problems: Sequence[Problem]) -> str:
    """Why a pod waits whatever the nodes have."""
    return "; ".join(map(str, problems))
