"""URLs as Go's ParseRequestURI reads them: absolute ones and absolute paths, and what is wrong with others."""

from __future__ import annotations

import json
import re
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})(.{0,2})", re.DOTALL)
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_HOST_WRONG = re.compile(r"[ \"<>\\^`{|}]")
_PATH_KEPT = "$&+,/:;=@!'()*~%[]-._"


class GoUrl(NamedTuple):
    """host: with brackets and port.  path: escaped, as Go's EscapedPath."""

    scheme: str
    host: str
    path: str
    query: str

    @property
    def hostname(self) -> str:
        if self.host.startswith("["):
            return self.host[1:].partition("]")[0]
        return self.host.partition(":")[0]

    @property
    def port(self) -> str:
        rest = self.host.partition("]")[2] if self.host.startswith("[") else self.host
        return rest.partition(":")[2]

    def values(self) -> dict[str, list[str]]:
        """The parameters of the query, unescaped; what is no valid escape is left out, as Go does."""
        found: dict[str, list[str]] = {}
        for part in self.query.split("&"):
            if part and ";" not in part and not _ESCAPE.search(part):
                for key, value in parse_qsl(part, keep_blank_values=True):
                    found.setdefault(key, []).append(value)
        return found


def parse_request_uri(text: str) -> GoUrl:
    """Raises ValueError: `parse "x": invalid URI for request`."""
    try:
        return _parse(text)
    except ValueError as error:
        raise ValueError(f"parse {json.dumps(text, ensure_ascii=False)}: {error}") from None


def _parse(text: str) -> GoUrl:
    if _CONTROL.search(text):
        raise ValueError("net/url: invalid control character in URL")
    if not text:
        raise ValueError("empty url")
    scheme, rest = _scheme(text)
    rest, _, _fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:  # an opaque one, such as mailto:x
            return GoUrl(scheme, "", "", query)
        raise ValueError("invalid URI for request")
    host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        host, rest = _host(authority), slash + path
    _check_escapes(rest)
    return GoUrl(scheme, host, quote(rest, safe=_PATH_KEPT), query)


def _scheme(text: str) -> tuple[str, str]:
    before, colon, rest = text.partition(":")
    if not colon or re.search(r"[^a-zA-Z0-9+.-]", before):
        return "", text
    if not before:
        raise ValueError("missing protocol scheme")
    if not _SCHEME.fullmatch(before):
        return "", text
    return before.lower(), rest


def _host(authority: str) -> str:
    user, at, host = authority.rpartition("@")
    if at and not _USER.fullmatch(user):
        raise ValueError("net/url: invalid userinfo")
    if host.startswith("["):
        inside, closing, port = host.rpartition("]")
        if not closing:
            raise ValueError("missing ']' in host")
        _check_port(port, port)
        _check_escapes(inside)
    else:
        _check_port(host[host.rindex(":") :] if ":" in host else "", host)
    wrong = _HOST_WRONG.search(host)
    if wrong:
        raise ValueError(f"invalid character {json.dumps(wrong[0])} in host name")
    _check_escapes(host)
    return unquote(host)


def _check_port(port: str, host: str) -> None:
    if host.count(":") > 1 or (port and not re.fullmatch(r":[0-9]*", port)):
        shown = host[host.index(":") :] if host.count(":") > 1 else port
        raise ValueError(f"invalid port {json.dumps(shown)} after host")


def _check_escapes(text: str) -> None:
    wrong = _ESCAPE.search(text)
    if wrong:
        raise ValueError(f"invalid URL escape {json.dumps('%' + wrong[1], ensure_ascii=False)}")
