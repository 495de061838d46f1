"""Validation of CustomResourceDefinitions: names, versions, and that every version has a structural schema.

Words are upstream's `pkg/apis/apiextensions/validation`; what a schema says about its fields is not looked into deeply.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation import names
from kube32_sim.api.validation.workloads_common import immutable

JsonObject = dict[str, Any]

_SCOPES = ("Cluster", "Namespaced")
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_ONE_STORED = "must have exactly one version marked as storage version"
_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_DEEPEST = 100


def validate_crd(obj: JsonObject) -> list[FieldError]:
    spec = obj["spec"]
    group, own, versions = spec.get("group", ""), spec.get("names") or {}, spec.get("versions") or []
    name = obj["metadata"].get("name", "")
    found: list[FieldError] = []
    if name != f"{own.get('plural', '')}.{group}":
        found.append(invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    found += _group(group) + _scope(spec.get("scope", "")) + _versions(versions)
    found += _names(own)
    for path, schema in _schemas(versions):
        found += [required(path)] if schema is None else _schema(schema, _shown_path(path, versions))
    if sum(1 for version in versions if version.get("storage")) != 1:
        found.append(invalid_value("status.storedVersions", None, "must have at least one stored version"))
    return found


def _group(group: str) -> list[FieldError]:
    if not group:
        return [required("spec.group")]
    found = [invalid_value("spec.group", group, why) for why in names.dns1123_subdomain(group)]
    if not found and "." not in group:
        found.append(invalid_value("spec.group", group, "should be a domain with at least one dot"))
    return found


def _scope(scope: str) -> list[FieldError]:
    if not scope:
        return [required("spec.scope")]
    return [] if scope in _SCOPES else [not_supported("spec.scope", scope, _SCOPES)]


def _versions(versions: list[JsonObject]) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, version in enumerate(versions):
        name, path = version.get("name", ""), f"spec.versions[{index}].name"
        found += [invalid_value(path, name, why) for why in names.dns1035(name)]
        if name in seen:
            found.append(duplicate(path, name))
        seen.add(name)
    if sum(1 for version in versions if version.get("storage")) != 1:
        found.append(invalid_value("spec.versions", [_shown(version) for version in versions], _ONE_STORED))
    return found


def _shown(version: JsonObject) -> JsonObject:
    """A version as Go prints its internal form: the schema is kept elsewhere by then."""
    return {
        "Name": version.get("name", ""),
        "Served": bool(version.get("served")),
        "Storage": bool(version.get("storage")),
        "Deprecated": bool(version.get("deprecated")),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": None,
        "Subresources": version.get("subresources"),
        "AdditionalPrinterColumns": version.get("additionalPrinterColumns"),
        "SelectableFields": version.get("selectableFields"),
    }


_SHORT = "spec.names.shortNames"
_KIND_FIELDS = ("kind", "listKind")


def _names(own: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    for field in ("plural", "singular"):
        found += _name(own.get(field, ""), f"spec.names.{field}")
    for field in _KIND_FIELDS:
        found += _name(own.get(field, ""), f"spec.names.{field}")
    for index, short in enumerate(own.get("shortNames") or ()):
        found += [invalid_value(f"{_SHORT}[{index}]", short, why) for why in names.dns1035(short)]
    kind, list_kind = own.get("kind", ""), own.get("listKind", "")
    if kind and kind == list_kind:
        found.append(invalid_value("spec.names.listKind", list_kind, "kind and listKind may not be the same"))
    for index, category in enumerate(own.get("categories") or ()):
        found += [invalid_value(f"spec.names.categories[{index}]", category, why) for why in names.dns1035(category)]
    return found


def _name(value: str, path: str) -> list[FieldError]:
    if not value:
        return [required(path)]
    return [invalid_value(path, value, why) for why in names.dns1035(value.lower())]


def _schemas(versions: list[JsonObject]) -> Iterator[tuple[str, JsonObject | None]]:
    for index, version in enumerate(versions):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        yield f"spec.versions[{index}].schema.openAPIV3Schema", schema


def _shown_path(path: str, versions: list[JsonObject]) -> str:
    """Where all versions share one schema upstream keeps it in one place, and names that."""
    schemas = [version.get("schema") for version in versions]
    return "spec.validation.openAPIV3Schema" if all(each == schemas[0] for each in schemas) else path


def _schema(schema: JsonObject, path: str) -> list[FieldError]:
    kind = schema.get("type", "")
    found: list[FieldError] = []
    if not kind:
        found.append(required(f"{path}.type", "must not be empty at the root"))
    elif kind != "object":
        found.append(invalid_value(f"{path}.type", kind, "must be object at the root"))
    if schema.get(_PRESERVES) is False:
        found.append(invalid_value(f"{path}.{_PRESERVES}", False, "must be true or undefined"))
    return found + _children(schema, path, 0)


def _children(schema: JsonObject, path: str, depth: int) -> list[FieldError]:
    if depth > _DEEPEST:
        return [forbidden_field(path, f"must not be nested deeper than {_DEEPEST} levels")]
    found: list[FieldError] = []
    for name, child in sorted((schema.get("properties") or {}).items()):
        found += _child(child, f"{path}.properties[{name}]", "object fields", depth)
    items, extra = schema.get("items"), schema.get("additionalProperties")
    if isinstance(items, dict):
        found += _child(items, f"{path}.items", "array items", depth)
    if isinstance(extra, dict):
        if schema.get("properties"):
            why = "additionalProperties and properties are mutual exclusive"
            found.append(forbidden_field(f"{path}.additionalProperties", why))
        found += _child(extra, f"{path}.additionalProperties", "object fields", depth)
    return found


def _child(child: Any, path: str, place: str, depth: int) -> list[FieldError]:
    if not isinstance(child, dict):
        return []
    kind = child.get("type", "")
    found: list[FieldError] = []
    if not kind and not child.get(_PRESERVES) and not child.get("x-kubernetes-int-or-string"):
        found.append(required(f"{path}.type", f"must not be empty for specified {place}"))
    elif kind and kind not in _TYPES:
        found.append(not_supported(f"{path}.type", kind, _TYPES))
    if kind == "array" and child.get("items") is None:
        found.append(required(f"{path}.items", "must be specified"))
    return found + _children(child, path, depth + 1)


def validate_crd_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Failures of the change alone: what names the resource stays while it is established."""
    spec, before = new["spec"], old["spec"]
    found: list[FieldError] = []
    for field in ("group", "scope"):
        found += immutable(spec.get(field), before.get(field), f"spec.{field}")
    for field in ("kind", "plural"):
        value = (spec.get("names") or {}).get(field)
        found += immutable(value, (before.get("names") or {}).get(field), f"spec.names.{field}")
    return found
