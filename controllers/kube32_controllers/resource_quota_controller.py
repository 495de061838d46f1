"""The status of ResourceQuotas: what is allowed, and how much of it the namespace uses.

Admission counts for itself (`api/admission/quota`); this tells people.  A quota can count objects of any type, so the
loop hears of every change, but looks again only at quotas for which the change makes a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kube32_controllers.source import AllTypes
from kube32_sim.api.admission.usage import counted_in, hard_limits, share, total
from kube32_sim.api.resources import ResourceTable
from kube32_sim.client import Resource
from kube32_sim.runtime.actions import Plan, Update, View
from kube32_sim.runtime.view import Store

JsonObject = dict[str, Any]
Storage = tuple[str, str]

QUOTAS = Resource("", "v1", "resourcequotas")
STORAGE = ("", "resourcequotas")


def counted_types(quota: JsonObject) -> dict[Storage, list[str]]:
    """Type -> the names by which the quota counts its objects."""
    found: dict[Storage, list[str]] = {}
    for name in hard_limits(quota):
        storage = counted_in(name)
        if storage is not None:
            found.setdefault(storage, []).append(name)
    return found


def plan_quota(quota: JsonObject, objects: Mapping[Storage, Sequence[JsonObject]]) -> Plan:
    """objects: those of the namespace, of the types that the quota counts; types that are not served are missing."""
    used: dict[str, str] = {}
    for storage, names in counted_types(quota).items():
        if storage in objects:
            amounts = total(quota["spec"], names, storage, objects[storage])
            used |= {name: amount.text for name, amount in amounts.items()}
    hard = {name: limit.text for name, limit in hard_limits(quota).items()}
    status = {key: value for key, value in (("hard", hard), ("used", used)) if value}
    if status == (quota.get("status") or {}):
        return Plan()
    return Plan((Update(QUOTAS, quota["metadata"]["namespace"], {**quota, "status": status}, "status"),))


class ResourceQuotaController:
    """See `runtime.loop.SweepingLoop`; its runner is to be given `source` for a view, and no interval.

    It has no name in `--controllers`: it runs where any loop does.
    """

    name = "resourcequota"
    watches: tuple[Resource, ...] = ()

    def __init__(self, store: Store, table: ResourceTable) -> None:
        self._table = table
        self._quotas: dict[str, dict[str, JsonObject]] = {}
        """namespace -> its quotas by name."""
        initial = [self._keep(stored) for stored in store.list(STORAGE)]
        self.source = AllTypes(store, self.keys_of, initial)

    def keys(self, resource: Resource, obj: JsonObject, view: View) -> Iterable[str]:
        return (f"{obj['metadata']['namespace']}/{obj['metadata']['name']}",)

    def sweep(self, view: View, now: float) -> Iterator[str | None]:
        return self.source.take()

    def keys_of(self, event: Any) -> Iterator[str]:
        """Quotas to look at after an event of the store; nothing is done where the namespace has none."""
        stored = event.stored
        if stored.storage == STORAGE:
            if event.type == "DELETED":
                self._forget(stored)
            else:
                yield self._keep(stored)
        for name, quota in self._quotas.get(stored.namespace, {}).items():
            if self._matters(quota, event):
                yield f"{stored.namespace}/{name}"

    def _keep(self, stored: Any) -> str:
        self._quotas.setdefault(stored.namespace, {})[stored.name] = stored.object()
        return f"{stored.namespace}/{stored.name}"

    def _forget(self, stored: Any) -> None:
        quotas = self._quotas.get(stored.namespace, {})
        quotas.pop(stored.name, None)
        if not quotas:
            self._quotas.pop(stored.namespace, None)

    @staticmethod
    def _matters(quota: JsonObject, event: Any) -> bool:
        """Whether what the object counts for in the quota is another than before the event."""
        storage = event.stored.storage
        names = counted_types(quota).get(storage)
        if not names:
            return False

        def counted(stored: Any) -> dict[str, Any]:
            return share(quota["spec"], names, storage, stored.object()) if stored is not None else {}

        return counted(event.previous) != counted(None if event.type == "DELETED" else event.stored)

    def plan(self, key: str, view: View, now: float) -> Plan:
        namespace, _, name = key.partition("/")
        quota = view.get(QUOTAS, namespace, name)
        if quota is None:
            return Plan()
        served = frozenset(self._table.storages())
        types = [storage for storage in counted_types(quota) if storage in served]
        return plan_quota(quota, {storage: view.list(self._resource(storage), namespace) for storage in types})

    def _resource(self, storage: Storage) -> Resource:
        row = self._table.by_storage(storage)
        return Resource(row.group, row.version, row.plural)
