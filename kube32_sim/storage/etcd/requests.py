"""What is asked of etcd, as its own messages: built here, because every write builds one.

Compares are on mod_revision, the revision of a key's last write: 0 where there is no such key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aetcd import rpc

Message = Any
"""aetcd's messages have no types."""


class Transaction:
    """Compares, what is done if all of them hold, and what is looked at if one does not; `message` is it.

    Filled in place: messages put into messages are copied, and every write of an object makes one of these.
    """

    __slots__ = ("message",)

    def __init__(self) -> None:
        self.message: Message = rpc.TxnRequest()

    def if_at(self, key: bytes, revision: int) -> Transaction:
        """If that was the last write of a key."""
        compare = self.message.compare.add()
        compare.target = rpc.Compare.MOD
        compare.key = key
        compare.mod_revision = revision
        return self

    def if_says(self, key: bytes, value: bytes) -> Transaction:
        """If a key has a value."""
        compare = self.message.compare.add()
        compare.target = rpc.Compare.VALUE
        compare.key = key
        compare.value = value
        return self

    def put(self, key: bytes, value: bytes) -> Transaction:
        put = self.message.success.add().request_put
        put.key = key
        put.value = value
        return self

    def delete(self, key: bytes) -> Transaction:
        self.message.success.add().request_delete_range.key = key
        return self

    def look(self, key: bytes, *, whole: bool = False) -> Transaction:
        """The revision of a key's last write; whole: its value too."""
        look = self.message.success.add().request_range
        look.key = key
        look.keys_only = not whole
        return self

    def else_look(self, key: bytes) -> Transaction:
        """A key's value and the revision of its last write."""
        self.message.failure.add().request_range.key = key
        return self

    def merge(self, encoded: bytes) -> Transaction:
        """With all that another has, which was encoded once because many have it."""
        self.message.MergeFromString(encoded)
        return self

    def encoded(self) -> bytes:
        """For `merge`."""
        return bytes(self.message.SerializeToString())


def found(response: Message, place: int) -> Message | None:
    """The key that one of a transaction's looks found."""
    kvs = response.responses[place].response_range.kvs
    return kvs[0] if kvs else None


def revision_found(response: Message, place: int) -> int:
    """Of the last write of that key; 0 where there is none."""
    kv = found(response, place)
    return 0 if kv is None else int(kv.mod_revision)


def one(key: bytes, *, whole: bool = False) -> Message:
    """The same as `look`, alone."""
    return rpc.RangeRequest(key=key, keys_only=not whole)


def page(key: bytes, end: bytes, revision: int, limit: int) -> Message:
    """Keys and values from `key` on, as of a revision, in key order."""
    return rpc.RangeRequest(key=key, range_end=end, revision=revision, limit=limit)


def watch(key: bytes, end: bytes, revision: int) -> Message:
    """Everything that happens to the keys from that revision on."""
    return rpc.WatchRequest(create_request=rpc.WatchCreateRequest(key=key, range_end=end, start_revision=revision))


def are_you_there() -> Message:
    """Asked on a stream of watches: it answers how far it is, unless it has events to tell of."""
    return rpc.WatchRequest(progress_request=rpc.WatchProgressRequest())


def compaction(revision: int) -> Message:
    return rpc.CompactionRequest(revision=revision)


OPTIONS: Mapping[str, int] = {
    "grpc.max_receive_message_length": -1,  # a page of objects, or of events, is as large as it is
    "grpc.max_send_message_length": -1,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.min_reconnect_backoff_ms": 1000,
    "grpc.max_reconnect_backoff_ms": 1000,  # instead of two minutes: an etcd that is back is used again at once
    "grpc.keepalive_time_ms": 10_000,  # etcd refuses more than one in 5 s
    "grpc.keepalive_timeout_ms": 5_000,
    "grpc.enable_http_proxy": 0,
    "grpc.minimal_stack": 1,  # no retries of its own (`Connection` has them), no statistics: all calls pay for them
    "grpc.enable_deadline_checking": 1,  # which is wanted, though: older versions take it for a luxury
}
"""Of the channels."""
