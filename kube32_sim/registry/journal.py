"""Which writes of the last while mattered to pods, who made them and why: what explanations are made of.

Kept in memory, in the order in which they were made, the newest `MOST` of them: another process, or the same after a
restart, begins with nothing.  A write costs a look at its type, and one of those that matter a small record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from kube32_sim.api.steering import FAULT
from kube32_sim.causes import BECAUSE, PLACED, Cause, Placement
from kube32_sim.clock import Clock
from kube32_sim.registry.asked import Asked
from kube32_sim.storage.interface import Change, JsonObject, Storage
from kube32_sim.storage.objects import StoredObject

MOST = 20_000
"""Writes that are remembered: 5 to 15 MB when full, most where each has another pod and a cause of its own."""
PODS = ("", "pods")
NODE_NAME = "spec.nodeName"

CREATED, CHANGED, DELETED, REMOVED = "created", "changed", "deleted", "removed"
"""What was done.  Deleted: its deletion was asked for, it is still there.  Removed: it has gone, asked for before or
not."""


class Detail(NamedTuple):
    """What of an object became another.  field: its path, or what part it is.  Both values as they are read."""

    field: str
    before: str
    after: str


class Noted(NamedTuple):
    """One write.

    at: seconds since 1970.  revision: the resourceVersion that it made.  first: whether it is what began the deletion.
    via: the subresource that was asked for it, such as binding or eviction.  node: of a pod, after the write; before:
    the node that it had.  owners: the uids of its ownerReferences.  cause: None where no loop did it.
    """

    at: float
    revision: int
    did: str
    storage: Storage
    namespace: str
    name: str
    uid: str
    user: str
    manager: str
    via: str
    cause: Cause | None
    owners: tuple[str, ...] = ()
    node: str = ""
    before: str = ""
    first: bool = False
    placement: Placement | None = None
    details: tuple[Detail, ...] = ()


class Journal:
    """began: when it did (seconds since 1970)."""

    def __init__(
        self, clock: Clock, most: int = MOST, was_undone: Callable[[int], bool] = lambda revision: False
    ) -> None:
        """was_undone: the store's."""
        self._clock = clock
        self._was_undone = was_undone
        self._noted: deque[Noted] = deque(maxlen=most)
        self.began = clock.now()

    def __len__(self) -> int:
        return len(self._noted)

    def __iter__(self) -> Iterator[Noted]:
        """The oldest first, without what the store has taken back."""
        return (one for one in self._noted if not self._was_undone(one.revision))

    @property
    def since(self) -> float:
        """From when on everything is in it (seconds since 1970)."""
        full = len(self._noted) == self._noted.maxlen
        return self._noted[0].at if full else self.began

    def branch(self, clock: Clock) -> Journal:
        """One that knows as much, and goes on by itself."""
        made = Journal(clock, self._noted.maxlen or MOST)
        made._noted.extend(self)
        made.began = self.began
        return made

    def forget(self) -> None:
        """Begin anew."""
        self._noted.clear()
        self.began = self._clock.now()

    def created(self, asked: Asked, stored: StoredObject) -> None:
        """Take note of a new object, of any type."""
        if stored.storage not in WATCHED:
            return
        node, placement = "", None
        if stored.storage == PODS:
            node = stored.value(NODE_NAME)
            placed = PLACED.get()
            if placed is not None and placed[0] == stored.uid:
                placement = placed[1]
        at, cause, owners = self._clock.now(), BECAUSE.get(), stored.owners
        what = stored.storage, stored.namespace, stored.name, stored.uid
        who = asked.user.name, asked.manager, asked.subresource
        self._noted.append(Noted(at, stored.revision, CREATED, *what, *who, cause, owners, node, "", False, placement))

    def changed(self, asked: Asked, done: Change, *, removed: bool) -> None:
        """Take note of an update, a deletion, or a write to a subresource, if it did anything that matters.

        removed: the object has gone with it.
        """
        stored, previous = done.stored, done.previous
        if stored.storage not in WATCHED or not done.changed:
            return
        was_deleting = previous is not None and previous.deleting
        first = not was_deleting and (stored.deleting or removed)
        if removed or first:
            node = stored.value(NODE_NAME) if stored.storage == PODS else ""
            self._note(asked, REMOVED if removed else DELETED, stored, node=node, first=first)
            return
        cause = BECAUSE.get()
        if previous is None or (asked.subresource == "status" and cause is None):
            return
        if stored.storage == PODS:
            self._pod_changed(asked, stored, previous, cause)
            return
        details = WATCHED[stored.storage](previous.object(), stored.object()) if asked.subresource != "status" else ()
        if details or cause is not None:
            self._note(asked, CHANGED, stored, details=details)

    def _pod_changed(self, asked: Asked, stored: StoredObject, previous: StoredObject, cause: Cause | None) -> None:
        node, before = stored.value(NODE_NAME), previous.value(NODE_NAME)
        details: tuple[Detail, ...] = ()
        if node == before and cause is None:
            if asked.subresource in ("binding", "eviction"):
                return
            details = _spec_details(previous.object(), stored.object())
            if not details:
                return
        self._note(asked, CHANGED, stored, node=node, before=before, details=details)

    def _note(self, asked: Asked, did: str, stored: StoredObject, **more: Any) -> None:
        """more: fields of `Noted` that are not always told."""
        at, cause, owners = self._clock.now(), BECAUSE.get(), stored.owners
        what = stored.storage, stored.namespace, stored.name, stored.uid
        who = asked.user.name, asked.manager, asked.subresource
        self._noted.append(Noted(at, stored.revision, did, *what, *who, cause, owners, **more))


