"""Which OpenAPI document a request gets, and in which form.

v3 is served as JSON only: clients that take nothing but protobuf are refused (406); kubectl reads JSON.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from kube32_sim.api.errors import method_not_allowed
from kube32_sim.api.media import JSON
from kube32_sim.api.openapi.documents import Documents, NoDefinitions, StoredDefinitions
from kube32_sim.api.paths import Query, RequestInfo
from kube32_sim.api.resources import ResourceTable

PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_OLD_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
"""What Go clients call it when they ask for it; the answer has the other name."""
_TEXT = "text/plain; charset=utf-8"


class Answer(NamedTuple):
    """status 200, 301, 304, 404 or 406; headers besides the content type.  forever: it may be kept for good."""

    status: int
    body: bytes
    content_type: str
    headers: Mapping[str, str]
    forever: bool = False


class OpenAPI:
    """The documents of one table, and of the custom types that `definitions` says are stored."""

    def __init__(self, table: ResourceTable, definitions: StoredDefinitions | None = None) -> None:
        self._documents = Documents(table, definitions or NoDefinitions())

    def answer(self, info: RequestInfo, query: Query, accept: str = "", if_none_match: str = "") -> Answer:
        """Answer a request for /openapi/…; raises ApiError 405 for anything but GET."""
        if info.verb != "get":
            raise method_not_allowed()
        self._documents.refresh()
        if info.rest == "v2":
            return self._v2(accept, if_none_match)
        if info.rest == "v3":
            return _cached(self._documents.index(), _TEXT, if_none_match)
        name = info.rest.removeprefix("v3/")
        if name == info.rest or name not in self._documents:
            return Answer(404, b"404 page not found\n", _TEXT, {})
        if _chosen(accept, (JSON,)) is None:
            return _not_acceptable()
        return self._v3(name, query.get("hash", ("",))[0], if_none_match)

    def _v2(self, accept: str, if_none_match: str) -> Answer:
        form = _chosen(accept, (JSON, PROTOBUF, _OLD_PROTOBUF))
        if form is None:
            return _not_acceptable()
        # one tag for both forms, as upstream has it: Vary keeps them apart
        tag = self._documents.v2_tag()
        if form == JSON:
            return _cached(self._documents.json("v2"), JSON, if_none_match, tag)
        return _cached(self._documents.protobuf(), PROTOBUF, if_none_match, tag)

    def _v3(self, name: str, hashed: str, if_none_match: str) -> Answer:
        current = self._documents.hash(name)
        if hashed and hashed != current:
            return Answer(301, b"", JSON, {"Location": f"/openapi/v3/{name}?hash={current}"})
        answer = _cached(self._documents.json(name), JSON, if_none_match, current)
        if not hashed:
            return answer
        return answer._replace(headers={**answer.headers, "Cache-Control": "public, immutable"}, forever=True)


def _not_acceptable() -> Answer:
    return Answer(406, b"", _TEXT, {"Vary": "Accept"})


def _chosen(accept: str, offered: tuple[str, ...]) -> str | None:
    """The offered form that the client likes best, of those it likes equally the one that it names first."""
    clauses = []
    for text in accept.split(",") if accept else ("*/*",):
        media, *parameters = (part.strip() for part in text.split(";"))
        quality = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        clauses.append((_number(quality), media))
    for _, media in sorted(clauses, key=lambda clause: -clause[0]):
        for form in offered:
            if media in (form, "*/*", "application/*"):
                return form
    return None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def _cached(body: bytes, content_type: str, if_none_match: str, tag: str = "") -> Answer:
    """The document with its ETag, or 304 for a client that has it."""
    quoted = f'"{tag or hashlib.sha512(body).hexdigest().upper()}"'
    headers = {"ETag": quoted, "Vary": "Accept"}
    if quoted in if_none_match or if_none_match.strip() == "*":
        return Answer(304, b"", content_type, headers)
    return Answer(200, body, content_type, headers)
