"""The rules of a custom resource's schema (`x-kubernetes-validations`), evaluated when one is written.

Follows apiextensions-apiserver's `schema/cel/validation.go`, messages included.  What is not upstream's: costs are not
measured (see `environment`), of a rule that runs too long only the library's own limit of iterations is noticed; the
order of lists that are sets or maps is left out of account between self and oldSelf, not against literals, and `+` of
them appends; what ratcheting forgives is not told as a warning.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

from kube32_sim.api.cel.conversion import aligned
from kube32_sim.api.cel.environment import Activation, EvaluationError, Optional
from kube32_sim.api.cel.messages import LIMIT_EXCEEDED
from kube32_sim.api.cel.rule_plan import Place, Rule, has_rules, place_of
from kube32_sim.api.errors import FieldError, duplicate, forbidden_field, invalid_value, required
from kube32_sim.api.structural.correlation import Pair

JsonObject = dict[str, Any]

_MOST_MESSAGE = 5 * 1024
"""Bytes of what a messageExpression may evaluate to."""
NO_FIELD = "<nil>"
"""How upstream calls the field that a rule of the whole object is about."""


class SchemaRules:
    """The rules of one version's schema.  They are compiled with the first object; until then they take no memory."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema

    def __bool__(self) -> bool:
        """Whether there are any."""
        return has_rules(self._schema)

    @cached_property
    def _root(self) -> Place | None:
        return place_of(self._schema, self._schema)

    def validate(self, obj: JsonObject, old: JsonObject | None, *, api_version: str, kind: str) -> list[FieldError]:
        """The failures of an object.

        obj, old: as this version shows them, pruned and defaulted; they may lack apiVersion and kind.
        What did not change does not fail (ratcheting), except by rules that compare with what was before.
        """
        if self._root is None:
            return []
        typed = {"apiVersion": api_version, "kind": kind}
        new, before = _root_value(obj, typed), None if old is None else _root_value(old, typed)
        run = _Run()
        correlation = _Correlation(None if before is None else Pair(self._schema, new, before), None)
        with suppress(_OutOfBudget):
            run.validate(self._root, "", new, before, correlation)
        return run.found


def validate_value(schema: JsonObject, value: Any, path: str) -> list[FieldError]:
    """The failures of a value that is in the schema itself, such as a default.  path: of the value."""
    place, run = place_of(schema, schema), _Run()
    if place is not None:
        with suppress(_OutOfBudget):
            run.validate(place, path, value, None, _Correlation(None, None))
    return run.found


def _root_value(obj: JsonObject, typed: JsonObject) -> JsonObject:
    """Of metadata, rules see no more than names."""
    metadata = obj.get("metadata") or {}
    named = {name: metadata[name] for name in ("name", "generateName") if name in metadata}
    return {**obj, **typed, "metadata": named}


class _OutOfBudget(Exception):
    """No further rules are evaluated."""


class _Correlation(NamedTuple):
    """current: the value and what it was; None where that cannot be told.  nearest: of the closest place above."""

    current: Pair | None
    nearest: Pair | None

    @property
    def forgives(self) -> bool:
        """Whether failures here are of what did not change."""
        pair = self.current or self.nearest
        return pair is not None and pair.equal

    def field(self, name: str) -> _Correlation:
        if self.current is None:
            return self
        if self.nearest is None and name in ("apiVersion", "kind"):
            return _Correlation(None, None)
        return _Correlation(self.current.field(name), self.current)

    def item(self, index: int) -> _Correlation:
        return self if self.current is None else _Correlation(self.current.item(index), self.current)


