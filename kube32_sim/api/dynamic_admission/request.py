"""One write as webhooks and admission policies see it, and what the registry expects of these.

The registry makes an `AdmissionRequest` of each write that concerns anybody (`registry/dynamic_admission`); policies
(`api/policies`) look at it and decide at once, webhooks (`api/webhooks`, `webhooks/`) are sent a review of it.
Objects are kept as they are stored, without apiVersion and kind; `shown` gives them as any version shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kube32_sim.api import conversion, errors
from kube32_sim.api.customs.decoding import decode_custom
from kube32_sim.api.decode import DecodeError, decode_value
from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.api.strategies.base import Lookup
from kube32_sim.api.users import ADMIN, User

JsonObject = dict[str, Any]

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"
NAMESPACES = ("", "namespaces")


@dataclass(slots=True)
class AdmissionRequest:
    """row: the type in the version asked for.  operation: CREATE, UPDATE, DELETE or CONNECT.  name: "" where it is yet
    to be made up.  options: the request's options as JSON (`CreateOptions`, …), with apiVersion and kind.

    obj: the object wanted, None for a DELETE.  old: the current one, None for a CREATE; never to be changed.
    body: the type of these two where it is not the row's, such as Scale, Binding and Eviction; kept as shown then.
    changes: how often `obj` has become another one.  notes: what plugins remember of this request, by their own keys.
    """

    row: ResourceType
    operation: str
    namespace: str
    name: str
    table: ResourceTable
    cluster: Lookup
    subresource: str = ""
    user: User = ADMIN
    dry_run: bool = False
    options: JsonObject | None = None
    obj: JsonObject | None = None
    old: JsonObject | None = None
    body: ResourceType | None = None
    changes: int = 0
    notes: dict[str, Any] = field(default_factory=dict)

    def shown(self, row: ResourceType | None = None) -> JsonObject | None:
        """The object wanted with apiVersion and kind, as a version shows it (the one asked for); None: there is none.

        Below its first level it is shared: never change it.
        """
        return self._shown(self.obj, row)

    def shown_old(self, row: ResourceType | None = None) -> JsonObject | None:
        """The current object, likewise."""
        return self._shown(self.old, row)

    def kind_row(self, row: ResourceType | None = None) -> ResourceType:
        """The type of what `shown` answers."""
        return self.body or row or self.row

    def _shown(self, obj: JsonObject | None, row: ResourceType | None) -> JsonObject | None:
        if obj is None:
            return None
        of = self.kind_row(row)
        content = conversion.to_view(of, obj) if self.body is None else obj
        return {"kind": of.kind, "apiVersion": of.api_version, **content}

    def change(self, made: JsonObject, row: ResourceType | None = None) -> bool:
        """Take another object, in the form of `shown`: it is decoded and gets its defaults.  Whether it is another.

        Fields that the schema does not know are dropped.  Raises ApiError 500 for what is no such object (upstream).
        """
        of = self.kind_row(row)
        plain = {name: value for name, value in made.items() if name not in ("apiVersion", "kind")}
        obj = _decoded(plain, of)
        if self.body is None:
            obj = conversion.from_view(of, obj)
            self.row.strategy.default(obj)
        if obj == self.obj:
            return False
        self.obj = obj
        self.changes += 1
        return True

    def namespace_object(self) -> JsonObject | None:
        """The namespace of the object (for a Namespace: itself as it is now); None for what is in none."""
        name = self.namespace
        if self.row.storage == NAMESPACES:
            name = self.name
        found = self.cluster.get(NAMESPACES, "", name) if name else None
        return None if found is None else {"kind": "Namespace", "apiVersion": "v1", **found}


def _decoded(plain: JsonObject, row: ResourceType) -> JsonObject:
    if not row.schema:
        return decode_custom(plain, row.kind, row)[0]
    try:
        return decode_value(plain, row.schema)[0]
    except DecodeError as error:
        raise errors.internal_error(str(error)) from None


class Policies(Protocol):
    """Policies of one kind of admission, all that there are; they decide without waiting for anything.

    active: whether there are any.  concerns: whether any could be for this operation on this type, to be answered at
    once.  Both are asked for every write.
    """

    @property
    def active(self) -> bool: ...

    def concerns(self, row: ResourceType, subresource: str, operation: str) -> bool: ...

    def mutate(self, request: AdmissionRequest, *, again: bool) -> Sequence[str]:
        """Change the object (`request.change`); answers warnings, raises ApiError to refuse.

        again: somebody has changed the object since the first time: only who wants to be asked again is.
        """

    def validate(self, request: AdmissionRequest) -> Sequence[str]:
        """Answers warnings, raises ApiError to refuse."""
