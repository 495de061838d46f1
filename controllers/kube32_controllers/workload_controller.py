"""The loops around DaemonSets and Jobs: what they look at, and when.

What to do is decided in `daemonset.py` and `job.py`; pods whose owner is gone are deleted by these loops too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kube32_controllers.daemonset import plan_daemonset
from kube32_controllers.job import plan_job
from kube32_controllers.job_pods import leftover_actions, release, tracked
from kube32_controllers.pod_control import (
    controlling,
    left_over,
    own_key,
    owner_gone,
    owner_key,
    plan_leftover,
    pods_of,
    terminating_namespace,
)
from kube32_sim.client import DAEMONSETS, JOBS, NODES, PODS, Resource
from kube32_sim.runtime.actions import Plan, View

JsonObject = dict[str, Any]


class DaemonSetController:
    """See `runtime.actions.Loop`."""

    name = "daemonset"
    watches = (DAEMONSETS, PODS, NODES)

    def __init__(self) -> None:
        self._labels: dict[str, dict[str, str]] = {}
        """Labels of the nodes as last heard of: nothing else of a node, which changes all the time, matters here."""

    def keys(self, resource: Resource, obj: JsonObject, view: View) -> Iterable[str]:
        if resource == DAEMONSETS:
            return (own_key(obj, DAEMONSETS, view),)
        if resource == NODES:
            return self._all(view) if self._moved(obj, view) else ()
        key = owner_key(obj, DAEMONSETS, "apps", "DaemonSet", view)
        return (key,) if key is not None else ()

    def _moved(self, node: JsonObject, view: View) -> bool:
        """Whether a node came, went, or changed its labels since it was last heard of."""
        name = node["metadata"]["name"]
        current = view.get(NODES, "", name)
        before = self._labels.pop(name, None)
        if current is None:
            return before is not None
        self._labels[name] = current["metadata"].get("labels", {})
        return before != self._labels[name]

    @staticmethod
    def _all(view: View) -> list[str]:
        return [f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in view.list(DAEMONSETS)]

    def owned_by(self, key: str, view: View) -> tuple[Resource, str] | None:
        return pods_of(DAEMONSETS, key, view)

    def plan(self, key: str, view: View, now: float) -> Plan:
        namespace, name, *gone = key.split("/")
        if gone:
            return plan_leftover(view, "DaemonSet", key)
        daemonset = view.get(DAEMONSETS, namespace, name)
        if daemonset is None or terminating_namespace(view, namespace):
            return Plan()
        pods = view.owned(PODS, daemonset["metadata"]["uid"])
        return plan_daemonset(daemonset, pods, view.list(NODES), now)


class JobController:
    """See `runtime.actions.Loop`.  A key `namespace//pod` is a pod that is tracked though no Job controls it."""

    name = "job"
    watches = (JOBS, PODS)

    def keys(self, resource: Resource, obj: JsonObject, view: View) -> Iterable[str]:
        if resource == JOBS:
            return (own_key(obj, JOBS, view),)
        key = owner_key(obj, JOBS, "batch", "Job", view)
        if key is not None:
            return (key,)
        metadata = obj["metadata"]
        return (f"{metadata['namespace']}//{metadata['name']}",) if tracked(obj) else ()

    def owned_by(self, key: str, view: View) -> tuple[Resource, str] | None:
        return pods_of(JOBS, key, view)

    def plan(self, key: str, view: View, now: float) -> Plan:
        namespace, name, *rest = key.split("/")
        if not name:
            return self._plan_stray(view.get(PODS, namespace, rest[0]))
        if rest:
            return Plan(tuple(leftover_actions(left_over(view, "Job", key), owner_gone("Job", key))))
        job = view.get(JOBS, namespace, name)
        if job is None:
            return Plan()
        pods = view.owned(PODS, job["metadata"]["uid"])
        if terminating_namespace(view, namespace):
            return Plan(tuple(release(pod) for pod in pods if tracked(pod) and "deletionTimestamp" in pod["metadata"]))
        return plan_job(job, pods, now)

    @staticmethod
    def _plan_stray(pod: JsonObject | None) -> Plan:
        if pod is None or not tracked(pod):
            return Plan()
        owner = controlling(pod)
        return Plan() if owner is not None and owner.get("kind") == "Job" else Plan((release(pod),))
