"""Sizes that schemas allow, and how paths of expressions lead to them."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.cel.cost_range import MOST, Range
from kube32_sim.api.cel.cost_sizes import SizedType, escape, sized_type

_REQUEST = 3 * 1024 * 1024


def _sized(schema: dict[str, Any], **options: bool) -> SizedType:
    kind = sized_type(schema, **options)
    assert kind is not None
    return kind


@pytest.mark.parametrize(
    ("schema", "kind", "max_size", "min_bytes"),
    [
        ({"type": "string"}, "string", _REQUEST - 2, 2),
        ({"type": "string", "maxLength": 10}, "string", 40, 2),
        ({"type": "string", "maxLength": -1}, "string", 0, 2),
        ({"type": "string", "enum": ["a", "grün", 5]}, "string", 5, 2),
        ({"type": "string", "enum": ["a"], "maxLength": 3}, "string", 12, 2),
        ({"type": "string", "format": "byte"}, "bytes", _REQUEST - 2, 2),
        ({"type": "string", "format": "byte", "maxLength": 10}, "bytes", 10, 2),
        ({"type": "string", "format": "date", "maxLength": 5}, "timestamp", 12, 12),
        ({"type": "string", "format": "date-time"}, "timestamp", 32, 21),
        ({"type": "string", "format": "duration"}, "duration", 32, 3),
        ({"type": "string", "format": "email"}, "string", _REQUEST - 2, 2),
        ({"type": "integer"}, "int", 0, 1),
        ({"type": "number"}, "double", 0, 1),
        ({"type": "boolean"}, "bool", 0, 4),
        ({"x-kubernetes-int-or-string": True}, "dyn", _REQUEST - 2, 1),
        ({"x-kubernetes-int-or-string": True, "maxLength": 5}, "dyn", 20, 1),
        ({"type": "array", "items": {"type": "string"}}, "list", (_REQUEST - 2) // 3, 2),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 5}, "list", 5, 2),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "map", (_REQUEST - 2) // 7, 2),
        ({"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 0}, "map", 0, 2),
        ({"type": "object"}, "object", 0, 2),
        ({"type": "object", "additionalProperties": True}, "object", 0, 2),
        ({"type": "object", "properties": {"ü": {"type": "integer"}}, "required": ["ü"]}, "object", 0, 9),
    ],
)
def test_sizes(schema: dict[str, Any], kind: str, max_size: int, min_bytes: int) -> None:
    sized = _sized(schema)
    assert (sized.kind, sized.max_size, sized.min_bytes) == (kind, max_size, min_bytes)
    assert sized.size == Range(0, max_size)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "array"},
        {"type": "array", "items": {}},
        {"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": True}},
    ],
)
def test_what_has_no_type_in_cel(schema: dict[str, Any]) -> None:
    assert sized_type(schema) is None
    assert _sized({"type": "object", "properties": {"a": schema}}).fields == {}


_SPEC = {
    "type": "object",
    "properties": {
        "ports": {"type": "array", "items": {"type": "object", "properties": {"host-name": {"type": "string"}}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 1}},
    },
}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (["self"], "object"),
        (["oldSelf", "ports"], "list"),
        (["self", "ports", "@items", "host__dash__name"], "string"),
        (["self", "labels", "@values"], "string"),
        (["self", "labels", "@keys"], "string"),
        (["self", "ports", "@keys"], None),
        (["self", "missing"], None),
        (["self", "missing", "deeper"], None),
        (["self", "@items"], None),
        ([], None),
    ],
)
def test_paths(path: list[str], kind: str | None) -> None:
    found = _sized(_SPEC).at(path)
    assert (found and found.kind) == kind


def test_keys_count_for_nothing() -> None:
    labels = _sized(_SPEC).fields["labels"]
    assert labels.key is not None
    assert labels.key.size == Range(0, 0)


def _root(**properties: Any) -> SizedType:
    return _sized({"type": "object", "properties": properties, "required": ["kind"]}, resource_root=True)


def test_a_resource_has_its_names_without_being_told() -> None:
    root = _root(metadata={"type": "object"})
    assert root.at(["self", "metadata", "name"]) == root.fields["kind"] == _sized({"type": "string"})
    assert root.min_bytes == 2 + len("kind") + 2 + 4
    inner = _sized({"type": "object", "properties": {"of": {"type": "object", "x-kubernetes-embedded-resource": True}}})
    assert inner.at(["self", "of", "apiVersion"]) is not None


def test_a_schema_may_bound_the_names_of_a_resource_if_it_declares_all() -> None:
    text, name = {"type": "string"}, {"type": "string", "maxLength": 5}
    metadata = {"type": "object", "properties": {"name": name, "generateName": text}}
    bounded = _root(kind=text, apiVersion=text, metadata=metadata).at(["self", "metadata", "name"])
    assert bounded == _sized(name)
    overruled = _root(kind=text, metadata=metadata).at(["self", "metadata", "name"])
    assert overruled == _sized(text)


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("plain", "plain"),
        ("a-b.c/d", "a__dash__b__dot__c__slash__d"),
        ("a__b", "a__underscores__b"),
        ("_a_b", "_a_b"),
        ("namespace", "__namespace__"),
        ("namespaces", "namespaces"),
        ("-a", "__dash__a"),
        ("1a", None),
        ("a b", None),
        ("ü", None),
        ("", None),
    ],
)
def test_properties_as_identifiers(name: str, identifier: str | None) -> None:
    assert escape(name) == identifier


def test_arithmetic_does_not_overflow_and_rounds_up() -> None:
    assert Range(1, MOST).plus(Range(2, 5)) == Range(3, MOST)
    assert Range(3, MOST).times(Range(2, 5)) == Range(6, MOST)
    assert Range(0, MOST).times(Range(0, 0)) == Range(0, 0)
    assert Range(1, 11).scaled(0.1) == Range(1, 2)
    assert Range(0, MOST).scaled(0.1) == Range(0, 1844674407370955264)
    assert Range(1, MOST).scaled(2) == Range(2, MOST)
    assert Range(3, 5).union(Range(1, 4)) == Range(1, 5)
