"""Long lists leave in pieces: megabytes are never put together at once, and others are served in between.

The items are immutable bytes of one instant, so what changes while they are sent does not matter.  Putting 22 MB into
one string costs several times what sending it does: each time the memory is asked of the kernel anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aiohttp import web
from multidict import CIMultiDict

LONG = 1 << 20
"""Lists of at least this many bytes are sent in pieces."""
PIECE = 256 << 10


def is_long(parts: Sequence[bytes]) -> bool:
    return size(parts) >= LONG


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


async def send_long(request: web.BaseRequest, headers: CIMultiDict[str], parts: Sequence[bytes]) -> web.StreamResponse:
    """Answer with the parts and commas between them."""
    response = web.StreamResponse(headers=headers)
    response.content_length = size(parts)
    await response.prepare(request)
    for piece in pieces(parts):
        await response.write(piece)
    await response.write_eof()
    return response
