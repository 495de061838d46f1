"""Answers as HTTP has them: headers, warnings, YAML, compression."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence
from typing import Any

import orjson
import yaml
from aiohttp import web
from multidict import CIMultiDict

from kube32_sim.api import media, paths

GZIP_FROM = 128 << 10
"""Answers of at least this size are compressed for clients that accept it (as upstream)."""
ASIDE_FROM = 1 << 20
"""Beyond this size others are served while a thread compresses."""
MOST_WARNED = 4096
LONGEST_WARNING = 256
"""Characters of all warnings together, and of each where that is not enough (as upstream)."""
JSON_HEADERS = (("Content-Type", media.JSON), ("Cache-Control", "no-cache, private"))


def answer(
    body: bytes, status: int = 200, content_type: str = media.JSON, warnings: Sequence[str] = (), extra: Any = ()
) -> web.Response:
    headers: CIMultiDict[str] = CIMultiDict(extra)
    headers["Content-Type"] = content_type
    headers["Cache-Control"] = "no-cache, private"
    for text in _within_bounds(warnings):
        headers.add("Warning", f"299 - {quoted(text)}")
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


def quoted(text: str) -> str:
    """A quoted-string of RFC 7230; control characters cannot be said in a header."""
    clean = "".join(c for c in text if c.isprintable())
    return '"' + clean.replace("\\", "\\\\").replace('"', '\\"') + '"'


def plain_not_found() -> web.Response:
    return web.Response(status=404, text=paths.PLAIN_NOT_FOUND)


def to_yaml(body: bytes) -> bytes:
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.dump(orjson.loads(body), Dumper=dumper, allow_unicode=True, encoding="utf-8")


def takes_gzip(request: web.BaseRequest) -> bool:
    accepted = request.headers.get("Accept-Encoding", "").split(",")
    return any(encoding.strip() == "gzip" for encoding in accepted)


async def compress(request: web.BaseRequest, response: web.Response) -> None:
    """Compress a large answer for a client that accepts it."""
    body = response.body
    if not isinstance(body, bytes) or len(body) < GZIP_FROM or not takes_gzip(request):
        return
    response.body = _gzip(body) if len(body) < ASIDE_FROM else await asyncio.to_thread(_gzip, body)
    response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"


def _gzip(body: bytes) -> bytes:
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31)
    return compressor.compress(body) + compressor.flush()
