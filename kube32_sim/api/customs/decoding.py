"""Custom resources as bodies hold them: typed metadata, and of everything else what the type's schema knows."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.decode import DecodeError, cannot_be_handled, decode_value
from kube32_sim.api.errors import bad_request, invalid, invalid_value
from kube32_sim.api.resources import ResourceType

JsonObject = dict[str, Any]

_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def decode_custom(value: JsonObject, kind: str, row: ResourceType) -> tuple[JsonObject, list[str]]:
    """A custom object without apiVersion and kind, and the paths of unknown fields in its metadata; raises ApiError."""
    metadata = value.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise bad_request("metadata must be an object")
    try:
        typed, unknown = decode_value(metadata or {}, _OBJECT_META)
    except DecodeError as error:
        raise cannot_be_handled(row.kind, row.version, row.kind, str(error)) from None
    if kind and kind != row.kind:
        fault = invalid_value("kind", kind, f"must be {row.kind}")
        raise invalid(row.group, kind, str(typed.get("name", "")), [fault])
    made = {name: item for name, item in value.items() if name not in ("apiVersion", "kind", "metadata")}
    obj, paths = {"metadata": typed, **made}, [f"metadata.{path}" for path in unknown]
    if row.custom is None:
        return obj, paths
    try:
        obj, dropped = row.custom.pruned(obj)
    except DecodeError as error:
        raise cannot_be_handled(row.kind, row.version, row.kind, str(error)) from None
    return obj, [*paths, *dropped]
