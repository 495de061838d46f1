"""Label selectors: parsed once, then one quick call per object.

The grammar and the wording of errors are apimachinery's `pkg/labels`.  Nothing here looks at objects: it is handed
labels.  What selects by fields is `field_selectors`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from kube32_sim.api.errors import FieldError, aggregate, bad_request, go_value
from kube32_sim.api.validation.names import label_value, qualified_name

JsonObject = dict[str, Any]
Labels = Mapping[str, str]

_BINARY = "in, notin, =, ==, !=, gt, lt"
_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+|$)")
_INT = re.compile(r"[+-]?[0-9]+").fullmatch
_SPECIAL = frozenset(("==", "!=", "=", "!", "(", ")", ",", "<", ">", ""))
_MAX_INT = 2**63


class Requirement(NamedTuple):
    """`operator` is one of = == != in notin exists ! > <; values are sorted and empty for exists and !."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.operator == "exists":
            return self.key
        if self.operator == "!":
            return f"!{self.key}"
        if self.operator in ("in", "notin"):
            return f"{self.key} {self.operator} ({','.join(self.values)})"
        return f"{self.key}{self.operator}{self.values[0]}"


def _integer(text: str) -> int | None:
    """What Go's ParseInt(text, 10, 64) reads."""
    if not _INT(text):
        return None
    value = int(text)
    return value if -_MAX_INT <= value < _MAX_INT else None


def _compare(key: str, operator: str, bound: int) -> Callable[[Labels], bool]:
    def matches(labels: Labels) -> bool:
        text = labels.get(key)
        value = None if text is None else _integer(text)
        return value is not None and (value > bound if operator == ">" else value < bound)

    return matches


def _predicate(requirement: Requirement) -> Callable[[Labels], bool]:
    key, operator, values = requirement
    if operator == "exists":
        return lambda labels: key in labels
    if operator == "!":
        return lambda labels: key not in labels
    if operator in (">", "<"):
        return _compare(key, operator, int(values[0]))
    if operator in ("!=", "notin"):
        excluded = frozenset(values)
        return lambda labels: labels.get(key) not in excluded
    if len(values) == 1:
        only = values[0]
        return lambda labels: labels.get(key) == only
    wanted = frozenset(values)
    return lambda labels: labels.get(key) in wanted


def all_of(predicates: Sequence[Callable[[Any], bool]]) -> Callable[[Any], bool]:
    if not predicates:
        return lambda _: True
    if len(predicates) == 1:
        return predicates[0]
    if len(predicates) == 2:
        first, second = predicates
        return lambda values: first(values) and second(values)
    return lambda values: all(predicate(values) for predicate in predicates)


class LabelSelector:
    """matches(labels): whether labels meet all requirements.  everything: there are none.  text: canonical form."""

    __slots__ = ("everything", "matches", "requirements", "text")

    matches: Callable[[Labels], bool]

    def __init__(self, requirements: Iterable[Requirement]) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        self.everything = not self.requirements
        self.text = ",".join(str(requirement) for requirement in self.requirements)
        self.matches = all_of([_predicate(requirement) for requirement in self.requirements])

    def __repr__(self) -> str:
        return f"LabelSelector({self.text!r})"


EVERYTHING = LabelSelector(())


class _Nothing(LabelSelector):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(())
        self.everything = False
        self.matches = lambda _: False


NOTHING: LabelSelector = _Nothing()
"""What an absent LabelSelector object selects."""


class _RefusedError(Exception):
    """Why a requirement does not parse."""


def _tokens(text: str) -> list[str]:
    found = []
    position = 0
    while True:
        match = _TOKEN.match(text, position)
        token = match.group(1) if match else ""
        found.append(token)
        if not token or match is None:
            return found
        position = match.end()


def _check_values(key: str, operator: str, values: Sequence[str], path: str = "values") -> list[FieldError]:
    errors = []
    if operator in (">", "<"):
        for index, value in enumerate(values):
            if _integer(value) is None:
                detail = "for 'Gt', 'Lt' operators, the value must be an integer"
                errors.append(FieldError("", f"{path}[{index}]", f"Invalid value: {go_value(value)}: {detail}"))
    for index, value in enumerate(values):
        why = label_value(value)
        if why:
            text = f"Invalid value: {go_value(value)}: {'; '.join(why)}"
            errors.append(FieldError("", f"{path}[{index}][{key}]", text))
    return errors


