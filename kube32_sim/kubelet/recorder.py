"""Events of one board, as a kubelet records them: a repeat raises the count of the event that is there."""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from kube32_sim.api.errors import ApiError
from kube32_sim.client import EVENTS, Client
from kube32_sim.clock import Clock
from kube32_sim.ids import Ids

JsonObject = dict[str, Any]
Key = tuple[str, str, str, str, str]

log = logging.getLogger(__name__)

REMEMBERED = 1024
"""How many different events a board can count up; the least recent is forgotten first."""


@dataclass(slots=True)
class Seen:
    name: str
    count: int


class Recorder:
    """Events whose source is the kubelet of one node."""

    def __init__(self, client: Client, clock: Clock, ids: Ids, node: str) -> None:
        self._client = client
        self._clock = clock
        self._ids = ids
        self._node = node
        self._seen: OrderedDict[Key, Seen] = OrderedDict()

    async def record(self, about: JsonObject, kind: str, reason: str, message: str) -> None:
        """about: an ObjectReference; kind: Normal or Warning.

        An event that the server refuses (its namespace is being deleted, say) is dropped, as kubelets do; only
        Unreachable is raised.
        """
        try:
            await self._record(about, kind, reason, message)
        except ApiError as error:
            log.debug("event %s about %s dropped: %s", reason, about.get("name"), error)

    async def _record(self, about: JsonObject, kind: str, reason: str, message: str) -> None:
        key = (about.get("uid", ""), about.get("fieldPath", ""), kind, reason, message)
        seen = self._seen.get(key)
        if seen is None or not await self._count_up(about, seen):
            seen = Seen(await self._create(about, kind, reason, message), 1)
        self._seen[key] = seen
        self._seen.move_to_end(key)
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)

    async def _count_up(self, about: JsonObject, seen: Seen) -> bool:
        """Whether the event was still there."""
        patch = {"count": seen.count + 1, "lastTimestamp": self._clock.timestamp()}
        try:
            await self._client.patch(EVENTS, _namespace(about), seen.name, patch)
        except ApiError as error:
            if error.code != 404:
                raise
            return False
        seen.count += 1
        return True

    async def _create(self, about: JsonObject, kind: str, reason: str, message: str) -> str:
        now = self._clock.timestamp()
        name = f"{about['name'][:240]}.{self._ids.suffix(10)}"
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": _namespace(about)},
            "involvedObject": about,
            "type": kind,
            "reason": reason,
            "message": message,
            "source": {"component": "kubelet", "host": self._node},
            "reportingComponent": "kubelet",
            "reportingInstance": self._node,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        await self._client.create(EVENTS, _namespace(about), event)
        return name


def _namespace(about: JsonObject) -> str:
    return about.get("namespace") or "default"


def pod_reference(pod: JsonObject, field: str = "") -> JsonObject:
    """The ObjectReference of an event about a pod, or about one of its containers."""
    meta = pod["metadata"]
    reference = {"apiVersion": "v1", "kind": "Pod", **{k: meta[k] for k in _REFERRED if k in meta}}
    return reference | {"fieldPath": field} if field else reference


def node_reference(node: JsonObject) -> JsonObject:
    meta = node["metadata"]
    return {"apiVersion": "v1", "kind": "Node", "name": meta["name"], "uid": meta.get("uid", "")}


_REFERRED = ("namespace", "name", "uid", "resourceVersion")
