"""What is meant by `deployment/web`, `pods`, `blinkies.example.com/hall`: as kubectl reads it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import NamedTuple

from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.client import Resource

DEFAULT_NAMESPACE = "default"


class Reference(NamedTuple):
    """name: "" for all of the type.  namespace: "" of cluster-scoped types, and for all namespaces."""

    row: ResourceType
    namespace: str
    name: str

    @property
    def resource(self) -> Resource:
        return Resource(self.row.group, self.row.version, self.row.plural)

    @property
    def text(self) -> str:
        """`deployment/web in default`."""
        kind = f"{self.row.singular}/{self.name}" if self.name else self.row.plural
        if not self.row.namespaced:
            return kind
        return f"{kind} in {self.namespace}" if self.namespace else f"{kind} in all namespaces"


def find_type(table: ResourceTable, text: str) -> ResourceType:
    """The type of a plural, singular, kind or short name, with `.GROUP` or `.VERSION.GROUP` where wanted.

    Of several groups the one that comes first in the table, as discovery lists them.  ValueError: there is none.
    """
    wanted = text.lower()
    rows = [row for row in table if row.stored or row.verbs]
    for row in rows:
        names = {row.plural, row.singular, row.kind.lower(), *row.short_names}
        word, dot, rest = wanted.partition(".")
        if word in names and (not dot or rest in (row.group, f"{row.version}.{row.group}", row.version)):
            return row
    near = get_close_matches(wanted, sorted({row.plural for row in rows} | {row.singular for row in rows}), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"there is no type {text!r} in this cluster{hint}")


def read_reference(table: ResourceTable, text: str, namespace: str = DEFAULT_NAMESPACE) -> Reference:
    """`TYPE/NAME`, or `TYPE` for all of it."""
    kind, slash, name = text.partition("/")
    if not kind or (slash and not name) or "/" in name:
        raise ValueError(f"{text!r} names no object: write it like deployment/web, or pods for all of them")
    row = find_type(table, kind)
    return Reference(row, namespace if row.namespaced else "", name)


def read_named(table: ResourceTable, text: str, namespace: str = DEFAULT_NAMESPACE) -> Reference:
    """The same where one object is needed."""
    reference = read_reference(table, text, namespace)
    if not reference.name:
        raise ValueError(f"{text!r} names no object: write it like {reference.row.singular}/NAME")
    return reference
