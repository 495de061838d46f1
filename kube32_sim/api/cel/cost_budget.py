"""What the rules of a CustomResourceDefinition may cost: the limits, how often a rule runs, and what is said of excess.

Upstream's apiextensions-apiserver does this in `validation/cel_validation.go` and `validation/validation.go`.
`api.validation.crd.expressions` walks the schema with a `Cardinality`, and hands the estimates of `cost` to the
`CostBudget` of the version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kube32_sim.api.cel.cost_range import MOST, product
from kube32_sim.api.cel.cost_sizes import SizedType
from kube32_sim.api.errors import FieldError, forbidden_field

STATIC_ESTIMATED_COST_LIMIT = 10_000_000
"""Of one rule or messageExpression."""
STATIC_ESTIMATED_CRD_COST_LIMIT = 100_000_000
"""Of all of one OpenAPI schema, which is one version's."""
_MOST_NAMED = 4
_WORTH_NAMING = STATIC_ESTIMATED_CRD_COST_LIMIT // 100

_CONTRIBUTED = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
_TOTAL = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"


class Cardinality(NamedTuple):
    """How often a place of a schema can occur in one object; None where a list or map above it has no bound."""

    most: int | None = 1

    def below(self, schema: Mapping[str, Any]) -> Cardinality:
        """That of the properties, items or additional properties of the schema at this place."""
        each = _most_elements(schema)
        return Cardinality(None if self.most is None or each is None else product(self.most, each))


def _most_elements(schema: Mapping[str, Any]) -> int | None:
    match schema.get("type"):
        case "object":
            bounded = schema.get("additionalProperties") is None
            most = 1 if bounded else schema.get("maxProperties")
        case "array":
            most = schema.get("maxItems")
        case _:
            most = 1
    return None if most is None else max(most, 0)


class _Expensive(NamedTuple):
    field: str
    cost: int


class CostBudget:
    """The estimates of one version's rules: every one is checked when it comes, their sum at the end.

    per_expression: whether a single rule may be too expensive; upstream lets it be where an update leaves the schema
    of a version as it was.
    """

    def __init__(self, *, per_expression: bool = True) -> None:
        self._per_expression = per_expression
        self._most_expensive: list[_Expensive] = []
        self.total = 0

    def rule(self, field: str, cost: int, place: SizedType, cardinality: Cardinality) -> list[FieldError]:
        """field: path of the `rule`.  cost: the most that one evaluation costs.  place: what it runs on."""
        times = place.cardinality if cardinality.most is None else cardinality.most
        return self._observe(field, "estimated rule cost", product(cost, times))

    def message_expression(self, field: str, cost: int) -> list[FieldError]:
        """field: path of the `messageExpression`; it runs once, however often its rule fails."""
        return self._observe(field, "estimated messageExpression cost", cost)

    def _observe(self, field: str, what: str, cost: int) -> list[FieldError]:
        self.total = min(self.total + cost, MOST)
        if cost >= _WORTH_NAMING:
            known = [*self._most_expensive, _Expensive(field, cost)]
            self._most_expensive = sorted(known, key=lambda one: -one.cost)[:_MOST_NAMED]
        if not self._per_expression or cost <= STATIC_ESTIMATED_COST_LIMIT:
            return []
        return [forbidden_field(field, _exceeds(what, cost, STATIC_ESTIMATED_COST_LIMIT))]

    def total_faults(self, field: str) -> list[FieldError]:
        """Once all has been observed.  field: path of the whole schema (`….openAPIV3Schema`)."""
        if self.total <= STATIC_ESTIMATED_CRD_COST_LIMIT:
            return []
        contributors = [forbidden_field(one.field, _CONTRIBUTED) for one in self._most_expensive]
        whole = forbidden_field(field, _exceeds(_TOTAL, self.total, STATIC_ESTIMATED_CRD_COST_LIMIT))
        return [*contributors, whole]


def _exceeds(what: str, cost: int, limit: int) -> str:
    return (
        f"{what} exceeds budget by factor of {_factor(cost / limit)} (try simplifying the rule, or adding maxItems, "
        "maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )


def _factor(times: float) -> str:
    if times > 100:
        return "more than 100x"
    return f"{times:f}x" if times < 1.5 else f"{times:.1f}x"
