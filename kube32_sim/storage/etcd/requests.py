"""What is asked of etcd, as its own messages: built here, because every write builds one.

Compares are on mod_revision, the revision of a key's last write: 0 where there is no such key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from aetcd import rpc

Message = Any
"""aetcd's messages have no types."""


def is_at(key: bytes, revision: int) -> Message:
    """That the last write of a key was that one."""
    return rpc.Compare(result=0, target=2, key=key, mod_revision=revision)


def says(key: bytes, value: bytes) -> Message:
    """That a key has a value."""
    return rpc.Compare(result=0, target=3, key=key, value=value)


def put(key: bytes, value: bytes) -> Message:
    return rpc.RequestOp(request_put=rpc.PutRequest(key=key, value=value))


def delete(key: bytes) -> Message:
    return rpc.RequestOp(request_delete_range=rpc.DeleteRangeRequest(key=key))


def look(key: bytes, *, whole: bool = False) -> Message:
    """The revision of a key's last write; whole: its value too."""
    return rpc.RequestOp(request_range=rpc.RangeRequest(key=key, keys_only=not whole))


def transaction(compare: Iterable[Message], success: Iterable[Message], failure: Iterable[Message] = ()) -> Message:
    return rpc.TxnRequest(compare=compare, success=success, failure=failure)


def found(response: Message, place: int) -> Message | None:
    """The key that one of a transaction's `look`s found."""
    kvs = response.responses[place].response_range.kvs
    return kvs[0] if kvs else None


def revision_found(response: Message, place: int) -> int:
    """Of the last write of that key; 0 where there is none."""
    kv = found(response, place)
    return 0 if kv is None else int(kv.mod_revision)


def one(key: bytes, *, whole: bool = False) -> Message:
    """The same as a `look`, alone."""
    return rpc.RangeRequest(key=key, keys_only=not whole)


def page(key: bytes, end: bytes, revision: int, limit: int) -> Message:
    """Keys and values from `key` on, as of a revision, in key order."""
    return rpc.RangeRequest(key=key, range_end=end, revision=revision, limit=limit)


def watch(key: bytes, end: bytes, revision: int) -> Message:
    """Everything that happens to the keys from that revision on."""
    return rpc.WatchRequest(create_request=rpc.WatchCreateRequest(key=key, range_end=end, start_revision=revision))


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
}
"""Of the channels."""
