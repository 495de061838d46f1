"""The rules of one schema, compiled: a tree of the places that have rules at or below them (upstream's Validator).

Expressions are compiled without the types of the schema, which were checked when the definition was stored: so one that
many definitions have is compiled once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from kube32_sim.api.cel.conversion import Converter, converter, has_unordered
from kube32_sim.api.cel.cost_sizes import sized_type
from kube32_sim.api.cel.environment import CompileError, Environment, Program
from kube32_sim.api.cel.field_paths import normalized
from kube32_sim.api.cel.types import DYN, optional_of

JsonObject = dict[str, Any]

RULES = "x-kubernetes-validations"
EMBEDDED = "x-kubernetes-embedded-resource"
_PLAIN = Environment({"self": DYN, "oldSelf": DYN})
_OPTIONAL = Environment({"self": DYN, "oldSelf": optional_of(DYN)})


class Rule(NamedTuple):
    """program: None for a rule that does not compile, then `fault` says why.

    uses_old: whether the rule or its messageExpression mentions oldSelf.  optional_old: whether oldSelf is optional.
    """

    rule: JsonObject
    program: Program | None
    fault: str
    message: Program | None
    uses_old: bool
    optional_old: bool
    field: str

    @property
    def shown(self) -> str:
        """How errors name the rule."""
        return str(self.rule.get("message") or self.rule["rule"]).strip()


class Place:
    """A place of a schema that has rules, or places with rules below it.

    schema: of the values.  convert: what makes them what `self` is, None for nothing.  aligns: whether lists that are
    sets or maps are to be put into the same order in the old value.
    """

    def __init__(self, validations: JsonObject, schema: JsonObject) -> None:
        self.schema = schema
        self.type: str = schema.get("type", "")
        self.rules = [_compiled(rule, schema) for rule in validations.get(RULES) or () if rule.get("rule", "").strip()]
        self.uses_old = any(rule.uses_old for rule in self.rules)
        self.convert: Converter | None = converter(schema) if self.rules else None
        self.aligns = self.uses_old and has_unordered(schema)
        self.items = _below(validations.get("items"), schema.get("items"))
        self.values = _below(validations.get("additionalProperties"), schema.get("additionalProperties"))
        self.properties = _properties(validations, schema)
        nested = (place_of(each, schema) for each in validations.get("allOf") or ())
        self.all_of = [place for place in nested if place is not None]

    def __bool__(self) -> bool:
        return bool(self.rules or self.items or self.values or self.properties or self.all_of)


def place_of(validations: JsonObject, schema: JsonObject) -> Place | None:
    """validations: where the rules come from: the schema itself, or one of its `allOf`."""
    if not has_rules(validations):
        return None
    return Place(validations, schema) or None


def has_rules(schema: Any) -> bool:
    """Whether there are rules in a schema."""
    if not isinstance(schema, dict):
        return False
    if schema.get(RULES):
        return True
    inner = [schema.get("items"), schema.get("additionalProperties"), *(schema.get("allOf") or ())]
    return any(map(has_rules, (*(schema.get("properties") or {}).values(), *inner)))


def _below(validations: Any, schema: Any) -> Place | None:
    return place_of(validations, schema) if isinstance(validations, dict) and isinstance(schema, dict) else None


def _properties(validations: JsonObject, schema: JsonObject) -> dict[str, Place]:
    """Those that CEL has a type for; rules anywhere below others are not looked at, upstream neither."""
    declared, found = schema.get("properties") or {}, {}
    for name, inner in (validations.get("properties") or {}).items():
        place = _below(inner, declared.get(name))
        if place is not None and sized_type(declared[name]) is not None:
            found[name] = place
    return found


def _compiled(rule: JsonObject, schema: JsonObject) -> Rule:
    optional = bool(rule.get("optionalOldSelf"))
    program, fault, uses_old = _program(rule["rule"], optional)
    message = _program(rule.get("messageExpression") or "''", optional)[0] if rule.get("messageExpression") else None
    field = normalized(rule["fieldPath"], schema) if rule.get("fieldPath") else ""
    return Rule(rule, program, fault, message, uses_old, optional, field)


@lru_cache(maxsize=4096)
def _program(source: str, optional: bool) -> tuple[Program | None, str, bool]:
    """The program, or why there is none; and whether it mentions oldSelf."""
    environment = _OPTIONAL if optional else _PLAIN
    try:
        program = environment.compile(source)
    except CompileError as error:
        return None, f"compilation failed: {error}", False
    return program, "", uses_old_self(environment, source)


def uses_old_self(environment: Environment, source: str) -> bool:
    """Whether an expression that compiles mentions oldSelf."""
    if "oldSelf" not in source:
        return False
    _, tree = environment.checked_tree(source)
    return any(reference.name == "oldSelf" for reference in tree.references.values())
