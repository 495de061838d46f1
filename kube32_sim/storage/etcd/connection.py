"""etcd's members: whom to ask, how long to wait, and what a failure means.

One member is asked until it fails, then the next.  Failures are `Unavailable`, which says whether something may have
been written nevertheless.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Any

import grpc
from aetcd import rpc

from kube32_sim.api import errors
from kube32_sim.etcd_access import PLAIN, EtcdAccess
from kube32_sim.storage.etcd.requests import OPTIONS, Message
from kube32_sim.storage.interface import StoreError, Unavailable

PATIENCE = 5.0
"""Seconds for one call."""
_LEADER_WANTED = (("hasleader", "true"),)
"""A member cut off from the others ends its watches then, instead of being silent."""
_NEVER_SENT = (
    "failed to connect",
    "connection refused",
    "no route to host",
    "dns resolution failed",
    "errors resolving",
)
_SAID: Mapping[str, str] = {
    "connection refused": "connection refused",
    "no route to host": "no route to host",
    "network is unreachable": "network is unreachable",
    "dns resolution failed": "its name leads to no address",
    "errors resolving": "its name leads to no address",
    "ping timeout": "no answer",
    "keepalive watchdog": "no answer",
    "connection reset": "the connection broke",
    "broken pipe": "the connection broke",
    "socket closed": "the connection broke",
}
"""What gRPC's accounts of a broken connection come to, by words that are in them; others are told as they are."""
_TOO_LARGE = ("request is too large", "message larger than max")
_GONE_OVER = (rpc.StatusCode.UNAVAILABLE, rpc.StatusCode.DEADLINE_EXCEEDED)


class _Member:
    """credentials: None without TLS."""

    def __init__(self, target: str, credentials: Any) -> None:
        options = list(OPTIONS.items())
        if credentials is None:
            self.channel = rpc.insecure_channel(target, options=options)
        else:
            self.channel = rpc.secure_channel(target, credentials, options=options)
        self.kv = rpc.KVStub(self.channel)
        self.watches = rpc.WatchStub(self.channel)


class Connection:
    """endpoints: (host, port) of each member.  patience: seconds that one call may take."""

    def __init__(
        self, endpoints: Sequence[tuple[str, int]], access: EtcdAccess = PLAIN, patience: float = PATIENCE
    ) -> None:
        self.patience = patience
        self._targets = [f"{_host(host)}:{port}" for host, port in endpoints]
        self._access = access
        self._members: list[_Member] = []
        self._current = 0
        self.name = ", ".join(self._targets)

    def open(self) -> None:
        """Make the channels; whether anybody answers there shows with the first call.  Raises StoreError."""
        credentials = _credentials(self._access) if self._access.given else None
        self._members = [_Member(target, credentials) for target in self._targets]

    async def close(self) -> None:
        for member in self._members:
            await member.channel.close()

    def next(self) -> None:
        """The present member is of no use: ask another from now on."""
        self._current = (self._current + 1) % len(self._members)

    def txn(self, request: Message) -> Awaitable[Message]:
        """Raises Unavailable: the transaction may have been made nevertheless, and the message says so then."""
        return self._call("Txn", request, writes=True)

    def look(self, request: Message) -> Awaitable[Message]:
        """A transaction that only looks.  Raises Unavailable."""
        return self._call("Txn", request)

    def range(self, request: Message) -> Awaitable[Message]:
        """Raises Unavailable."""
        return self._call("Range", request)

    async def compact(self, request: Message) -> None:
        await self._call("Compact", request)

    async def _call(self, method: str, request: Message, *, writes: bool = False) -> Message:
        last: rpc.AioRpcError | None = None
        for _ in self._members:
            stub = self._members[self._current].kv
            try:
                return await getattr(stub, method)(request, timeout=self.patience)
            except rpc.AioRpcError as error:
                last = error
                if error.code() in _GONE_OVER:
                    self.next()
                if not self._worth_another(error, writes=writes):
                    break
        assert last is not None
        raise self.failure(last, writes=writes)

    @staticmethod
    def _worth_another(error: rpc.AioRpcError, *, writes: bool) -> bool:
        return _was_never_sent(error) or (not writes and error.code() == rpc.StatusCode.UNAVAILABLE)

    def failure(self, error: rpc.AioRpcError, *, writes: bool = False) -> errors.ApiError:
        """What a failed call means to who asked for it."""
        details = error.details() or str(error.code())
        if any(text in details for text in _TOO_LARGE):
            return errors.ApiError(413, "RequestEntityTooLarge", f"etcd takes no object that large: {details}")
        if error.code() == rpc.StatusCode.DEADLINE_EXCEEDED:
            details = f"no answer within {self.patience:g} s"
        if error.code() not in _GONE_OVER:
            return Unavailable(f"etcd at {self.name} refuses: {details}")
        lowered = details.lower()
        details = next((said for words, said in _SAID.items() if words in lowered), details)
        maybe = "; what was to be written may or may not have been stored" * (writes and not _was_never_sent(error))
        return Unavailable(f"etcd at {self.name} cannot be reached: {details}{maybe}")

    def watch(self) -> Any:
        """A new stream of watches, to be written requests to and read responses from."""
        return self._members[self._current].watches.Watch(metadata=_LEADER_WANTED)


def _was_never_sent(error: rpc.AioRpcError) -> bool:
    details = (error.details() or "").lower()
    return error.code() == rpc.StatusCode.UNAVAILABLE and any(text in details for text in _NEVER_SENT)


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _credentials(access: EtcdAccess) -> Any:
    return grpc.ssl_channel_credentials(
        _read("--etcd-cafile", access.etcd_cafile),
        _read("--etcd-keyfile", access.etcd_keyfile),
        _read("--etcd-certfile", access.etcd_certfile),
    )


def _read(option: str, path: Path | None) -> bytes | None:
    try:
        return None if path is None else path.expanduser().read_bytes()
    except OSError as error:
        raise StoreError(f"{option} {path}: {error.strerror}") from None
