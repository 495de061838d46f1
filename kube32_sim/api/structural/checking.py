"""Whether a value is valid, and nothing more: one lookup and at most one call for each value.

The tests of a schema are a dict from the type of a value to a function, or to None where every value of that type will
do.  They are made when first needed.  What is wrong with a value that is not valid `explaining` says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from kube32_sim.api.structural.enums import Enum
from kube32_sim.api.structural.explaining import repeats
from kube32_sim.api.structural.formats import format_check
from kube32_sim.api.structural.patterns import PatternError, searcher
from kube32_sim.api.structural.scalars import number_demands, number_faults, string_demands
from kube32_sim.api.structural.values import (
    LEAST_INT64,
    MOST_INT64,
    additional,
    format_of,
    items_of,
    types_of,
    whole,
)

JsonObject = dict[str, Any]
Test = Callable[[Any], bool]
Tests = dict[type, Test | None]

_KINDS = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def _never(_: Any) -> bool:
    return False


def _fits_int64(value: int) -> bool:
    return LEAST_INT64 <= value <= MOST_INT64


class Checker:
    """The tests of one schema and of what is in it."""

    __slots__ = ("_schema", "_tests")

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema
        self._tests: Tests | None = None

    @property
    def tests(self) -> Tests:
        found = self._tests
        if found is None:
            found = self._tests = tests_of(self._schema)
        return found

    def valid(self, value: Any) -> bool:
        test = self.tests[type(value)]
        return test is None or test(value)


_OF_PARTS = frozenset(("properties", "additionalProperties", "items", "anyOf", "oneOf", "allOf", "not"))
_SILENT = frozenset(("description", "title", "default", "example", "externalDocs", "x-kubernetes-validations"))


def tests_of(schema: JsonObject) -> Tests:
    """Schemas without parts that say the same have their tests in common: most schemas are of a few kinds."""
    if not _OF_PARTS.isdisjoint(schema):
        return _tests_of(schema)
    return _common_tests(json.dumps({key: schema[key] for key in sorted(schema.keys() - _SILENT)}))


@lru_cache(maxsize=4096)
def _common_tests(schema: str) -> Tests:
    return _tests_of(json.loads(schema))


def _tests_of(schema: JsonObject) -> Tests:
    tests: Tests = {kind: _test_of(schema, kind) for kind in _KINDS}
    null_fits = (not types_of(schema) or schema.get("nullable")) and not schema.get("enum")
    tests[type(None)] = None if null_fits else _never
    return tests


def _test_of(schema: JsonObject, kind: type) -> Test | None:
    parts = [part for part in (_type_test(schema, kind), _MAKERS[kind](schema), _enum_test(schema, kind)) if part]
    if _never in parts:
        return _never
    parts += _logic_tests(schema)
    if len(parts) < 2:
        return parts[0] if parts else None
    if len(parts) == 2:
        first, second = parts
        return lambda value: first(value) and second(value)
    return lambda value: all(part(value) for part in parts)


def _type_test(schema: JsonObject, kind: type) -> Test | None:
    types, form = types_of(schema), format_of(schema)
    if not types and not form:
        return None
    if kind in (str, list) and form and not {"number", "integer"} & set(types):
        return None
    if kind is int and "number" not in types:
        return _fits_int64 if "integer" in types else _never
    if kind is float and "number" not in types:
        return whole if "integer" in types else _never
    if kind is int:
        return None
    return None if _KINDS[kind] in types else _never


def _string_test(schema: JsonObject) -> Test | None:
    if not string_demands(schema):
        return None
    most, least, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    form = format_of(schema)
    fits = format_check(form) if form else None
    try:
        matches = searcher(pattern) if pattern else None
    except PatternError:
        return _never

    def test(value: str) -> bool:
        return (
            (most is None or len(value) <= most)
            and (least is None or len(value) >= least)
            and (matches is None or bool(matches(value)))
            and (fits is None or fits(value))
        )

    return test


def _number_test(schema: JsonObject) -> Test | None:
    if not number_demands(schema) and "integer" not in types_of(schema):
        return None
    return lambda value: not number_faults(schema, value, "")


def _integer_test(schema: JsonObject) -> Test | None:
    if not number_demands(schema):
        return None
    least, most = schema.get("minimum"), schema.get("maximum")
    bounds = [bound for bound in (least, most) if bound is not None]
    plain = not any(schema.get(key) for key in ("multipleOf", "exclusiveMinimum", "exclusiveMaximum"))
    if not plain or types_of(schema) != ("integer",):
        return _number_test(schema)
    low, high = (-(1 << 31), (1 << 31) - 1) if format_of(schema) == "int32" else (LEAST_INT64, MOST_INT64)
    if not all(bound == int(bound) and low <= bound <= high for bound in bounds):
        return _number_test(schema)
    low = low if least is None else max(low, int(least))
    high = high if most is None else min(high, int(most))
    return lambda value: low <= value <= high


def _list_test(schema: JsonObject) -> Test | None:
    least, most, unique = schema.get("minItems"), schema.get("maxItems"), bool(schema.get("uniqueItems"))
    found = items_of(schema)
    if least is None and most is None and not unique and found is None:
        return None
    items = None if found is None else Checker(found)

    def test(value: list[Any]) -> bool:
        if (least is not None and len(value) < least) or (most is not None and len(value) > most):
            return False
        if items is not None and value:
            tests = items.tests
            for item in value:
                one = tests[type(item)]
                if one is not None and not one(item):
                    return False
        return not unique or not repeats(value)

    return test


class _Fields(dict[str, Tests | None]):
    """name -> tests, made when asked for; None for fields without a schema."""

    __slots__ = ("_more", "_properties")

    def __init__(self, schema: JsonObject) -> None:
        self._properties: JsonObject = schema.get("properties") or {}
        more = additional(schema)
        self._more = None if more is None else Checker(more)

    def __missing__(self, name: str) -> Tests | None:
        if name in self._properties:
            made = self[name] = tests_of(self._properties[name])
            return made
        return None if self._more is None else self._more.tests


def _object_test(schema: JsonObject) -> Test | None:
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    required = tuple(schema.get("required") or ())
    known = bool(schema.get("properties")) or additional(schema) is not None
    if least is None and most is None and not required and not known:
        return None
    fields = _Fields(schema)

    def test(value: JsonObject) -> bool:
        for name in required:
            if name not in value:
                return False
        if (least is not None and len(value) < least) or (most is not None and len(value) > most):
            return False
        for name, item in value.items():
            tests = fields[name]
            if tests is not None:
                one = tests[type(item)]
                if one is not None and not one(item):
                    return False
        return True

    return test


def _nothing(_: JsonObject) -> Test | None:
    return None


_MAKERS: dict[type, Callable[[JsonObject], Test | None]] = {
    str: _string_test,
    int: _integer_test,
    float: _number_test,
    bool: _nothing,
    list: _list_test,
    dict: _object_test,
}


def _enum_test(schema: JsonObject, kind: type) -> Test | None:
    values = schema.get("enum")
    if not values:
        return None
    allowed = Enum(values)
    return allowed.texts.__contains__ if kind is str else allowed.__contains__


def _logic_tests(schema: JsonObject) -> list[Test]:
    """anyOf, oneOf, allOf, not."""
    found: list[Test] = []
    if some := [Checker(each) for each in schema.get("anyOf") or ()]:
        found.append(lambda value: any(each.valid(value) for each in some))
    if one := [Checker(each) for each in schema.get("oneOf") or ()]:
        found.append(lambda value: sum(each.valid(value) for each in one) == 1)
    if every := [Checker(each) for each in schema.get("allOf") or ()]:
        found.append(lambda value: all(each.valid(value) for each in every))
    if schema.get("not") is not None:
        refused = Checker(schema["not"])
        found.append(lambda value: not refused.valid(value))
    return found
