"""What the registry asks about managedFields: all that it needs to know of `managed/`.

An object's managedFields travel with it as part of its metadata; here they are taken off, brought up to date and put
back.  Objects are without apiVersion and kind, in the form they are stored in (`conversion`), unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

import orjson

from kube32_sim.api import conversion, errors, schema
from kube32_sim.api.confidential import KINDS, without_values
from kube32_sim.api.decode import decode_value
from kube32_sim.api.managed import resets, scaled
from kube32_sim.api.managed.applying import Conflict, applied, beyond, conflict_error
from kube32_sim.api.managed.checking import faults
from kube32_sim.api.managed.comparing import child_of, compared, owned, present
from kube32_sim.api.managed.entries import (
    BEFORE_FIRST_APPLY,
    Owners,
    decoded,
    encoded,
    is_reset,
    sorted_fields,
)
from kube32_sim.api.managed.fieldset import MEMBER, NOTHING, FieldSet, difference, field, ordered
from kube32_sim.api.managed.reconciling import reconciled
from kube32_sim.api.managed.shapes import LEAF, Shape, custom_shape, shape_of_definition
from kube32_sim.api.managed.tracking import Write, created, updated
from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.api.scale import replicas_path

JsonObject = dict[str, Any]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_METADATA = field("metadata")
_BY_SERVER = resets.STRIPPED[_METADATA]
_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_LABEL_SELECTOR = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"
KUBECTL = "kubectl"
"""The applier for which what `kubectl apply` has left behind counts as its own."""
UNKNOWN = "unknown"
MOST_FAULTS = 500
CREATIONS = 512
"""How many fields of new objects are remembered, with what they say."""
MOST_ANNOTATIONS = 262144
"""Bytes of all annotations together: what was applied last is not kept where it would make them more."""
LONG = 16384
"""Bytes of a field that is not."""


class Writer(NamedTuple):
    """Who writes, through which subresource, when (RFC 3339)."""

    row: ResourceType
    manager: str
    subresource: str
    now: str


class TableVersions:
    """The versions of a type, by the rows that share its storage."""

    def __init__(self, table: ResourceTable, row: ResourceType) -> None:
        self._table, self._row = table, row

    def _row_of(self, version: str) -> ResourceType | None:
        if version == self._row.api_version:
            return self._row
        group, _, name = version.rpartition("/")
        row = self._table.by_kind(group, name, self._row.kind)
        return row if row is not None and row.storage == self._row.storage else None

    def shape(self, version: str) -> Shape | None:
        row = self._row_of(version)
        return shape_of_row(row) if row is not None else None

    def convert(self, obj: JsonObject, source: str, target: str) -> JsonObject:
        if source == target:
            return obj
        one, other = self._row_of(source), self._row_of(target)
        if one is None or other is None:
            raise ValueError(f"no conversion from {source} to {target}")
        return conversion.to_view(other, conversion.from_view(one, obj))


def shape_of_row(row: ResourceType) -> Shape:
    if row.custom is not None:
        return row.custom.schema.shape()
    return shape_of_definition(row.schema) if row.schema else custom_shape()


@cache
def _empty(key: str) -> bytes:
    obj = decode_value({}, key)[0] if key else {"metadata": {}}
    if key:
        _add_lists(obj, schema.definition(key))
    return orjson.dumps(obj)


def _add_lists(obj: JsonObject, definition: JsonObject) -> None:
    """Lists, maps and selectors that Go never leaves out: they are there from the beginning, and merely fill."""
    properties = definition.get("properties", {})
    for name in definition.get("required", ()):
        of = schema.reference(properties[name])
        kind = schema.json_type(properties[name]) if of is None else None
        if of == _LABEL_SELECTOR or kind in ("array", "object"):
            obj.setdefault(name, None)
    for name, value in obj.items():
        if isinstance(value, dict):
            _add_lists(value, schema.resolved(properties.get(name, {})))


def empty(row: ResourceType) -> JsonObject:
    """A new object of a type before anybody has said anything of it, in the row's form."""
    obj: JsonObject = orjson.loads(_empty(row.schema))
    return obj


@cache
def _begun(key: str) -> JsonObject:
    """`_empty` as an object; shared: never change it."""
    obj: JsonObject = orjson.loads(_empty(key))
    return obj


@lru_cache(maxsize=CREATIONS)
def _said(key: str, name: str, raw: bytes) -> FieldSet | None:
    """What a new object says with a field of this JSON, as what is below the field; None: nothing."""
    begun = _begun(key)
    before = {name: begun[name]} if name in begun else {}
    changed, _ = compared(shape_of_definition(key), before, {name: orjson.loads(raw)})
    below = changed.get(field(name))
    return None if below is None else ordered(below)


@lru_cache(maxsize=CREATIONS)
def _said_of_map(names: tuple[str, ...]) -> FieldSet:
    return ordered({MEMBER: NOTHING, **{field(name): NOTHING for name in names}})


