"""One call of a webhook: a POST over HTTPS, with a time-out in real time (webhooks are programs outside)."""

from __future__ import annotations

import aiohttp
import orjson

from kube32_sim.api.strategies.base import JsonObject, Lookup
from kube32_sim.api.webhooks.review import LONGEST
from kube32_sim.version import VERSION
from kube32_sim.webhooks.connecting import Resolver, Unreachable, target, why

HEADERS = {
    "User-Agent": f"kube-apiserver-admission (kube32-sim/{VERSION})",
    "Content-Type": "application/json",
    "Accept": "application/json, */*",
}


class Caller:
    """Keeps connections open between calls.  Close it with `close`."""

    def __init__(self, cluster: Lookup) -> None:
        self._cluster = cluster
        self._session: aiohttp.ClientSession | None = None

    async def call(self, client: JsonObject, body: JsonObject, seconds: int) -> tuple[int, bytes]:
        """HTTP status and body of the answer.  client: a clientConfig.  Raises Unreachable."""
        where = target(client)
        url = f"{where.url}?timeout={seconds}s"
        try:
            async with self._open().post(
                url,
                data=orjson.dumps(body),
                ssl=where.context,
                timeout=aiohttp.ClientTimeout(total=seconds),
                allow_redirects=False,
            ) as response:
                return response.status, await _read(response)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, Unreachable) as error:
            raise Unreachable(f'failed to call webhook: Post "{url}": {why(error, url)}') from None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, resolver=Resolver(self._cluster), use_dns_cache=False)
            self._session = aiohttp.ClientSession(
                headers=HEADERS, connector=connector, cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


async def _read(response: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for chunk in response.content.iter_any():
        parts.append(chunk)
        size += len(chunk)
        if size > LONGEST:
            response.close()
            raise Unreachable(f"the answer has more than {LONGEST} bytes")
    return b"".join(parts)
