"""A list in protobuf, written item by item: what is around the items can be said once their size is known."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.protobuf import serialized
from kube32_sim.api.protobuf.envelope import wrapped
from kube32_sim.api.protobuf.messages import fields_of, message_for

JsonObject = dict[str, Any]
_DELIMITED = 2
"""The wire type of what says its length first."""


class ListWriter:
    """head: the list without its items, with apiVersion and kind.  ValueError for a kind without a message."""

    def __init__(self, head: JsonObject) -> None:
        self._api_version = head.get("apiVersion", "")
        self._kind = head["kind"]
        message = message_for(self._api_version, self._kind)
        if message is None:
            raise ValueError(f'no kind "{self._kind}" is registered for version "{self._api_version}"')
        items = next(field for field in fields_of(message) if field.name == "items")
        self._item = items.type
        self._tag = _varint(items.number << 3 | _DELIMITED)
        self._head = serialized(message, head)

    def item(self, obj: JsonObject) -> bytes:
        """An item as it stands in the list."""
        data = serialized(self._item, obj)
        return self._tag + _varint(len(data)) + data

    def around(self, size: int) -> tuple[bytes, bytes]:
        """What comes before and after items of that many bytes in all."""
        mark = b"\0" * 8
        whole = wrapped(self._api_version, self._kind, mark)
        before, _, after = whole.partition(_varint(len(mark)) + mark)
        return before + _varint(len(self._head) + size) + self._head, after


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    made.append(number)
    return bytes(made)
