"""The journal, by object: which earlier write was the cause of another.  Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kube32_sim.api.steering import FAULT
from kube32_sim.causes import Cause, Ref
from kube32_sim.registry.journal import CHANGED, CREATED, DELETED, PODS, REMOVED, Noted
from kube32_sim.storage.interface import Storage

NODES = ("", "nodes")
KUBELET = "kubelet"
"""The field manager of boards."""
STORAGES: dict[str, Storage] = {
    "Pod": PODS,
    "Node": NODES,
    "Namespace": ("", "namespaces"),
    "Deployment": ("apps", "deployments"),
    "DaemonSet": ("apps", "daemonsets"),
    "ReplicaSet": ("apps", "replicasets"),
    "StatefulSet": ("apps", "statefulsets"),
    "Job": ("batch", "jobs"),
}
KINDS = {storage: kind for kind, storage in STORAGES.items()}
_NOT_REPLACED = frozenset(
    ("ScaledDown", "TooMany", "Cleared", "NotWanted", "JobEnded", "Suspended", "OwnerGone", "NamespaceDeleted")
)
"""Reasons of deletions after which nobody makes another pod."""
REPLICAS, TEMPLATE = "spec.replicas", "spec.template"


class Placed(NamedTuple):
    """A write, and where in the journal it stands."""

    place: int
    noted: Noted


Matching = Callable[[Noted], bool]


class Notes:
    """What a journal says, indexed; made for one explanation, or for many at the same moment."""

    def __init__(self, journal: Iterable[Noted]) -> None:
        self._by_uid: dict[str, list[Placed]] = {}
        self._by_name: dict[tuple[Storage, str, str], list[Placed]] = {}
        self._owned: dict[str, list[Placed]] = {}
        self._pairs: dict[str, dict[int, Placed]] = {}
        for place, noted in enumerate(journal):
            placed = Placed(place, noted)
            self._by_uid.setdefault(noted.uid, []).append(placed)
            self._by_name.setdefault((noted.storage, noted.namespace, noted.name), []).append(placed)
            if noted.storage == PODS and (noted.did == CREATED or noted.first):
                for uid in noted.owners:
                    self._owned.setdefault(uid, []).append(placed)

    def of(self, uid: str) -> Sequence[Placed]:
        return self._by_uid.get(uid, ())

    def named(self, namespace: str, name: str) -> Sequence[Placed]:
        """Of all pods that have had this name."""
        return self._by_name.get((PODS, namespace, name), ())

    def names(self, namespace: str) -> set[str]:
        """Of pods."""
        return {name for storage, space, name in self._by_name if storage == PODS and space == namespace}

    # causes

    def causes(self, of: Placed) -> list[Placed]:
        """The earlier writes that were the direct causes of one."""
        noted = of.noted
        if noted.did == REMOVED and not noted.first:
            return self._some(self._last(self.of(noted.uid), of.place, lambda one: one.did == DELETED and one.first))
        if noted.storage == PODS and noted.did == CHANGED and noted.node and not noted.before:
            return self._some(self._last(self.of(noted.uid), of.place, lambda one: True))
        if noted.first and noted.manager == KUBELET:  # its board was off
            board = self._by_name.get((NODES, "", noted.node), ())
            return self._some(self._last(board, of.place, _about_fault))
        if noted.storage == NODES and noted.cause is not None:
            return self._some(self._node_trouble(of, noted.cause))
        if noted.cause is None or noted.cause.about is None:
            return []
        if noted.storage == PODS and noted.did == CREATED:
            return self._of_creation(of, noted.cause, noted.cause.about)
        return self._some(self._behind(noted.cause, noted.cause.about, of.place))

    @staticmethod
    def _some(found: Placed | None) -> list[Placed]:
        return [] if found is None else [found]

    @staticmethod
    def _last(notes: Sequence[Placed], before: int, matching: Matching) -> Placed | None:
        return next((one for one in reversed(notes) if one.place < before and matching(one.noted)), None)

    def _about(self, about: Ref) -> Sequence[Placed]:
        if about.uid:
            return self.of(about.uid)
        return self._by_name.get((STORAGES.get(about.kind, PODS), about.namespace, about.name), ())

    def _behind(self, cause: Cause, about: Ref, before: int) -> Placed | None:
        """What happened to the object on account of which a loop acted."""
        notes, wanted = self._about(about), _WANTED.get(cause.reason, _made_or_changed)
        return self._last(notes, before, wanted)

    def _of_creation(self, of: Placed, cause: Cause, about: Ref) -> list[Placed]:
        """A pod takes the place of another, or its owner wants more, or there is a new node for it."""
        owner = self._behind(cause, about, of.place)
        predecessor = self.predecessor(of)
        if predecessor is not None:
            return sorted({predecessor, owner} if owner and cause.reason == "RolledOut" else {predecessor})
        found = [owner, *(self._last(self._about(also), of.place, _made) for also in cause.also)]
        return sorted(one for one in found if one is not None)[-1:]

    def predecessor(self, of: Placed) -> Placed | None:
        """The end of the pod whose place a new one takes: the first to go that had no successor yet."""
        cause = of.noted.cause
        if cause is None or cause.about is None:
            return None
        owner = cause.about.uid
        if owner not in self._pairs:
            self._pairs[owner] = self._paired(owner)
        return self._pairs[owner].get(of.place)

    def _paired(self, owner: str) -> dict[int, Placed]:
        """Of the new pods of an owner, by their places, those that went before them."""
        pairs: dict[int, Placed] = {}
        left: deque[Placed] = deque()
        resized = [one.place for one in self.of(owner) if _resized(one.noted)]
        for one in self._owned.get(owner, ()):
            if one.noted.did != CREATED:
                if _reason(one.noted) not in _NOT_REPLACED:
                    left.append(one)
                continue
            found = _taken(left, one, resized)
            if found is not None:
                pairs[one.place] = found
        return pairs

    def _node_trouble(self, of: Placed, cause: Cause) -> Placed | None:
        notes = self.of(of.noted.uid)
        if cause.reason == "Tainted":
            return self._last(notes, of.place, lambda one: _reason(one) == "LeaseExpired")
        if cause.reason != "LeaseExpired":
            return None
        fault = self._last(notes, of.place, _about_fault)
        return (
            fault if fault is not None and any(one.after for one in fault.noted.details if one.field == FAULT) else None
        )


def _taken(left: deque[Placed], new: Placed, resized: Sequence[int]) -> Placed | None:
    """Take from those that have gone the one whose place a new pod takes."""
    cause = new.noted.cause
    if cause is None or cause.reason == "ScaledUp":
        return None
    nodes = {also.name for also in cause.also if also.kind == "Node"}
    while True:
        one = next((one for one in left if not nodes or one.noted.node in nodes), None)
        if one is None:
            return None
        left.remove(one)
        if not any(one.place < place < new.place for place in resized):
            return one


def _reason(noted: Noted) -> str:
    return noted.cause.reason if noted.cause is not None else ""


def _about_fault(noted: Noted) -> bool:
    return any(detail.field == FAULT for detail in noted.details)


def _resized(noted: Noted) -> bool:
    return any(detail.field == REPLICAS for detail in noted.details)


def _made(noted: Noted) -> bool:
    return noted.did == CREATED


def _made_or_changed(noted: Noted) -> bool:
    return noted.did == CREATED or bool(noted.details)


def _made_or_resized(noted: Noted) -> bool:
    return noted.did == CREATED or _resized(noted)


def _made_or_templated(noted: Noted) -> bool:
    return noted.did == CREATED or any(detail.field.startswith(TEMPLATE) for detail in noted.details)


def _going(noted: Noted) -> bool:
    return noted.did in (DELETED, REMOVED) and noted.first


def _tainted(noted: Noted) -> bool:
    return _reason(noted) in ("Tainted", "LeaseExpired")


_WANTED: dict[str, Matching] = {
    "ScaledUp": _made_or_resized,
    "ScaledDown": _made_or_resized,
    "RolledOut": _made_or_templated,
    "OldTemplate": _made_or_templated,
    "OwnerGone": _going,
    "NamespaceDeleted": _going,
    "NodeGone": _going,
    "Evicted": _tainted,
    "NodeUnreachable": _tainted,
}
"""By the reason of a cause what is looked for in the history of the object that it is about."""
