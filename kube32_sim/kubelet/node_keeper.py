"""A board's Node and Lease: registering, renewing, reporting, and noticing what others do to them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kube32_sim.api.errors import ApiError
from kube32_sim.api.requests import Amounts
from kube32_sim.api.steering import FAULT, FAULTS, problems
from kube32_sim.client import LEASES, NODES, Client, WatchEvent
from kube32_sim.clock import Clock
from kube32_sim.kubelet.boards import Profile
from kube32_sim.kubelet.follow import follow
from kube32_sim.kubelet.node_object import (
    LEASE_NAMESPACE,
    heartbeat,
    lease_object,
    lease_spec,
    node_labels,
    node_object,
    node_status,
)
from kube32_sim.runtime.actions import Emit, reference
from kube32_sim.runtime.recorder import Recorder

JsonObject = dict[str, Any]

COMPONENT = "kubelet"

log = logging.getLogger(__name__)


class NodeKeeper:
    """node: as last seen, None while there is none.  changed: called when the report should be looked at again."""

    def __init__(
        self, client: Client, clock: Clock, recorder: Recorder, name: str, profile: Profile, changed: Callable[[], None]
    ) -> None:
        self.name = name
        self.profile = profile
        self.node: JsonObject | None = None
        self.reported: Amounts | None = None
        """What the Node says is free; None where that is not known, or everything is to be reported anew."""
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._changed = changed
        self._lease: JsonObject | None = None
        self._complaints: list[str] = []
        """What is wrong with the Node's annotations, as far as it has been told."""

    @property
    def fault(self) -> str:
        """What is wrong with the board, by its Node's annotation: `partitioned`, `stopped` or nothing."""
        annotations = (self.node or {}).get("metadata", {}).get("annotations") or {}
        fault = annotations.get(FAULT, "")
        return fault if fault in FAULTS else ""

    async def register(self, free: Amounts) -> None:
        """Make the Node, or take over the one that is there; then the first lease."""
        now = self._clock.now()
        try:
            node = await self._client.create(NODES, "", node_object(self.name, self.profile, free, now))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            node = await self._take_over(free, now)
        self.node, self.reported, self._lease = node, free, None
        await self.renew()
        about = reference("v1", "Node", node)
        self._recorder.record(Emit(about, "Normal", "Starting", "Starting kubelet.", COMPONENT))
        self._complaints = []
        self._complain(node)

    async def _take_over(self, free: Amounts, now: float) -> JsonObject:
        labels = {"metadata": {"labels": node_labels(self.name, self.profile)}}
        node = await self._client.patch(NODES, "", self.name, labels)
        status = {"status": node_status(self.name, self.profile, free, node, now)}
        return await self._client.patch(NODES, "", self.name, status, subresource="status", kind="strategic")

    async def renew(self) -> None:
        """One renewal of the lease; one that somebody removed or changed is made anew or read again."""
        if self.node is None or self.fault:
            return
        if self._lease is not None:
            with suppress(ApiError):  # it was removed or changed by somebody: below
                await self._put(self._lease)
                return
        try:
            lease = lease_object(self.node, self._clock.now())
            self._lease = await self._client.create(LEASES, LEASE_NAMESPACE, lease)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            there = await self._client.get(LEASES, LEASE_NAMESPACE, self.name)
            await self._put({**there, "metadata": {**there["metadata"], **_owners(lease)}})

    async def _put(self, lease: JsonObject) -> None:
        self._lease = None
        spec = {**lease.get("spec", {}), **lease_spec(self.name, self._clock.now())}
        self._lease = await self._client.update(LEASES, LEASE_NAMESPACE, {**lease, "spec": spec})

    async def report(self, free: Amounts) -> None:
        """Write what is free, and that the board is well; everything else too where the Node may not know it."""
        if self.node is None or self.fault:
            return
        now = self._clock.now()
        if self.reported is None:
            status = node_status(self.name, self.profile, free, self.node, now)
        else:
            status = heartbeat(free, self.node, now)
        try:
            node = await self._client.patch(
                NODES, "", self.name, {"status": status}, subresource="status", kind="strategic"
            )
        except ApiError as error:
            if error.code != 404:
                raise
            log.info("node %s is gone", self.name)
            self.node = None
        else:
            self.reported = free
            self._see(node)

    async def follow(self, register: Callable[[], Any]) -> None:
        """Follow the Node for ever.  A server that does not know it was started anew: `register` again."""

        async def listed(nodes: list[JsonObject]) -> None:
            if nodes:
                self._see(nodes[0])
            else:
                await register()

        await follow(self._client, self._clock, NODES, f"metadata.name={self.name}", listed, self._on_event)

    def _on_event(self, event: WatchEvent) -> None:
        """A Node that was deleted stays away, as with a real kubelet, until somebody makes it again."""
        if event.type == "DELETED":
            self.node = None
        else:
            self._see(event.object)

    def _see(self, node: JsonObject) -> None:
        known = self.node is not None and self.node["metadata"]["uid"] == node["metadata"]["uid"]
        if known and _revision(node) < _revision(self.node):
            return  # an answer that the watch has overtaken
        fault = self.fault
        self.node = node
        if not known:
            self._lease, self._complaints = None, []
        self._complain(node)
        if not known or not is_ready(node) or fault != self.fault:
            self.reported = None
            self._changed()

    def _complain(self, node: JsonObject) -> None:
        """Tell what is newly wrong with the annotations; a board with a fault cannot."""
        if self.fault:
            return
        found = problems("Node", node["metadata"])
        for problem in found:
            if problem not in self._complaints:
                about = reference("v1", "Node", node)
                self._recorder.record(Emit(about, "Warning", "InvalidAnnotation", problem, COMPONENT))
        self._complaints = found


def _revision(node: JsonObject | None) -> int:
    return int(node["metadata"]["resourceVersion"]) if node is not None else 0


def is_ready(node: JsonObject) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(condition.get("type") == "Ready" and condition.get("status") == "True" for condition in conditions)


def _owners(lease: JsonObject) -> JsonObject:
    """The owner may have been an earlier Node of the same name."""
    return {"ownerReferences": lease["metadata"]["ownerReferences"]}
