"""HTTP as bytes on a socket: for requests that no client library would send, and streams read at one's own pace."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

PATIENCE = 20.0
"""Seconds until a read gives up, unless told otherwise."""


@dataclass
class Answer:
    """headers: by their names in small letters, each with all its values."""

    status: int
    headers: dict[str, list[str]] = field(default_factory=dict)
    body: bytes = b""

    def header(self, name: str) -> str:
        return ", ".join(self.headers.get(name.lower(), ()))

    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.patience: float | None = PATIENCE

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> None:
        """Send a request; names of headers are given with `_` for `-`."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        wanted = {"Host": "localhost", **{name.replace("_", "-"): value for name, value in headers.items()}}
        if body is not None:
            wanted.setdefault("Content-Type", "application/json")
            wanted.setdefault("Content-Length", str(len(data)))
        await self.send(head(f"{method} {path} HTTP/1.1", wanted) + data)

    async def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        await self.ask(method, path, body, **headers)
        return await self.answer(bodyless=method == "HEAD")

    async def begin(self) -> Answer:
        """The head of the next answer; its body stays to be read."""
        line = await self._line()
        assert line.startswith(b"HTTP/1."), line
        answer = Answer(int(line.split()[1]))
        while header := (await self._line()).strip():
            name, _, value = header.decode("latin-1").partition(":")
            answer.headers.setdefault(name.lower(), []).append(value.strip())
        return answer

    async def answer(self, *, bodyless: bool = False) -> Answer:
        answer = await self.begin()
        if bodyless or answer.status in (100, 204, 304):
            return answer
        if answer.header("transfer-encoding") == "chunked":
            answer.body = b"".join([chunk async for chunk in self.chunks()])
        elif answer.header("content-length"):
            answer.body = await self._exactly(int(answer.header("content-length")))
        else:
            answer.body = await self.rest()
        return answer

    async def chunks(self) -> AsyncIterator[bytes]:
        while size := int(await self._line(), 16):
            yield (await self._exactly(size + 2))[:-2]
        assert await self._line() == b"\r\n"

    async def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        async with asyncio.timeout(self.patience):
            return await self._reader.read()

    async def watch(self, path: str, **headers: str) -> AsyncIterator[dict[str, Any]]:
        """Ask for a watch and answer its events; it must begin with a 200."""
        await self.ask("GET", path, **headers)
        answer = await self.begin()
        assert answer.status == 200, answer
        return self.events()

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        """The events of a stream to its end."""
        rest = b""
        async for chunk in self.chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield json.loads(line)
        assert rest == b""

    async def _line(self) -> bytes:
        async with asyncio.timeout(self.patience):
            return await self._reader.readuntil(b"\n")

    async def _exactly(self, size: int) -> bytes:
        async with asyncio.timeout(self.patience):
            return await self._reader.readexactly(size)

    async def close(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return

    def abort(self) -> None:
        """End the connection without a goodbye."""
        self._writer.transport.abort()


def head(request_line: str, headers: Mapping[str, str]) -> bytes:
    lines = [request_line, *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@asynccontextmanager
async def connected(port: int, *, room: int = 0) -> AsyncIterator[Wire]:
    """A connection to this machine; room: a small receive buffer in bytes, so that who does not read is felt soon."""
    plain = socket.socket()
    if room:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    plain.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(plain, ("127.0.0.1", port))
    except OSError:
        plain.close()
        raise
    reader, writer = await asyncio.open_connection(sock=plain, limit=max(room, 1 << 16))
    wire = Wire(reader, writer)
    try:
        yield wire
    finally:
        await wire.close()