def _said_of_metadata(metadata: JsonObject) -> FieldSet:
    """What new metadata say, without what the server says itself."""
    said: FieldSet = {}
    for name in sorted(metadata):
        value, element = metadata[name], field(name)
        if element in _BY_SERVER:
            continue
        if value.__class__ is str:
            said[element] = NOTHING
        elif value and name in ("labels", "annotations"):
            said[element] = _said_of_map(tuple(value))
        else:
            said[element] = ordered(present(child_of(shape_of_definition(_OBJECT_META), name), value))
    return said


def _said_anew(row: ResourceType, obj: JsonObject) -> FieldSet:
    """All that a new object says.  Many are made of one template: what these say has been found out before."""
    if not row.schema:
        return ordered(compared(shape_of_row(row), empty(row), obj)[0])
    said: FieldSet = {}
    fields, begun = shape_of_definition(row.schema).fields, _begun(row.schema)
    for name in sorted(obj):
        value = obj[name]
        if name == "metadata":
            if inside := _said_of_metadata(value):
                said[_METADATA] = inside
            continue
        if name in fields and fields[name][1].kind == LEAF:  # as in Events: not worth remembering, and ever another
            if name not in begun or begun[name] != value:
                said[fields[name][0]] = NOTHING
            continue
        raw = orjson.dumps(value)
        below = _said(row.schema, name, raw) if len(raw) < LONG else _said.__wrapped__(row.schema, name, raw)
        if below is not None:
            said[field(name)] = below
    return said


def _plain(obj: JsonObject) -> JsonObject:
    """The object without managedFields; what it shares is not changed."""
    metadata = obj.get("metadata") or {}
    if "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _entries(obj: JsonObject | None) -> Any:
    return ((obj or {}).get("metadata") or {}).get("managedFields")


def keep_times(obj: JsonObject, old: JsonObject) -> None:
    """What says nothing new after all leaves the times alone at which managers last changed something."""
    there, here = _entries(old), _entries(obj)
    if here and there and here != there and _timeless(here) == _timeless(there) and _plain(obj) == _plain(old):
        obj["metadata"]["managedFields"] = there


def _timeless(entries: list[JsonObject]) -> list[JsonObject]:
    return [{name: value for name, value in entry.items() if name != "time"} for entry in entries]


def _put(obj: JsonObject, owners: Owners) -> None:
    if owners:
        obj["metadata"]["managedFields"] = encoded(owners)
    else:
        obj["metadata"].pop("managedFields", None)


class FieldManager:
    def __init__(self, table: ResourceTable) -> None:
        self._table = table

    def _write(self, writer: Writer) -> Write:
        row = writer.row
        return Write(
            writer.manager or UNKNOWN,
            writer.subresource,
            writer.now,
            row.api_version,
            shape_of_row(row),
            resets.told(row, writer.subresource),
            TableVersions(self._table, row),
        )

    def _read(self, row: ResourceType, entries: Any) -> Owners:
        """The owners that entries from outside, or from before a change of the schema, tell of."""
        versions, owners = TableVersions(self._table, row), decoded(entries)
        for manager, one in owners.items():
            shape = versions.shape(one.version)
            if shape is not None:
                owners[manager] = one._replace(fields=reconciled(shape, one.fields))
        return owners

    def created(self, writer: Writer, obj: JsonObject) -> None:
        """Set the managedFields of an object that is to be created, by what it says of itself."""
        given = obj["metadata"].pop("managedFields", None)
        row = writer.row
        shown = conversion.to_view(row, obj)
        owners = {} if not given or is_reset(given) else self._read(row, given)
        write = self._write(writer)
        _put(obj, updated(write, owners, empty(row), shown) if owners else created(write, _said_anew(row, shown)))

    def updated(self, writer: Writer, obj: JsonObject, old: JsonObject) -> None:
        """Set the managedFields of an object that is to take the place of another."""
        given = obj["metadata"].pop("managedFields", None)
        kept = old["metadata"].get("managedFields")
        row, owners = writer.row, None
        if not writer.subresource and given is not None and given != kept:
            if is_reset(given):
                return
            owners = self._read(row, given)
        if not owners:
            owners = self._read(row, kept) if row.names_in_list else decoded(kept, trusted=True)
        if not owners:
            return
        before, new = (conversion.to_view(row, one) for one in (_plain(old), obj))
        _put(obj, updated(self._write(writer), owners, before, new))

    def applied(self, writer: Writer, config: JsonObject, old: JsonObject | None, *, force: bool) -> JsonObject:
        """The object that an apply makes of another (None: of none), not yet decoded, in the form of the row.

        Raises ApiError: 400 where the configuration does not fit the schema, 409 where it conflicts.
        """
        row, write = writer.row, self._write(writer)
        _check(write.shape, row.api_version, row.kind, config)
        live = empty(row) if old is None else conversion.to_view(row, _plain(old))
        owners = self._read(row, _entries(old))
        if not owners:
            owners = updated(write._replace(manager=BEFORE_FIRST_APPLY, subresource=""), {}, empty(row), live)
        made, left = self._settled(write, owners, live, config, force=force)
        obj: JsonObject = orjson.loads(orjson.dumps(live if made is None else made))
        obj["metadata"] = obj.get("metadata") or {}
        _put(obj, sorted_fields(left))
        if writer.manager == KUBECTL:
            _keep_last_applied(writer, obj, config)
        return obj

    def scaled(self, writer: Writer, obj: JsonObject, before: JsonObject, after: JsonObject) -> None:
        """Set the managedFields of an object of which one Scale is to take the place of another."""
        owners = decoded(obj["metadata"].get("managedFields"), trusted=True)
        if owners:
            write = _scale_write(writer)
            left = updated(write, scaled.of_scale(owners, _replicas(writer)), before, after)
            _put(obj, scaled.of_parent(owners, left, writer.row.api_version, _replicas(writer)))

    def scale_applied(
        self, writer: Writer, obj: JsonObject, before: JsonObject, config: JsonObject, *, force: bool
    ) -> JsonObject:
        """The Scale that an apply makes of another; sets the managedFields of the object.  Raises ApiError."""
        write = _scale_write(writer)
        _check(write.shape, scaled.VERSION, "Scale", config)
        owners = decoded(obj["metadata"].get("managedFields"), trusted=True)
        made, left = self._settled(write, scaled.of_scale(owners, _replicas(writer)), before, config, force=force)
        _put(obj, scaled.of_parent(owners, left, writer.row.api_version, _replicas(writer)))
        return before if made is None else made

    def _settled(
        self, write: Write, owners: Owners, live: JsonObject, config: JsonObject, *, force: bool
    ) -> tuple[JsonObject | None, Owners]:
        """`applied`, with the answer that a conflict gets."""
        try:
            return self._applied(write, owners, live, config, force=force)
        except Conflict as conflict:
            raise conflict_error(conflict.conflicts) from None

    def _applied(
        self, write: Write, owners: Owners, live: JsonObject, config: JsonObject, *, force: bool
    ) -> tuple[JsonObject | None, Owners]:
        try:
            return applied(write, owners, live, config, force=force)
        except Conflict as conflict:
            if write.manager != KUBECTL:
                raise
            left = beyond(conflict.conflicts, _last_applied_fields(write, live))
            if left:
                raise Conflict(left) from None
        return applied(write, owners, live, config, force=True)


