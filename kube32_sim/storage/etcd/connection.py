"""etcd's members: whom to ask, how long to wait, and what a failure means.

One member is asked until it fails, then the next.  Failures are `Unavailable`, which says whether something may have
been written nevertheless.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import aetcd
from aetcd import rpc

from kube32_sim.api import errors
from kube32_sim.storage.etcd.requests import OPTIONS, Message
from kube32_sim.storage.interface import Unavailable

PATIENCE = 5.0
"""Seconds for one call."""
_LEADER_WANTED = (("hasleader", "true"),)
"""A member cut off from the others ends its watches then, instead of being silent."""
_NEVER_SENT = ("failed to connect", "connection refused", "no route to host", "dns resolution failed")
_TOO_LARGE = ("request is too large", "message larger than max")
_GONE_OVER = (rpc.StatusCode.UNAVAILABLE, rpc.StatusCode.DEADLINE_EXCEEDED)


class Connection:
    """endpoints: (host, port) of each member.  patience: seconds that one call may take."""

    def __init__(self, endpoints: Sequence[tuple[str, int]], patience: float = PATIENCE) -> None:
        self.name = ", ".join(f"{_host(host)}:{port}" for host, port in endpoints)
        self.patience = patience
        self._members = [aetcd.Client(_host(host), port, options=dict(OPTIONS)) for host, port in endpoints]
        self._current = 0

    async def open(self) -> None:
        """Make the channels; whether anybody answers there shows with the first call."""
        for member in self._members:
            await member.connect()

    async def close(self) -> None:
        for member in self._members:
            await member.close()

    def next(self) -> None:
        """The present member is of no use: ask another from now on."""
        self._current = (self._current + 1) % len(self._members)

    async def txn(self, request: Message) -> Message:
        """Raises Unavailable: the transaction may have been made nevertheless, and the message says so then."""
        return await self._call("Txn", request, writes=True)

    async def range(self, request: Message) -> Message:
        return await self._call("Range", request)

    async def compact(self, request: Message) -> None:
        await self._call("Compact", request)

    async def _call(self, method: str, request: Message, *, writes: bool = False) -> Message:
        last: rpc.AioRpcError | None = None
        for _ in self._members:
            stub = self._members[self._current].kvstub
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
        maybe = "; what was to be written may or may not have been stored" * (writes and not _was_never_sent(error))
        return Unavailable(f"etcd at {self.name} cannot be reached: {details}{maybe}")

    def watch(self) -> Any:
        """A new stream of watches, to be written requests to and read responses from."""
        member = self._members[self._current]
        return rpc.WatchStub(member.channel).Watch(metadata=_LEADER_WANTED)


def _was_never_sent(error: rpc.AioRpcError) -> bool:
    details = (error.details() or "").lower()
    return error.code() == rpc.StatusCode.UNAVAILABLE and any(text in details for text in _NEVER_SENT)


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