# what of an object matters


def _spec_details(old: JsonObject, new: JsonObject) -> tuple[Detail, ...]:
    before, after = old.get("spec") or {}, new.get("spec") or {}
    return () if before == after else tuple(_differences("spec", before, after))


def _node_details(old: JsonObject, new: JsonObject) -> tuple[Detail, ...]:
    found = []
    faults = [(one["metadata"].get("annotations") or {}).get(FAULT, "") for one in (old, new)]
    if faults[0] != faults[1]:
        found.append(Detail(FAULT, *faults))
    specs = [one.get("spec") or {} for one in (old, new)]
    cordoned = [bool(spec.get("unschedulable")) for spec in specs]
    if cordoned[0] != cordoned[1]:
        found.append(Detail("spec.unschedulable", _shown(cordoned[0]), _shown(cordoned[1])))
    taints = [", ".join(map(_taint, spec.get("taints") or ())) for spec in specs]
    if taints[0] != taints[1]:
        found.append(Detail("spec.taints", *taints))
    return tuple(found)


def _taint(taint: Mapping[str, Any]) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def _nothing(old: JsonObject, new: JsonObject) -> tuple[Detail, ...]:
    return ()


WATCHED = {
    PODS: _spec_details,
    ("", "nodes"): _node_details,
    ("", "namespaces"): _nothing,
    ("apps", "deployments"): _spec_details,
    ("apps", "daemonsets"): _spec_details,
    ("apps", "replicasets"): _spec_details,
    ("apps", "statefulsets"): _spec_details,
    ("batch", "jobs"): _spec_details,
}
"""The types that are noted, each with what tells how two states differ in what matters."""

MOST_DETAILS = 6
LONGEST = 60


def _differences(path: str, old: Any, new: Any) -> Iterator[Detail]:
    """The leaves in which two JSON values differ, in their order, the first few of them."""
    left = MOST_DETAILS
    for detail in _leaves(path, old, new):
        yield detail
        left -= 1
        if not left:
            return


def _leaves(path: str, old: Any, new: Any) -> Iterator[Detail]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [*old, *(key for key in new if key not in old)]
        keys.sort(key=lambda key: isinstance(new.get(key, old.get(key)), dict | list))  # such as replicas, before all
        for key in keys:
            yield from _leaves(f"{path}.{key}", old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and _named_alike(old, new):
        for before, after in zip(old, new, strict=True):
            yield from _leaves(f"{path}[{before['name']}]", before, after)
    else:
        yield Detail(path, _shown(old), _shown(new))


def _named_alike(old: list[Any], new: list[Any]) -> bool:
    names = [[one.get("name") if isinstance(one, dict) else None for one in items] for items in (old, new)]
    return names[0] == names[1] and None not in names[0]


def _shown(value: Any) -> str:
    """As people read it, and not for long."""
    if value is None or isinstance(value, str):
        text = value or ""
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, dict | list):
        text = "other values" if value else "none"
    else:
        text = str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
