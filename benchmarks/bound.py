"""What the platform itself can do: aiohttp's low-level server with handlers that do nothing of ours.

    GET  /bytes/N    N prepared bytes
    POST /json       read the body, decode it, encode it, answer with it (any other method the same)
    GET  /stream     a stream that stays open
    POST /emit       write the body to every stream: joined once a turn, straight to the transports

Run as `python -m benchmarks.bound`; it prints its address.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache

import orjson
import uvloop
from aiohttp import web


@lru_cache
def prepared(size: int) -> bytes:
    return b"x" * size


class Bound:
    def __init__(self) -> None:
        self._streams: list[web.BaseRequest] = []
        self._pending: list[bytes] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if path.startswith("/bytes/"):
            return web.Response(body=prepared(int(path[7:])), content_type="application/json")
        if path == "/stream":
            return await self._stream(request)
        body = await request.read()
        if path == "/emit":
            self._emit(body)
            return web.Response(body=b"{}", content_type="application/json")
        return web.Response(body=orjson.dumps(orjson.loads(body)), content_type="application/json")

    async def _stream(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        self._streams.append(request)
        await asyncio.get_running_loop().create_future()
        return response

    def _emit(self, frame: bytes) -> None:
        if not self._pending:
            asyncio.get_running_loop().call_soon(self._flush)
        self._pending.append(frame)

    def _flush(self) -> None:
        data = b"".join(self._pending)
        self._pending.clear()
        payload = b"%x\r\n%b\r\n" % (len(data), data)
        for request in self._streams:
            if request.transport is not None:
                request.transport.write(payload)


async def main() -> None:
    runner = web.ServerRunner(web.Server(Bound(), access_log=None), handle_signals=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=4096).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    uvloop.run(main())
