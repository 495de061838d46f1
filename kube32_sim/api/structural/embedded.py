"""Embedded resources (`x-kubernetes-embedded-resource`): typed metadata, and an apiVersion and a kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kube32_sim.api.decode import DecodeError, decode_value
from kube32_sim.api.errors import FieldError, invalid_value, required
from kube32_sim.api.structural.values import shown
from kube32_sim.api.structural.visiting import child_path
from kube32_sim.api.validation.meta import validate_object_metadata
from kube32_sim.api.validation.names import dns1035, path_segment

JsonObject = dict[str, Any]

_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_NOT_TEXT = "must be a string"


class Malformed(DecodeError):
    """An embedded resource that cannot be decoded."""

    def __init__(self, fault: FieldError) -> None:
        super().__init__(str(fault))
        self.fault = fault


def is_embedded(schema: JsonObject) -> bool:
    return bool(schema.get("x-kubernetes-embedded-resource"))


def coerce(value: Any, path: str) -> list[str]:
    """Types the metadata of an embedded resource, in place; answers the paths of unknown fields; raises Malformed."""
    if not isinstance(value, dict):
        return []
    for name in ("apiVersion", "kind"):
        if name in value and not isinstance(value[name], str):
            raise Malformed(invalid_value(child_path(path, name), shown(value[name]), _NOT_TEXT))
    if "metadata" not in value:
        return []
    at = child_path(path, "metadata")
    try:
        value["metadata"], unknown = decode_value(value["metadata"], _OBJECT_META)
    except DecodeError as error:
        raise Malformed(invalid_value(at, shown(value["metadata"]), str(error))) from None
    return [f"{at}.{each}" for each in unknown]


def mend(value: Any) -> None:
    """Drops what `coerce` would refuse, in place: from objects that were stored when nobody looked."""
    if not isinstance(value, dict):
        return
    for name in ("apiVersion", "kind"):
        if not isinstance(value.get(name, ""), str):
            del value[name]
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        value["metadata"] = {name: item for name, item in metadata.items() if _decodes({name: item})}
    elif metadata is not None:
        del value["metadata"]


def _decodes(metadata: JsonObject) -> bool:
    try:
        decode_value(metadata, _OBJECT_META)
    except DecodeError:
        return False
    return True


def embedded_faults(value: Any, path: str) -> list[FieldError]:
    """Failures of apiVersion, kind and metadata."""
    if not isinstance(value, dict):
        return []
    found = [required(child_path(path, name)) for name in ("apiVersion", "kind") if name not in value]
    for name, item in value.items():
        if name == "apiVersion":
            found += _text_faults(item, child_path(path, name), _version_fault)
        elif name == "kind":
            found += _text_faults(item, child_path(path, name), _kind_fault)
        elif name == "metadata":
            found += _metadata_faults(item, child_path(path, name))
    return found


def _text_faults(value: Any, path: str, fault_of: Callable[[str], str]) -> list[FieldError]:
    if not isinstance(value, str):
        return [invalid_value(path, shown(value), _NOT_TEXT)]
    if not value:
        return [required(path)]
    why = fault_of(value)
    return [invalid_value(path, value, why)] if why else []


def _version_fault(version: str) -> str:
    return f"unexpected GroupVersion string: {version}" if version.count("/") > 1 else ""


def _kind_fault(kind: str) -> str:
    why = dns1035(kind.lower())
    return f"may have mixed case, but should otherwise match: {','.join(why)}" if why else ""


def _metadata_faults(value: Any, path: str) -> list[FieldError]:
    try:
        typed, _ = decode_value(value, _OBJECT_META)
    except DecodeError as error:
        return [invalid_value(path, shown(value), str(error))]
    named = {**typed, "name": typed.get("name") or "fakename"}
    return validate_object_metadata(named, bool(typed.get("namespace")), path_segment, path)
