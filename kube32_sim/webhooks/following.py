"""The webhooks of all stored configurations, and which of them a type concerns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from kube32_sim.api.dynamic_admission.matching import EXEMPT, Equivalents
from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.api.webhooks.compiled import Webhook, webhooks_of
from kube32_sim.storage.interface import Storage, Store
from kube32_sim.storage.objects import Event

_GROUP = "admissionregistration.k8s.io"
MUTATING: Storage = (_GROUP, "mutatingwebhookconfigurations")
VALIDATING: Storage = (_GROUP, "validatingwebhookconfigurations")


class Hooks:
    """Those of one kind, by the name of their configuration and then as they stand in it (upstream's order)."""

    def __init__(self, table: ResourceTable, store: Store, storage: Storage) -> None:
        self._table = table
        self._configurations = {one.name: webhooks_of(one.object()) for one in store.list(storage)}
        self._of: dict[tuple[ResourceType, str, str], Sequence[Webhook]] = {}
        self._seen = table.changed
        self.equivalents = Equivalents(table)
        self._order()
        self.stop = store.subscribe(self._changed, [storage])

    def _changed(self, event: Event) -> None:
        if event.type == "DELETED":
            self._configurations.pop(event.stored.name, None)
        else:
            self._configurations[event.stored.name] = webhooks_of(event.stored.object())
        self._order()

    def _order(self) -> None:
        self._all = tuple(chain.from_iterable(hooks for _, hooks in sorted(self._configurations.items())))
        self._of.clear()

    def __bool__(self) -> bool:
        return bool(self._all)

    def of(self, row: ResourceType, subresource: str, operation: str) -> Sequence[Webhook]:
        """Those with rules for such requests; what else they want is looked at for each of these."""
        if self._seen != self._table.changed:
            self._seen = self._table.changed
            self._of.clear()
        found = self._of.get((row, subresource, operation))
        if found is None:
            found = self._of[row, subresource, operation] = self._with_rules(row, subresource, operation)
        return found

    def _with_rules(self, row: ResourceType, subresource: str, operation: str) -> Sequence[Webhook]:
        if row.storage in EXEMPT:
            return ()
        possible = (hook for hook in self._all if hook.matching.possible(row, subresource, operation, self.equivalents))
        return tuple(possible)
