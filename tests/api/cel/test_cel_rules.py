"""Rules of schemas on objects: where they apply, what they see, and what is said where they fail."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.cel.rules import SchemaRules

JsonObject = dict[str, Any]


def _rules(*rules: str | JsonObject) -> JsonObject:
    return {"x-kubernetes-validations": [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]}


def _spec(schema: JsonObject) -> SchemaRules:
    return SchemaRules({"type": "object", "properties": {"spec": schema}})


def _told(rules: SchemaRules, new: Any, old: Any = None) -> list[str]:
    """Failures of objects with these specs."""
    before = None if old is None else {"metadata": {"name": "x"}, "spec": old}
    made = {"metadata": {"name": "x", "labels": {"a": "b"}}, "spec": new}
    return [str(fault) for fault in rules.validate(made, before, api_version="g.io/v1", kind="Thing")]


def _object(properties: JsonObject, *rules: str | JsonObject, **more: Any) -> JsonObject:
    return {"type": "object", "properties": properties, **_rules(*rules), **more}


_INT, _STRING = {"type": "integer"}, {"type": "string"}
_FAILS = 'Invalid value: "object": failed rule: '


def test_a_schema_knows_whether_it_has_rules() -> None:
    assert not SchemaRules({"type": "object", "properties": {"a": {"type": "array", "items": _STRING}}})
    assert SchemaRules({"type": "object", "additionalProperties": {**_STRING, **_rules("true")}})
    assert SchemaRules({"type": "array", "items": {"type": "string", "allOf": [_rules("true")]}})
    assert _told(SchemaRules({"type": "object"}), {}) == []


def test_what_a_failure_says() -> None:
    """Rule, message, messageExpression where it comes to something; reason and fieldPath."""
    schema = _object(
        {"n": _INT, "m": {"type": "object", "additionalProperties": _INT}, "o": _object({"p.q": _INT})},
        " self.n > 10 ",
        {"rule": "self.n > 10", "message": " too small "},
        {"rule": "self.n > 10", "message": "no", "messageExpression": "'not ' + string(self.n)"},
        {"rule": "self.n > 10", "message": "instead", "messageExpression": "self.nope"},
        {"rule": "self.n > 10", "messageExpression": "' '"},
        {"rule": "self.n > 10", "messageExpression": "'a\\nb'"},
        {"rule": "self.n > 10", "reason": "FieldValueForbidden", "fieldPath": ".n"},
        {"rule": "self.n > 10", "reason": "FieldValueRequired", "fieldPath": ".m['a.b']"},
        {"rule": "self.n > 10", "reason": "FieldValueDuplicate", "fieldPath": ".o['p.q']"},
        {"rule": "self.n > 10", "reason": "FieldValueInvalid"},
    )
    assert _told(_spec(schema), {"n": 1}) == [
        f"spec: {_FAILS}self.n > 10",
        'spec: Invalid value: "object": too small',
        'spec: Invalid value: "object": not 1',
        'spec: Invalid value: "object": instead',
        f"spec: {_FAILS}self.n > 10",
        f"spec: {_FAILS}self.n > 10",
        "spec.n: Forbidden: failed rule: self.n > 10",
        "spec.m[a.b]: Required value: failed rule: self.n > 10",
        'spec.o.p.q: Duplicate value: "object"',
        f"spec: {_FAILS}self.n > 10",
    ]


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("self.nope == 1", "no such key: nope evaluating rule: self.nope == 1"),
        ({"rule": "self.n / 0 == 1", "message": "why"}, "division by zero evaluating rule: why"),
        (
            "self.any + 1 == 2",
            "'no such overload': call arguments did not match a supported operator, function or macro signature "
            "for rule: self.any + 1 == 2",
        ),
        ("self.gone(1)", None),
    ],
)
def test_a_rule_that_has_no_value(rule: str | JsonObject, told: str | None) -> None:
    schema = _object({"n": _INT, "any": {"x-kubernetes-int-or-string": True}}, rule)
    found = _told(_spec(schema), {"n": 1, "any": "x"})
    if told is None:
        assert found[0].startswith('spec: Invalid value: "object": rule compile error: compilation failed: ERROR: ')
    else:
        assert found == [f'spec: Invalid value: "object": {told}']


def test_a_rule_that_runs_too_long_is_the_last() -> None:
    rule = "self.all(a, self.all(b, a >= 0 && b >= 0))"
    schema = {"type": "array", "items": _INT, **_rules(rule, "false")}
    told = "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost"
    assert _told(_spec(schema), list(range(200))) == [
        f'spec: Invalid value: "array": {told} exceeds limit for rule: {rule}'
    ]


def test_rules_apply_at_every_level() -> None:
    """Items, values, properties, allOf; to what is there and is not null."""
    schema = _object(
        {
            "list": {"type": "array", "items": {**_STRING, **_rules("self != 'bad'"), "nullable": True}},
            "map": {"type": "object", "additionalProperties": {**_INT, **_rules("self < 5")}},
            "absent": {**_INT, **_rules("false")},
            "null": {**_INT, "nullable": True, **_rules("false")},
            "unknown": {"x-kubernetes-preserve-unknown-fields": True, **_rules("false")},
        },
        allOf=[{**_rules("size(self.list) == 9"), "properties": {"list": {"items": _rules("self != 'worse'")}}}],
    )
    value = {"list": ["ok", "bad", None, "worse"], "map": {"a": 9, "b": 1}, "null": None, "unknown": 1}
    assert _told(_spec(schema), value) == [
        f"spec: {_FAILS}size(self.list) == 9",
        "spec.list[3]: Invalid value: \"string\": failed rule: self != 'worse'",
        "spec.list[1]: Invalid value: \"string\": failed rule: self != 'bad'",
        'spec.map[a]: Invalid value: "integer": failed rule: self < 5',
    ]


def test_rules_of_the_whole_object_see_its_kind_and_name() -> None:
    rules = SchemaRules(
        {
            "type": "object",
            **_rules(
                "self.kind == 'Thing' && self.apiVersion == 'g.io/v1' && self.metadata.name == 'x'",
                "has(self.metadata.labels)",
            ),
        }
    )
    assert _told(rules, {}) == [f"<nil>: {_FAILS}has(self.metadata.labels)"]


def test_values_are_typed_by_their_schema_and_fields_named_for_cel() -> None:
    properties: JsonObject = {
        "number": {"type": "number"},
        "when": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "span": {"type": "string", "format": "duration"},
        "data": {"type": "string", "format": "byte"},
        "port": {"x-kubernetes-int-or-string": True},
        "list": {"type": "array", "items": {"type": "number"}},
        "map": {"type": "object", "additionalProperties": {"type": "string", "format": "duration"}},
        "a-b.c/d__e": _INT,
        "namespace": _object({"in": _INT}),
        "1st": _INT,
    }
    schema = _object(
        properties,
        "type(self.number) == double && self.number == 2.0 && self.list.all(x, type(x) == double)",
        "self.when == timestamp('2020-01-02T03:04:05.5Z') && self.day == timestamp('2020-01-02T00:00:00Z')",
        "self.span == duration('90m') && self.map['a-b'] == duration('48h')",
        "self.data == b'ab' && (type(self.port) == string ? self.port == 'http' : self.port == 80)",
        "self.a__dash__b__dot__c__slash__d__underscores__e == 1 && self.__namespace__.__in__ == 2",
    )
    value = {
        "number": 2,
        "when": "2020-01-02t04:04:05.5+01:00",
        "day": "2020-01-02",
        "span": "1h30m",
        "data": "YWI=",
        "port": 80,
        "list": [1, 2.5],
        "map": {"a-b": "2 days"},
        "a-b.c/d__e": 1,
        "namespace": {"in": 2},
        "1st": 1,
    }
    assert _told(_spec(schema), value) == []
    assert _told(_spec(schema), {**value, "port": "http"}) == []
    assert len(_told(_spec(schema), {**value, "number": 3, "when": "x", "span": "-1h", "data": "YQ==", "port": 1})) == 4


def test_transitions_want_something_to_come_from() -> None:
    schema = _object({"n": {**_INT, **_rules("self >= oldSelf")}}, "!has(oldSelf.n) || has(self.n)")
    rules = _spec(schema)
    assert _told(rules, {"n": 1}) == []
    assert _told(rules, {"n": 1}, {"n": 1}) == []
    assert _told(rules, {"n": 1}, {"n": 2}) == ['spec.n: Invalid value: "integer": failed rule: self >= oldSelf']
    assert _told(rules, {"n": 1}, {}) == []
    assert _told(rules, {}, {"n": 1}) == [f"spec: {_FAILS}!has(oldSelf.n) || has(self.n)"]


def test_what_was_before_can_be_optional() -> None:
    rule = {
        "rule": "oldSelf.hasValue() ? oldSelf.value() <= self : self == 0",
        "optionalOldSelf": True,
        "messageExpression": "'was %d'.format([oldSelf.orValue(-1)])",
    }
    rules = _spec(_object({"n": {**_INT, **_rules(rule, "self >= oldSelf")}}))
    assert _told(rules, {"n": 0}) == []
    assert _told(rules, {"n": 1}) == ['spec.n: Invalid value: "integer": was -1']
    assert _told(rules, {"n": 1}, {"n": 2}) == [
        'spec.n: Invalid value: "integer": was 2',
        'spec.n: Invalid value: "integer": failed rule: self >= oldSelf',
    ]


def test_items_of_lists_that_are_maps_are_told_by_their_keys() -> None:
    items = _object({"name": _STRING, "n": _INT}, "self.n == oldSelf.n")
    listed = {"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    old = [{"name": "a", "n": 1}, {"name": "b", "n": 2}]
    new = [{"name": "c", "n": 9}, {"name": "b", "n": 2}, {"name": "a", "n": 3}]
    assert _told(_spec(listed), new, old) == [f"spec[2]: {_FAILS}self.n == oldSelf.n"]
    assert _told(_spec({**listed, "x-kubernetes-list-type": "atomic"}), new, old) == []


def test_what_did_not_change_does_not_fail() -> None:
    """But for rules that compare with what was before; those of `allOf` go by what is around them."""
    items = _object({"name": _STRING, "n": {**_INT, **_rules("self > 5")}})
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    schema = _object(
        {
            "a": {**_INT, **_rules("self > 5")},
            "b": {**_INT, **_rules("self > oldSelf")},
            "list": {"type": "array", "items": items, **keyed},
        },
        "self.a > 6",
        allOf=[{"properties": {"a": _rules("self > 7")}}],
    )
    old = {"a": 1, "b": 1, "list": [{"name": "x", "n": 1}, {"name": "y", "n": 1}]}
    nested = 'spec.a: Invalid value: "integer": failed rule: self > 7'
    assert _told(_spec(schema), old, old) == [
        nested,
        'spec.b: Invalid value: "integer": failed rule: self > oldSelf',
    ]
    changed = {**old, "b": 2, "list": [{"name": "y", "n": 2}, {"name": "x", "n": 1}]}
    assert _told(_spec(schema), changed, old) == [
        f"spec: {_FAILS}self.a > 6",
        nested,
        'spec.list[0].n: Invalid value: "integer": failed rule: self > 5',
    ]
    assert len(_told(_spec(schema), old)) == 5


@pytest.mark.parametrize(
    ("more", "new", "old", "same"),
    [
        ({}, ["a", "b"], ["b", "a"], False),
        ({"x-kubernetes-list-type": "set"}, ["a", "b"], ["b", "a"], True),
        ({"x-kubernetes-list-type": "set"}, ["a", "b"], ["b", "c"], False),
        ({"x-kubernetes-list-type": "set"}, ["a", "b"], ["b"], False),
    ],
)
def test_the_order_of_sets_does_not_matter(more: JsonObject, new: list[str], old: list[str], same: bool) -> None:
    schema = _object({"list": {"type": "array", "items": _STRING, **more}}, "self.list == oldSelf.list")
    assert (_told(_spec(schema), {"list": new}, {"list": old}) == []) is same


def test_the_order_of_maps_does_not_matter() -> None:
    items = _object({"k": _STRING, "tags": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"}})
    listed = {"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    nested = {"type": "array", "items": {"type": "object", "additionalProperties": {**listed, **_rules()}}}
    rules = _spec({**nested, **_rules("self == oldSelf")})
    new = [{"v": [{"k": "a", "tags": ["x", "y"]}, {"k": "b"}]}]
    assert _told(rules, new, [{"v": [{"k": "b"}, {"k": "a", "tags": ["y", "x"]}]}]) == []
    assert len(_told(rules, new, [{"v": [{"k": "b"}, {"k": "a", "tags": ["z", "x"]}]}])) == 1
    assert len(_told(rules, new, [{"v": [{"k": "b"}, {"k": "c"}]}])) == 1


def test_rules_change_nothing() -> None:
    value = {"n": 1, "list": ["b", "a"]}
    schema = _object({"n": {"type": "number"}, "list": {"type": "array", "items": _STRING}}, "self.n < oldSelf.n")
    _told(_spec(schema), value, {"n": 2, "list": ["a"]})
    assert value == {"n": 1, "list": ["b", "a"]}
    assert isinstance(value["n"], int)