class _Parser:
    """Recursive descent over the tokens; a token "" is the end, and words `in` and `notin` may be keys or values."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.position = 0

    def look(self) -> str:
        return self.tokens[min(self.position, len(self.tokens) - 1)]

    def take(self) -> str:
        token = self.look()
        self.position += 1
        return token

    def parse(self) -> list[Requirement]:
        found: list[Requirement] = []
        while self.look():
            if self.look() in _SPECIAL and self.look() != "!":
                raise bad_request(f"found '{self.look()}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except _RefusedError as refused:
                raise bad_request(f"unable to parse requirement: {refused}") from None
            self._separator()
        return found

    def _separator(self) -> None:
        token = self.take()
        if token == ",":
            following = self.look()
            if following in _SPECIAL and following != "!":
                raise bad_request(f"found '{following}', expected: identifier after ','")
        elif token:
            raise bad_request(f"found '{token}', expected: ',' or 'end of string'")

    def _requirement(self) -> Requirement:
        key = self.take()
        negated = key == "!"
        if negated:
            key = self.take()
        if key in _SPECIAL:
            raise _RefusedError(f"found '{key}', expected: identifier")
        why = qualified_name(key)
        if why:
            raise _RefusedError(f"<nil>: Invalid value: {go_value(key)}: {'; '.join(why)}")
        if negated:  # whatever follows is for the caller to refuse
            return Requirement(key, "!")
        if self.look() in ("", ","):
            return Requirement(key, "exists")
        operator = self.take()
        if operator not in ("in", "notin", "=", "==", "!=", ">", "<"):
            raise _RefusedError(f"found '{operator}', expected: {_BINARY}")
        values = self._values() if operator in ("in", "notin") else self._exact_value()
        errors = _check_values(key, operator, values)
        if errors:
            raise _RefusedError(aggregate(errors))
        return Requirement(key, operator, tuple(values))

    def _exact_value(self) -> list[str]:
        if self.look() in ("", ","):
            return [""]
        token = self.take()
        if token in _SPECIAL:
            raise _RefusedError(f"found '{token}', expected: identifier")
        return [token]

    def _values(self) -> list[str]:
        token = self.take()
        if token != "(":
            raise _RefusedError(f"found '{token}' expected: '('")
        token = self.look()
        if token == ")":
            self.take()
            return [""]
        if token in _SPECIAL and token != ",":
            raise _RefusedError(f"found '{token}', expected: ',', ')' or identifier")
        values = self._identifiers()
        self.take()
        return sorted(values)

    def _identifiers(self) -> set[str]:
        """The list up to the closing parenthesis; empty places between commas are empty values."""
        values: set[str] = set()
        while True:
            token = self.take()
            if token == ",":
                if not values:
                    values.add("")
                if self.look() == ")":
                    return values | {""}
                if self.look() == ",":
                    self.take()
                    values.add("")
            elif token in _SPECIAL:
                raise _RefusedError(f"found '{token}', expected: ',', or identifier")
            else:
                values.add(token)
                if self.look() == ")":
                    return values
                if self.look() != ",":
                    raise _RefusedError(f"found '{self.look()}', expected: ',' or ')'")


@lru_cache(maxsize=1024)
def parse_labels(text: str) -> LabelSelector:
    """The string form, as in `?labelSelector=`; raises ApiError 400 in upstream's words."""
    if not text:
        return EVERYTHING
    requirements = _Parser(text).parse()
    return LabelSelector(requirements) if requirements else EVERYTHING


_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def label_selector(selector: JsonObject | None) -> LabelSelector:
    """The object form (matchLabels, matchExpressions): None selects nothing, {} everything.

    For objects that passed validation; an expression with an unknown operator selects nothing.
    """
    if selector is None:
        return NOTHING
    requirements = [Requirement(key, "=", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        operator = _OPERATORS.get(expression.get("operator", ""))
        if operator is None:
            return NOTHING
        values = tuple(sorted(set(expression.get("values") or ()))) if operator in ("in", "notin") else ()
        requirements.append(Requirement(expression.get("key", ""), operator, values))
    return LabelSelector(requirements) if requirements else EVERYTHING


def label_set(labels: Labels | None) -> LabelSelector:
    """The map form (Service, ReplicationController): all of these; none or empty selects everything, as upstream."""
    return LabelSelector(Requirement(key, "=", (value,)) for key, value in (labels or {}).items())
