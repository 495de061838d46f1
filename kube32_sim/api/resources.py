"""The table of resource types: one row a type, and everything else derives from the rows.

Routes, discovery, OpenAPI, printing columns, validation and storage are computed from a `ResourceType`;
adding a type is adding a row (built-in rows are in `builtin.py`; a CustomResourceDefinition adds rows at run time).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kube32_sim.api.customs.version import CustomVersion
    from kube32_sim.api.strategies.base import Strategy
    from kube32_sim.api.tables import Columns

MOST_GONE = 256
"""Of how many types that have gone the names are remembered, for requests that began before."""
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Subresource:
    """`name` as in the path; `kind`, `group`, `version` of the object it takes or answers ("": the parent's)."""

    name: str
    verbs: tuple[str, ...]
    kind: str
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ResourceType:
    """One served type: a resource in one version of one group.

    storage: (group, plural) under which objects are kept; two rows with the same storage are two views of the same
    objects (events in core and events.k8s.io, autoscaling/v1 and v2); `view` converts then.  Empty for virtual types
    that store nothing (SubjectAccessReview, …).
    fields: selectable field paths besides metadata.name and metadata.namespace; `indexed`: those the store indexes.
    schema: the definition's key in the OpenAPI document, such as `io.k8s.api.core.v1.Pod`; "" of custom types.
    list_kind: the kind of its lists; left out, the kind and `List`.  custom: what a custom type's version knows.
    """

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    schema: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[Subresource, ...] = ()
    storage: tuple[str, str] = ("", "")
    fields: tuple[str, ...] = ()
    indexed: tuple[str, ...] = ()
    generation: bool = False
    strategy: Strategy = field(default=None)  # type: ignore[assignment]  # filled by builtin.py
    columns: Columns | None = None
    names_in_list: bool = False  # custom resources carry apiVersion and kind in list items
    list_kind: str = ""
    custom: CustomVersion | None = None
    api_version: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "api_version", f"{self.group}/{self.version}" if self.group else self.version)
        if not self.list_kind:
            object.__setattr__(self, "list_kind", f"{self.kind}List")

    @property
    def stored(self) -> bool:
        return bool(self.storage[1])

    def subresource(self, name: str) -> Subresource | None:
        return next((sub for sub in self.subresources if sub.name == name), None)


def _bare(row: ResourceType) -> ResourceType:
    """What is remembered of a type that has gone: no schema, and nothing that is made of one."""
    if row.custom is None and row.strategy is not None:
        return row
    from kube32_sim.api.strategies.base import Strategy

    return replace(row, custom=None, columns=None, strategy=Strategy())


class ResourceTable:
    """The rows, found by path or by kind.  Mutable: custom resources come and go; `changed` counts changes."""

    def __init__(self, rows: Iterable[ResourceType] = ()) -> None:
        self._by_path: dict[tuple[str, str, str], ResourceType] = {}
        self._by_kind: dict[tuple[str, str, str], ResourceType] = {}
        self._by_storage: dict[tuple[str, str], ResourceType] = {}
        self._gone: dict[tuple[str, str], ResourceType] = {}
        self.changed = 0
        for row in rows:
            self.add(row)

    def add(self, row: ResourceType) -> None:
        """A row without verbs is the form that objects are stored in, and not served."""
        if row.verbs:
            self._by_path[row.group, row.version, row.plural] = row
            self._by_kind[row.group, row.version, row.kind] = row
        if row.stored:
            self._by_storage.setdefault(row.storage, row)
        self.changed += 1

    def remove(self, row: ResourceType) -> None:
        if row.verbs:
            del self._by_path[row.group, row.version, row.plural]
            del self._by_kind[row.group, row.version, row.kind]
        if self._by_storage.get(row.storage) is row:
            del self._by_storage[row.storage]
            self._gone.pop(row.storage, None)
            self._gone[row.storage] = _bare(row)
            if len(self._gone) > MOST_GONE:
                del self._gone[next(iter(self._gone))]
        self.changed += 1

    def by_path(self, group: str, version: str, plural: str) -> ResourceType | None:
        return self._by_path.get((group, version, plural))

    def by_kind(self, group: str, version: str, kind: str) -> ResourceType | None:
        return self._by_kind.get((group, version, kind))

    def by_storage(self, storage: tuple[str, str]) -> ResourceType:
        """The row whose form objects are stored in (the first one added for that storage).

        Of a type that has gone, the one it had: requests that began before may not be done.
        """
        row = self._by_storage.get(storage)
        return self._gone[storage] if row is None else row

    def serves(self, storage: tuple[str, str]) -> bool:
        """Whether there is a row of that type now."""
        return storage in self._by_storage

    def storages(self) -> Sequence[tuple[str, str]]:
        return tuple(self._by_storage)

    def expect(self, storage: tuple[str, str]) -> bool:
        """Whether there is a row of a type now; where there never was one, it is as if there had been.

        Of a custom type something may be stored already while its definition is still to be read.
        """
        if storage not in self._by_storage and storage not in self._gone:
            row = ResourceType(storage[0], "", "", storage[1], "", namespaced=True, schema="", storage=storage)
            self._gone[storage] = _bare(row)
        return storage in self._by_storage

    def groups(self) -> dict[str, list[str]]:
        """Group -> its versions, in the order rows were added."""
        found: dict[str, list[str]] = {}
        for group, version, _ in self._by_path:
            versions = found.setdefault(group, [])
            if version not in versions:
                versions.append(version)
        return found

    def rows(self, group: str | None = None, version: str | None = None) -> list[ResourceType]:
        return [r for r in self if (group is None or r.group == group) and (version is None or r.version == version)]

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(self._by_path.values())
