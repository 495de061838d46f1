"""What OpenAPI documents say about the types that CustomResourceDefinitions define.

A version's schema is published as apiextensions-apiserver publishes it: without what is no part of a structural schema,
with the fields that every object has, and with what `x-kubernetes-int-or-string` and `x-kubernetes-embedded-resource`
stand for.  Version 2 knows neither alternatives nor `nullable` nor defaults, and kubectl takes what it lists for all
there is, so whatever may hold unknown fields, or null, loses its fields and its type there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from kube32_sim.api.openapi.schemas import PREFIX, Flavour, custom_key
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.schema import definition

JsonObject = dict[str, Any]

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"

_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_VALUES = ("additionalProperties", "default", "enum")
"""May be false and mean it."""
_KEPT = frozenset(
    "type title description format pattern required nullable minimum maximum exclusiveMinimum"
    " exclusiveMaximum minLength maxLength minItems maxItems uniqueItems multipleOf minProperties maxProperties"
    f" x-kubernetes-list-type x-kubernetes-list-map-keys x-kubernetes-map-type x-kubernetes-validations {_PRESERVES}"
    f" {_EMBEDDED} {_INT_OR_STRING}".split()
)
_ALTERNATIVES = ("allOf", "anyOf", "oneOf")
_NOT_IN_V2 = frozenset((*_ALTERNATIVES, "not", "nullable", "default"))
_EITHER = [{"type": "integer"}, {"type": "string"}]


_DEEPEST = 100
"""What is nested deeper could not be written down any more; validation lets fields go as deep."""


class _NotStructural(Exception):
    """The schema is none that upstream would publish: it has a list of schemas for items, or is too deep."""


@dataclass(frozen=True, slots=True)
class Published:
    """One served version of a custom type.  schema: its openAPIV3Schema.  preserves: spec.preserveUnknownFields."""

    group: str
    version: str
    kind: str
    list_kind: str
    plural: str
    schema: JsonObject | None
    preserves: bool
    hash: str
    """Tells what is published apart from what would be published of another revision."""

    @property
    def key(self) -> str:
        return custom_key(self.group, self.version, self.kind)

    @property
    def list_key(self) -> str:
        return custom_key(self.group, self.version, self.list_kind)


Kind = tuple[str, str, str]
"""Group, version and kind."""


def published(crd: JsonObject) -> dict[Kind, Published]:
    """What is published of a CustomResourceDefinition, for all versions that it serves.

    Nothing, where it says itself that it is not established, as one whose names another one has.
    """
    found = () if _is_refused(crd) else _versions(crd["spec"])
    return {(each.group, each.version, each.kind): each for each in found}


def of_row(row: ResourceType) -> Published:
    """A custom type that is served, though there is no definition of it."""
    return Published(row.group, row.version, row.kind, row.list_kind, row.plural, None, False, "")


def _is_refused(crd: JsonObject) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Established" and each.get("status") != "True" for each in conditions)


def _versions(spec: JsonObject) -> Iterator[Published]:
    names = spec.get("names") or {}
    kind = names.get("kind", "")
    for version in spec.get("versions") or ():
        if version.get("served"):
            hashed = hashlib.sha256(orjson.dumps([names, version, spec.get("preserveUnknownFields")]))
            yield Published(
                spec.get("group", ""),
                version.get("name", ""),
                kind,
                names.get("listKind") or f"{kind}List",
                names.get("plural", ""),
                (version.get("schema") or {}).get("openAPIV3Schema"),
                bool(spec.get("preserveUnknownFields")),
                hashed.hexdigest(),
            )


def definitions_of(each: Published, flavour: Flavour) -> dict[str, JsonObject]:
    """The definitions of the type and of its list, by key."""
    return {each.key: _object(each, flavour), each.list_key: _list(each, flavour)}


def _object(each: Published, flavour: Flavour) -> JsonObject:
    kind = {"group": each.group, "version": each.version, "kind": each.kind}
    named = {"x-kubernetes-group-version-kind": [kind]}
    schema = each.schema
    # kubectl takes a list of fields for a complete one: where there may be others, none are listed
    bare = {"type": "object", **named}
    if schema is None or (flavour == 2 and (each.preserves or schema.get(_PRESERVES))):
        return bare
    try:
        made = _structural(schema, 0)
    except _NotStructural:
        return bare
    if flavour == 2:
        made = _for_v2(made)
    made["properties"] = {**made.get("properties", {}), **_identity(), "metadata": _metadata(OBJECT_META, flavour)}
    _add_embedded(made, flavour)
    return {**made, **named}


def _list(each: Published, flavour: Flavour) -> JsonObject:
    kind = {"group": each.group, "version": each.version, "kind": each.list_kind}
    items = {
        "description": f"List of {each.plural}.",
        "type": "array",
        "items": {"$ref": PREFIX[flavour] + each.key},
    }
    return {
        "description": f"{each.list_kind} is a list of {each.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {**_identity(), "items": items, "metadata": _metadata(LIST_META, flavour)},
        "x-kubernetes-group-version-kind": [kind],
    }


@cache
def _descriptions() -> Mapping[str, str]:
    """What Kubernetes says of the fields that all objects and lists have."""
    pod = definition("io.k8s.api.core.v1.Pod")["properties"]
    listing = definition("io.k8s.api.coordination.v1.LeaseList")["properties"]
    return {
        "apiVersion": pod["apiVersion"]["description"],
        "kind": pod["kind"]["description"],
        OBJECT_META: pod["metadata"]["description"],
        LIST_META: listing["metadata"]["description"],
    }


def _identity() -> JsonObject:
    return {name: {"description": _descriptions()[name], "type": "string"} for name in ("apiVersion", "kind")}


def _metadata(key: str, flavour: Flavour) -> JsonObject:
    reference = {"$ref": PREFIX[flavour] + key}
    told = {"description": _descriptions()[key]}
    return {"allOf": [reference], **told} if flavour == 3 else {**reference, **told}


def _structural(schema: Any, depth: int) -> JsonObject:
    """A copy of what a structural schema is made of; raises _NotStructural."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        raise _NotStructural
    made: JsonObject = {}
    for name, value in schema.items():
        if name == "properties":
            made[name] = {field: _structural(part, depth + 1) for field, part in value.items()}
        elif name in _ALTERNATIVES:
            made[name] = [_structural(part, depth + 1) for part in value]
        elif name in ("items", "not") or (name == "additionalProperties" and isinstance(value, dict)):
            made[name] = _structural(value, depth + 1)
        elif name in _VALUES or (name in _KEPT and value is not False):
            made[name] = value
    if made.get(_INT_OR_STRING):
        _unfold(made)
    return made


