"""Where a server with TLS listens: handshakes that fail are told in the log, and plain HTTP is told what it came to.

The event loop's own servers end both without a word, and let nobody see whose they were: so accepted sockets are taken
from it before anything is read, looked at, and given back for TLS (`connect_accepted_socket`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
import ssl
from contextlib import suppress
from typing import Any

from aiohttp import web

from kube32_sim.hosts import bracketed
from kube32_sim.server.refusals import Seldom

log = logging.getLogger(__name__)

PATIENCE = 60.0
"""Seconds for a client to begin TLS, and again to end its handshake (the event loop's default)."""
_HTTP = re.compile(rb"(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|CONNECT|PRI) ")
WRONG_DOOR = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
"""As Go's net/http answers."""
_DRAINED = 1 << 16
"""Bytes of a plain request that are read, so that the end of the connection does not overtake the answer."""
_DISTRUST = ("UNKNOWN_CA", "BAD_CERTIFICATE", "CERTIFICATE_UNKNOWN")


class TlsSite(web.TCPSite):
    """As aiohttp's, in the place of one with `ssl_context`."""

    def __init__(self, runner: web.ServerRunner, host: str, port: int, context: ssl.SSLContext, backlog: int) -> None:
        super().__init__(runner, host, port, backlog=backlog, reuse_address=True)
        self._context = context
        self._seldom = Seldom()
        self._beginning: set[asyncio.Task[None]] = set()
        self._factory: Any = runner.server

    async def start(self) -> None:
        await web.BaseSite.start(self)
        self._server = await asyncio.get_running_loop().create_server(
            lambda: _Door(self), self._host, self._port, backlog=self._backlog, reuse_address=True
        )

    async def stop(self) -> None:
        await super().stop()
        for task in self._beginning:
            task.cancel()
        if self._beginning:
            await asyncio.wait(self._beginning)

    def receive(self, accepted: socket.socket) -> None:
        task = asyncio.get_running_loop().create_task(self._receive(accepted), name="TLS handshake")
        self._beginning.add(task)
        task.add_done_callback(self._beginning.discard)

    async def _receive(self, accepted: socket.socket) -> None:
        peer, taken = "", False
        try:
            peer = _called(accepted.getpeername())
            async with asyncio.timeout(PATIENCE):
                begun = await _beginning_of(accepted)
            if _HTTP.match(begun):
                self._tell("it speaks plain HTTP; the address of this server begins with https://", peer)
                _answer(accepted)
            elif begun:
                await asyncio.get_running_loop().connect_accepted_socket(
                    self._factory, accepted, ssl=self._context, ssl_handshake_timeout=PATIENCE
                )
                taken = True
        except ssl.SSLError as error:
            self._tell(_why(error), peer)
        except OSError as error:  # it has gone, or is too slow: whoever looks whether a port is open does that
            log.debug("no TLS with %s: %s", peer, error)
        finally:
            if not taken:
                accepted.close()

    def _tell(self, why: str, peer: str) -> None:
        more = self._seldom.more(why)
        if more is not None:
            besides = f" ({more} more since this was last told)" if more else ""
            log.warning("no TLS with %s: %s%s", peer, why, besides)


class _Door(asyncio.Protocol):
    """Takes the socket of a connection that was accepted; nothing of it has been read."""

    def __init__(self, site: TlsSite) -> None:
        self._site = site

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        try:
            accepted = socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno()))
        except OSError as error:  # no file descriptors left
            log.error("a connection cannot be taken: %s", error)
        else:
            accepted.setblocking(False)
            self._site.receive(accepted)
        transport.close()  # of the first descriptor; the connection goes on by the other


async def _beginning_of(accepted: socket.socket) -> bytes:
    """The first bytes that a client sends, which stay where they are; b"" where it ends the connection."""
    loop = asyncio.get_running_loop()
    while True:
        with suppress(BlockingIOError):
            return accepted.recv(8, socket.MSG_PEEK)
        readable: asyncio.Future[None] = loop.create_future()
        loop.add_reader(accepted, _set, readable)
        try:
            await readable
        finally:
            loop.remove_reader(accepted)


def _set(readable: asyncio.Future[None]) -> None:
    if not readable.done():
        readable.set_result(None)


def _answer(accepted: socket.socket) -> None:
    with suppress(BlockingIOError):
        accepted.recv(_DRAINED)
    accepted.send(WRONG_DOOR)
    accepted.shutdown(socket.SHUT_WR)


def _why(error: ssl.SSLError) -> str:
    """One of a few texts, without what a client says."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not good here: {error.verify_message} (--client-ca-file)"
    reason = error.reason or "the connection has ended"
    if any(word in reason for word in _DISTRUST):
        return "it does not trust the certificate of this server"
    return reason.lower().replace("_", " ")


def _called(address: Any) -> str:
    return f"{bracketed(address[0])}:{address[1]}"