class _Run:
    """One evaluation of all rules.  found: the failures so far."""

    def __init__(self) -> None:
        self.found: list[FieldError] = []

    def validate(self, place: Place, path: str, new: Any, old: Any, correlation: _Correlation) -> None:
        if new is None:
            return  # a rule on a nullable value is for its other values
        if place.rules:
            self._evaluate(place, path or NO_FIELD, new, old, correlation)
        for nested in place.all_of:
            self.validate(nested, path, new, old, _Correlation(None, correlation.nearest))
        if isinstance(new, list) and place.items is not None:
            before = _old_items(place.schema, old)
            for index, item in enumerate(new):
                was = before.get(_item_key(place.schema, item)) if before else None
                self.validate(place.items, f"{path}[{index}]", item, was, correlation.item(index))
        elif isinstance(new, dict):
            self._validate_object(place, path, new, old if isinstance(old, dict) else {}, correlation)

    def _validate_object(self, place: Place, path: str, new: Any, old: JsonObject, correlation: _Correlation) -> None:
        if place.values is not None:
            for key, value in new.items():
                self.validate(place.values, f"{path}[{key}]", value, old.get(key), correlation.field(key))
        for name, inner in place.properties.items():
            if name in new:
                below = f"{path}.{name}" if path else name
                self.validate(inner, below, new[name], old.get(name), correlation.field(name))

    def _evaluate(self, place: Place, path: str, new: Any, old: Any, correlation: _Correlation) -> None:
        values = _Values(place, new, old)
        for rule in place.rules:
            if rule.uses_old and old is None and not rule.optional_old:
                continue  # a transition wants something to come from
            if rule.program is None:
                self.found.append(invalid_value(path, place.type, f"rule compile error: {rule.fault}"))
                continue
            activation = values.activation(optional=rule.optional_old and rule.uses_old)
            try:
                if rule.program.evaluate(activation) is True:
                    continue
            except EvaluationError as error:
                self._failed(path, place.type, rule, str(error))
                continue
            self._add(place, path, rule, activation, correlation)

    def _failed(self, path: str, kind: str, rule: Rule, error: str) -> None:
        """A rule that has no value."""
        if error.startswith("no such overload"):
            why = f"'{error}': call arguments did not match a supported operator, function or macro signature"
            self.found.append(invalid_value(path, kind, f"{why} for rule: {rule.shown}"))
        elif error == LIMIT_EXCEEDED:
            why = f"'{error}': no further validation rules will be run due to call cost exceeds limit"
            self.found.append(invalid_value(path, kind, f"{why} for rule: {rule.shown}"))
            raise _OutOfBudget
        else:
            self.found.append(invalid_value(path, kind, f"{error} evaluating rule: {rule.shown}"))

    def _add(self, place: Place, path: str, rule: Rule, activation: Activation, correlation: _Correlation) -> None:
        """A rule that is false."""
        if correlation.forgives and not rule.uses_old:
            return
        if rule.field:
            path = rule.field if path == NO_FIELD else f"{path}.{rule.field}"
        self.found.append(_fault(path, place.type, _detail(rule, activation), rule.rule.get("reason")))


class _Values:
    """The variables of one place's rules, converted when they are wanted first."""

    def __init__(self, place: Place, new: Any, old: Any) -> None:
        self._place, self._new, self._old = place, new, old
        self._made: dict[bool, Activation] = {}

    def activation(self, *, optional: bool) -> Activation:
        """optional: whether oldSelf is an optional value."""
        made = self._made.get(optional)
        if made is None:
            made = self._made[optional] = Activation(self._values(optional))
        return made

    def _values(self, optional: bool) -> JsonObject:
        place, old = self._place, self._old
        values = {"self": self._converted(self._new)}
        if place.uses_old and old is not None:
            old = self._converted(aligned(place.schema, self._new, old) if place.aligns else old)
        if optional:
            values["oldSelf"] = Optional(old is not None, old)
        elif place.uses_old and old is not None:
            values["oldSelf"] = old
        return values

    def _converted(self, value: Any) -> Any:
        return value if self._place.convert is None else self._place.convert(value)


def _old_items(schema: JsonObject, old: Any) -> dict[str, Any]:
    """The items of an old list by their keys; only lists that are maps have any."""
    if not isinstance(old, list) or schema.get("x-kubernetes-list-type") != "map":
        return {}
    return {_item_key(schema, item): item for item in reversed(old)}


def _item_key(schema: JsonObject, item: Any) -> str:
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    return repr([item.get(key) for key in keys]) if isinstance(item, dict) else ""


def _detail(rule: Rule, activation: Activation) -> str:
    """What a failure says: what its messageExpression comes to, else its message, else the rule."""
    if rule.message is not None:
        try:
            text = str(rule.message.evaluate(activation)).strip()
        except EvaluationError as error:
            if str(error) == LIMIT_EXCEEDED:
                source = rule.rule["messageExpression"]
                why = "no further validation rules will be run due to call cost exceeds limit for messageExpression"
                return f'{why}: "{source}"'
            text = ""
        if text and "\n" not in text and len(text.encode()) <= _MOST_MESSAGE:
            return text
    message = rule.rule.get("message")
    return str(message).strip() if message else f"failed rule: {rule.shown}"


def _fault(path: str, kind: str, detail: str, reason: str | None) -> FieldError:
    match reason:
        case "FieldValueForbidden":
            return forbidden_field(path, detail)
        case "FieldValueRequired":
            return required(path, detail)
        case "FieldValueDuplicate":
            return duplicate(path, kind)
    return invalid_value(path, kind, detail)
