"""The pods of a Job: how each counts, which ones are made, which ones are too many.  Pure.

A Job's pods carry the finalizer `batch.kubernetes.io/job-tracking` until they have been counted, so that a pod that
ended and was deleted is counted all the same, once.  `job.py` decides about the Job.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from kube32_controllers.job_indexes import Indexes
from kube32_controllers.pod_control import BURST, delete_pod, newest_first, pod_from_template, told_delete
from kube32_sim.api.pod_state import active, finished, ready, terminating
from kube32_sim.causes import Cause
from kube32_sim.client import PODS
from kube32_sim.runtime.actions import Action, Patch

JsonObject = dict[str, Any]

COMPONENT = "job-controller"
TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
INDEX_VARIABLE = "JOB_COMPLETION_INDEX"


@dataclass(slots=True)
class JobPods:
    """A Job's pods by how they count.

    succeeded and failed are those that have ended and are still tracked, so not yet counted for good; a pod that is
    being deleted counts as failed at once, unless the Job replaces only pods that have failed.
    """

    active: list[JsonObject] = field(default_factory=list)
    succeeded: list[JsonObject] = field(default_factory=list)
    failed: list[JsonObject] = field(default_factory=list)
    terminating: list[JsonObject] = field(default_factory=list)
    """Being deleted and still running."""

    @property
    def ended(self) -> list[JsonObject]:
        return self.succeeded + self.failed


def sort_out(job: JsonObject, pods: Iterable[JsonObject]) -> JobPods:
    seen = JobPods()
    patient = waits_for_failure(job)
    for pod in pods:
        if active(pod):
            seen.active.append(pod)
            continue
        if terminating(pod) and not finished(pod):
            seen.terminating.append(pod)
        if not tracked(pod):
            continue
        if pod.get("status", {}).get("phase") == "Succeeded":
            seen.succeeded.append(pod)
        elif finished(pod) or not patient or _will_never_end(pod):
            seen.failed.append(pod)
    return seen


def waits_for_failure(job: JsonObject) -> bool:
    """Whether a pod that is being deleted is replaced only when it has ended (podReplacementPolicy Failed)."""
    return bool(job["spec"].get("podReplacementPolicy") == "Failed")


def _will_never_end(pod: JsonObject) -> bool:
    """Nobody runs a pod that has no node, or that its kubelet has given up."""
    return not pod["spec"].get("nodeName") or pod["metadata"].get("deletionGracePeriodSeconds") == 0


def completions(job: JsonObject) -> int:
    """How many pods have to succeed: 1 where the Job does not say (kube32's rule; upstream means a work queue then)."""
    number: int = job["spec"].get("completions", 1)
    return number


def tracked(pod: JsonObject) -> bool:
    return TRACKING in pod["metadata"].get("finalizers", [])


def release(pod: JsonObject) -> Patch:
    """Take the tracking finalizer off a pod, as it was seen."""
    metadata = pod["metadata"]
    left = [held for held in metadata["finalizers"] if held != TRACKING]
    patch = {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": left or None}}
    return Patch(PODS, metadata["namespace"], metadata["name"], patch)


def leftover_actions(pods: Iterable[JsonObject], cause: Cause | None = None) -> Iterator[Action]:
    """The Job is gone: its pods are let go and deleted, as many as one plan may."""
    for pod in islice((pod for pod in pods if tracked(pod) or not terminating(pod)), BURST):
        if tracked(pod):
            yield release(pod)
        if not terminating(pod):
            yield delete_pod(pod, cause)


def withdrawn(pods: Iterable[JsonObject], about: JsonObject, cause: Cause | None = None) -> Iterator[Action]:
    """Delete pods that are not wanted any more, as many as one plan may, without counting them as failed."""
    for pod in islice(pods, BURST):
        if tracked(pod):
            yield release(pod)
        yield from told_delete(pod, about, COMPONENT, cause)


def removal_order(pods: Sequence[JsonObject]) -> list[JsonObject]:
    """Which of the active pods go first: unscheduled, pending, not ready, newest."""
    return sorted(
        newest_first(pods),
        key=lambda pod: (
            bool(pod["spec"].get("nodeName")),
            pod.get("status", {}).get("phase") == "Running",
            ready(pod),
        ),
    )


# indexes


def indexed(job: JsonObject) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def index_of(pod: JsonObject) -> int | None:
    """The completion index of a pod; None where it has no valid one."""
    text = pod["metadata"].get("annotations", {}).get(INDEX, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 else None


def surplus_indexes(job: JsonObject, pods: Sequence[JsonObject], done: Indexes) -> list[JsonObject]:
    """Active pods of an index that is done, out of range, or taken by an older pod already."""
    seen: set[int] = set()
    surplus = []
    for pod in reversed(newest_first(pods)):
        index = index_of(pod)
        if index is None or index in seen or index in done or index >= job["spec"]["completions"]:
            surplus.append(pod)
        else:
            seen.add(index)
    return surplus


# making pods


def job_pod(job: JsonObject, about: JsonObject, index: int, annotations: dict[str, str]) -> JsonObject:
    """A new pod; index: its completion index, -1 where the Job is not Indexed."""
    name = job["metadata"]["name"]
    prefix = f"{name}-" if index < 0 else f"{name}-{index}-"
    pod = pod_from_template(job["spec"]["template"], about, prefix)
    pod["metadata"].setdefault("finalizers", []).append(TRACKING)
    if annotations:
        pod["metadata"].setdefault("annotations", {}).update(annotations)
    if index >= 0:
        _mark(pod, name, str(index))
    return pod


def _mark(pod: JsonObject, name: str, index: str) -> None:
    pod["metadata"].setdefault("annotations", {})[INDEX] = index
    pod["metadata"]["labels"][INDEX] = index
    pod["spec"]["hostname"] = f"{name}-{index}"
    variable = {"name": INDEX_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}}
    for container in (*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]):
        environment = container.setdefault("env", [])
        if all(given["name"] != INDEX_VARIABLE for given in environment):
            environment.append(variable)
