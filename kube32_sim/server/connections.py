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
from aiohttp import web
from aiohttp.http_exceptions import LineTooLong

from kube32_sim.api import errors, media
from kube32_sim.api.errors import ApiError
from kube32_sim.limits import Limits

LOOK_EVERY = 1.0
"""Seconds between two looks for heads that do not come."""
MOST_HEADERS = 256
PROBES = (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 9))
"""When the kernel asks whether a silent peer is still there (Go's figures)."""


class Connections:
    """Of one server."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
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
            connection.refuse(ApiError(408, "Timeout", "the head of the request did not arrive in time"))
        if self.heads:
            self._look_later(loop)


class Connection(web.RequestHandler):
    __slots__ = ("_connections", "_head_bytes", "_working")

    def __init__(self, manager: web.Server, connections: Connections, **settings: Any) -> None:
        super().__init__(manager, **settings)
        self._connections = connections
        self._head_bytes = 0
        self._working = False
        """Whether a request's head is there and its answer is not."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        connections = self._connections
        connections.count += 1
        connections.expect_head(self)
        if connections.count > connections.limits.max_connections:
            self.refuse(errors.too_many_requests("too many connections; please try again later"))

    def connection_lost(self, exc: BaseException | None) -> None:
        self._connections.count -= 1
        self._connections.heads.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if data and not self._working:
            self._expect_more(data)
        super().data_received(data)

    def _expect_more(self, data: bytes) -> None:
        """Of a head, or with it of what follows."""
        connections = self._connections
        if self not in connections.heads:
            connections.expect_head(self)
        before, most = self._head_bytes, connections.limits.max_header_bytes
        self._head_bytes += len(data)
        if self._head_bytes > most:
            end = data.find(b"\r\n\r\n")
            if end < 0 or before + end > most:
                self.refuse(_too_large(431, "request headers", most))

    def head_is_there(self) -> None:
        self._working = True
        self._head_bytes = 0
        self._connections.heads.pop(self, None)

    def answered(self, request: web.BaseRequest) -> None:
        """What comes now is the next head, unless it is the rest of a body that nobody wants."""
        self._working = not request.content.is_eof()

    def refuse(self, error: ApiError) -> None:
        """Say why, and hang up."""
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
        response = web.Response(status=error.code, body=orjson.dumps(error.status()), content_type=media.JSON)
        response.force_close()
        return response

    def _fault(self, exc: BaseException | None, message: str | None) -> ApiError:
        limits = self._connections.limits
        if not isinstance(exc, LineTooLong):
            if "Too many headers" in (message or ""):
                return _too_large(431, "number of request headers", MOST_HEADERS)
            return errors.bad_request(f"the request is no HTTP: {' '.join((message or '').split())[:200]}")
        if exc.args[1] == limits.max_url_bytes:
            return _too_large(414, "request URL", limits.max_url_bytes)
        return _too_large(431, "request headers", limits.max_header_bytes)


REASONS = {408: "Request Timeout", 429: "Too Many Requests", 431: "Request Header Fields Too Large"}


def _too_large(code: int, what: str, most: int) -> ApiError:
    return ApiError(code, "RequestEntityTooLarge", f"Request entity too large: the {what}: limit is {most}")


def probe(sockets: Iterable[socket.socket]) -> None:
    """Have the kernel look after the connections of listening sockets, where it can be told how."""
    for listening in sockets:
        for name, value in PROBES:
            if hasattr(socket, name):
                listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
