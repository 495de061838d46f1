"""Answers that are not about objects: discovery, OpenAPI, version, health and metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import orjson

from kube32_sim.api import discovery, media
from kube32_sim.api.openapi import OpenAPI
from kube32_sim.api.paths import Query, RequestInfo
from kube32_sim.api.resources import ResourceTable

TEXT = "text/plain; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Found:
    body: bytes
    content_type: str = media.JSON
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Documents:
    """metrics: the Prometheus text.  ready: whether the server may be used.  (`discovery.address` is set later.)"""

    def __init__(self, table: ResourceTable, metrics: Callable[[], str], ready: Callable[[], bool]) -> None:
        self.discovery = discovery.Discovery(table)
        self._openapi = OpenAPI(table)
        self._metrics = metrics
        self._ready = ready

    def find(self, info: RequestInfo, query: Query, accept: str, if_none_match: str) -> Found | None:
        """The answer to a GET; None where there is no such page."""
        if info.kind == "discovery":
            return self._discovery(info, accept, if_none_match)
        if info.kind == "openapi":
            answer = self._openapi.answer(info, query, accept, if_none_match)
            return Found(answer.body, answer.content_type, answer.status, answer.headers)
        if info.kind == "version":
            return Found(orjson.dumps(discovery.version_document()))
        if info.kind == "metrics":
            return Found(self._metrics().encode(), PROMETHEUS)
        if info.kind == "health" and info.rest in ("", "ping"):
            ok = info.prefix == "livez" or self._ready()
            return Found(b"ok" if ok else b"not ready\n", TEXT, 200 if ok else 503)
        return None

    def _discovery(self, info: RequestInfo, accept: str, if_none_match: str) -> Found:
        whole = not info.version and not info.group
        accepted = media.negotiate_discovery(accept, aggregated=whole)
        document = self.discovery.answer(info, accepted)
        headers = {"ETag": document.etag, "Vary": "Accept"}
        if document.etag in if_none_match:
            return Found(b"", accepted.content_type, 304, headers)
        return Found(document.body, accepted.content_type, 200, headers)
