"""Rules when their definition is stored: what is said of those that do not compile, cannot work or cost too much."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kube32_sim.api.cel.field_paths import normalized
from kube32_sim.api.validation.crd.expressions import check_schema_rules

JsonObject = dict[str, Any]

_INT = {"type": "integer"}


def _told(schema: JsonObject, old: JsonObject | None = None) -> list[tuple[str, str]]:
    return [(fault.field, fault.message) for fault in check_schema_rules(schema, "s", old)]


def _with(rule: str, schema: JsonObject, **more: Any) -> JsonObject:
    return {**schema, "x-kubernetes-validations": [{"rule": rule, **more}]}


def _shown(rule: str, message: str = "", optional: bool | None = None) -> str:
    fields = {"Rule": rule, "Message": "", "MessageExpression": message, "Reason": None, "FieldPath": ""}
    return json.dumps({**fields, "OptionalOldSelf": optional}, separators=(",", ":"))


_TYPES: JsonObject = {
    "type": "object",
    "properties": {
        "n": _INT,
        "text": {"type": "string", "maxLength": 10},
        "any": {"x-kubernetes-int-or-string": True},
        "when": {"type": "string", "format": "date-time"},
        "span": {"type": "string", "format": "duration"},
        "data": {"type": "string", "format": "byte", "maxLength": 10},
        "ratio": {"type": "number"},
        "map": {"type": "object", "additionalProperties": _INT, "maxProperties": 5},
        "lists": {"type": "array", "maxItems": 3, "items": {"type": "array", "maxItems": 3, "items": _INT}},
        "a-b": {"type": "object", "properties": {"if": {"type": "boolean"}}},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "unknown": {"x-kubernetes-preserve-unknown-fields": True},
        "fooBar": {"type": "object", "additionalProperties": _INT, "maxProperties": 5},
        "foo_Bar": {"type": "object", "additionalProperties": _INT, "maxProperties": 5},
    },
}


@pytest.mark.parametrize(
    "rule",
    [
        "self.n < 1.5 && self.ratio < 1 && self.any == 'x' && self.any == 1",
        "self.when < timestamp('2020-01-01T00:00:00Z') && self.span > duration('1h') && self.data == b'a'",
        "self.map['a'] == 1 && self.map.all(k, k != 'b' && self.map[k] > 1) && self.fooBar['a'] == self.foo_Bar['b']",
        "self.lists[0][0] == 1 && self.lists.all(l, l.all(x, x > 0))",
        "self.a__dash__b.__if__",
        "self.embedded.metadata.name == self.embedded.kind && self.metadata.name == self.apiVersion",
        "has(self.n) && self.?n.orValue(1) == 1 && self == oldSelf",
    ],
)
def test_rules_about_values_of_all_types_compile(rule: str) -> None:
    assert _told(_with(rule, _TYPES)) == []


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("self.nope == 1", "undefined field 'nope'"),
        ("self.unknown == 1", "undefined field 'unknown'"),
        ("self.free.x == 1", "undefined field 'x'"),
        ("self.metadata.labels.a == 'b'", "undefined field 'labels'"),
        ("self.map.x == 'a'", "found no matching overload for '_==_' applied to '(int, string)'"),
        ("self.when == 'a'", "found no matching overload for '_==_' applied to '(google.protobuf.Timestamp, string)'"),
        ("self.text == self.n", "found no matching overload for '_==_' applied to '(string, int)'"),
        ("object.n == 1", "undeclared reference to 'object' (in container '')"),
    ],
)
def test_a_rule_that_does_not_fit_the_schema_is_refused(rule: str, message: str) -> None:
    (field, told), *_ = _told(_with(rule, _TYPES))
    assert field == "s.x-kubernetes-validations[0].rule"
    assert told.startswith(f"Invalid value: {_shown(rule)}: compilation failed: ERROR: <input>:1:")
    assert f": {message}\n | {rule}\n | " in told


def test_what_rules_and_messages_evaluate_to() -> None:
    at = "s.x-kubernetes-validations[0]"
    assert _told(_with("self.n", _TYPES)) == [
        (f"{at}.rule", f"Invalid value: {_shown('self.n')}: cel expression must evaluate to a bool")
    ]
    assert _told(_with("true", _TYPES, messageExpression="self.n")) == [
        (
            f"{at}.messageExpression",
            f"Invalid value: {_shown('true', 'self.n')}: messageExpression must evaluate to a string",
        )
    ]
    ((field, told),) = _told(_with("true", _TYPES, messageExpression="self.nope"))
    assert field == f"{at}.messageExpression"
    assert told.startswith(f"Invalid value: {_shown('true', 'self.nope')}: messageExpression compilation failed: ERROR")


def test_the_old_value_is_optional_where_the_rule_says_so() -> None:
    assert _told(_with("oldSelf.orValue(1) == self", _INT, optionalOldSelf=True)) == []
    assert len(_told(_with("oldSelf.orValue(1) == self", _INT))) == 1
    assert _told(_with("self == 1", _INT, optionalOldSelf=False)) == [
        (
            "s.x-kubernetes-validations[0].optionalOldSelf",
            "Invalid value: false: may not be set if oldSelf is not used in rule",
        )
    ]


@pytest.mark.parametrize(("kind", "faults"), [("map", 0), ("set", 1), ("atomic", 1), (None, 1)])
def test_only_items_of_maps_have_an_old_value(kind: str | None, faults: int) -> None:
    items = {"type": "object", "properties": {"k": _with("self == oldSelf", _INT)}}
    listed = {"type": "array", "maxItems": 3, "items": items, "x-kubernetes-list-map-keys": ["k"]}
    schema = {"type": "object", "properties": {"l": {**listed, "x-kubernetes-list-type": kind}}}
    found = _told({**schema, "properties": {"l": {**listed, **({"x-kubernetes-list-type": kind} if kind else {})}}})
    told = "oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[l]"
    at = "s.properties[l].items.properties[k].x-kubernetes-validations[0].rule"
    assert found == [(at, f'Invalid value: "self == oldSelf": {told}')] * faults


_TEXTS = {"type": "array", "items": {"type": "string"}}
_DEAR = {"type": "object", "properties": {"l": _with("self.all(x, x.contains('a'))", _TEXTS)}}


def test_a_rule_that_may_cost_too_much_is_refused() -> None:
    found = _told(_DEAR)
    at = "s.properties[l].x-kubernetes-validations[0].rule"
    exceeds = (
        "exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, "
    )
    whole = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    assert [field for field, _ in found] == [at, at, "s"]
    assert found[0][1].startswith(f"Forbidden: estimated rule cost {exceeds}")
    assert found[2][1].startswith(f"Forbidden: {whole} {exceeds}")


def test_what_was_there_before_may_cost_more() -> None:
    """A single rule may, where the schema of the version did not change."""
    cheaper = {"type": "array", "items": {"type": "string", "maxLength": 100}}
    dear = _with("self.all(x, x.contains('a'))", cheaper)
    assert [message.split(" ")[1] for _, message in _told(dear)] == ["estimated"]
    assert _told(dear, dear) == []
    assert len(_told(dear, {**dear, "description": "before"})) == 1


def test_defaults_must_keep_the_rules() -> None:
    schema = {"type": "object", "properties": {"n": _with("self > 5", {**_INT, "default": 1})}}
    assert _told(schema) == [("s.properties[n].default", 'Invalid value: "integer": failed rule: self > 5')]


def test_rules_want_values_of_a_known_type() -> None:
    schema = {"type": "object", "properties": {"u": _with("true", {"x-kubernetes-preserve-unknown-fields": True})}}
    told = "Internal error: internal error: failed to retrieve type information for x-kubernetes-validations"
    assert _told(schema) == [("s.properties[u].x-kubernetes-validations", told)]


def test_an_object_of_very_many_fields_is_not_checked() -> None:
    schema = {"type": "object", "properties": {f"f{index}": _INT for index in range(5000)}}
    assert _told(_with("self.f1 == 'x'", schema)) == []


def test_rules_in_all_of_are_about_the_schema_around_them() -> None:
    nested = {"x-kubernetes-validations": [{"rule": "self.n == 1"}, {"rule": "self.nope == 1"}]}
    ((field, _),) = _told({**_TYPES, "allOf": [nested]})
    assert field == "s.allOf[0].x-kubernetes-validations[1].rule"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (".n", "n"),
        (".a-b.if", "a-b.if"),
        ("['a-b']['if']", "a-b.if"),
        (".map.x", "map[x]"),
        (r".map['it\'s\n']", "map[it's\n]"),
        (".nope", ""),
        (".n.x", ""),
        ("n", ""),
        (".map[0]", ""),
    ],
)
def test_field_paths(path: str, shown: str) -> None:
    assert normalized(path, _TYPES) == shown
