"""What no openAPIV3Schema may have, structural or not: a walk over all schemas in one, those in definitions included.

Most fields are plain and passed over (`is_plain`), so that a large schema costs little.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, not_supported
from kube32_sim.api.validation.crd.lists import list_faults, map_faults
from kube32_sim.api.validation.crd.nodes import DEEPEST, EMBEDDED, PRESERVES, QUANTIFIERS, RULES, is_plain
from kube32_sim.api.validation.crd.rules import rule_faults

JsonObject = dict[str, Any]

TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META_FIELDS = ("metadata", "kind", "apiVersion")
_EXTENSIONS = frozenset(
    (PRESERVES, RULES, *(f"x-kubernetes-{each}" for each in ("list-type", "list-map-keys", "map-type")))
)
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_CONVERTIBLE = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")
_UNCOMMON = frozenset((*_CONVERTIBLE, "items", PRESERVES))
_UNIQUE = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"


class Options(NamedTuple):
    """Rules that a change of what breaks them already need not keep: types are known, sets have atomic items, and items
    of maps have keys."""

    types: bool = True
    atomic_sets: bool = True
    map_keys: bool = True


class _Place(NamedTuple):
    """Where a schema stands.  no_default: why it may have no default.  in_meta: within a resource's metadata."""

    no_default: str = ""
    in_meta: bool = False
    is_root: bool = False


_INSIDE = _Place()
ROOT = _Place(is_root=True)


class OpenApiWalk:
    """One walk.  found: the failures.  unconvertible: why upstream could make no structural schema of it.  Then whether
    there are defaults and rules, and where it is deeper than `DEEPEST`."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.found: list[FieldError] = []
        self.unconvertible = ""
        self.has_defaults = False
        self.has_rules = False
        self.too_deep = ""

    def visit(self, schema: JsonObject, path: str, place: _Place = ROOT, depth: int = 0) -> None:
        if depth > DEEPEST:
            self.too_deep = self.too_deep or path
            return
        self._own(schema, path, place)
        self._children(schema, path, place, depth + 1)
        if not schema.keys().isdisjoint(_EXTENSIONS):
            self._extensions(schema, path)

    def _own(self, schema: JsonObject, path: str, place: _Place) -> None:
        """Fields that are forbidden wherever they stand."""
        kind, found = schema.get("type", ""), self.found
        if kind and self._options.types and kind not in TYPES:
            found.append(not_supported(f"{path}.type", kind, TYPES))
        if schema.get("default") is not None:
            self.has_defaults = True
            if place.no_default:
                found.append(forbidden_field(f"{path}.default", f"must not be set {place.no_default}"))
        if not schema.keys().isdisjoint(_UNCOMMON):
            found += [
                forbidden_field(f"{path}.{key}", f"{key} is not supported") for key in _UNSUPPORTED if key in schema
            ]
            self.unconvertible = self.unconvertible or _why_unconvertible(schema)
        if kind == "null":
            found.append(forbidden_field(f"{path}.type", "type cannot be set to null, use nullable as an alternative"))
        if isinstance(schema.get("items"), list):
            found.append(forbidden_field(f"{path}.items", "items must be a schema object and not an array"))
        if place.in_meta and schema.get(EMBEDDED):
            found.append(forbidden_field(f"{path}.{EMBEDDED}", "must not be used inside of resource meta"))
        if schema.get("uniqueItems"):
            found.append(forbidden_field(f"{path}.uniqueItems", _UNIQUE))

    def _children(self, schema: JsonObject, path: str, place: _Place, depth: int) -> None:
        inner = place._replace(is_root=False) if place.is_root else place
        self._additional(schema, path, inner, depth)
        if properties := schema.get("properties"):
            self._properties(properties, schema, path, place, depth)
        if schema.get("not") is not None:
            self.visit(schema["not"], f"{path}.not", inner, depth)
        for key in QUANTIFIERS:
            for index, child in enumerate(schema.get(key) or ()):
                self.visit(child, f"{path}.{key}[{index}]", inner, depth)
        for name, child in sorted((schema.get("definitions") or {}).items()):
            self.visit(child, f"{path}.definitions[{name}]", inner, depth)
        items = schema.get("items")
        if isinstance(items, list):
            for index, child in enumerate(items):
                self.visit(child, f"{path}.items[{index}]", inner, depth)
        elif items is not None and not is_plain(items):
            self.visit(items, f"{path}.items", inner, depth)
        for name, child in sorted((schema.get("dependencies") or {}).items()):
            if isinstance(child, dict):
                self.visit(child, f"{path}.dependencies[{name}]", inner, depth)

    def _additional(self, schema: JsonObject, path: str, inner: _Place, depth: int) -> None:
        values = schema.get("additionalProperties")
        if values is None:
            return
        if schema.get("properties") and values is not True:
            why = "additionalProperties and properties are mutual exclusive"
            self.found.append(forbidden_field(f"{path}.additionalProperties", why))
        if isinstance(values, dict):
            if inner.in_meta:
                inner = inner._replace(no_default="inside additionalProperties applying to object metadata")
            self.visit(values, f"{path}.additionalProperties", inner, depth)

    def _properties(self, properties: JsonObject, schema: JsonObject, path: str, place: _Place, depth: int) -> None:
        has_meta = place.is_root or schema.get(EMBEDDED)
        inner = place._replace(is_root=False) if place.is_root else place
        for name, child in sorted(properties.items()):
            if is_plain(child):
                continue
            where = inner
            if has_meta and name in _META_FIELDS:
                forbidden = f"in top-level {name}" if place.is_root else inner.no_default
                where = _Place(forbidden, in_meta=True)
            self.visit(child, f"{path}.properties[{name}]", where, depth)

    def _extensions(self, schema: JsonObject, path: str) -> None:
        found, options = self.found, self._options
        if schema.get(PRESERVES) is False:
            found.append(invalid_value(f"{path}.{PRESERVES}", False, "must be true or undefined"))
        found += map_faults(schema, path)
        found += list_faults(schema, path, atomic_sets=options.atomic_sets, map_keys=options.map_keys)
        if schema.get(RULES):
            self.has_rules = True
            found += rule_faults(schema, path)


def _why_unconvertible(schema: JsonObject) -> str:
    for key in _CONVERTIBLE:
        if schema.get(key) not in (None, "", {}) or (key == "additionalItems" and key in schema):
            return f"OpenAPIV3Schema '{key.removeprefix('$') if key == '$schema' else key}' is not supported"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    if schema.get(PRESERVES) is False:
        return f"internal error: '{PRESERVES}' must be true or undefined"
    return ""
