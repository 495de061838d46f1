"""JSONPaths as CustomResourceDefinitions use them: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`.

The dialect is client-go's `util/jsonpath`, without its templates' ranges and texts.  A path is compiled once; `find`
answers all values, in order.  Raises PathError for a path that cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Step = Callable[[Any], Iterator[Any]]

_FIELD = re.compile(r"\.((?:\\.|[^.\[\]\\ ])+)")
_QUOTED = re.compile(r"\['((?:\\'|[^'])*)'\]|\[\"((?:\\\"|[^\"])*)\"\]")
_SLICE = re.compile(r"\[(-?\d*)(?::(-?\d*))?(?::(-?\d*))?\]")
_UNION = re.compile(r"\[([^\[\]?,]+(?:,[^\[\]?,]+)+)\]")
_FILTER = re.compile(r"\[\?\((.*?)\)\]")
_COMPARISON = re.compile(r"(@?[^\s=!<>]*(?:\[[^\]]*\])?)\s*(==|!=|<=|>=|<|>)\s*(.+)")
_LITERAL = re.compile(r"""'([^']*)'|"([^"]*)"|(true|false)|(-?\d+(?:\.\d+)?)""")


class PathError(ValueError):
    """A path that is none; the message says why."""


class JSONPath:
    """text: as in the definition, with or without braces and the leading `$`."""

    __slots__ = ("_steps", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        inner = text.strip()
        if inner.startswith("{") and inner.endswith("}"):
            inner = inner[1:-1]
        self._steps = tuple(_steps(inner.removeprefix("$")))

    def find(self, value: Any) -> list[Any]:
        """Every value that is there at the path."""
        found = [value]
        for step in self._steps:
            found = [inner for each in found for inner in step(each)]
            if not found:
                break
        return found


def _steps(text: str) -> Iterator[Step]:
    position = 0
    while position < len(text):
        if text.startswith("..", position):
            position += 1
            yield _everything_below
            continue
        for pattern, made in _KINDS:
            match = pattern.match(text, position)
            if match is not None:
                yield made(match)
                position = match.end()
                break
        else:
            raise PathError(f"unrecognized character in action: {text[position]!r} of {text!r}")


def _field(match: re.Match[str]) -> Step:
    name = re.sub(r"\\(.)", r"\1", match.group(1))
    return _every if name == "*" else _named(name)


def _quoted(match: re.Match[str]) -> Step:
    text = match.group(1) if match.group(1) is not None else match.group(2)
    return _named(re.sub(r"\\(.)", r"\1", text))


def _named(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _every(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _everything_below(value: Any) -> Iterator[Any]:
    yield value
    for inner in _every(value):
        yield from _everything_below(inner)


def _sliced(match: re.Match[str]) -> Step:
    first, second, third = match.groups()
    if second is None and third is None:
        return _indexed(int(first or 0))  # `[]` is the first item, as in client-go
    part = slice(*(int(text) if text else None for text in (first, second, third)))
    if part.step == 0:
        raise PathError("step must be > 0")

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from value[part]

    return step


def _indexed(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _all_items(match: re.Match[str]) -> Step:
    return _every


def _filtered(match: re.Match[str]) -> Step:
    holds = _condition(match.group(1).strip())

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from (item for item in value if holds(item))

    return step


def _united(match: re.Match[str]) -> Step:
    """`[0,2]`, `['a','b']`: what each of the parts finds."""
    parts = [JSONPath(f"[{part.strip()}]") for part in match.group(1).split(",")]

    def step(value: Any) -> Iterator[Any]:
        for part in parts:
            yield from part.find(value)

    return step


def _condition(text: str) -> Callable[[Any], bool]:
    match = _COMPARISON.fullmatch(text)
    if match is None:
        exists = _operand(text)
        return lambda item: bool(exists(item))
    left, operator, right = _operand(match[1]), match[2], _operand(match[3].strip())
    compare = _COMPARE[operator]
    return lambda item: compare(left(item), right(item))


def _operand(text: str) -> Callable[[Any], Sequence[Any]]:
    if text.startswith("@"):
        return JSONPath(text[1:]).find
    match = _LITERAL.fullmatch(text)
    if match is None:
        raise PathError(f"unrecognized operand {text!r} of a filter")
    single, double, boolean, number = match.groups()
    if boolean is not None:
        literal: Any = boolean == "true"
    elif number is not None:
        literal = float(number) if "." in number else int(number)
    else:
        literal = single if single is not None else double
    return lambda item: (literal,)


def _comparing(compare: Callable[[Any, Any], bool]) -> Callable[[Sequence[Any], Sequence[Any]], bool]:
    """Of one value on each side; what is not there, or of another kind, does not compare."""

    def holds(left: Sequence[Any], right: Sequence[Any]) -> bool:
        if len(left) != 1 or len(right) != 1:
            return False
        one, other = left[0], right[0]
        alike = isinstance(one, str) == isinstance(other, str) and isinstance(one, bool) == isinstance(other, bool)
        scalar = isinstance(one, str | int | float) and isinstance(other, str | int | float)
        return alike and scalar and compare(one, other)

    return holds


_COMPARE: dict[str, Callable[[Sequence[Any], Sequence[Any]], bool]] = {
    "==": _comparing(lambda one, other: one == other),
    "!=": _comparing(lambda one, other: one != other),
    "<": _comparing(lambda one, other: one < other),
    ">": _comparing(lambda one, other: one > other),
    "<=": _comparing(lambda one, other: one <= other),
    ">=": _comparing(lambda one, other: one >= other),
}

_KINDS: Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], Step]]] = (
    (_FILTER, _filtered),
    (_QUOTED, _quoted),
    (re.compile(r"\[\*\]"), _all_items),
    (_SLICE, _sliced),
    (_UNION, _united),
    (_FIELD, _field),
)


def simple_path(text: str) -> tuple[str, ...]:
    """The names of a path of plain fields, `.spec.replicas` -> (spec, replicas); () where there is none."""
    if not text:
        return ()
    return tuple(text.removeprefix(".").split("."))
