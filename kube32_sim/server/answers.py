"""Answers as HTTP has them: headers, warnings, the form of the body, compression.

Everything makes its answers as JSON; `finish` puts them into what their Content-Type says, at the end.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from aiohttp import web
from multidict import CIMultiDict

from kube32_sim.api import media, paths
from kube32_sim.server.encodings import encoded, encoding_of

GZIP_FROM = 128 << 10
"""Answers of more than this size are compressed for clients that accept it (as upstream)."""
ASIDE_FROM = 256 << 10
"""Beyond this size others are served while a thread encodes or compresses."""
MOST_WARNED = 4096
LONGEST_WARNING = 256
"""Characters of all warnings together, and of each where that is not enough (as upstream)."""
JSON_HEADERS = (("Content-Type", media.JSON), ("Cache-Control", "no-cache, private"))


def answer(
    body: bytes, status: int = 200, content_type: str = media.JSON, warnings: Sequence[str] = (), extra: Any = ()
) -> web.Response:
    headers: CIMultiDict[str] = CIMultiDict(extra)
    headers["Content-Type"] = content_type
    headers.setdefault("Cache-Control", "no-cache, private")
    for text in _within_bounds(warnings):
        headers.add(*warning(text))
    return web.Response(body=body, status=status, headers=headers)


def _within_bounds(warnings: Sequence[str]) -> Sequence[str]:
    """Warnings as long as all fit; else each cut short, and only the first of them: clients bound their headers."""
    if sum(map(len, warnings)) <= MOST_WARNED:
        return warnings
    kept: list[str] = []
    left = MOST_WARNED
    for text in warnings:
        cut = text[:LONGEST_WARNING]
        left -= len(cut)
        if left < 0:
            break
        kept.append(cut)
    return kept


def warning(text: str) -> tuple[str, str]:
    """A header with a quoted-string of RFC 7230; control characters cannot be said in one."""
    clean = "".join(c for c in text if c.isprintable()).replace("\\", "\\\\").replace('"', '\\"')
    return "Warning", f'299 - "{clean}"'


def plain_not_found() -> web.Response:
    return web.Response(status=404, text=paths.PLAIN_NOT_FOUND)


class Ready(web.Response):
    """An answer that leaves as it is."""


_PEOPLE = ("curl", "Wget", "Mozilla/5.0")
"""How the user agents of people begin: they get JSON indented (as upstream)."""
_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))


def wants_pretty(request: web.BaseRequest) -> bool:
    """Whether JSON is to be indented: as the query says, or as those get it who are people, or ask for it by Accept."""
    query = request.rel_url.raw_query_string
    if "pretty" in query:
        asked = paths.parse_query(query).get("pretty", ("",))[0]
        if asked:
            return asked in _TRUE
    headers = request.headers
    return headers.get("User-Agent", "").startswith(_PEOPLE) or ";pretty=1" in headers.get("Accept", "")


def takes_gzip(request: web.BaseRequest) -> bool:
    accepted = request.headers.get("Accept-Encoding", "").split(",")
    return any(encoding.strip() == "gzip" for encoding in accepted)


async def finish(request: web.BaseRequest, response: web.Response) -> None:
    """Put an answer into the encoding that its Content-Type says, and compress a large one where that is accepted."""
    body = response.body
    if not isinstance(body, bytes) or not body:
        return
    encoding = encoding_of(response.headers["Content-Type"])
    if encoding == "json" and wants_pretty(request) and not request.rel_url.raw_path.startswith("/openapi"):
        encoding = "pretty"
    if encoding not in ("", "json"):
        body = response.body = await _aside(encoded, body, encoding)
    if len(body) > GZIP_FROM and takes_gzip(request):
        response.body = await _aside(_gzip, body)
        response.headers["Content-Encoding"] = "gzip"
        response.headers.add("Vary", "Accept-Encoding")


async def _aside(change: Callable[..., bytes], body: bytes, *more: str) -> bytes:
    """What becomes of a body; in a thread where that takes long."""
    return change(body, *more) if len(body) < ASIDE_FROM else await asyncio.to_thread(change, body, *more)


def _gzip(body: bytes) -> bytes:
    compressor = compressing()
    return b"".join((compressor.compress(body), compressor.flush()))


def compressing() -> Any:
    return zlib.compressobj(1, zlib.DEFLATED, 31)
