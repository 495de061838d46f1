"""`kubernetes.quantity`: amounts such as `1.5Gi`, compared and added."""

from __future__ import annotations

from math import inf
from typing import Any

from kube32_sim.api import quantity
from kube32_sim.api.cel.functions.declaring import QUANTITY, Overload, Special, function, method

_LEAST_INT, _GREATEST_INT = -(2**63), 2**63 - 1


def _new(nanos: int) -> Special:
    return Special(QUANTITY, str(nanos))


def _nanos(value: Any) -> int:
    """Of a quantity, or of a whole number."""
    return value * quantity.NANO if isinstance(value, int) else int(value.text)


def _quantity(text: str) -> Special:
    return _new(quantity.parse(text).nanos)


def _is_integer(value: Special) -> bool:
    whole, rest = divmod(_nanos(value), quantity.NANO)
    return rest == 0 and _LEAST_INT <= whole <= _GREATEST_INT


def _as_integer(value: Special) -> int:
    if not _is_integer(value):
        raise ValueError("cannot convert value to integer")
    return _nanos(value) // quantity.NANO


def _as_float(value: Special) -> float:
    nanos = _nanos(value)
    try:
        return nanos / quantity.NANO
    except OverflowError:
        return inf if nanos > 0 else -inf


def _compare(left: Special, right: Special) -> int:
    return (_nanos(left) > _nanos(right)) - (_nanos(left) < _nanos(right))


def _sign(value: Special) -> int:
    return (_nanos(value) > 0) - (_nanos(value) < 0)


_PAIR = (QUANTITY, QUANTITY)

OVERLOADS: list[Overload] = [
    function("quantity", "string_to_quantity", ("string",), QUANTITY, _quantity),
    function("isQuantity", "is_quantity_string", ("string",), "bool", quantity.is_quantity),
    function("sign", "quantity_sign", (QUANTITY,), "int", _sign),
    method("isGreaterThan", "quantity_is_greater_than", _PAIR, "bool", lambda a, b: _compare(a, b) > 0),
    method("isLessThan", "quantity_is_less_than", _PAIR, "bool", lambda a, b: _compare(a, b) < 0),
    method("compareTo", "quantity_compare_to", _PAIR, "int", _compare),
    method("asApproximateFloat", "quantity_get_float", (QUANTITY,), "double", _as_float),
    method("asInteger", "quantity_get_int", (QUANTITY,), "int", _as_integer),
    method("isInteger", "quantity_is_integer", (QUANTITY,), "bool", _is_integer),
    method("add", "quantity_add", _PAIR, QUANTITY, lambda a, b: _new(_nanos(a) + _nanos(b))),
    method("add", "quantity_add_int", (QUANTITY, "int"), QUANTITY, lambda a, b: _new(_nanos(a) + _nanos(b))),
    method("sub", "quantity_sub", _PAIR, QUANTITY, lambda a, b: _new(_nanos(a) - _nanos(b))),
    method("sub", "quantity_sub_int", (QUANTITY, "int"), QUANTITY, lambda a, b: _new(_nanos(a) - _nanos(b))),
]
