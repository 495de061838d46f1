"""JSON values as Go's `%v` prints them: `map[data:map[a:5]]`."""

from __future__ import annotations

from typing import Any


def go_text(value: Any) -> str:
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{go_text(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _go_float(value) if isinstance(value, float) else str(value)


def _go_float(value: float) -> str:
    """`%v` of a float64: the shortest form, with an exponent from 1e+21 on."""
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    mantissa, exponent, power = repr(value).partition("e")
    if not exponent:
        return mantissa
    sign, digits = (power[0], power[1:]) if power[0] in "+-" else ("+", power)
    return f"{mantissa.removesuffix('.0')}e{sign}{digits.rjust(2, '0')}"