def _unfold(schema: JsonObject) -> None:
    """Say in plain schema terms what `x-kubernetes-int-or-string` means, unless the schema says so itself."""
    if any(part.get("anyOf") == _EITHER for part in (schema, *schema.get("allOf", ()))):
        return
    if "anyOf" in schema:
        schema["allOf"] = [*schema.get("allOf", ()), {"anyOf": _EITHER}]
    else:
        schema["anyOf"] = _EITHER


def _for_v2(schema: JsonObject) -> JsonObject:
    """A structural schema in the terms of version 2."""
    gone = set(_NOT_IN_V2)
    if schema.get("nullable"):
        gone |= {"type", "items", "properties"}
    if schema.get(_PRESERVES):
        gone |= {"items", "properties"}
        if schema.get("type") == "object":
            gone.add("type")
    kind = schema.get("type")
    if kind == "array" and ("items" in gone or "items" not in schema):
        gone.add("type")
    made = {name: value for name, value in schema.items() if name not in gone}
    required = _required(schema, made.get("properties", {}))
    made.pop("required", None)
    if required:
        made["required"] = required
    for name in ("items", "additionalProperties"):
        if isinstance(made.get(name), dict):
            made[name] = _for_v2(made[name])
    if "properties" in made:
        made["properties"] = {name: _for_v2(part) for name, part in made["properties"].items()}
    return made


def _required(schema: JsonObject, properties: Mapping[str, JsonObject]) -> list[str]:
    """kubectl would refuse the null of a field that is required and may be null."""
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict) and extra.get("nullable"):
        return []
    return [name for name in schema.get("required", ()) if not properties.get(name, {}).get("nullable")]


def _add_embedded(schema: JsonObject, flavour: Flavour) -> None:
    """Give whole objects inside the object the fields that all objects have, unless v2 may not list any."""
    for part in schema.get("properties", {}).values():
        _add_embedded(part, flavour)
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            _add_embedded(schema[name], flavour)
    if not schema.get(_EMBEDDED) or (flavour == 2 and schema.get(_PRESERVES)):
        return
    schema["properties"] = {**schema.get("properties", {}), **_identity(), "metadata": _metadata(OBJECT_META, flavour)}
    schema["required"] = list(dict.fromkeys((*schema.get("required", ()), "kind", "apiVersion")))
