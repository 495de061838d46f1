"""Field selectors: parsed once, then one quick call per object.

The grammar and the wording of errors are apimachinery's `pkg/fields`.  Which fields a type may be selected by is in its
row (`ResourceType.fields`).  Nothing here looks at objects: it is handed field values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from kube32_sim.api.errors import ApiError, bad_request, go_value
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.selectors import all_of


class FieldRequirement(NamedTuple):
    path: str
    op: str
    """`=` or `!=`."""
    value: str


class FieldSelector:
    """matches(fields): fields maps each path to its value; an absent path counts as ""."""

    __slots__ = ("everything", "matches", "requirements", "text")

    matches: Callable[[Mapping[str, str]], bool]

    def __init__(self, requirements: Iterable[FieldRequirement]) -> None:
        self.requirements = tuple(requirements)
        self.everything = not self.requirements
        self.text = ",".join(f"{path}{op}{value}" for path, op, value in self.requirements)
        self.matches = all_of([_field_predicate(requirement) for requirement in self.requirements])

    def exact(self, path: str) -> str | None:
        """The value that `path` must have, if there is one."""
        return next((r.value for r in self.requirements if r.path == path and r.op == "="), None)

    def without(self, path: str) -> FieldSelector:
        """The same requirements but the one that `exact` answers (already met by an index)."""
        met = (path, "=", self.exact(path))
        return FieldSelector(requirement for requirement in self.requirements if requirement != met)

    def __repr__(self) -> str:
        return f"FieldSelector({self.text!r})"


def _field_predicate(requirement: FieldRequirement) -> Callable[[Mapping[str, str]], bool]:
    path, op, value = requirement
    if op == "=":
        return lambda fields: fields.get(path, "") == value
    return lambda fields: fields.get(path, "") != value


ALL_FIELDS = FieldSelector(())


_TERM = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL).fullmatch
_ESCAPED = frozenset("\\,=")


def _terms(text: str) -> list[str]:
    """Parted at commas, but for those behind a backslash."""
    found, start, position = [], 0, 0
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text[position] == ",":
            found.append(text[start:position])
            start = position + 1
        position += 1
    return [*found, text[start:]]


def _unescaped(value: str) -> str:
    """A value with its escapes read; raises ApiError 400."""
    if not any(special in value for special in "\\,="):
        return value
    found, characters = [], iter(value)
    for character in characters:
        if character in ",=":
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(character)}")
        found.append(_escaped(next(characters, "")) if character == "\\" else character)
    return "".join(found)


def _escaped(character: str) -> str:
    if character not in _ESCAPED:
        raise bad_request(f"invalid field selector: invalid escape sequence: \\{character}")
    return character


@lru_cache(maxsize=1024)
def parse_fields(text: str) -> FieldSelector:
    """The string form, as in `?fieldSelector=`, whatever the type; raises ApiError 400."""
    requirements = []
    for term in sorted(_terms(text)):
        if not term:
            continue
        match = _TERM(term)
        if match is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        path, op, value = match.groups()
        requirements.append(FieldRequirement(path, "!=" if op == "!=" else "=", _unescaped(value)))
    return FieldSelector(requirements) if requirements else ALL_FIELDS


_ALIASES = {
    ("", "v1", "Pod"): {"spec.host": "spec.nodeName"},
    ("events.k8s.io", "v1", "Event"): {
        "reportingController": "reportingComponent",
        **{
            f"regarding.{part}": f"involvedObject.{part}"
            for part in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
        },
    },
}
"""Labels of one version -> the path that values are kept under."""


def select_fields(text: str, row: ResourceType) -> FieldSelector:
    """`parse_fields` for one type: paths as its objects' values are kept; a path it does not have is a 400."""
    selector = parse_fields(text)
    aliases = _ALIASES.get((row.group, row.version, row.kind), {})
    for requirement in selector.requirements:
        path = requirement.path
        if path != "metadata.name" and path not in row.fields and path not in aliases and not _is_namespace(path, row):
            raise _unknown_field(path, row)
    if not aliases:
        return selector
    return FieldSelector(r._replace(path=aliases.get(r.path, r.path)) for r in selector.requirements)


def _is_namespace(path: str, row: ResourceType) -> bool:
    """metadata.namespace is known to all but the cluster-scoped types that list their fields."""
    return path == "metadata.namespace" and (row.namespaced or not (row.fields or row.names_in_list))


def _unknown_field(path: str, row: ResourceType) -> ApiError:
    if row.kind == "Job" and row.group == "batch":
        return bad_request(f"field label {go_value(path)} not supported for Job")
    if row.fields or row.names_in_list:
        return bad_request(f"field label not supported: {path}")
    known = '"metadata.name", "metadata.namespace"'
    return bad_request(f"{go_value(path)} is not a known field selector: only {known}")
