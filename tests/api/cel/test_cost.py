"""Estimates of rules, to the unit: the cases and figures are those of upstream's TestCostEstimation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kube32_sim.api.cel.cost import estimate
from kube32_sim.api.cel.cost_range import Range
from kube32_sim.api.cel.cost_sizes import sized_type
from kube32_sim.api.cel.tree import Comprehension
from tests.api.cel.estimating import estimated, tree_of

Schema = dict[str, Any]
Generator = Callable[[int | None], Schema]

_FORMATS = {"duration": "duration", "date": "date", "date-time": "date-time", "bytes": "byte"}


def _primitive(kind: str) -> Schema:
    if kind == "int-or-string":
        return {"x-kubernetes-int-or-string": True}
    return {"type": "string", "format": _FORMATS[kind]} if kind in _FORMATS else {"type": kind}


def _limited(schema: Schema, limit: str, most: int | None) -> Schema:
    return schema if most is None else {**schema, limit: most}


def _array(items: Schema) -> Generator:
    return lambda most: _limited({"type": "array", "items": items}, "maxItems", most)


def _map(values: Schema) -> Generator:
    return lambda most: _limited({"type": "object", "additionalProperties": values}, "maxProperties", most)


def _text(most: int | None, **more: Any) -> Schema:
    return _limited({"type": "string", **more}, "maxLength", most)


_ITEM: Schema = {
    "type": "object",
    "properties": {"required": {"type": "string"}, "optional": {"type": "string"}},
    "required": ["required"],
}
_NUMBERS = _array(_primitive("number"))
_MOST_NUMBERS = 1572863
_SQUARE = _MOST_NUMBERS * (3 * _MOST_NUMBERS + 5) + 2
_CUBE = _MOST_NUMBERS * (_SQUARE + 3) + 2
_STRINGS = _array(_primitive("string"))
_NUMBER_MAPS = _array(_map(_primitive("number"))(None))
_NUMBER_ARRAYS = _array(_NUMBERS(None))


def _texts(most: int | None) -> Schema:
    """Texts and their number bounded alike."""
    return _array(_text(most))(most)


def _map_of_texts(most: int | None) -> Schema:
    return _map(_text(most))(most)


def _bytes(most: int | None) -> Schema:
    return _text(most, format="byte")


def _choice(most: int | None) -> Schema:
    return _text(most, enum=["A", "B", "C", "LongValue"])


def _array_of_maps(most: int | None) -> Schema:
    return _array(_map(_ITEM)(most))(most)


def _array_of_bounded_maps(most: int | None) -> Schema:
    return _array(_map(_ITEM)(most))(None)


def _replacement(most: int | None) -> Schema:
    return {"type": "object", "properties": {"str": _text(most), "before": _text(2), "after": _text(4)}}


def _separated(most: int | None) -> Schema:
    return {"type": "object", "properties": {"str": _text(most), "separator": _text(most)}}


@pytest.mark.parametrize(
    ("schema", "rule", "unbounded", "most", "bounded"),
    [
        (_NUMBERS, "self.all(x, true)", 4718591, 10, 32),
        (_STRINGS, "self.all(x, true)", 3145727, 20, 62),
        (_array(_primitive("boolean")), "self.all(x, true)", 1887437, 5, 17),
        (_NUMBER_ARRAYS, "self.all(x, true)", 3145727, 100, 302),
        (_array(_ITEM), "self.all(x, true)", 555128, 50, 152),
        (_map(_primitive("number")), "self.all(x, true)", 1348169, 10, 32),
        (_map(_primitive("string")), "self.all(x, true)", 1179647, 3, 11),
        (_map(_primitive("boolean")), "self.all(x, true)", 943718, 100, 302),
        (_map(_primitive("number")), "has(self.x)", 1, 100, 1),
        (_text, "self.contains('test')", 314574, 10, 5),
        (_text, "self.startsWith('test')", 2, 15, 2),
        (_text, "self.endsWith('test')", 2, 30, 2),
        (_text, 'size(self + "hello") > size("hello")', 314578, 4, 7),
        (_NUMBERS, "self[1] == 0.0", 2, 5000, 2),
        (_STRINGS, "self[1] == self[1]", 314577, 8, 314577),
        (_NUMBERS, "self.all(x, self.all(y, true))", _SQUARE, 10, 352),
        (_NUMBERS, "self.all(x, self.all(y, self.all(z, true)))", _CUBE, 10, 3552),
        (_text, 'self.matches("x")', 314574, 50, 22),
        (_text, '"".matches("(((((((((())))))))))[0-9]")', 7, 10, 7),
        (_text, 'self.matches("")', 1, 100, 1),
        (_map_of_texts, "self.all(x, x.contains(self[x]))", 2752507, 10, 72),
        (_NUMBERS, "self[3] == 0.0", 2, 0, 2),
        (_map(_primitive("number")), 'self["x"] == 0.0', 2, 0, 2),
        (_text, 'self == "x"', 2, 0, 1),
        (_bytes, 'self == b"x"', 2, 0, 1),
        (_NUMBERS, "self.all(x, x == 0.0)", 6291454, 3 * 1024 * 2048, 25165826),
        (_array_of_maps, 'self.all(x, x["y"].required == "z")', 7340027, 10, 72),
        (_array_of_bounded_maps, 'self.all(x, x["y"].required == "z")', 7340027, 10, 7340027),
        (_array(_primitive("int-or-string")), "self.all(x, true)", 4718591, 10, 32),
        (_array(_primitive("int-or-string")), "self[0] == 5", 3, 10, 3),
        (_array(_primitive("boolean")), "self[0] == false", 2, 25, 2),
        (_array(_ITEM), "self[0] == null", 2, 422, 2),
        (_NUMBER_ARRAYS, "self[0][0] == -1.0", 3, 51, 3),
        (_NUMBER_MAPS, "self.all(x, x.y == 25.2)", 6291452, 12, 74),
        (_NUMBER_MAPS, "self[0].x > 2.0", 4, 3000, 4),
        (_array(_primitive("duration")), "self.all(x, true)", 2359295, 5, 17),
        (_array(_primitive("duration")), "self[0].getHours() == 2", 4, 525, 4),
        (_array(_primitive("date")), "self.all(x, true)", 725936, 15, 47),
        (_array(_primitive("date")), "self[2].getDayOfMonth() == 13", 4, 42, 4),
        (_array(_primitive("date-time")), "self.all(x, true)", 428963, 25, 77),
        (_array(_primitive("date-time")), "self[2].getMinutes() == 45", 4, 99, 4),
        (_map(_primitive("int-or-string")), "self.all(x, true)", 1348169, 15, 47),
        (_map(_ITEM), "self.all(x, true)", 428963, 20, 62),
        (_map(_map(_primitive("number"))(None)), "self.all(x, true)", 1179647, 10, 32),
        (_map(_NUMBERS(None)), "self.all(x, true)", 1179647, 25, 77),
        (_map(_primitive("duration")), "self.all(x, true)", 1048577, 5, 17),
        (_map(_primitive("date")), "self.all(x, true)", 524288, 10, 32),
        (_map(_primitive("date-time")), "self.all(x, true)", 349526, 25, 77),
        (_text, "self.find('[0-9]+') == ''", 629147, 10, 11),
        (_texts, "self.join(' ') == 'aa bb'", 329853068905, 10, 43),
        (_texts, "self.isSorted() == true", 329854432052, 10, 52),
        (_replacement, "self.str.replace(self.before, self.after) == 'does not matter'", 629154, 4, 12),
        (_separated, "self.str.split(self.separator) == []", 629160, 10, 22),
        (_text, "self.lowerAscii() == 'lower!'", 314575, 10, 6),
        (_map(_primitive("integer")), "oldSelf.size() == self.size()", 5, 10, 5),
        (_map(_primitive("date-time")), 'self["a"] == self["b"]', 8, 7, 8),
        (_map(_primitive("duration")), 'self["c"] == self["d"]', 8, 42, 8),
        (_choice, "self.contains('A')", 2, 1000, 401),
    ],
)
def test_a_rule_costs_what_upstream_reckons(
    schema: Generator, rule: str, unbounded: int, most: int, bounded: int
) -> None:
    assert estimated(rule, schema(None)).max == min(unbounded, 2**64 - 1)
    assert estimated(rule, schema(most)).max == bounded


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        ('"Hello World!"', Range(0, 0)),
        ("[1, 2, 3]", Range(10, 10)),
        ('{"a": 1, "b": 2, "c": 3}', Range(30, 30)),
        ("google.protobuf.Duration{seconds: 1}", Range(40, 40)),
        ("[1, 2, 3].all(x, true)", Range(20, 20)),
        ("'123'.matches('[0-9]')", Range(2, 2)),
        ("true || false", Range(0, 0)),
        ("1 <= 2", Range(1, 1)),
        ("2 in [1, 2, 3]", Range(13, 13)),
        ("1 + 1", Range(1, 1)),
        ("true ? 1 : 2", Range(0, 0)),
        ('size("123")', Range(1, 1)),
        ("string(1)", Range(1, 1)),
        ("dyn([1, 2]).all(x, true)", Range(18, 18)),
    ],
)
def test_expressions_without_variables(rule: str, cost: Range) -> None:
    """Those of cel-go's own tests."""
    assert estimated(rule) == cost


