"""The OpenAPI definitions of Kubernetes 1.36 and of the simulator's own types (`own`), and what they say about a field.

Kubernetes' come from the package `kubernetes-validate`; its data file is read without importing the package, once,
when first asked for (about 10 ms).  Keys are the document's own, such as `io.k8s.api.core.v1.Pod`.  Decoding
(`decode/`) and patching (`patch/`) compile what they need from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from kube32_sim.api import own

JsonObject = dict[str, Any]

_FILE = "kubernetes-json-schema/v1.36.0-local/_definitions.json"
_REFERENCE = len("#/$defs/")
_KINDS = "x-kubernetes-group-version-kind"


@cache
def all_definitions() -> Mapping[str, JsonObject]:
    """Every definition by its key.  Shared: never change what it holds."""
    spec = find_spec("kubernetes_validate")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("the package kubernetes-validate, which brings Kubernetes' OpenAPI definitions, is missing")
    data = (Path(spec.submodule_search_locations[0]) / _FILE).read_bytes()
    definitions: dict[str, JsonObject] = orjson.loads(data)["$defs"]
    return definitions | own.definitions()


def definition(key: str) -> JsonObject:
    """One definition; KeyError where there is none."""
    return all_definitions()[key]


@cache
def _keys_by_kind() -> dict[tuple[str, str, str], str]:
    found = {}
    for key, entry in all_definitions().items():
        for kind in entry.get(_KINDS, ()):
            found[kind["group"], kind["version"], kind["kind"]] = key
    return found


def key_for(group: str, version: str, kind: str) -> str | None:
    """The definition of a kind, where there is one (DeleteOptions and the like belong to every group)."""
    return _keys_by_kind().get((group, version, kind))


def kinds() -> Mapping[tuple[str, str, str], str]:
    """(group, version, kind) -> definition key, of all kinds there are."""
    return _keys_by_kind()


def is_registered(group: str, version: str, kind: str) -> bool:
    return (group, version, kind) in _keys_by_kind()


def reference(schema: JsonObject) -> str | None:
    """The key that a schema's `$ref` points to."""
    ref: str | None = schema.get("$ref")
    return None if ref is None else ref[_REFERENCE:]


def resolved(schema: JsonObject) -> JsonObject:
    """The schema itself, or the definition it refers to."""
    key = reference(schema)
    return schema if key is None else definition(key)


def json_type(schema: JsonObject) -> str | None:
    """`string`, `object`, …; the definitions say it as `["string", "null"]` where a field is optional."""
    found = schema.get("type")
    kind: str | None = found[0] if isinstance(found, list) else found
    return kind


def properties(key: str) -> Mapping[str, JsonObject]:
    found: Mapping[str, JsonObject] = definition(key).get("properties", {})
    return found


def list_type(schema: JsonObject) -> str:
    """`map`, `set` or `atomic` (what a list without the extension is)."""
    kind: str = schema.get("x-kubernetes-list-type", "atomic")
    return kind


def list_map_keys(schema: JsonObject) -> tuple[str, ...]:
    """The fields that tell the items of a list of type `map` apart."""
    return tuple(schema.get("x-kubernetes-list-map-keys", ()))


def patch_strategies(schema: JsonObject) -> frozenset[str]:
    """`merge`, `replace`, `retainKeys`: how a strategic merge patch treats the field."""
    found: str = schema.get("x-kubernetes-patch-strategy", "")
    return frozenset(found.split(",")) if found else frozenset()


def patch_merge_key(schema: JsonObject) -> str | None:
    """The field by which a strategic merge patch matches the items of a list of objects."""
    key: str | None = schema.get("x-kubernetes-patch-merge-key")
    return key


def short_name(key: str) -> str:
    """The kind of a definition as Go prints its type: `v1.Container`, `intstr.IntOrString`."""
    return ".".join(key.rsplit(".", 2)[-2:])
