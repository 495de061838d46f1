"""What browsers are told of every answer: that it is no page, is not to be guessed at, framed or kept.

Answers of the API are data.  Nothing here, or anywhere, lets pages of other origins read answers (CORS): that would be
for them only.
"""

from __future__ import annotations

from multidict import CIMultiDict

NO_PAGE = "default-src 'none'; frame-ancestors 'none'"
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
