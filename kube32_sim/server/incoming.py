"""A request as it comes off the wire: its body, and text that may be none."""

from __future__ import annotations

import zlib

from aiohttp import HttpVersion11, web

from kube32_sim.api import errors


async def read_body(request: web.BaseRequest) -> bytes:
    """All of it.  Raises ApiError 400, or HTTPRequestEntityTooLarge: at once where the client says beforehand."""
    _let_send(request)
    try:
        return await request.read()
    except (ValueError, zlib.error, web.RequestPayloadError) as error:
        raise errors.bad_request(f"the request body cannot be read: {error}") from error


def _let_send(request: web.BaseRequest) -> None:
    """Tell a client that waits for it (`Expect: 100-continue`) to send its body, unless that is too large."""
    if request.content.is_eof():
        return
    most, length = request.client_max_size, request.content_length
    if length is not None and length > most:
        raise web.HTTPRequestEntityTooLarge(max_size=most, actual_size=length)
    if request.headers.get("Expect", "").lower() != "100-continue":
        return
    if request.transport is not None and request.version >= HttpVersion11 and not request.content.total_bytes:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def told(text: str) -> str:
    """A header or path, without what is no text, so that it can be written as JSON."""
    return text.encode("utf-8", "replace").decode()
