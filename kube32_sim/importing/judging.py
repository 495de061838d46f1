"""One object of a snapshot: whether it can be stored, and in which form.

Admission, most validation and everything that changes a new object are left out: what a snapshot holds was accepted
once, and is to be again what it was.  What must hold for the store and for the loops is looked at: that the object is
of a type that is served and fits its schema, its metadata is valid, and it has what everybody takes for granted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import Any, NamedTuple

from kube32_sim.api import conversion, errors, jsontext, strictness
from kube32_sim.api.customs.decoding import decode_custom
from kube32_sim.api.customs.naming import DEFINITIONS, CustomType
from kube32_sim.api.decode import DecodeError, decode_value
from kube32_sim.api.errors import FieldError
from kube32_sim.api.meta import field_reader, object_key
from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.api.strategies.base import Context, Lookup
from kube32_sim.api.validation.meta import validate_metadata
from kube32_sim.limits import DEFAULTS
from kube32_sim.storage.interface import Storage
from kube32_sim.storage.objects import NO_LABELS, Ready, ready

JsonObject = dict[str, Any]
GroupVersionKind = tuple[str, str, str]

_POD, _TEMPLATE = ("spec",), ("spec", "template", "spec")
_POD_SPECS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): _POD,
    ("", "ReplicationController"): _TEMPLATE,
    **{("apps", kind): _TEMPLATE for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")},
    ("batch", "Job"): _TEMPLATE,
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template", "spec"),
}
"""Where containers are: without any, or without names, nobody knows what to do with a pod."""
_MOST_SHOWN = 20
"""Problems of one object that are told."""


MOST_LABELS, MOST_SHARED = 16, 4096
"""Of an object whose labels others may have; and sets of labels that are known."""


class Judged(NamedTuple):
    """An object as it is going to be stored, but for what follows from others.

    raw: its JSON without apiVersion, kind and resourceVersion.  line: where it stood in the snapshot, from 0.
    owners: their uids.  ready: it can be stored like that, where nothing follows from others.
    """

    row: ResourceType
    key: str
    uid: str
    raw: bytes
    line: int
    owners: tuple[str, ...] = ()
    ready: Ready | None = None

    @property
    def title(self) -> str:
        return f"{self.row.kind} {self.key}"


class Problem(Exception):
    """What keeps an object from being stored: failures whose fields are its own."""

    def __init__(self, failures: list[FieldError]) -> None:
        super().__init__("; ".join(map(str, failures)))
        self.failures = failures


class LeftOut(Exception):
    """An object that is not stored, and no problem.  what: of which kind it is; why: so that it is told once a kind."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")
        self.what = what
        self.why = why


