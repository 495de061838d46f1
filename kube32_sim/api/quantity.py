"""Kubernetes quantities: `100m`, `1.5Gi`, `2e3`, exact and with the canonical text Go writes.

Everything is counted in whole billionths (`nanos`), the finest step Kubernetes knows: parsing rounds anything finer
away from zero, as upstream does.  Rules and messages: apimachinery's `pkg/api/resource`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

NANO = 10**9
_MAX_INT64 = 2**63 - 1
_SYNTAX = re.compile(r"([+-]?)0*+([0-9]*+)(?:(\.)([0-9]*+))?([eEinumkKMGTP]*+[-+]?[0-9]*+)")
_EXPONENT = re.compile(r"[eE]([-+]?[0-9]+)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIX = ("", *_BINARY)

#: Digits and decimal exponents past this are no resource anyone has; they would only cost time.
_MAX_DIGITS = 1000
_MAX_EXPONENT = 1000

FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX_WRONG = "unable to parse quantity's suffix"
NUMERIC_WRONG = "unable to parse numeric part of quantity"

BINARY_SI = "BinarySI"
DECIMAL_SI = "DecimalSI"
DECIMAL_EXPONENT = "DecimalExponent"


class QuantityError(ValueError):
    """A text that is no quantity; the message is upstream's."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """nanos: the value in billionths.  format: how it is written.  text: its canonical text."""

    nanos: int
    format: str
    text: str

    @property
    def value(self) -> int:
        """Whole units, rounded away from zero."""
        return _round_up(self.nanos, NANO)


def _round_up(amount: int, unit: int) -> int:
    return -(-amount // unit) if amount >= 0 else amount // unit


def parse(text: str) -> Quantity:
    """The quantity a text stands for; raises QuantityError."""
    # Long texts stay out of the cache, so that what it holds is bounded.
    return _parse_cached(text) if len(text) <= 40 else _parse(text)


def is_quantity(text: str) -> bool:
    try:
        parse(text)
    except QuantityError:
        return False
    return True


def canonical(text: str) -> str:
    """The text Go writes for a quantity read from `text`; raises QuantityError."""
    return parse(text).text


def value(text: str) -> int:
    """Whole units of a quantity's text, rounded up; raises QuantityError."""
    return parse(text).value


def parse_all(amounts: Mapping[str, str] | None) -> dict[str, Quantity]:
    """Amounts by resource, sorted; raises QuantityError."""
    return {name: parse(amounts[name]) for name in sorted(amounts)} if amounts else {}


def from_nanos(nanos: int, form: str = DECIMAL_SI) -> Quantity:
    """A quantity of a value, for sums and differences."""
    return Quantity(nanos, form, _canonical_text(nanos, form))


def add(left: Quantity, right: Quantity) -> Quantity:
    """Their sum, written the way the left one is (the right one, where the left is zero)."""
    return from_nanos(left.nanos + right.nanos, left.format if left.nanos else right.format)


def sub(left: Quantity, right: Quantity) -> Quantity:
    """Their difference, written the way the left one is (the right one, where the left is zero)."""
    return from_nanos(left.nanos - right.nanos, left.format if left.nanos else right.format)


def _parse(text: str) -> Quantity:
    if not text:
        raise QuantityError(FORMAT_WRONG)
    found = _SYNTAX.fullmatch(text)
    if found is None:
        raise QuantityError(FORMAT_WRONG)
    sign, whole, _, fraction, suffix = found.groups()
    whole, fraction = whole or "0", fraction or ""
    base, exponent, form = _interpret(suffix)
    if len(whole) + len(fraction) > _MAX_DIGITS or abs(exponent) > _MAX_EXPONENT:
        raise QuantityError(NUMERIC_WRONG)
    mantissa = int(whole + fraction)
    nanos = _nanos(mantissa, len(fraction), base, exponent)
    if form == BINARY_SI and nanos > _MAX_INT64 * NANO:
        nanos = _MAX_INT64 * NANO
    if sign == "-":
        nanos = -nanos
    written = text if _kept_as_written(whole, fraction, exponent, form) else _canonical_text(nanos, form)
    return Quantity(nanos, form, written)


_parse_cached = lru_cache(maxsize=8192)(_parse)


def _interpret(suffix: str) -> tuple[int, int, str]:
    """A suffix as (base, exponent, format)."""
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], DECIMAL_SI
    if suffix in _BINARY:
        return 2, _BINARY[suffix], BINARY_SI
    found = _EXPONENT.fullmatch(suffix)
    if found is None or len(suffix) > 12:
        raise QuantityError(SUFFIX_WRONG)
    return 10, int(found[1]), DECIMAL_EXPONENT


def _nanos(mantissa: int, places: int, base: int, exponent: int) -> int:
    if base == 2:
        return _round_up(mantissa * 2**exponent * NANO, 10**places)
    scale = exponent - places + 9
    return mantissa * 10**scale if scale >= 0 else _round_up(mantissa, 10**-scale)


def _kept_as_written(whole: str, fraction: str, exponent: int, form: str) -> bool:
    """Upstream's short cut: a text that looks canonical is written back unchanged, `1.500` and `+5` among them."""
    if form == BINARY_SI:
        precision = 15 - len(whole) - exponent * 3 // 10 - 1
        return not fraction and precision >= 0 and int(whole) & 7 != 0
    digits = whole + fraction
    scale = exponent - len(fraction)
    if len(digits) > 18 or scale < -9:
        return False
    return scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _canonical_text(nanos: int, form: str) -> str:
    if nanos == 0:
        return "0"
    if form == BINARY_SI and nanos % NANO == 0 and abs(nanos) >= 1024 * NANO:
        return _binary_text(nanos // NANO)
    return _decimal_text(nanos, form)


def _binary_text(units: int) -> str:
    power = 0
    while units % 1024 == 0 and power < len(_BINARY):
        units //= 1024
        power += 1
    return f"{units}{_BINARY_SUFFIX[power]}"


def _decimal_text(nanos: int, form: str) -> str:
    exponent = -9
    while nanos % 1000 == 0:
        nanos //= 1000
        exponent += 3
    if form == DECIMAL_EXPONENT or exponent not in _DECIMAL_SUFFIX:
        return f"{nanos}e{exponent}" if exponent else str(nanos)
    return f"{nanos}{_DECIMAL_SUFFIX[exponent]}"
