"""The format `uri`: what Go's url.ParseRequestURI accepts."""

from __future__ import annotations

import re

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_BAD_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")
_PORT = re.compile(r":[0-9]*")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_HOST_FORBIDDEN = re.compile(r'[\x00-\x20"<>\\^`{|}#/?@]')
_HOST_ESCAPES = re.compile("%(?!25)[0-7]")


def is_request_uri(text: str) -> bool:
    """An absolute URI, or an absolute path."""
    if not text or any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        return False
    if text == "*":
        return True
    scheme = _SCHEME.match(text)
    if scheme is None and (text[0] == ":" or not text.startswith("/")):
        return False
    rest = text[scheme.end() :] if scheme else text
    rest = rest.partition("?")[0]
    if scheme and not rest.startswith("/"):
        return True  # opaque, as in mailto:someone
    if not rest.startswith("/"):
        return False
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        return _is_authority(authority) and not _BAD_ESCAPE.search(slash + path)
    return not _BAD_ESCAPE.search(rest)


def _is_authority(text: str) -> bool:
    user, at, host = text.rpartition("@")
    if at and (not _USER.fullmatch(user) or _BAD_ESCAPE.search(user)):
        return False
    if host.startswith("["):
        inside, bracket, port = host.rpartition("]")
        return bool(bracket and inside) and (not port or _PORT.fullmatch(port) is not None)
    colon = host.rfind(":")
    if colon >= 0 and not _PORT.fullmatch(host[colon:]):
        return False
    return not (_HOST_FORBIDDEN.search(host) or _BAD_ESCAPE.search(host) or _HOST_ESCAPES.search(host))
