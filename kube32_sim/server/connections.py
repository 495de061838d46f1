"""Connections: how many there are, how long a request's head may take, and what is told of what is no HTTP.

Between two requests a connection may be idle for long; from the first byte of a head on, or from its start, it has
`read_header_timeout` until the head is there.  Peers that are gone without a word are found by the kernel's probes.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from typing import Any

import orjson
from aiohttp import StreamReader, web
from aiohttp.http_exceptions import InvalidHeader, LineTooLong

from kube32_sim.api import errors, media
from kube32_sim.api.errors import ApiError
from kube32_sim.limits import Limits
from kube32_sim.option_fields import flag
from kube32_sim.server.refusals import Refusals

LOOK_EVERY = 1.0
"""Seconds between two looks for heads that do not come."""
MOST_HEADERS = 256
PROBES = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 9))
"""When the kernel asks whether a silent peer is still there (Go's figures)."""


class Connections:
    """Of one server."""

    def __init__(self, limits: Limits, refusals: Refusals) -> None:
        self.limits = limits
        self.refusals = refusals
        self.count = 0
        self.heads: dict[Connection, float] = {}
        """Who waits for a head, since when (on the event loop's clock), the longest first."""
        self._looking = False

    def expect_head(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        self.heads[connection] = loop.time()
        if not self._looking:
            self._look_later(loop)

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._looking = True
        loop.call_later(min(LOOK_EVERY, self.limits.read_header_timeout / 4), self._look)

    def _look(self) -> None:
        self._looking = False
        loop = asyncio.get_running_loop()
        since = loop.time() - self.limits.read_header_timeout
        for connection, begun in tuple(self.heads.items()):
            if begun > since:
                break
            connection.head_is_late()
        if self.heads:
            self._look_later(loop)


class Connection(web.RequestHandler):
    """payload: the body of the last request.  awaits_head: whether `Connections` looks after it."""

    __slots__ = ("_connections", "_head_bytes", "_most", "awaits_head", "payload")

    def __init__(self, manager: web.Server, connections: Connections, **settings: Any) -> None:
        super().__init__(manager, **settings)
        self._connections = connections
        self._most = connections.limits.max_header_bytes
        self._head_bytes = 0
        self.awaits_head = False
        self.payload: StreamReader | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        connections = self._connections
        connections.count += 1
        self.awaits_head = True
        connections.expect_head(self)
        if connections.count > connections.limits.max_connections:
            most, option = connections.limits.max_connections, flag("max_connections")
            why = f"too many connections: {most} are open ({option}); please try again later"
            self.refuse(errors.too_many_requests(why, bound=option))

    def connection_lost(self, exc: BaseException | None) -> None:
        self._connections.count -= 1
        self._connections.heads.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Nearly always one whole request, which must cost nothing more."""
        if self._head_bytes + len(data) > self._most and self._between_requests():
            end = data.find(b"\r\n\r\n")
            if end < 0 or self._head_bytes + end > self._most:
                self.refuse(_too_large(431, "request headers", self._most, "max_header_bytes"))
                return
        super().data_received(data)
        if self._current_request is None and not self._messages and data and self._between_requests():
            self._head_bytes += len(data)
            if not self.awaits_head:
                self.awaits_head = True
                self._connections.expect_head(self)

    def _between_requests(self) -> bool:
        """Whether what comes is a head, and not the rest of a body, be it one that nobody wants."""
        if self._current_request is not None or self._messages:
            return False
        return self.payload is None or self.payload.is_eof()

    def head_is_there(self) -> None:
        self.awaits_head = False
        self._head_bytes = 0
        self._connections.heads.pop(self, None)

    def head_is_late(self) -> None:
        if self._head_bytes:
            option = flag("read_header_timeout")
            late = ApiError(408, "Timeout", f"the head of the request did not arrive in time ({option})")
            late.bound = option
            self.refuse(late)
            return
        self._connections.heads.pop(self, None)
        self.force_close()  # who has asked nothing expects no answer: he would take it for one to his first request

    def refuse(self, error: ApiError) -> None:
        """Say why, and hang up."""
        self._connections.refusals.note(error)
        self._connections.heads.pop(self, None)
        if self.transport is not None:
            body = orjson.dumps(error.status())
            headers = [("Content-Type", media.JSON), ("Content-Length", str(len(body))), ("Connection", "close")]
            lines = [f"HTTP/1.1 {error.code} {REASONS[error.code]}"]
            lines += [f"{name}: {value}" for name, value in (*headers, *error.headers)]
            self.transport.write("\r\n".join((*lines, "", "")).encode() + body)
        self.force_close()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """What cannot be read as a request."""
        if request.writer.output_size > 0 or status >= 500:
            return super().handle_error(request, status, exc, message)
        error = self._fault(exc, message)
        self._connections.refusals.note(error)
        response = web.Response(status=error.code, body=orjson.dumps(error.status()), content_type=media.JSON)
        response.force_close()
        return response

    def _fault(self, exc: BaseException | None, message: str | None) -> ApiError:
        limits = self._connections.limits
        if not isinstance(exc, LineTooLong):
            if "Too many headers" in (message or ""):
                return _too_large(431, "number of request headers", MOST_HEADERS)
            return errors.bad_request(f"the request is no HTTP: {_complaint(exc, message)}")
        if exc.args[1] == limits.max_url_bytes:
            return _too_large(414, "request URL", limits.max_url_bytes, "max_url_bytes")
        return _too_large(431, "request headers", limits.max_header_bytes, "max_header_bytes")


def _complaint(exc: BaseException | None, message: str | None) -> str:
    """The parser's, on one line and without what it quotes: a header may be a token."""
    if isinstance(exc, InvalidHeader):
        return "a header with characters that may not be in it"
    first = (message or "").strip().partition("\n")[0].partition(": b'")[0].partition(': b"')[0]
    return " ".join(first.split()).rstrip(":")[:200]


REASONS = {408: "Request Timeout", 429: "Too Many Requests", 431: "Request Header Fields Too Large"}


def _too_large(code: int, what: str, most: int, bound: str = "") -> ApiError:
    """bound: the field of `Limits`, where it has an option."""
    option = f" ({flag(bound)})" if bound else ""
    error = ApiError(code, "RequestEntityTooLarge", f"Request entity too large: the {what}: limit is {most}{option}")
    error.bound = flag(bound) if bound else f"the bound on the {what}"
    return error


def probe(sockets: Iterable[socket.socket]) -> None:
    """Have the kernel look after the connections of listening sockets, where it can be told how."""
    for listening in sockets:
        for name, value in PROBES:
            if hasattr(socket, name):
                listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
