"""What the registry is asked and answers, and who takes part in its verbs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from kube32_sim.api.options import PLAIN_WRITE, WriteOptions
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.strategies.base import Context
from kube32_sim.api.users import ADMIN, User
from kube32_sim.storage.interface import Change, JsonObject, Storage
from kube32_sim.storage.objects import StoredObject


class Asked(NamedTuple):
    """Which object of which type a write means, and on whose behalf."""

    row: ResourceType
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    dry_run: bool = False
    user: User = ADMIN
    manager: str = "kube32-sim"
    """The field manager that the write is told of as in managedFields."""
    options: WriteOptions = PLAIN_WRITE
    """As they were given, for those who are told of the write."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.row.namespaced else self.name


@dataclass(frozen=True, slots=True)
class Result:
    """stored: what is stored now (for a removed object: its last state); None for a dry run, then `obj` counts."""

    stored: StoredObject | None
    obj: JsonObject | None = None
    created: bool = False
    removed: bool = False
    warnings: Sequence[str] = field(default=())

    def object(self) -> JsonObject:
        """The object without apiVersion and kind; shared: never change it."""
        if self.stored is not None:
            return self.stored.object()
        return self.obj or {}


class Hooks(Protocol):
    """What takes part in writes beyond admission: allocation of Service addresses, binding in the create request."""

    def before_create(self, row: ResourceType, obj: JsonObject, context: Context) -> Sequence[str]: ...

    def before_update(self, row: ResourceType, obj: JsonObject, old: JsonObject, context: Context) -> Sequence[str]: ...

    def decides(self, row: ResourceType, namespace: str) -> Sequence[str]:
        """On what else it is decided in a write of such an object (see `Store.deciding`)."""

    def misfit(self, pod: JsonObject, node: str) -> str:
        """Why a pod does not fit on a node; "" where it does, or there is no scheduler to say."""

    async def reserve(self, row: ResourceType, obj: JsonObject, before: JsonObject | None, now: str) -> None:
        """What has to be stored before a new object is, or after an object has become another."""

    def release(self, row: ResourceType, obj: JsonObject) -> None:
        """What was reserved for a new object that is not stored after all."""

    async def created(self, asked: Asked, stored: StoredObject) -> None: ...

    def changed(self, asked: Asked, done: Change, *, removed: bool) -> None:
        """After a write to an object that there was.  removed: it has gone."""

    async def settled(self, row: ResourceType, stored: StoredObject) -> None:
        """After a create, update or delete that was stored, before it is answered: what must follow at once."""


class Computed(Protocol):
    """Types whose objects follow from others (Endpoints from Services and Pods) and cannot be written."""

    storages: frozenset[Storage]

    async def bring_up_to_date(self, storage: Storage) -> str:
        """Before a read of any type: why its objects do not show what follows from the present state, or ""."""