def _replicas(writer: Writer) -> tuple[str, ...]:
    return scaled.path_of(replicas_path(writer.row))


def _scale_write(writer: Writer) -> Write:
    return Write(
        writer.manager or UNKNOWN,
        scaled.SUBRESOURCE,
        writer.now,
        scaled.VERSION,
        scaled.scale_shape(),
        resets.Told(resets.STRIPPED),
        scaled.ScaleVersions(),
    )


def _check(shape: Shape, version: str, kind: str, config: JsonObject) -> None:
    metadata = config.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else {}
    if named.get("managedFields") is not None:
        raise errors.bad_request("metadata.managedFields must be nil")
    found = faults(shape, config)
    if found:
        of = version if "/" in version else f"/{version}"
        what = f"{named.get('namespace') or ''}/{named.get('name') or ''}; {of}, Kind={kind}"
        why = found[0] if len(found) == 1 else "\n".join(["errors:", *(f"  {fault}" for fault in found[:MOST_FAULTS])])
        if kind in KINDS:
            why = without_values(why)
        raise errors.bad_request(f"failed to create typed patch object ({what}): {why}")


def _last_applied(obj: JsonObject) -> str:
    text: str = ((obj.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED) or ""
    return text


def _last_applied_fields(write: Write, live: JsonObject) -> dict[str, Any]:
    """What `kubectl apply` has left in the object unchanged since."""
    try:
        config = orjson.loads(_last_applied(live))
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(config, dict) or config.pop("apiVersion", None) != write.version:
        return {}
    config.pop("kind", None)
    if faults(write.shape, config):
        return {}
    fields = owned(write.shape, config)
    for differing in compared(write.shape, config, live):
        fields = difference(fields, differing)
    return fields


def _keep_last_applied(writer: Writer, obj: JsonObject, config: JsonObject) -> None:
    """Where `kubectl apply` has left its annotation, it tells of what was applied last this way too."""
    if not _last_applied(obj):
        return
    row = writer.row
    said: JsonObject = {"apiVersion": row.api_version, "kind": row.kind, **config}
    annotations = dict((said.get("metadata") or {}).get("annotations") or {})
    if annotations.pop(LAST_APPLIED, None) is not None:
        said = {**said, "metadata": {**said["metadata"], "annotations": annotations}}
    kept = {**obj["metadata"]["annotations"], LAST_APPLIED: _last_applied_text(said)}
    if sum(len(name.encode()) + len(str(value).encode()) for name, value in kept.items()) > MOST_ANNOTATIONS:
        del kept[LAST_APPLIED]
    obj["metadata"]["annotations"] = kept


def _last_applied_text(config: JsonObject) -> str:
    """The configuration as upstream's encoder writes it."""
    text = orjson.dumps(config, option=orjson.OPT_SORT_KEYS).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026") + "\n"
