"""Long lists leave in pieces: megabytes are never put together at once, and others are served in between.

The items are immutable bytes of one instant, so what changes while they are sent does not matter.  Putting 22 MB into
one string costs several times what sending it does: each time the memory is asked of the kernel anew.

A list of plain JSON is known to its size before it is sent; every other form (rows, metadata, YAML, protobuf, indented,
compressed) is made while it is sent, in HTTP's chunks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence

import orjson
from aiohttp import web
from multidict import CIMultiDict

from kube32_sim.api.media import Accepted
from kube32_sim.api.resources import ResourceType
from kube32_sim.clock import turn
from kube32_sim.registry.reading import Page
from kube32_sim.server import encodings
from kube32_sim.server.answers import answer, compressing, takes_gzip, wants_pretty
from kube32_sim.server.encodings import Listing
from kube32_sim.server.forms import Form, JsonForm, listing

LONG = 1 << 20
"""Lists of objects of at least this many bytes are sent in pieces."""
PIECE = 256 << 10
SMALL_PIECE = 32 << 10
"""Of forms that are dear to make: others wait for no more than this."""


def size(parts: Sequence[bytes]) -> int:
    """Of the parts with commas between them."""
    return sum(map(len, parts)) + len(parts) - 1


def pieces(parts: Sequence[bytes]) -> Iterator[bytes]:
    """The parts with commas between them, in pieces of at least PIECE bytes but the last."""
    start: list[bytes] = []
    waiting, gathered = [*start], 0
    for part in parts:
        waiting.append(part)
        gathered += len(part)
        if gathered >= PIECE:
            yield b",".join(waiting)
            start = [b""]  # the comma before the next part
            waiting, gathered = [*start], 0
    if len(waiting) > len(start):
        yield b",".join(waiting)


async def send_list(
    request: web.BaseRequest,
    headers: CIMultiDict[str],
    accepted: Accepted,
    form: Form,
    row: ResourceType,
    page: Page,
) -> web.StreamResponse:
    """The answer to a list: already sent where it is long.  headers: for those."""
    pretty = accepted.encoding == "json" and wants_pretty(request)
    if isinstance(form, JsonForm) and accepted.encoding == "json":
        parts = form.parts(row, page)
        if size(parts) < LONG:
            return answer(b",".join(parts))
        if not pretty and not takes_gzip(request):
            return await _send_plain(request, headers, parts)
    elif sum(len(stored.raw) for stored in page.items) < LONG:
        return answer(form.many(row, page), content_type=accepted.content_type)
    headers["Content-Type"] = accepted.content_type
    return await _send_made(request, headers, listing(form, row, page), "pretty" if pretty else accepted.encoding)


async def _send_plain(
    request: web.BaseRequest, headers: CIMultiDict[str], parts: Sequence[bytes]
) -> web.StreamResponse:
    response = web.StreamResponse(headers=headers)
    response.content_length = size(parts)
    await response.prepare(request)
    for piece in pieces(parts):
        await response.write(piece)
        await turn()
    await response.write_eof()
    return response


async def _send_made(
    request: web.BaseRequest, headers: CIMultiDict[str], made: Listing, encoding: str
) -> web.StreamResponse:
    compressor = compressing() if takes_gzip(request) else None
    if compressor is not None:
        headers["Content-Encoding"] = "gzip"
        headers.add("Vary", "Accept-Encoding")
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    async for piece in _protobuf(made) if encoding == "protobuf" else _gathered(encodings.pieces(made, encoding)):
        await response.write(piece if compressor is None else compressor.compress(piece))
    if compressor is not None:
        await response.write(compressor.flush())
    await response.write_eof()
    return response


async def _gathered(made: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces joined to such as are worth sending, with a turn for everybody else after each."""
    waiting: list[bytes] = []
    gathered = 0
    for piece in made:
        waiting.append(piece)
        gathered += len(piece)
        if gathered >= SMALL_PIECE:
            yield b"".join(waiting)
            waiting, gathered = [], 0
            await turn()
    if waiting:
        yield b"".join(waiting)


async def _protobuf(made: Listing) -> AsyncIterator[bytes]:
    """Protobuf says first how long a list is, so all of it is made before it is sent."""
    from kube32_sim.api.protobuf.listing import ListWriter

    writer = ListWriter(orjson.loads(made.head))
    items = [piece async for piece in _gathered(writer.item(orjson.loads(item)) for item in made.items)]
    before, after = writer.around(sum(map(len, items)))
    yield before
    for piece in items:
        yield piece
        await turn()
    yield after
