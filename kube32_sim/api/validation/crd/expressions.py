"""The rules of a schema when its CustomResourceDefinition is stored: whether they compile, and what they may cost.

Follows apiextensions-apiserver's `validation.go`.  What else a rule's fields may say (lengths, reasons, fieldPath) is
the business of `rules`; this is called for schemas that are in order otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kube32_sim.api.cel.cost import estimate
from kube32_sim.api.cel.cost_budget import Cardinality, CostBudget
from kube32_sim.api.cel.cost_sizes import SizedType, sized_type
from kube32_sim.api.cel.environment import CompileError, Environment
from kube32_sim.api.cel.rule_plan import EMBEDDED, RULES
from kube32_sim.api.cel.rules import validate_value
from kube32_sim.api.cel.schema_types import checked_type
from kube32_sim.api.cel.tree import Tree
from kube32_sim.api.cel.types import BOOL, STRING, CelType, optional_of
from kube32_sim.api.errors import FieldError, invalid_value
from kube32_sim.api.validation.crd.shown import shown_rule

JsonObject = dict[str, Any]


_NO_TYPE = f"failed to retrieve type information for {RULES}"


class _Spot(NamedTuple):
    """A schema within the whole.

    cardinality: how often it can occur in an object.  uncorrelated: path of the list above whose items of before and
    after are not told apart, "" for none.  root: whether its values are whole objects.
    """

    schema: JsonObject
    path: str
    cardinality: Cardinality
    uncorrelated: str
    root: bool


class _Compiled(NamedTuple):
    """cost: what one evaluation costs at most.  fault: why it is none, "" for nothing."""

    cost: int
    fault: str
    uses_old: bool


def check_schema_rules(schema: JsonObject, path: str, old_schema: JsonObject | None = None) -> list[FieldError]:
    """Failures of all rules of one version's schema.

    path: of the schema (`….openAPIV3Schema`).  old_schema: what it was before an update; where it is the same, a single
    rule may be as expensive as it is.
    """
    budget = CostBudget(per_expression=old_schema is None or old_schema != schema)
    spots = list(_spots(_Spot(schema, path, Cardinality(), "", True)))
    found = [fault for spot in spots if spot.schema.get(RULES) for fault in _check(spot, budget)]
    found += budget.total_faults(path)
    return found or [fault for spot in spots for fault in _default_faults(spot)]


def _default_faults(spot: _Spot) -> list[FieldError]:
    """Of a default that the rules do not allow."""
    default = spot.schema.get("default")
    return [] if default is None else validate_value(spot.schema, default, f"{spot.path}.default")


def _spots(spot: _Spot) -> Iterator[_Spot]:
    """All schemas below and this one, those below first, as upstream reports them."""
    schema, path = spot.schema, spot.path
    below = spot.cardinality.below(schema)
    for name, inner in sorted((schema.get("properties") or {}).items()):
        yield from _spots(_below(spot, inner, f"{path}.properties[{name}]", below))
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        yield from _spots(_below(spot, values, f"{path}.additionalProperties", below))
    items = schema.get("items")
    if isinstance(items, dict):
        uncorrelated = spot.uncorrelated if schema.get("x-kubernetes-list-type") == "map" else path
        yield from _spots(_below(spot._replace(uncorrelated=uncorrelated), items, f"{path}.items", below))
    if schema.get(RULES) or schema.get("default") is not None:
        yield spot
    for index, nested in enumerate(schema.get("allOf") or ()):
        if nested.get(RULES):
            merged = {**schema, RULES: nested[RULES], "default": None}
            yield spot._replace(schema=merged, path=f"{path}.allOf[{index}]")


def _below(spot: _Spot, schema: JsonObject, path: str, cardinality: Cardinality) -> _Spot:
    return _Spot(schema, path, cardinality, spot.uncorrelated, bool(schema.get(EMBEDDED)))


def _check(spot: _Spot, budget: CostBudget) -> list[FieldError]:
    sized = sized_type(spot.schema, resource_root=spot.root)
    if sized is None:
        return [FieldError("InternalError", f"{spot.path}.{RULES}", f"Internal error: internal error: {_NO_TYPE}")]
    checker = _Checker(sized)
    found: list[FieldError] = []
    for index, rule in enumerate(spot.schema[RULES]):
        found += _check_rule(spot, checker, rule, f"{spot.path}.{RULES}[{index}]", budget)
    return found


def _check_rule(spot: _Spot, checker: _Checker, rule: JsonObject, at: str, budget: CostBudget) -> list[FieldError]:
    optional = bool(rule.get("optionalOldSelf"))
    compiled = checker.compiled(rule["rule"], BOOL, optional=optional)
    found = budget.rule(f"{at}.rule", compiled.cost, checker.sized, spot.cardinality)
    if compiled.fault:
        detail = "cel expression must evaluate to a bool" if compiled.fault == _WRONG_TYPE else compiled.fault
        return [*found, invalid_value(f"{at}.rule", shown_rule(rule), detail)]
    if rule.get("messageExpression"):
        found += _check_message(checker, rule, f"{at}.messageExpression", budget, optional=optional)
    if compiled.uses_old and spot.uncorrelated:
        why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {spot.uncorrelated}"
        found.append(invalid_value(f"{at}.rule", rule["rule"], why))
    if not compiled.uses_old and rule.get("optionalOldSelf") is not None:
        why = "may not be set if oldSelf is not used in rule"
        found.append(invalid_value(f"{at}.optionalOldSelf", rule["optionalOldSelf"], why))
    return found


def _check_message(
    checker: _Checker, rule: JsonObject, at: str, budget: CostBudget, *, optional: bool
) -> list[FieldError]:
    compiled = checker.compiled(rule["messageExpression"], STRING, optional=optional)
    if not compiled.fault:
        return budget.message_expression(at, compiled.cost)
    if compiled.fault == _WRONG_TYPE:
        return [invalid_value(at, shown_rule(rule), "messageExpression must evaluate to a string")]
    return [invalid_value(at, shown_rule(rule), f"messageExpression {compiled.fault}")]


_WRONG_TYPE = "wrong type"


class _Checker:
    """The environments of one schema's rules."""

    def __init__(self, sized: SizedType) -> None:
        self.sized = sized
        kind = checked_type(sized)
        self._plain = Environment({"self": kind, "oldSelf": kind})
        self._optional = Environment({"self": kind, "oldSelf": optional_of(kind)})

    def compiled(self, source: str, returns: CelType, *, optional: bool) -> _Compiled:
        environment = self._optional if optional else self._plain
        try:
            kind, tree = environment.checked_tree(source)
        except CompileError as error:
            return _Compiled(0, f"compilation failed: {error}", False)
        if kind != returns:
            return _Compiled(0, _WRONG_TYPE, False)
        return _Compiled(estimate(tree, self.sized).max, "", _uses_old(tree))


def _uses_old(tree: Tree) -> bool:
    return any(reference.name == "oldSelf" for reference in tree.references.values())
