"""What a load writes besides the objects of the snapshot, and in the place of what."""

from __future__ import annotations

from collections.abc import Callable

from kube32_sim.importing.judging import JsonObject
from kube32_sim.storage.interface import KeyExists
from kube32_sim.storage.objects import StoredObject


def namespace(name: str, uid: str, now: str) -> JsonObject:
    """One as the simulator makes it.  now: RFC 3339."""
    metadata = {"name": name, "uid": uid, "creationTimestamp": now, "labels": {"kubernetes.io/metadata.name": name}}
    return {"metadata": metadata, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}


def still(uid: str) -> Callable[[StoredObject], None]:
    """A check that it is that object; raises KeyExists for any other."""

    def check(current: StoredObject) -> None:
        if current.uid != uid:
            raise KeyExists(current.key)

    return check


def in_place_of(uid: str, obj: JsonObject) -> Callable[[StoredObject], JsonObject]:
    """A change that takes the place of that object, and of no other."""

    def change(current: StoredObject) -> JsonObject:
        still(uid)(current)
        return obj

    return change
