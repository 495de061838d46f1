"""`kubernetes.urls`: url, isURL and the parts of a URL."""

from __future__ import annotations

from kube32_sim.api.cel.functions.declaring import URL, Overload, Special, function, method
from kube32_sim.api.cel.functions.gourls import GoUrl, parse_request_uri


def _url(text: str) -> Special:
    try:
        parse_request_uri(text)
    except ValueError as error:
        raise ValueError(f"URL parse error during conversion from string: {error}") from None
    return Special(URL, text)


def _is_url(text: str) -> bool:
    try:
        parse_request_uri(text)
    except ValueError:
        return False
    return True


def _read(value: Special) -> GoUrl:
    return parse_request_uri(value.text)


OVERLOADS: list[Overload] = [
    function("url", "string_to_url", ("string",), URL, _url),
    function("isURL", "is_url_string", ("string",), "bool", _is_url),
    method("getScheme", "url_get_scheme", (URL,), "string", lambda value: _read(value).scheme),
    method("getHost", "url_get_host", (URL,), "string", lambda value: _read(value).host),
    method("getHostname", "url_get_hostname", (URL,), "string", lambda value: _read(value).hostname),
    method("getPort", "url_get_port", (URL,), "string", lambda value: _read(value).port),
    method("getEscapedPath", "url_get_escaped_path", (URL,), "string", lambda value: _read(value).path),
    method("getQuery", "url_get_query", (URL,), "map<string, list<string>>", lambda value: _read(value).values()),
]
