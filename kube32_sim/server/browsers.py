"""What browsers are told of every answer: that it is no page, is not to be guessed at, framed or kept.

Answers of the API are data.  What is a page says so with `page_headers`, whose policy then counts.  Nothing here, or
anywhere, lets pages of other origins read answers (CORS): that would be for them only.
"""

from __future__ import annotations

from multidict import CIMultiDict

NO_PAGE = "default-src 'none'; frame-ancestors 'none'"
PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Of a page of this server: files of its own, no inline scripts or styles, nothing of others, and in nobody's frame."""
_POLICY, _CACHE = "Content-Security-Policy", "Cache-Control"
_SNIFFING = "X-Content-Type-Options"
KEEP_NOTHING = "no-cache, private"


def harden(headers: CIMultiDict[str]) -> None:
    """Add to the headers of an answer what it does not say itself; versions of libraries are nobody's business."""
    headers.pop("Server", None)
    headers[_SNIFFING] = "nosniff"
    if _POLICY not in headers:
        headers[_POLICY] = NO_PAGE
    if _CACHE not in headers:
        headers[_CACHE] = KEEP_NOTHING


def page_headers(content_type: str) -> dict[str, str]:
    """Of a page of this server and of the files that belong to it."""
    return {
        "Content-Type": content_type,
        _POLICY: PAGE,
        _CACHE: KEEP_NOTHING,
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
