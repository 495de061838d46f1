"""IPAddress objects: upstream's allocator keeps one for each cluster address that a Service has.

As there, the object is there before the Service that it is for, and goes after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from kube32_sim.api.validation.addresses import is_ipv6, parse_ip
from kube32_sim.clock import Clock
from kube32_sim.ids import Ids
from kube32_sim.storage.interface import KeyExists, KeyMissing, Outrun, Store, Unavailable
from kube32_sim.storage.objects import StoredObject

JsonObject = dict[str, Any]

ADDRESSES, SERVICES = ("networking.k8s.io", "ipaddresses"), ("", "services")
_MANAGER_LABEL, MANAGER = "ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io"
_FAMILY_LABEL = "ipaddress.kubernetes.io/ip-family"


def held_by(service: JsonObject | None) -> frozenset[str]:
    """The cluster addresses of a Service, in their canonical form."""
    texts = () if service is None else service["spec"].get("clusterIPs") or ()
    return frozenset(str(address) for text in texts if (address := parse_ip(text)) is not None)


def is_ours(obj: JsonObject) -> bool:
    """Whether the allocator made an IPAddress (and not somebody who wants an address kept free)."""
    return (obj["metadata"].get("labels") or {}).get(_MANAGER_LABEL) == MANAGER


_SAID: JsonObject = {
    "f:metadata": {"f:labels": {".": {}, f"f:{_FAMILY_LABEL}": {}, f"f:{_MANAGER_LABEL}": {}}},
    "f:spec": {"f:parentRef": {".": {}, "f:name": {}, "f:namespace": {}, "f:resource": {}}},
}
"""What the object of an address says, as managedFields have it: of all of them the same."""


def address_object(name: str, service: JsonObject, uid: str, now: str) -> JsonObject:
    labels = {_FAMILY_LABEL: "IPv6" if is_ipv6(name) else "IPv4", _MANAGER_LABEL: MANAGER}
    said = {
        "manager": "kube-apiserver",
        "operation": "Update",
        "apiVersion": "networking.k8s.io/v1",
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": _SAID,
    }
    return {
        "metadata": {
            "name": name,
            "uid": uid,
            "creationTimestamp": now,
            "labels": labels,
            "managedFields": [said],
        },
        "spec": _spec(service),
    }


def _spec(service: JsonObject) -> JsonObject:
    metadata = service["metadata"]
    return {"parentRef": {"resource": "services", "namespace": metadata["namespace"], "name": metadata["name"]}}


class Addresses:
    """Keeps the objects in step with the Services of a store."""

    def __init__(self, store: Store, ids: Ids, clock: Clock) -> None:
        self._store = store
        self._ids = ids
        self._clock = clock

    async def take(self, service: JsonObject, before: JsonObject | None, now: str) -> None:
        """Make the objects of the addresses that a Service is about to have."""
        for name in sorted(held_by(service) - held_by(before)):
            await self._take(name, service, now, is_new=before is None)

    async def _take(self, name: str, service: JsonObject, now: str, *, is_new: bool) -> None:
        """One may be left over from a Service that had the address until this moment."""
        spec = _spec(service)

        def handed_on(current: StoredObject) -> JsonObject | None:
            if not is_ours(current.object()):
                return None
            if is_new and current.object()["spec"] != spec and self._in_use(current):
                raise Outrun  # by a Service that another replica has made since it was decided that this one has it
            return {**current.copy(), "spec": spec}

        while True:
            if self._store.get(ADDRESSES, name) is None:
                with suppress(KeyExists):  # somebody else was quicker
                    await self._store.create(ADDRESSES, name, address_object(name, service, self._ids.uid(), now))
                    return
            else:
                with suppress(KeyMissing):
                    await self._store.update(ADDRESSES, name, handed_on)
                    return

    async def repair(self, services: Iterable[JsonObject], now: str) -> None:
        """Make what is missing, and delete what is left over, where an earlier run ended between two writes."""
        for service in services:
            for name in sorted(held_by(service)):
                await self._take(name, service, now, is_new=False)
        await self._dropped([stored.name for stored in self._store.list(ADDRESSES)])

    def give_back(self, names: Iterable[str]) -> None:
        """Delete objects once the write that gave their addresses back is done."""
        self._clock.spawn(self._given_back(tuple(sorted(names))), "addresses given back")

    async def _given_back(self, names: Iterable[str]) -> None:
        with suppress(Unavailable):  # whoever looks for objects without a Service finds them
            async with self._store.deciding(SERVICES[1]):  # an address is there before its Service
                await self._dropped(names)

    async def _dropped(self, names: Iterable[str]) -> None:
        for name in names:
            stored = self._store.get(ADDRESSES, name)
            if stored is not None and self._is_left_over(stored):
                with suppress(KeyMissing):
                    await self._store.delete(ADDRESSES, name, self._check_left_over)

    def _check_left_over(self, stored: StoredObject) -> None:
        if not self._is_left_over(stored):
            raise KeyMissing(stored.key)

    def _is_left_over(self, stored: StoredObject) -> bool:
        return is_ours(stored.object()) and not self._in_use(stored)

    def _in_use(self, stored: StoredObject) -> bool:
        """Whether the Service is back already, with the same address."""
        parent = stored.object()["spec"]["parentRef"]
        service = self._store.get(SERVICES, f"{parent['namespace']}/{parent['name']}")
        return service is not None and stored.name in held_by(service.object())
