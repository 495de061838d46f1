"""Values with a text form of their own: quantities, times, base64.

Each function takes the JSON value and gives what Go writes back, or raises Refused with Go's message.
"""

from __future__ import annotations

import binascii
from typing import Any

from kube32_sim.api import gotime, quantity

_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


class Refused(ValueError):
    """A value that the type's own parser does not take; the message is Go's."""


class ExactNumber(float):
    """A JSON number that remembers how it was written, for messages and quantities."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> ExactNumber:
        made = super().__new__(cls, text)
        made.text = text
        return made


def number_text(value: Any) -> str:
    return value.text if isinstance(value, ExactNumber) else repr(value)


def plain(value: Any) -> Any:
    """A value of any shape with its numbers as plain floats again."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return float(value) if isinstance(value, ExactNumber) else value


def quantity_text(value: Any) -> str:
    """A quantity from a JSON string or number."""
    if value.__class__ is str:
        text = value.strip() if value else value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        text = number_text(value)
    else:
        raise Refused(quantity.FORMAT_WRONG)
    try:
        return quantity.canonical(text)
    except quantity.QuantityError as error:
        raise Refused(str(error)) from None


def time_text(value: str) -> str | None:
    try:
        return gotime.canonical(value)
    except gotime.TimeError as error:
        raise Refused(str(error)) from None


def microtime_text(value: str) -> str | None:
    try:
        return gotime.canonical_micro(value)
    except gotime.TimeError as error:
        raise Refused(str(error)) from None


def base64_text(value: str) -> str:
    """Base64 as Go's StdEncoding reads it (line ends are skipped) and writes it."""
    try:
        binascii.a2b_base64(value, strict_mode=True)
    except ValueError:
        return _base64_slow(value)
    return value if value == "" or _is_canonical_tail(value) else _base64_again(value)


def base64_of(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


def _is_canonical_tail(value: str) -> bool:
    """Whether the bits that the padding leaves over are zero, so that encoding gives the same text again."""
    return not value.endswith("=") or _base64_again(value[-4:]) == value[-4:]


def _base64_again(value: str) -> str:
    return base64_of(binascii.a2b_base64(value))


def _base64_slow(value: str) -> str:
    kept = [
        (at, char)
        for at, char in enumerate(value.encode("utf-8", "surrogatepass").decode("latin-1"))
        if char not in "\r\n"
    ]
    at = _first_illegal(kept)
    if at is not None:
        raise Refused(f"illegal base64 data at input byte {at}")
    return _base64_again("".join(char for _, char in kept))


def _first_illegal(kept: list[tuple[int, str]]) -> int | None:
    """Where Go's decoder stops: at the offending byte, or at the end of a quantum cut short."""
    for start in range(0, len(kept), 4):
        quantum = kept[start : start + 4]
        for place, (at, char) in enumerate(quantum):
            if char in _ALPHABET:
                continue
            if char != "=" or place < 2:
                return at
            return _after_padding(kept, start, place, quantum)
        if len(quantum) < 4:
            return quantum[0][0] if quantum else None
    return None


def _after_padding(kept: list[tuple[int, str]], start: int, place: int, quantum: list[tuple[int, str]]) -> int | None:
    end = start + 4
    if place == 2:
        if len(quantum) < 4:
            return kept[-1][0] + 1
        if quantum[3][1] != "=":
            return quantum[3][0]
    return kept[end][0] if len(kept) > end else None