@dataclass(slots=True)
class Judge:
    """Of one load.  now: RFC 3339, for what has no time.  computed: types that follow from others."""

    table: ResourceTable
    cluster: Lookup
    now: str
    computed: frozenset[Storage] = frozenset()
    max_bytes: int = DEFAULTS.max_object_bytes
    custom: dict[GroupVersionKind, ResourceType] = field(default_factory=dict)
    """Rows of the definitions in the snapshot itself, which are served only when it is stored."""
    _rows: dict[tuple[str, str], ResourceType] = field(default_factory=dict)
    """Those that were found, by apiVersion and kind."""
    _readers: dict[Storage, Callable[[JsonObject], tuple[str, ...]]] = field(default_factory=dict)
    """Of the selectable fields."""
    _shared: dict[tuple[tuple[str, str], ...], dict[str, str]] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    """Fields that a kind does not have, and how often they occurred; they are not stored."""

    def judge(self, data: bytes, line: int) -> tuple[Judged, JsonObject]:
        """(what is stored, the same decoded) of a line of JSON; raises Problem and LeftOut."""
        try:
            value = jsontext.loads(data)
        except jsontext.JsonError as error:
            raise Problem([FieldError("FieldValueInvalid", "", str(error))]) from None
        api_version, kind = _type_of(value)
        row = self._row(api_version, kind)
        del value["apiVersion"], value["kind"]
        obj = self._decoded(value, kind, row)
        metadata = obj.setdefault("metadata", {})
        metadata.pop("resourceVersion", None)
        metadata.pop("selfLink", None)
        if not row.namespaced:
            metadata.pop("namespace", None)
        metadata.setdefault("creationTimestamp", self.now)
        row.strategy.default(obj)
        self._check(obj, metadata, row)
        if row.storage == DEFINITIONS:
            self._learn(obj)
        stored = self.table.by_storage(row.storage) if row.custom is None else row
        try:
            labels = self._labels(metadata.get("labels"))
            known = ready(obj, labels, self._values(stored, obj), jsontext.check_extent)
        except jsontext.JsonError as error:
            raise Problem([FieldError("FieldValueInvalid", "", str(error))]) from None
        raw = known.content
        if len(raw) > self.max_bytes:
            why = f"the object has {len(raw)} bytes, more than {self.max_bytes} (--max-object-bytes)"
            raise Problem([FieldError("FieldValueTooLong", "", why)])
        key = object_key(row, metadata.get("namespace", ""), metadata["name"])
        whole = known if row.custom is None else None  # of a custom type others say which fields can be selected
        return Judged(stored, key, known.uid, raw, line, known.owners, whole), obj

    def _values(self, row: ResourceType, obj: JsonObject) -> tuple[str, ...]:
        read = self._readers.get(row.storage)
        if read is None:
            read = self._readers[row.storage] = field_reader(row)
        return tuple(map(intern, read(obj)))

    def _labels(self, labels: dict[str, str] | None) -> dict[str, str]:
        """The same ones, in the dict of others that have them too: it is kept for each object."""
        if not labels or len(labels) > MOST_LABELS:
            return labels or NO_LABELS
        if len(self._shared) > MOST_SHARED:
            self._shared.clear()
        return self._shared.setdefault(tuple(labels.items()), labels)

    def _row(self, api_version: str, kind: str) -> ResourceType:
        row = self._rows.get((api_version, kind))
        if row is None:
            row = self._rows[api_version, kind] = self._found(api_version, kind)
        return row

    def _found(self, api_version: str, kind: str) -> ResourceType:
        group, _, version = api_version.rpartition("/")
        known = (group, version, kind)
        row = self.custom.get(known) or self.table.by_kind(*known)
        if row is None:
            others = [row.version for row in self.table.rows(group) if row.kind == kind]
            more = f", only in {' and '.join(others)}" if others else ""
            raise LeftOut(f"{kind} ({api_version})", f"the simulator does not serve this type{more}")
        if not row.stored:
            raise LeftOut(f"{kind} ({api_version})", "nothing of this type is stored")
        if row.storage in self.computed:
            raise LeftOut(f"{kind} ({api_version})", "they are computed from Services and Pods")
        return row

    def _decoded(self, value: JsonObject, kind: str, row: ResourceType) -> JsonObject:
        try:
            if row.schema:
                obj, unknown = decode_value(value, row.schema)
            else:
                obj, unknown = decode_custom(value, kind, row)
        except DecodeError as error:
            raise Problem([FieldError("FieldValueInvalid", "", f"{_called(kind, value)}: {error}")]) from None
        except errors.ApiError as error:
            raise Problem([FieldError("FieldValueInvalid", "", f"{_called(kind, value)}: {error.message}")]) from None
        for path in unknown:
            told = f"{row.kind} ({row.api_version}): {strictness.unknown_field(path)}"
            self.unknown[told] = self.unknown.get(told, 0) + 1
        return conversion.from_view(row, obj)

    def _check(self, obj: JsonObject, metadata: JsonObject, row: ResourceType) -> None:
        """What the store and the loops take for granted."""
        failures = validate_metadata(metadata, row)
        path = _POD_SPECS.get((row.group, row.kind))
        if path is not None:
            failures += _missing(obj, path)
        if row.storage == DEFINITIONS and not failures:
            context = Context(row, "", metadata["name"], self.now, self.cluster)
            failures = errors.failures_of(lambda: row.strategy.validate(obj, context))
        if failures:
            raise Problem(failures[:_MOST_SHOWN])

    def _learn(self, crd: JsonObject) -> None:
        from kube32_sim.api.customs.rows import rows_of  # with all that knows schemas

        for row in rows_of(crd, CustomType(crd["metadata"]["name"])):
            self.custom[row.group, row.version, row.kind] = row
            self._rows.pop((row.api_version, row.kind), None)


def _type_of(value: Any) -> tuple[str, str]:
    if not isinstance(value, dict):
        raise Problem([FieldError("FieldValueInvalid", "", "it is no object")])
    api_version, kind = value.get("apiVersion"), value.get("kind")
    named = isinstance(api_version, str) and isinstance(kind, str) and api_version and kind
    if named and isinstance(value.get("metadata"), dict):
        return str(api_version), str(kind)
    failures = [errors.required(name) for name in ("apiVersion", "kind") if not value.get(name)]
    failures += [
        errors.invalid_value(name, value[name], "must be a string")
        for name in ("apiVersion", "kind")
        if value.get(name) and not isinstance(value[name], str)
    ]
    metadata = value.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        failures.append(errors.invalid_value("metadata", metadata, "must be an object"))
    if failures:
        raise Problem(failures)
    return value["apiVersion"], value["kind"]


def _called(kind: str, value: JsonObject) -> str:
    """What an object that cannot be decoded is called, as far as it says."""
    metadata = value.get("metadata") or {}
    names = [metadata[name] for name in ("namespace", "name") if isinstance(metadata.get(name), str)]
    return f"{kind} {'/'.join(names)}"


def _missing(obj: JsonObject, path: tuple[str, ...]) -> list[FieldError]:
    spec: Any = obj
    for name in path:
        spec = spec.get(name) or {}
    containers = spec.get("containers") or ()
    where = f"{'.'.join(path)}.containers"
    if not containers:
        return [errors.required(where)]
    unnamed = (number for number, container in enumerate(containers) if not container.get("name"))
    return [errors.required(f"{where}[{number}].name") for number in unnamed]
