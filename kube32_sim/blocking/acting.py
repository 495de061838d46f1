"""What can be done with a cluster, as coroutines of its own event loop: `handle` offers them to everybody else.

References are kubectl's: `pod/web`, `deploy/web`, `blinkies.example.com/hall`, `pods` for all of them.  What the API
refuses is `kube32_sim.api.errors.ApiError`; what cannot be meant is ValueError.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Protocol

import orjson

from kube32_sim.api import bodies, strictness
from kube32_sim.api.configuration import Configuration
from kube32_sim.api.errors import ApiError
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.steering import FAULT, FAULT_FORMS
from kube32_sim.api.steering import fault as read_fault
from kube32_sim.blocking.manifests import Manifests, objects
from kube32_sim.blocking.matching import differences, told
from kube32_sim.blocking.references import DEFAULT_NAMESPACE, Reference, find_type, read_named, read_reference
from kube32_sim.blocking.telling import moment, of_event, section
from kube32_sim.blocking.waiting import Wait, in_real_time
from kube32_sim.client import EVENTS, NODES
from kube32_sim.clock import Clock
from kube32_sim.kubeconfig import Access
from kube32_sim.local_client import LocalClient
from kube32_sim.options import ServeOptions
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import Storage

JsonObject = dict[str, Any]
Objects = list[JsonObject]
MANAGER = "kube32-test"
"""The field manager of what is written here."""

log = logging.getLogger("kube32_sim")


class Running(Protocol):
    """A `Cluster`, as far as it is used here."""

    options: ServeOptions
    clock: Clock
    registry: Registry
    client: LocalClient
    access: Access
    url: str
    port: int

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def settle(self) -> None: ...

    async def advance(self, duration: str | float | timedelta) -> None: ...

    def watchers(self, storage: Storage | None = None) -> int: ...


class Acts:
    def __init__(self, cluster: Running) -> None:
        self.cluster = cluster

    @property
    def _client(self) -> LocalClient:
        return self.cluster.client.of(MANAGER)

    async def _rested(self) -> None:
        await self.cluster.clock.rested()

    def _named(self, reference: str, namespace: str) -> Reference:
        return read_named(self.cluster.registry.table, reference, namespace)

    # time

    async def settle(self) -> None:
        """Run until nothing more is due now."""
        await self.cluster.settle()

    async def advance(self, duration: str | float | timedelta) -> None:
        """Move a virtual clock on: `"330s"`, a number of seconds, or a timedelta.  Everything due by then has run."""
        await self.cluster.advance(duration)

    # objects

    async def get(self, reference: str, namespace: str = DEFAULT_NAMESPACE) -> JsonObject:
        """An object.  ApiError 404: there is none."""
        found = self._named(reference, namespace)
        await self._rested()
        return await self._client.get(found.resource, found.namespace, found.name)

    async def list(
        self, kind: str, namespace: str | None = DEFAULT_NAMESPACE, *, labels: str = "", fields: str = ""
    ) -> Objects:
        """Objects of a type, `pods` or `blinkies.example.com`.

        namespace: None for all.  labels, fields: selectors such as `app=web` and `spec.nodeName=esp32-0`.
        """
        row = find_type(self.cluster.registry.table, kind)
        place = namespace or "" if row.namespaced else ""
        resource = Reference(row, place, "").resource
        await self._rested()
        found = await self._client.list(resource, place, label_selector=labels, field_selector=fields)
        return found.items

    async def create(self, obj: Mapping[str, Any], namespace: str = DEFAULT_NAMESPACE) -> JsonObject:
        """As `kubectl create`: an unknown field is refused, and so is a name that is taken.  Answers what is stored."""
        (one,) = objects(obj)
        row, place = self._typed(one), self._place(one, namespace)
        if row.schema:
            bodies.decode_body(orjson.dumps(one), "application/json", row, strictness.STRICT)
        await self._rested()
        resource = Reference(row, place, "").resource
        return await self._client.create(resource, place if row.namespaced else "", one)

    async def apply(self, manifests: Manifests, namespace: str = DEFAULT_NAMESPACE) -> Objects:
        """As `kubectl apply --server-side --force-conflicts`, in order; answers what is stored.

        manifests: an object, YAML or JSON as text, the path of a file or of a directory, or several of these.
        namespace: of objects that do not say theirs.
        """
        return [await self._apply(obj, namespace) for obj in tuple(objects(manifests))]

    async def _apply(self, obj: JsonObject, namespace: str) -> JsonObject:
        row, name = self._typed(obj), (obj.get("metadata") or {}).get("name")
        if not isinstance(name, str):
            raise ValueError(f"{row.kind}: metadata.name is missing; create makes names of generateName")
        place = self._place(obj, namespace) if row.namespaced else ""
        asked = Asked(row, place, name, manager=MANAGER)
        await self._rested()
        configuration = Configuration(orjson.dumps(obj), row, strictness.STRICT)
        result = await self.cluster.registry.apply(asked, configuration, force=True)
        for text in result.warnings:
            log.warning("%s/%s: %s", row.singular, name, text)
        return await self._client.get(Reference(row, place, name).resource, place, name)

    def _typed(self, obj: Mapping[str, Any]) -> ResourceType:
        group, _, version = obj["apiVersion"].rpartition("/")
        row = self.cluster.registry.table.by_kind(group, version, obj["kind"])
        if row is None:
            raise ValueError(
                f"no type {obj['kind']} of {obj['apiVersion']} in this cluster; apply its definition first"
            )
        return row

    @staticmethod
    def _place(obj: Mapping[str, Any], namespace: str) -> str:
        return (obj.get("metadata") or {}).get("namespace") or namespace

    async def patch(
        self, reference: str, patch: Mapping[str, Any], namespace: str = DEFAULT_NAMESPACE, *, subresource: str = ""
    ) -> JsonObject:
        """A merge patch; subresource: `status`, `scale`."""
        found = self._named(reference, namespace)
        await self._rested()
        resource, place = found.resource, found.namespace
        return await self._client.patch(resource, place, found.name, dict(patch), subresource=subresource)

    async def delete(
        self, reference: str, namespace: str = DEFAULT_NAMESPACE, *, grace_period: int | None = None
    ) -> None:
        """Ask for it; `wait_for(reference, "delete")` waits until it has gone.  grace_period: seconds; 0: at once."""
        found = self._named(reference, namespace)
        await self._rested()
        options = {} if grace_period is None else {"gracePeriodSeconds": grace_period}
        await self._client.delete(found.resource, found.namespace, found.name, options=options)

    async def events(self, reference: str = "", namespace: str | None = DEFAULT_NAMESPACE) -> Objects:
        """Events, the oldest first: about one object, about all of a type, or (\"\") all of the namespace's."""
        found = read_reference(self.cluster.registry.table, reference, namespace or "") if reference else None
        await self._rested()
        place = "" if found is not None and not found.row.namespaced else namespace or ""
        return await self._events(place, found)

    async def _events(self, namespace: str, about: Reference | None) -> Objects:
        selector = f"involvedObject.kind={about.row.kind}" if about is not None else ""
        if about is not None and about.name:
            selector += f",involvedObject.name={about.name}"
        found = await self._client.list(EVENTS, namespace, field_selector=selector)
        return sorted(found.items, key=moment)

    # boards

    async def fault(self, node: str, fault: str = "stopped") -> None:
        """Break a board: `stopped` (no power), `partitioned` (it runs on, and nobody reaches it), `brownout` (it resets
        again and again), `slow` (it is late); `slow:2s` and `brownout:30s` say by how much, and how often.
        """
        if read_fault(fault) is None:
            raise ValueError(f"there is no fault {fault!r}; there are: {FAULT_FORMS}")
        await self._steer(node, fault)

    async def heal(self, node: str) -> None:
        """End the fault of a board."""
        await self._steer(node, None)

    async def _steer(self, node: str, fault: str | None) -> None:
        await self._rested()
        await self._client.patch(NODES, "", node.removeprefix("node/"), {"metadata": {"annotations": {FAULT: fault}}})

    # what is expected

    async def wait_for(
        self,
        reference: str,
        condition: str | Callable[[JsonObject], object],
        namespace: str = DEFAULT_NAMESPACE,
        *,
        timeout: str | float | timedelta | None = None,
        labels: str = "",
    ) -> Objects:
        """Wait as `kubectl wait --for` does; answers the objects that it waited for.

        reference: `deployment/web`, or a type alone (with labels, a selector): then at least one, and all of them.
        condition: `condition=Available`, `condition=Ready=False`, `jsonpath={.status.phase}=Running`, `delete`,
        `create`, or a function of the object.  timeout: by the cluster's clock; 10m where that is virtual, 30s where it
        is real.  A virtual clock is moved on meanwhile, no further than necessary: at full speed, or at 20 times that
        of real time while a program outside watches anything, so that it can keep up.
        TimeoutError tells what was seen last, and why.
        """
        await self._rested()
        found = read_reference(self.cluster.registry.table, reference, namespace)
        return await Wait(self, found, condition, labels).done(timeout)

    async def wait_for_watch(self, kind: str, timeout: float = 10.0) -> None:
        """Wait, in real time, until a program outside watches a type: an operator that has just been started.

        timeout: seconds.  TimeoutError: nobody does.
        """
        storage = find_type(self.cluster.registry.table, kind).storage
        if not await in_real_time(lambda: self.cluster.watchers(storage), timeout):
            raise TimeoutError(f"nobody outside watches {kind} after {timeout:g} s")

    async def assert_object(self, reference: str, expected: Any, namespace: str = DEFAULT_NAMESPACE) -> JsonObject:
        """That an object holds what is expected (`kube32_sim.blocking.matching` has the rules); answers the object.

        AssertionError tells where it differs, and the latest events about it.
        """
        found = self._named(reference, namespace)
        try:
            obj = await self.get(reference, namespace)
        except ApiError as error:
            if error.code != 404:
                raise
            raise AssertionError(f"{found.text} is not there; it should be {expected!r}") from None
        differs = [*differences(expected, obj)]
        if differs:
            lines = [f"{found.text} is not as expected", *(f"  {line}" for line in told(differs))]
            events = await self._events(found.namespace, found)
            raise AssertionError("\n".join([*lines, *section("events", [of_event(one) for one in events], last=True)]))
        return obj