_OBJECT: Schema = {
    "type": "object",
    "properties": {
        "a": _array(_primitive("integer"))(10),
        "b": _array(_primitive("integer"))(10),
        "s": _text(25),
        "t": _text(25),
        "n": _primitive("integer"),
        "o": {"type": "object", "properties": {"i": _primitive("integer")}},
        "lists": _array(_array({"type": "object", "properties": {"s": _text(5)}})(7))(50),
    },
}


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        ("(self.a + self.b).all(x, true)", Range(6, 66)),
        ("(self.n > 2 ? self.a : self.b).all(y, true)", Range(6, 36)),
        ('"abcdefg".contains(self.s + self.t)', Range(4, 44)),
        ("self.s.startsWith(self.t)", Range(4, 14)),
        ("self.s < self.t", Range(5, 14)),
        ("self.n in self.a", Range(4, 14)),
        ("has(self.o) && self.o.i > 1", Range(1, 5)),
        ("has(self.o.i)", Range(2, 2)),
        ("self.lists.all(x, x.all(y, y.s == 'a'))", Range(3, 50 * (2 + 1 + 2 + 7 * (2 + 1 + 3)) + 3)),
        ("self.a.exists(x, x == 1)", Range(3, 53)),
        ("self.a.map(x, x + 1).all(y, true)", Range(14, 13 + 10 * 14 + 1 + 30)),
        ("self.a.filter(x, x > 1).all(y, true)", Range(14, 13 + 10 * 15 + 1 + 30)),
        ("self.?s.optMap(x, x == 'a').orValue(true)", Range(5, 20)),
    ],
)
def test_sizes_follow_values(rule: str, cost: Range) -> None:
    """Through concatenations, conditions and macros, and into lists of lists, which the checker does not know."""
    assert estimated(rule, _OBJECT) == cost


