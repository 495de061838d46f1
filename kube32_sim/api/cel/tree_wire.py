"""The wire format of protobuf, as far as syntax trees of CEL need it; `tree` and `tree_writing` use it.

The protobuf runtime would want descriptors of `cel/expr/*.proto`, which no dependency brings along.
"""

from __future__ import annotations

import struct

_WORD = 1 << 64
_FIXED = {1: 8, 5: 4}
"""Wire types of a fixed size, in bytes."""
_ENDED = 0x80
"""Where nothing is left to read: the varint says so."""


class Message:
    """The fields of one message, each with all its values in their order: numbers, or bytes that are yet to be read."""

    __slots__ = ("_fields",)

    def __init__(self, fields: dict[int, list[int | bytes]]) -> None:
        self._fields = fields

    def present(self) -> list[int]:
        """The numbers of the fields that are there."""
        return list(self._fields)

    def has(self, number: int) -> bool:
        return number in self._fields

    def values(self, number: int) -> list[int | bytes]:
        return self._fields.get(number, [])

    def number(self, number: int) -> int:
        """The last value of a varint field, 0 if there is none; ValueError where it is none."""
        values = self.values(number)
        if not values:
            return 0
        if isinstance(values[-1], int):
            return values[-1]
        raise ValueError(f"field {number} is no number")

    def raw(self, number: int) -> bytes:
        """The last value of a field of bytes, none if there is none; ValueError where it is a number."""
        values = self.values(number)
        return _bytes(values[-1], number) if values else b""

    def raws(self, number: int) -> list[bytes]:
        """All values of a repeated field of bytes."""
        return [_bytes(value, number) for value in self.values(number)]

    def text(self, number: int) -> str:
        return self.raw(number).decode()

    def texts(self, number: int) -> list[str]:
        return [raw.decode() for raw in self.raws(number)]

    def messages(self, number: int) -> list[Message]:
        """All values of a repeated field of messages."""
        return [read(raw) for raw in self.raws(number)]


def _bytes(value: int | bytes, number: int) -> bytes:
    if isinstance(value, bytes):
        return value
    raise ValueError(f"field {number} is a number")


def read(data: bytes) -> Message:
    """The fields of a serialized message; ValueError for bytes that are none."""
    fields: dict[int, list[int | bytes]] = {}
    at, end = 0, len(data)
    while at < end:
        tag = data[at]
        at += 1
        if tag > 0x7F:
            tag, at = _varint(data, at - 1)
        kind = tag & 7
        value: int | bytes
        if kind == 2:
            size = data[at] if at < end else _ENDED
            at += 1
            if size > 0x7F:
                size, at = _varint(data, at - 1)
            value, at = data[at : at + size], at + size
        elif kind == 0:
            value, at = _varint(data, at)
        elif kind in _FIXED:
            value, at = data[at : at + _FIXED[kind]], at + _FIXED[kind]
        else:
            raise ValueError(f"a field of wire type {kind}")
        if at > end:
            raise ValueError("a message that ends early")
        number = tag >> 3
        if number in fields:
            fields[number].append(value)
        else:
            fields[number] = [value]
    return Message(fields)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that starts there, and where it ends."""
    if at < len(data) and data[at] < 0x80:
        return data[at], at + 1
    result = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result % _WORD, at
        shift += 7
    raise ValueError("a message that ends early")


def signed(number: int) -> int:
    """A varint of an int64 field: negative numbers come as their two's complement."""
    return number - _WORD if number >= _WORD >> 1 else number


def real(raw: bytes) -> float:
    """The value of a double field."""
    if len(raw) != 8:
        raise ValueError("a double that is not of eight bytes")
    return float(struct.unpack("<d", raw)[0])


def varints(message: Message, number: int) -> list[int]:
    """A repeated field of numbers, which come packed or one by one."""
    numbers: list[int] = []
    for value in message.values(number):
        if isinstance(value, int):
            numbers.append(value)
            continue
        at = 0
        while at < len(value):
            one, at = _varint(value, at)
            numbers.append(one)
    return numbers


def put_varint(number: int) -> bytes:
    number %= _WORD
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def put_number(number: int, value: int) -> bytes:
    """A varint field."""
    return put_varint(number << 3) + put_varint(value)


def put_real(number: int, value: float) -> bytes:
    return put_varint(number << 3 | 1) + struct.pack("<d", value)


def put(number: int, value: bytes | str) -> bytes:
    """A field of bytes, text or a message."""
    raw = value.encode() if isinstance(value, str) else value
    return put_varint(number << 3 | 2) + put_varint(len(raw)) + raw
