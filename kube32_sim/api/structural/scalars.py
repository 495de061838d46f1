"""What schemas demand of strings and numbers (go-openapi's string, format and number validators)."""

from __future__ import annotations

import math
from typing import Any

from kube32_sim.api.managed.gotext import number
from kube32_sim.api.structural.faults import Code, Fault, invalid, placeless, wrong_type
from kube32_sim.api.structural.formats import format_check
from kube32_sim.api.structural.patterns import PatternError, searcher
from kube32_sim.api.structural.values import LEAST_INT64, MOST_INT64, format_of, types_of, whole

JsonObject = dict[str, Any]

_INT32 = (-(1 << 31), (1 << 31) - 1)
_MOST_FLOAT32 = 3.4028235677973366e38
"""From here on a number is none for 32 bits, rounded."""


def string_demands(schema: JsonObject) -> bool:
    return any(schema.get(key) for key in ("maxLength", "minLength", "pattern", "format")) or "maxLength" in schema


def string_faults(schema: JsonObject, value: str, name: str) -> list[Fault]:
    """The first of length and pattern, and the format."""
    fault = _text_fault(schema, value, name)
    found = [] if fault is None else [fault]
    form = format_of(schema)
    fits = format_check(form) if form else None
    if fits is not None and not fits(value):
        found.append(wrong_type(name, form, value))
    return found


def _text_fault(schema: JsonObject, value: str, name: str) -> Fault | None:
    most, least, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    if most is not None and len(value) > most:
        return Fault(Code.TOO_LONG, name, f"{name} in body should be at most {most} chars long", value, most)
    if least is not None and len(value) < least:
        return invalid(name, f"should be at least {least} chars long", value)
    if not pattern:
        return None
    try:
        if searcher(pattern)(value):
            return None
    except PatternError as error:
        return invalid(name, f"should match '{pattern}, but pattern is invalid: {error}'", value)
    return invalid(name, f"should match '{pattern}'", value)


def number_demands(schema: JsonObject) -> bool:
    return any(schema.get(key) is not None for key in ("multipleOf", "minimum", "maximum", "format"))


def number_faults(schema: JsonObject, value: float, name: str) -> list[Fault]:
    """The value's own range, multipleOf, minimum, maximum.

    A bound of an integer is cut to an integer, as upstream compares them; a bound that is none by itself is reported.
    """
    types, form = types_of(schema), format_of(schema)
    kind = next((each for each in ("integer", "number") if each in types), "")
    found = []
    if not _in_range(value, kind, form):
        found.append(_out_of_range("Checked", kind, form, name))
    for key, what, fault_of in (
        ("multipleOf", "MultipleOf", _not_multiple),
        ("minimum", "Minimum boundary", _below),
        ("maximum", "Maximum boundary", _above),
    ):
        bound = schema.get(key)
        if bound is None:
            continue
        exact = _in_range(bound, kind, form)
        if not exact:
            found.append(_out_of_range(what, kind, form, name))
        exclusive = bool(schema.get(f"exclusive{key.capitalize()}"))
        fault = fault_of(name, *_alike(value, bound, exact=exact), exclusive)
        if fault is not None:
            found.append(fault)
    return found


def _in_range(value: float, kind: str, form: str) -> bool:
    if kind == "integer":
        if isinstance(value, float) and (not math.isfinite(value) or value != int(value)):
            return False
        low, high = _INT32 if form == "int32" else (LEAST_INT64, MOST_INT64)
        return low <= value <= high
    return form != "float" or abs(value) < _MOST_FLOAT32


def _out_of_range(what: str, kind: str, form: str, name: str) -> Fault:
    shown = f"with format {form}" if form else "(default format)"
    return placeless(f"{what} value must be of type {kind} {shown} in {name}")


def _alike(value: float, bound: float, *, exact: bool) -> tuple[float, float]:
    """Both as integers, or both as floats."""
    if exact and isinstance(value, int) and LEAST_INT64 <= value <= MOST_INT64 and abs(bound) < MOST_INT64:
        return value, int(bound)
    return float(value), float(bound)


def _not_multiple(name: str, value: float, factor: float, _: bool) -> Fault | None:
    if factor < 0:
        message = f"factor MultipleOf declared for {name} must be positive: {number(factor)}"
        return Fault(Code.INVALID, name, message, factor)
    if isinstance(value, int) and factor:
        fits = value % factor == 0
    else:
        fits = bool(factor) and whole(1 / factor * value if factor < 1 else value / factor)
    return None if fits else invalid(name, f"should be a multiple of {number(factor)}", value)


def _below(name: str, value: float, least: float, exclusive: bool) -> Fault | None:
    if value > least or (value == least and not exclusive):
        return None
    return invalid(name, f"should be greater than {'' if exclusive else 'or equal to '}{number(least)}", value)


def _above(name: str, value: float, most: float, exclusive: bool) -> Fault | None:
    if value < most or (value == most and not exclusive):
        return None
    return invalid(name, f"should be less than {'' if exclusive else 'or equal to '}{number(most)}", value)