_NESTED: Schema = {
    "type": "object",
    "properties": {
        "texts": _array(_array(_text(5))(4))(3),
        "numbers": _NUMBER_ARRAYS(None),
        "maps": _array(_array(_map(_text(5))(2))(4))(3),
        "lists": _array(_array(_array(_primitive("integer"))(7))(4))(3),
    },
}


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        ("self.texts[0][0] + self.texts[0][1] == 'ab'", Range(9, 13)),
        ("self.texts[0][0] < self.texts[0][1]", Range(9, 10)),
        ("self.numbers[0][0] + self.numbers[0][1] == self.numbers[1][0] * self.numbers[1][1]", Range(19, 19)),
        ("self.numbers[0][0] < self.numbers[0][1]", Range(9, 9)),
        ("self.maps[0][0]['a'].startsWith('b')", Range(6, 6)),
        ("'a' in self.maps[0][0]", Range(5, 5)),
        ("self.lists[0][0][0] + 1 == 5", Range(7, 7)),
        ("5 in self.lists[0][0]", Range(4, 11)),
        ("(self.lists[0][0] + self.lists[0][1]).all(x, x > 0)", Range(10, 10 + 14 * 5)),
        ("self.texts.all(x, x.isSorted())", Range(3, 3 + 3 * (2 + 1 + 1 + 4 * 3))),
        ("self.texts.map(x, x[0])[0] == dyn(self.texts)[0][0]", Range(20, 13 + 3 * 14 + 1 + 5 + 2)),
    ],
)
def test_schemas_tell_the_types_in_lists_of_lists(rule: str, cost: Range) -> None:
    """For which the checker has no types, so that several overloads seem possible."""
    assert estimated(rule, _NESTED) == cost


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        ("[self.s, self.t].all(x, x.contains('a'))", Range(21, 23)),
        ("{'k': self.s}.all(k, k.contains('a'))", Range(36, 37)),
    ],
)
def test_items_of_literals_are_taken_for_the_whole_object(rule: str, cost: Range) -> None:
    """As upstream does, where sizes go by paths: objects have no size."""
    assert estimated(rule, _OBJECT) == cost


def test_a_number_as_text_has_no_known_length() -> None:
    schema = {"type": "object", "properties": {"attempts": {"type": "integer", "maximum": 5}}}
    assert estimated("'invalid attempts: ' + string(self.attempts)", schema).max > 10**18


def test_loops_with_two_variables_know_both() -> None:
    tree = tree_of("self.all(x, x.contains(x))", _map_of_texts(10))
    root = tree.root
    assert isinstance(root, Comprehension)
    root.iter_var, root.iter_var2 = "key", "x"
    assert estimate(tree, sized_type(_map_of_texts(10))).max == 2 + 10 * (2 + 1 + 2 + 4 * 4)
    root.iter_var, root.iter_var2 = "x", "value"
    assert estimate(tree, sized_type(_map_of_texts(10))).max == 2 + 10 * (2 + 1 + 2)


def test_what_was_not_checked_costs_nothing_to_call() -> None:
    tree = tree_of("self.contains('a')", _text(10))
    tree.references.clear()
    assert estimate(tree, sized_type(_text(10))) == Range(0, 0)
