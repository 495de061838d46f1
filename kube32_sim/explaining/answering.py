"""`explanations`: what a POST is answered.  Nothing is stored and nothing is changed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, Protocol

from kube32_sim.api import errors
from kube32_sim.api.authorization import Attributes
from kube32_sim.api.own import API_VERSION, GROUP
from kube32_sim.api.users import User
from kube32_sim.causes import Ref
from kube32_sim.clock import rfc3339, rfc3339_micro
from kube32_sim.explaining.leftovers import of_events, of_object, together
from kube32_sim.explaining.notes import Notes
from kube32_sim.explaining.story import Link, causes_of
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.journal import CREATED, PODS, Journal
from kube32_sim.registry.own import demand_reading
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import JsonObject
from kube32_sim.storage.objects import StoredObject

EVENTS = ("", "events")
KIND = "Explanation"
MOST_NODES = 200
"""Nodes that are told of by name, where a pod waits for one."""
MOST_NEAR, MOST_COMPARED = 3, 2000
"""Names that are told where one is not known; among how many they are looked for, which takes time."""
SCHEDULERS = ("", "default-scheduler")


class Scheduler(Protocol):
    """The part of it that knows why a pod fits on no node."""

    def verdicts(self, pod: JsonObject) -> dict[str, str]:
        """Of each node by its name why the pod does not fit there now; "" where it does."""


class Explaining:
    """scheduler: None where it is switched off."""

    def __init__(self, registry: Registry, journal: Journal, scheduler: Scheduler | None) -> None:
        self._registry = registry
        self._journal = journal
        self._scheduler = scheduler

    def answer(self, asked: Asked, obj: JsonObject) -> JsonObject:
        """The Explanation with its status.

        ApiError 422 for what names no pod, 403 for one that who asks may not get, 404 for one that nobody knows.
        """
        wanted = self._wanted(obj)
        pod_read = Attributes("get", "", "v1", "pods", "", wanted.namespace, wanted.name)
        demand_reading(self._registry.authorizer, asked, pod_read, "an explanation")
        notes = Notes(self._journal)
        about, stored = self._found(asked.user, wanted, notes)
        pod = stored.object() if stored is not None else None
        links, notices = self._links(about, pod, notes)
        now = self._registry.clock.now()
        may_list = self._may_list(asked.user, "nodes")
        nodes, left_out = self._verdicts(pod) if pod is not None and may_list else ([], 0)
        status: JsonObject = {
            "now": rfc3339_micro(now),
            "recordedSince": rfc3339_micro(self._journal.since),
            "pod": _state(about, pod),
            "summary": _summary(pod, links),
            "causes": [_shown(link) for link in links],
        }
        if nodes:
            status["nodes"] = nodes
        if left_out:
            status["nodesLeftOut"] = left_out
        notices += self._notices(pod)
        if not may_list and pod is not None and self._waits(pod):
            notices.append("what the nodes say is told to those only who may list nodes")
        if notices:
            status["notes"] = notices
        metadata = {"creationTimestamp": rfc3339(now)}
        spec = {"pod": {key: value for key, value in wanted._asdict().items() if value and key in _IDENTITY}}
        return {"kind": KIND, "apiVersion": API_VERSION, "metadata": metadata, "spec": spec, "status": status}

    def _wanted(self, obj: JsonObject) -> Ref:
        pod = (obj.get("spec") or {}).get("pod") or {}
        name, uid = pod.get("name") or "", pod.get("uid") or ""
        if not name:
            wrong = errors.required("spec.pod.name", "which pod is to be explained")
            raise errors.invalid(GROUP, KIND, "", [wrong])
        return Ref("Pod", pod.get("namespace") or "default", name, uid)

    # which pod

    def _found(self, user: User, wanted: Ref, notes: Notes) -> tuple[Ref, StoredObject | None]:
        """The pod, with its uid, and what is stored of it."""
        stored = self._registry.store.get(PODS, f"{wanted.namespace}/{wanted.name}")
        if stored is not None and wanted.uid in ("", stored.uid):
            return wanted._replace(uid=stored.uid), stored
        noted = [one.noted.uid for one in notes.named(wanted.namespace, wanted.name)]
        told = [one.value("involvedObject.uid") for one in self._events(wanted)]
        for uid in reversed([*told, *noted]):
            if uid and wanted.uid in ("", uid):
                return wanted._replace(uid=uid), None
        raise self._not_found(user, wanted, notes)

    def _events(self, about: Ref) -> list[StoredObject]:
        """About pods of this name; of this one, where it has a uid."""
        events = self._registry.store.list(EVENTS, about.namespace)
        named = [one for one in events if one.value("involvedObject.name") == about.name]
        uids = ("", about.uid)
        return [
            one
            for one in named
            if one.value("involvedObject.kind") == "Pod" and (not about.uid or one.value("involvedObject.uid") in uids)
        ]

    def _may_list(self, user: User, plural: str, namespace: str = "") -> bool:
        return self._registry.authorizer.decide(user, Attributes("list", "", "v1", plural, "", namespace)).allowed

    def _not_found(self, user: User, wanted: Ref, notes: Notes) -> errors.ApiError:
        """With the nearest names: of pods that are there, and of those that were; of those that the user may list."""
        names: list[str] = []
        if self._may_list(user, "pods", wanted.namespace):
            there = [stored.name for stored in self._registry.store.list(PODS, wanted.namespace)]
            names = sorted({*there, *notes.names(wanted.namespace)})
        near = [name for name in names if name.startswith(f"{wanted.name}-")]
        if len(names) <= MOST_COMPARED:
            near += [name for name in difflib.get_close_matches(wanted.name, names, MOST_NEAR) if name not in near]
        elsewhere = self._registry.store.list(PODS) if self._may_list(user, "pods") else ()
        others = sorted({one.namespace for one in elsewhere if one.name == wanted.name})
        error = errors.not_found("", "pods", wanted.name)
        error.message += f" in namespace {wanted.namespace}, nor is anything recorded of it"
        if wanted.uid:
            error.message += f" under uid {wanted.uid}"
        elif others:
            error.message += f"; there is one in namespace {others[0]}"
        elif near:
            error.message += f"; did you mean {' or '.join(near[:MOST_NEAR])}?"
        return error

    # why

    def _links(self, about: Ref, pod: JsonObject | None, notes: Notes) -> tuple[list[Link], list[str]]:
        links = causes_of(notes, about.uid)
        made = next((one for one in notes.of(about.uid) if one.noted.did == CREATED), None)
        if made is not None:
            cause, since = made.noted.cause, rfc3339(self._journal.since)
            if cause is None or cause.about is None or notes.causes(made):
                return links, []
            owner = f"{cause.about.kind} {cause.about.name}"
            return links, [f"causes are recorded since {since} by this process: why {owner} wanted it was before that"]
        told = list(of_events((one.object() for one in self._events(about)), about))
        scheduled = any(link.node for link in told) or any(link.node for link in links if link.about.uid == about.uid)
        said = list(of_object(pod, scheduled)) if pod is not None else []
        since = rfc3339(self._journal.since)
        notice = f"causes are recorded since {since} by this process: what was before is told by what is left of it"
        return together([*said, *told], links), [notice]

    def _notices(self, pod: JsonObject | None) -> list[str]:
        found = []
        if self._registry.store.optimistic:
            found.append("each replica records what goes through it: the one that leads knows most")
        spec = pod["spec"] if pod is not None else {}
        if pod is None or spec.get("nodeName") or "deletionTimestamp" in pod["metadata"]:
            return found
        gates = [gate.get("name", "") for gate in spec.get("schedulingGates") or ()]
        if gates:
            found.append(f"it waits for its scheduling gates to be taken away: {', '.join(gates)}")
        if spec.get("schedulerName", "") not in SCHEDULERS:
            found.append(f"it is left to the scheduler {spec['schedulerName']}, which spec.schedulerName names")
        elif self._scheduler is None:
            found.append("no scheduler runs (--controllers)")
        return found

    def _waits(self, pod: JsonObject) -> bool:
        """For a node that our scheduler is to find."""
        spec = pod["spec"]
        waits = not spec.get("nodeName") and not spec.get("schedulingGates") and self._scheduler is not None
        return waits and spec.get("schedulerName", "") in SCHEDULERS and "deletionTimestamp" not in pod["metadata"]

    def _verdicts(self, pod: JsonObject) -> tuple[list[JsonObject], int]:
        """What the nodes say of a pod that waits for one, and of how many more that is left out."""
        if self._scheduler is None or not self._waits(pod):
            return [], 0
        verdicts = self._scheduler.verdicts(pod)
        shown = list(verdicts.items())[:MOST_NODES]
        fits = "fits now: it is bound at the scheduler's next try"
        return [{"name": name, "reason": reason or fits} for name, reason in shown], len(verdicts) - len(shown)


_IDENTITY = ("namespace", "name", "uid")


def _state(about: Ref, pod: JsonObject | None) -> JsonObject:
    state: JsonObject = {"namespace": about.namespace, "name": about.name, "uid": about.uid}
    if pod is None:
        return {**state, "gone": True}
    state["phase"] = pod.get("status", {}).get("phase", "")
    if pod["spec"].get("nodeName"):
        state["node"] = pod["spec"]["nodeName"]
    if "deletionTimestamp" in pod["metadata"]:
        state["deletionTimestamp"] = pod["metadata"]["deletionTimestamp"]
    return state


def _summary(pod: JsonObject | None, links: Sequence[Link]) -> str:
    if pod is None:
        node = next((link.node for link in reversed(links) if link.node and link.about.kind == "Pod"), "")
        return f"it has gone; it was on {node}" if node else "it has gone"
    node, phase = pod["spec"].get("nodeName", ""), pod.get("status", {}).get("phase", "Pending")
    where = f"on {node}" if node else "without a node"
    if "deletionTimestamp" in pod["metadata"]:
        return f"it is being deleted, {phase} {where}"
    return f"{phase} {where}"


def _shown(link: Link) -> JsonObject:
    about = {key: value for key, value in link.about._asdict().items() if value and key != "revision"}
    shown: dict[str, Any] = {
        "time": rfc3339_micro(link.at),
        "revision": str(link.revision or ""),
        "actor": link.actor,
        "manager": link.manager,
        "reason": link.reason,
        "message": link.message,
        "about": about,
        "node": link.node,
        "because": list(link.because),
        "source": link.source,
    }
    return {key: value for key, value in shown.items() if value}
