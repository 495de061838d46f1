"""Limits of what rules cost: how often a rule can run, and what is said of too much."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.cel.cost_budget import Cardinality, CostBudget
from kube32_sim.api.cel.cost_sizes import SizedType, sized_type

_HINT = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)
_RULE = "properties[a].x-kubernetes-validations[0].rule"
_ONCE = Cardinality()


def _place(schema: dict[str, Any]) -> SizedType:
    kind = sized_type(schema)
    assert kind is not None
    return kind


_TEXT = _place({"type": "string"})


def _messages(faults: list[Any]) -> list[str]:
    return [str(fault) for fault in faults]


@pytest.mark.parametrize(
    ("cost", "factor"),
    [
        (10_000_001, "1.000000x"),
        (14_999_999, "1.500000x"),
        (15_000_000, "1.5x"),
        (181_000_000, "18.1x"),
        (1_000_000_000, "100.0x"),
        (1_000_000_001, "more than 100x"),
        (2**64 - 1, "more than 100x"),
    ],
)
def test_a_rule_above_the_limit_is_refused_with_the_factor(cost: int, factor: str) -> None:
    faults = CostBudget().rule(_RULE, cost, _TEXT, _ONCE)
    assert _messages(faults) == [
        f"{_RULE}: Forbidden: estimated rule cost exceeds budget by factor of {factor} {_HINT}"
    ]
    assert faults[0].reason == "FieldValueForbidden"


def test_a_rule_at_the_limit_is_accepted() -> None:
    assert CostBudget().rule(_RULE, 10_000_000, _TEXT, _ONCE) == []


def test_a_message_expression_has_words_of_its_own() -> None:
    path = "x-kubernetes-validations[1].messageExpression"
    faults = CostBudget().message_expression(path, 20_000_000)
    text = "estimated messageExpression cost exceeds budget by factor of 2.0x"
    assert _messages(faults) == [f"{path}: Forbidden: {text} {_HINT}"]


def test_an_unchanged_schema_may_keep_an_expensive_rule() -> None:
    budget = CostBudget(per_expression=False)
    assert budget.rule(_RULE, 50_000_000, _TEXT, _ONCE) == []
    assert budget.message_expression(_RULE, 60_000_000) == []
    assert len(budget.total_faults("openAPIV3Schema")) == 3


def _below(*schemas: dict[str, Any]) -> int | None:
    cardinality = _ONCE
    for schema in schemas:
        cardinality = cardinality.below(schema)
    return cardinality.most


_OBJECT = {"type": "object", "properties": {}}
_LIST = {"type": "array", "maxItems": 10}
_MAP = {"type": "object", "additionalProperties": {}, "maxProperties": 7}


@pytest.mark.parametrize(
    ("above", "most"),
    [
        ((), 1),
        ((_OBJECT,), 1),
        ((_LIST,), 10),
        ((_OBJECT, _LIST, _MAP), 70),
        (({"type": "array", "maxItems": -1},), 0),
        (({"type": "array"},), None),
        (({"type": "object", "additionalProperties": {}},), None),
        (({"type": "array"}, _LIST), None),
        (({"type": "array", "maxItems": 2**62}, {"type": "array", "maxItems": 8}), 2**64 - 1),
        (({"x-kubernetes-int-or-string": True},), 1),
    ],
)
def test_lists_and_maps_multiply_how_often_a_place_occurs(above: tuple[dict[str, Any], ...], most: int | None) -> None:
    assert _below(*above) == most


def test_a_rule_costs_as_often_as_its_place_occurs() -> None:
    budget = CostBudget()
    budget.rule(_RULE, 3, _TEXT, Cardinality(20))
    assert budget.total == 60


@pytest.mark.parametrize(
    ("schema", "times"),
    [
        ({"type": "integer"}, 1572864),
        ({"type": "string"}, 1048576),
        ({"type": "boolean"}, 629145),
        ({"type": "array", "items": {"type": "string"}}, 1048576),
        ({"type": "object", "properties": {"ab": {"type": "integer"}}, "required": ["ab"]}, 3 * 1024 * 1024 // 10),
        ({"type": "object", "properties": {"ab": {"type": "integer", "default": 1}}, "required": ["ab"]}, 1048576),
    ],
)
def test_without_bounds_a_place_occurs_as_often_as_a_request_has_room(schema: dict[str, Any], times: int) -> None:
    budget = CostBudget()
    budget.rule(_RULE, 1, _place(schema), Cardinality(None))
    assert budget.total == times


def test_the_total_names_the_most_expensive_four() -> None:
    budget = CostBudget()
    for index, millions in enumerate((9, 8, 10, 9.5, 0.5)):
        assert budget.rule(f"rule{index}", int(millions * 1_000_000), _TEXT, _ONCE) == []
    for _ in range(100):
        budget.message_expression("cheap", 999_999)
    contributed = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    whole = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of"
    assert _messages(budget.total_faults("spec.validation.openAPIV3Schema")) == [
        f"rule2: Forbidden: {contributed}",
        f"rule3: Forbidden: {contributed}",
        f"rule0: Forbidden: {contributed}",
        f"rule1: Forbidden: {contributed}",
        f"spec.validation.openAPIV3Schema: Forbidden: {whole} 1.369999x {_HINT}",
    ]


def test_a_total_at_the_limit_is_accepted() -> None:
    budget = CostBudget()
    for _ in range(10):
        budget.rule(_RULE, 10_000_000, _TEXT, _ONCE)
    assert budget.total_faults("openAPIV3Schema") == []


def test_a_total_does_not_overflow() -> None:
    budget = CostBudget()
    budget.rule(_RULE, 2**63, _TEXT, Cardinality(4))
    budget.rule(_RULE, 2**63, _TEXT, Cardinality(4))
    assert budget.total == 2**64 - 1
