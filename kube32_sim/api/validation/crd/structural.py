"""Whether a schema is structural: every field has one type that stands outside of allOf, anyOf, oneOf and not.

Upstream's `pkg/apiserver/schema`: validation.go for what each schema is asked, complete.go for what the quantifiers of
the root speak of.  Failures are sorted by their text, as upstream sorts them.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, required
from kube32_sim.api.structural.patterns import PatternError, searcher
from kube32_sim.api.validation.crd.nodes import (
    EMBEDDED,
    INT_OR_STRING,
    LIST_TYPE,
    MAP_KEYS,
    MAP_TYPE,
    PRESERVES,
    QUANTIFIERS,
    RULES,
    is_plain,
)

JsonObject = dict[str, Any]

_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
"""Levels, by what a missing type is said about."""
_EITHER = [{"type": "integer"}, {"type": "string"}]
_IF_EMBEDDED = "must be object if x-kubernetes-embedded-resource is true"
_NEITHER = "must be false if x-kubernetes-int-or-string is true"
_METADATA = "must not specify anything other than name and generateName, but metadata is implicitly specified"
_METADATA_NAMES = ({"name"}, {"generateName"}, {"name", "generateName"})
_NOT_NESTED = (
    ("type", "must be empty"),
    ("title", "must be empty"),
    ("description", "must be empty"),
    ("nullable", "must be false"),
    (PRESERVES, "must be false"),
    (EMBEDDED, "must be false"),
    (INT_OR_STRING, "must be false"),
    (MAP_KEYS, "must be empty"),
    (RULES, "must be empty"),
)
"""What a quantifier may not have, unless it is empty."""
_NOT_EVEN_EMPTY = ("additionalProperties", "default", LIST_TYPE, MAP_TYPE)


def structural_faults(schema: JsonObject, path: str) -> list[FieldError]:
    """Of a whole openAPIV3Schema, which can be converted (`OpenApiWalk.unconvertible`)."""
    found: list[FieldError] = []
    _invariants(schema, path, _ROOT, found)
    if not schema.keys().isdisjoint(_ALTERNATIVES):
        _complete(schema, schema, path, path, found)
    return sorted(found, key=str)


_ALTERNATIVES = frozenset((*QUANTIFIERS, "not"))


def _invariants(schema: JsonObject, path: str, level: str, found: list[FieldError]) -> None:
    items, values = schema.get("items"), schema.get("additionalProperties")
    if items is not None:
        _invariants(items, f"{path}.items", _ITEM, found)
    elif schema.get("type") == "array":
        found.append(required(f"{path}.items", "must be specified"))
    for name, child in (schema.get("properties") or {}).items():
        if not is_plain(child):
            _invariants(child, f"{path}.properties[{name}]", _FIELD, found)
    if values is not None:
        if level is _ROOT:
            found.append(forbidden_field(f"{path}.additionalProperties", "must not be used at the root"))
        if isinstance(values, dict):
            _invariants(values, f"{path}.additionalProperties", _FIELD, found)
    firsts = [child.get("anyOf") for child in (schema.get("allOf") or ())[:1]]
    _values(schema, path, found, schema.get("anyOf") == _EITHER, _EITHER in firsts)
    _type(schema, path, level, found)
    if level is _ROOT or schema.get(EMBEDDED):
        _meta_types(schema, path, level, found)
    if schema.get(INT_OR_STRING):
        found += [invalid_value(f"{path}.{key}", True, _NEITHER) for key in (PRESERVES, EMBEDDED) if schema.get(key)]
    if schema.get(EMBEDDED):
        _embedded(schema, path, found)


def _type(schema: JsonObject, path: str, level: str, found: list[FieldError]) -> None:
    kind = schema.get("type", "")
    if schema.get(EMBEDDED) and kind != "object":
        at = f"{path}.type"
        found.append(invalid_value(at, kind, _IF_EMBEDDED) if kind else required(at, _IF_EMBEDDED))
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVES):
        found.append(required(f"{path}.type", f"must not be empty {level}"))
    if level is _ROOT and kind and kind != "object":
        found.append(invalid_value(f"{path}.type", kind, "must be object at the root"))


def _embedded(schema: JsonObject, path: str, found: list[FieldError]) -> None:
    if schema.get("additionalProperties") is not None:
        why = "must not be used if x-kubernetes-embedded-resource is set"
        found.append(forbidden_field(f"{path}.additionalProperties", why))
    if not schema.get(PRESERVES) and not schema.get("properties"):
        why = f"must not be empty if {EMBEDDED} is true without {PRESERVES}"
        found.append(required(f"{path}.properties", why))


def _meta_types(schema: JsonObject, path: str, level: str, found: list[FieldError]) -> None:
    """Kind, apiVersion and metadata are what they are in every object."""
    properties = schema.get("properties") or {}
    for name, must in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        child = properties.get(name)
        if child is not None and child.get("type", "") != must:
            at = f"{path}.properties[{name}].type"
            found.append(invalid_value(at, child.get("type", ""), f"must be {must}"))
    metadata = properties.get("metadata")
    if level is _ROOT and metadata is not None and _says_more(metadata):
        found.append(forbidden_field(f"{path}.properties[metadata]", _METADATA))


def _says_more(metadata: JsonObject) -> bool:
    """Whether the schema of an object's metadata is about more than its name (the default is another rule's)."""
    names = (metadata.get("properties") or {}).keys()
    if names and names not in _METADATA_NAMES:
        return True
    allowed = ("type", "default", "properties", "externalDocs", "example")
    return any(
        value is not None if key not in _EMPTY_IS_NONE else bool(value)
        for key, value in metadata.items()
        if key not in allowed
    )


_EMPTY_IS_NONE = frozenset(
    (
        *("description", "title", "nullable", "format", "exclusiveMaximum", "exclusiveMinimum", "pattern"),
        *("uniqueItems", EMBEDDED, INT_OR_STRING),
    )
)


def _values(schema: JsonObject, path: str, found: list[FieldError], any_of: bool, first_any_of: bool) -> None:
    """Quantifiers and patterns.  any_of: anyOf says integer or string, and may; first_any_of: that of allOf[0] does."""
    pattern = schema.get("pattern")
    if pattern and (why := _refused(pattern)):
        why = f"must be a valid regular expression, but isn't: {why}"
        found.append(invalid_value(f"{path}.pattern", pattern, why))
    if schema.keys().isdisjoint(_ALTERNATIVES):
        return
    for key in QUANTIFIERS:
        if key == "anyOf" and any_of:
            continue
        for index, child in enumerate(schema.get(key) or ()):
            _nested(child, f"{path}.{key}[{index}]", found, key == "allOf" and index == 0 and first_any_of)
    if schema.get("not") is not None:
        _nested(schema["not"], f"{path}.not", found)


def _refused(pattern: str) -> str:
    """Why Go would not compile it."""
    try:
        searcher(pattern)
    except PatternError as error:
        return str(error)
    return ""


def _nested(schema: JsonObject, path: str, found: list[FieldError], any_of: bool = False) -> None:
    """A schema that a quantifier speaks of: it may restrict values, and say nothing about what there is."""
    _values(schema, path, found, any_of, False)
    if schema.get("items") is not None:
        _nested(schema["items"], f"{path}.items", found)
    properties = schema.get("properties") or {}
    for name, child in properties.items():
        _nested(child, f"{path}.properties[{name}]", found)
    for key, why in _NOT_NESTED:
        if schema.get(key):
            found.append(forbidden_field(f"{path}.{key}", f"{why} to be structural"))
    for key in _NOT_EVEN_EMPTY:
        if schema.get(key) is not None:
            found.append(forbidden_field(f"{path}.{key}", "must be undefined to be structural"))
    if "metadata" in properties:
        found.append(forbidden_field(f"{path}.properties[metadata]", "must not be specified in a nested context"))


def _complete(schema: JsonObject, known: JsonObject, at: str, path: str, found: list[FieldError]) -> None:
    """What the quantifiers of `schema` (at `path`) speak of has to be in `known` (at `at`).  Upstream looks at those of
    the root only, and at those within them."""
    for key in QUANTIFIERS:
        for index, child in enumerate(schema.get(key) or ()):
            _complete_nested(child, known, at, f"{path}.{key}[{index}]", found)
    if schema.get("not") is not None:
        _complete_nested(schema["not"], known, at, f"{path}.not", found)


def _complete_nested(schema: JsonObject, known: JsonObject, at: str, path: str, found: list[FieldError]) -> None:
    _complete(schema, known, at, path, found)
    if schema.get("items") is not None:
        if known.get("items") is None:
            found.append(required(f"{at}.items", f"because it is defined in {path}.items"))
        else:
            _complete_nested(schema["items"], known["items"], f"{at}.items", f"{path}.items", found)
    fields = known.get("properties") or {}
    for name, child in (schema.get("properties") or {}).items():
        step = f".properties[{name}]"
        if name in fields:
            _complete_nested(child, fields[name], at + step, path + step, found)
        else:
            found.append(required(at + step, f"because it is defined in {path}{step}"))
