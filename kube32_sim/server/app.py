"""The listening server: sockets, TLS and the end of it.

`web.Server` (aiohttp's server without router and middlewares) calls the handler directly: paths are parsed by
`api/paths`, so a router would only cost.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import sys
from collections.abc import Callable
from email.utils import formatdate
from functools import lru_cache
from typing import Any

from aiohttp import web

from kube32_sim.clock import Clock
from kube32_sim.limits import DEFAULTS, Limits
from kube32_sim.server.browsers import harden
from kube32_sim.server.connections import MOST_HEADERS, Connection, Connections, probe
from kube32_sim.server.handler import Handler
from kube32_sim.server.tls_site import TlsSite
from kube32_sim.server.waking import Waking

SHUTDOWN_SECONDS = 1.0
BACKLOG = 4096
"""Connections that the kernel keeps until they are accepted."""
# What is no HTTP at all is answered with a 400; a traceback for each is no help.
logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)


@lru_cache(maxsize=4)
def http_date(second: int) -> str:
    return formatdate(second, usegmt=True)


def request_factory(clock: Clock, largest: int) -> Callable[..., web.BaseRequest]:
    """Requests with bodies of up to `largest` bytes, and whose answers, whatever they are, say the cluster's time.

    Boards have no clock of their own: they take it from the header Date.
    """

    class Request(web.BaseRequest):
        async def _prepare_hook(self, response: web.StreamResponse) -> None:
            response.headers["Date"] = http_date(int(clock.now()))
            harden(response.headers)

    def make(message: Any, payload: Any, protocol: Any, writer: Any, task: asyncio.Task[None]) -> web.BaseRequest:
        protocol.payload = payload
        if protocol.awaits_head:
            protocol.head_is_there()
        loop = asyncio.get_running_loop()
        return Request(message, payload, protocol, writer, task, loop, client_max_size=largest)

    return make


class _Server(web.Server):
    """aiohttp's, with connections that know their bounds."""

    def __init__(self, handler: Handler | Waking, clock: Clock, limits: Limits) -> None:
        super().__init__(
            handler,
            request_factory=request_factory(clock, limits.max_request_body_bytes),
            handler_cancellation=True,
        )
        self._bounds = Connections(limits, handler.refusals)
        url, headers = limits.max_url_bytes, limits.max_header_bytes
        self._settings: dict[str, Any] = {
            "access_log": None,
            "keepalive_timeout": 3600.0,
            "auto_decompress": False,  # upstream reads bodies as they come, whatever Content-Encoding says
            "max_line_size": url,
            "max_field_size": headers + (url == headers),  # by which one of the two is told from the other
            "max_headers": MOST_HEADERS,
        }

    def __call__(self) -> Connection:
        return Connection(self, self._bounds, loop=asyncio.get_running_loop(), **self._settings)


class ApiServer:
    def __init__(self, handler: Handler | Waking, clock: Clock, limits: Limits = DEFAULTS) -> None:
        self._handler = handler
        self._clock = clock
        self._limits = limits
        self._runner: web.ServerRunner | None = None
        self.port = 0
        self.addresses: list[str] = []

    async def start(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        """Listen; OSError where that is not possible.  Port 0 picks a free one (then see `port`)."""
        server = _Server(self._handler, self._clock, self._limits)
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=SHUTDOWN_SECONDS)
        await self._runner.setup()
        if context is not None and sys.platform != "win32":  # whose event loop cannot look at sockets
            site: web.TCPSite = TlsSite(self._runner, host, port, context, BACKLOG)
        else:
            site = web.TCPSite(self._runner, host, port, ssl_context=context, backlog=BACKLOG, reuse_address=True)
        await site.start()
        probe(getattr(site._server, "sockets", ()))
        self.port = int(self._runner.addresses[0][1])
        self.addresses = [str(address[0]) for address in self._runner.addresses]

    async def stop(self) -> None:
        """End open watches, let running requests finish, close."""
        if self._handler.streams is not None:
            self._handler.streams.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
