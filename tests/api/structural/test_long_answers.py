"""Long lists of wrong values, and long enums: what is told of them is bounded, and so is the work."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.errors import MOST_FAILURE_TEXT, MOST_FAILURES
from kube32_sim.api.structural.enums import Enum
from kube32_sim.api.structural.explaining import MOST_LOOKS, explain

NAMES = [f"name-{number}" for number in range(20_000)]


def test_of_a_long_list_no_more_faults_are_told_than_anybody_reads() -> None:
    found = explain({"type": "array", "items": {"type": "string"}}, [1] * 10 * MOST_FAILURES)
    assert len(found.faults) == MOST_FAILURES


def test_of_a_large_map_no_more_faults_are_told_than_anybody_reads() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "string"}}
    found = explain(schema, {str(number): 1 for number in range(10 * MOST_FAILURES)})
    assert len(found.faults) == MOST_FAILURES


@pytest.mark.parametrize("schema", [{"enum": NAMES}, {"anyOf": [{"enum": NAMES}, {"enum": NAMES[1:]}]}])
def test_of_faults_that_show_a_long_enum_each_few_are_told(schema: dict[str, Any]) -> None:
    text = sum(map(len, explain({"type": "array", "items": schema}, ["x"] * 10_000).faults))
    assert text < MOST_FAILURE_TEXT + 2 * sum(map(len, NAMES)) + len(NAMES) * 4


def test_alternatives_are_tried_for_no_more_items_than_it_takes_to_tell_what_is_wrong() -> None:
    one: dict[str, Any] = {"minimum": 2}
    for _ in range(3):
        one = {"anyOf": [one] * 10}
    found = explain({"type": "array", "items": one}, [1] * 500)
    assert found.faults
    assert found.looks < 2 * MOST_LOOKS


@pytest.mark.parametrize(
    ("value", "values", "allowed"),
    [
        (1, [1.0], True),
        (1.9, [1], True),
        (1.5, [1.0], False),
        (1e30, [1], False),
        (True, [1], False),
        (1, [True], False),
        (None, [None], False),
        ({"a": 1, "b": [2]}, [{"b": [2], "a": 1}], True),
        ({"a": 1}, [{"a": 1.0}], False),
        ({"a": 1}, [{"a": True}], False),
        ("true", [True], False),
        ('{"a": 1}', [{"a": 1}], False),
    ],
)
def test_an_enum_allows_what_go_takes_for_the_same(value: object, values: list[object], allowed: bool) -> None:
    assert (value in Enum(values)) is allowed
