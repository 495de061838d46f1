"""A board's Node and Lease: registering, renewing, reporting, and noticing what others do to them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kube32_sim.api import steering
from kube32_sim.api.errors import ApiError, already_exists
from kube32_sim.api.requests import Amounts
from kube32_sim.api.steering import FAULT, NO_FAULT, Fault, problems
from kube32_sim.client import LEASES, NODES, Client, WatchEvent
from kube32_sim.clock import Clock, parse_time, rfc3339, rfc3339_micro
from kube32_sim.kubelet.boards import Profile
from kube32_sim.kubelet.follow import follow
from kube32_sim.kubelet.node_object import (
    CONDITIONS,
    LEASE_NAMESPACE,
    boot_id,
    heartbeat,
    label_changes,
    last_report,
    lease_object,
    lease_spec,
    node_object,
    node_status,
    resources_gone,
)
from kube32_sim.runtime.actions import Emit, reference
from kube32_sim.runtime.recorder import Recorder
from kube32_sim.storage.interface import Heartbeat, Pulse

JsonObject = dict[str, Any]

COMPONENT = "kubelet"
EARLIEST = "1970-01-01T00:00:00Z"

log = logging.getLogger(__name__)


class NodeKeeper:
    """node: as last seen, None while there is none.  changed: called when the report should be looked at again."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        name: str,
        profile: Profile,
        changed: Callable[[], None],
        lease_seconds: int,
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
        self._lease_seconds = lease_seconds
        self._heard = 0
        """The revision of the last event."""
        self._lease: JsonObject | None = None
        """As last written; ours alone, as `node` is."""
        self.fault = NO_FAULT
        """What is wrong with the board, by its Node's annotation."""
        self.boots = False
        """It has been reset, and says nothing until it has booted."""
        self._boot_id = ""
        """Of the last reset, until it is reported."""
        self._node_pulse: Pulse | None = None
        self._lease_pulse: Pulse | None = None
        self._complaints: list[str] = []
        """What is wrong with the Node's annotations, as far as it has been told."""

    async def register(self, free: Amounts) -> None:
        """Make the Node, or take over the one that is there; then the first lease.

        One that has a fault is as it was before the agent was started anew: cut off, or switched off.
        """
        now = self._clock.now()
        try:
            if not self.profile.described:
                raise already_exists("", "nodes", self.name)
            node = await self._client.create(NODES, "", node_object(self.name, self.profile, free, now))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            node = await self._client.get(NODES, "", self.name)
            if fault_of(node).silent:  # nothing of what it would say arrives
                self._hold_lease(None)
                self._hold(node)
                return
            node = await self._take_over(node, free, now)
        self.reported = free
        self._hold_lease(None)
        self._hold(node)
        await self.renew()
        about = reference("v1", "Node", node)
        self._recorder.record(Emit(about, "Normal", "Starting", "Starting kubelet.", COMPONENT))
        self._complaints = []
        self._complain(node)

    async def resume(self, free: Amounts) -> tuple[float, float] | None:
        """Go on as the board that was here a moment ago; answers when that reported last, and when it renewed.

        0.0 for a report that says something else than there is to say now.  None where there is no Lease: then it is to
        register.  A Node that has gone meanwhile stays away.
        """
        try:
            node = await self._client.get(NODES, "", self.name)
        except ApiError as error:
            if error.code != 404:
                raise
            self._hold(None)
            return 0.0, 0.0
        self._complaints = problems("Node", node["metadata"])
        self.fault = fault_of(node)
        told = last_report(node, free)
        self.reported = free if told else None
        self._hold(node)
        if self.fault.kind:
            return parse_time(told or EARLIEST), 0.0
        try:
            lease = await self._client.get(LEASES, LEASE_NAMESPACE, self.name)
            renewed = parse_time(lease["spec"]["renewTime"])
        except (ApiError, KeyError, TypeError, ValueError):
            return None
        self._hold_lease(lease)
        return parse_time(told or EARLIEST), renewed

    async def _take_over(self, node: JsonObject, free: Amounts, now: float) -> JsonObject:
        """It may have been another kind of board before."""
        labels = label_changes(node, self.name, self.profile) if self.profile.described else {}
        if labels:
            node = await self._client.patch(NODES, "", self.name, {"metadata": {"labels": labels}})
        status = {"status": self._whole_status(free, node, now)}
        return await self._client.patch(NODES, "", self.name, status, subresource="status", kind="strategic")

    def _whole_status(self, free: Amounts, node: JsonObject, now: float) -> JsonObject:
        """A Node that came with a snapshot keeps what it says of itself."""
        boot = {"bootID": self._boot_id} if self._boot_id else {}
        if self.profile.described:
            status, gone = node_status(self.name, self.profile, free, node, now), resources_gone(node, self.profile)
            status["nodeInfo"] |= boot
            return status | {field: status[field] | names for field, names in gone.items()}
        return heartbeat(free, node, now) | ({"nodeInfo": boot} if boot else {})

    def renew_at_once(self) -> bool:
        """Renew the lease without waiting, if the client can (see `Client.pulse`); True too where none is to be."""
        if self.node is None or self.silent:
            return True
        if self.fault.kind == "slow":
            return False
        pulse = self._lease_pulse
        return pulse is not None and pulse.beat(rfc3339_micro(self._clock.now()))

    def report_at_once(self) -> bool:
        """Report that everything is as it was, without waiting, if the client can."""
        pulse = self._node_pulse
        if pulse is None or self.silent or self.fault.kind == "slow" or self.reported is None:
            return False
        return pulse.beat(rfc3339(self._clock.now()))

    @property
    def silent(self) -> bool:
        """Whether nothing that it would say arrives."""
        return self.boots or self.fault.silent

    async def lag(self) -> None:
        """What everything takes longer on a slow board."""
        if self.fault.kind == "slow":
            await self._clock.sleep(self.fault.seconds)

    async def booted(self) -> None:
        """It has booted after a reset: report everything anew, under a boot ID of its own."""
        self.boots, self.reported = False, None
        self._boot_id = boot_id(self.name, self._clock.now())
        await self.renew()

    async def renew(self) -> None:
        """One renewal of the lease; one that somebody removed or changed is made anew or read again."""
        await self.lag()
        if self.node is None or self.silent:
            return
        if self._lease is not None:
            with suppress(ApiError):  # it was removed or changed by somebody: below
                if self._lease_pulse is not None:
                    self._lease["metadata"]["resourceVersion"] = str(self._lease_pulse.revision)
                await self._put(self._lease)
                return
        try:
            lease = lease_object(self.node, self._lease_seconds, self._clock.now())
            self._hold_lease(await self._client.create(LEASES, LEASE_NAMESPACE, lease))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            there = await self._client.get(LEASES, LEASE_NAMESPACE, self.name)
            await self._put({**there, "metadata": {**there["metadata"], **_owners(lease)}})

    async def _put(self, lease: JsonObject) -> None:
        self._hold_lease(None)
        spec = {**lease.get("spec", {}), **lease_spec(self.name, self._lease_seconds, self._clock.now())}
        self._hold_lease(await self._client.update(LEASES, LEASE_NAMESPACE, {**lease, "spec": spec}))

    def _hold_lease(self, lease: JsonObject | None) -> None:
        """The Lease as it is now, and what writes its next renewals."""
        self._lease, self._lease_pulse = lease, None
        if lease is not None:
            heartbeat = Heartbeat("renewTime", lease["spec"]["renewTime"])
            version = lease["metadata"]["resourceVersion"]
            self._lease_pulse = self._client.pulse(LEASES, LEASE_NAMESPACE, self.name, version, heartbeat)

    async def report(self, free: Amounts) -> None:
        """Write what is free, and that the board is well; everything else too where the Node may not know it."""
        await self.lag()
        if self.node is None or self.silent:
            return
        now = self._clock.now()
        status = self._whole_status(free, self.node, now) if self.reported is None else heartbeat(free, self.node, now)
        try:
            node = await self._client.patch(
                NODES, "", self.name, {"status": status}, subresource="status", kind="strategic"
            )
        except ApiError as error:
            if error.code != 404:
                raise
            log.info("node %s is gone", self.name)
            self._hold(None)
        else:
            self.reported = free
            self._see(node)
            self._tell_boot(node)

    def _tell_boot(self, node: JsonObject) -> None:
        """That it was reset, once the Node says so."""
        boot, self._boot_id = self._boot_id, ""
        if boot:
            about = reference("v1", "Node", node)
            self._recorder.record(Emit(about, "Normal", "Starting", "Starting kubelet.", COMPONENT))
            why = f"Node {self.name} has been rebooted, boot id: {boot}"
            self._recorder.record(Emit(about, "Warning", "Rebooted", why, COMPONENT))

    async def follow(self, register: Callable[[], Any]) -> None:
        """Follow the Node for ever.  A server that does not know it was started anew: `register` again."""

        async def listed(nodes: list[JsonObject]) -> None:
            if nodes:
                self._see(nodes[0])
            else:
                await register()

        mine = f"metadata.name={self.name}"
        await follow(self._client, self._clock, NODES, mine, listed, self._on_event, heartbeats=False)

    def _on_event(self, event: WatchEvent) -> None:
        """A Node that was deleted stays away, as with a real kubelet, until somebody makes it again."""
        before, self._heard = self._heard, _revision(event.object)
        if event.type == "DELETED":
            self._hold(None)
        else:
            self._see(event.object, undone=self._heard < before)

    def _see(self, node: JsonObject, *, undone: bool = False) -> None:
        """undone: it is again what it was before something that could not be kept."""
        known = self.node is not None and self.node["metadata"]["uid"] == node["metadata"]["uid"]
        if known and not undone and _revision(node) < _revision(self.node):
            return  # an answer that the watch has overtaken
        fault = self.fault
        self._hold(node)
        if not known:
            self._hold_lease(None)
            self._complaints = []
        self._complain(node)
        if not known or undone or not is_ready(node) or fault != self.fault:
            self.reported = None
            self._changed()

    def _hold(self, node: JsonObject | None) -> None:
        """The Node as it is now, and what follows from it."""
        self.node = node
        self.fault = fault_of(node) if node is not None else NO_FAULT
        self._node_pulse = None
        text = last_report(node, self.reported) if node is not None and self.reported is not None else ""
        if node is not None and text:
            heartbeat = Heartbeat("lastHeartbeatTime", text, len(CONDITIONS))
            self._node_pulse = self._client.pulse(NODES, "", self.name, node["metadata"]["resourceVersion"], heartbeat)

    def _complain(self, node: JsonObject) -> None:
        """Tell what is newly wrong with the annotations; a board that is not heard cannot."""
        if self.silent:
            return
        found = problems("Node", node["metadata"])
        for problem in found:
            if problem not in self._complaints:
                about = reference("v1", "Node", node)
                self._recorder.record(Emit(about, "Warning", "InvalidAnnotation", problem, COMPONENT))
        self._complaints = found


def fault_of(node: JsonObject) -> Fault:
    text = (node["metadata"].get("annotations") or {}).get(FAULT, "")
    return (steering.fault(text) if text else None) or NO_FAULT


def _revision(node: JsonObject | None) -> int:
    return int(node["metadata"]["resourceVersion"]) if node is not None else 0


def is_ready(node: JsonObject) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(condition.get("type") == "Ready" and condition.get("status") == "True" for condition in conditions)


def _owners(lease: JsonObject) -> JsonObject:
    """The owner may have been an earlier Node of the same name."""
    return {"ownerReferences": lease["metadata"]["ownerReferences"]}
