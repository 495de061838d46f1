"""Answers that are not about objects: discovery, OpenAPI, version, health and metrics."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from kube32_sim.api import discovery, media
from kube32_sim.api.account_tokens import CONFIGURATION_PATH, KEYS_PATH
from kube32_sim.api.customs.naming import DEFINITIONS
from kube32_sim.api.paths import Query, RequestInfo
from kube32_sim.api.resources import ResourceTable
from kube32_sim.clock import RealClock
from kube32_sim.storage.interface import Store

if TYPE_CHECKING:
    from kube32_sim.api.openapi import Answer, OpenAPI, StoredDefinitions

JsonObject = dict[str, Any]

STARTED = "poststarthook/start-cluster"
"""The check that loops and boards have been started."""
_ALIVE = ("ping", "log", "etcd")
_CHECKS: Mapping[str, tuple[str, ...]] = {
    "healthz": (*_ALIVE, STARTED),
    "livez": _ALIVE,
    "readyz": (*_ALIVE, "etcd-readiness", "informer-sync", STARTED, "shutdown"),
}
"""The checks in upstream's order.  Those of informers pass whenever anything is answered at all."""
_STORE_CHECKS = ("etcd", "etcd-readiness")
"""Those of the store, by the names that they have upstream."""
_OTHERS = (
    CONFIGURATION_PATH, "/metrics", "/openapi/v2", "/openapi/v3", "/openapi/v3/", KEYS_PATH, "/version",
    *(f"/{prefix}{check and '/'}{check}" for prefix, checks in _CHECKS.items() for check in ("", *checks)),
)  # fmt: skip
"""The paths of what is not about groups and versions."""
TEXT = "text/plain; charset=utf-8"
_YEAR = 365 * 86400
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Found:
    body: bytes
    content_type: str = media.JSON
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class CustomDefinitions:
    """The CustomResourceDefinitions of a store (see `openapi.StoredDefinitions`)."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self) -> dict[Hashable, Callable[[], JsonObject]]:
        return {(stored.uid, stored.revision): stored.object for stored in self._store.list(DEFINITIONS)}


class Documents:
    """metrics: the Prometheus text.  ready: whether the server may be used.  (`discovery.address` is set later.)

    definitions: CustomResourceDefinitions, whose schemas OpenAPI has.  computed: storages of what nobody may write.
    trouble: what keeps the store from working; "" while it does.  needs_store: whether one that is in trouble makes
    livez fail, too: nobody starts a server anew because its disk is full.
    """

    def __init__(
        self,
        table: ResourceTable,
        metrics: Callable[[], str],
        ready: Callable[[], bool],
        definitions: StoredDefinitions | None = None,
        computed: discovery.Storages = (),
        trouble: Callable[[], str] = str,
        *,
        needs_store: bool = True,
    ) -> None:
        self.discovery = discovery.Discovery(table, read_only=computed)
        self._table = table
        self._definitions = definitions
        self._caches = RealClock()  # those of clients, who live in their own time
        self._metrics = metrics
        self._ready = ready
        self._trouble = trouble
        self._indifferent = () if needs_store else ("livez",)

    def find(self, info: RequestInfo, query: Query, accept: str, if_none_match: str) -> Found | None:
        """The answer to a GET; None where there is no such page."""
        if info.kind == "discovery":
            return self._discovery(info, accept, if_none_match)
        if info.kind == "openapi":
            return self._openapi_document(self._openapi.answer(info, query, accept, if_none_match))
        if info.kind == "version":
            media.check_route(accept, media.JSON)
            return Found(orjson.dumps(discovery.version_document(), option=orjson.OPT_INDENT_2))
        if info.kind == "index":
            return Found(orjson.dumps(discovery.index_document(self._table, _OTHERS)))
        if info.kind == "metrics":
            return Found(self._metrics().encode(), PROMETHEUS)
        if info.kind == "health":
            return self._health(info.prefix, info.rest, query)
        return None

    @cached_property
    def _openapi(self) -> OpenAPI:
        from kube32_sim.api.openapi import OpenAPI  # takes its time, which a start has not

        return OpenAPI(self._table, self._definitions)

    def _openapi_document(self, answer: Answer) -> Found:
        headers = answer.headers
        if answer.forever:
            headers = {**headers, "Expires": formatdate(self._caches.now() + _YEAR, usegmt=True)}
        return Found(answer.body, answer.content_type, answer.status, headers)

    def _health(self, prefix: str, check: str, query: Query) -> Found | None:
        """All checks of `healthz`, `livez` or `readyz`, or one of them; each told if `verbose` or one fails."""
        checks = {name: self._passed(prefix, name) for name in _CHECKS[prefix]}
        if check:
            return _verdict(checks[check], b"ok", b"not ready\n") if check in checks else None
        excluded = query.get("exclude", ())
        ok = all(passed or name in excluded for name, passed in checks.items())
        told = "".join(f"{_told(name, passed, name in excluded)}\n" for name, passed in checks.items())
        told += f"{prefix} check {'passed' if ok else 'failed'}\n"
        return _verdict(ok, told.encode() if "verbose" in query else b"ok", told.encode())

    def _passed(self, prefix: str, check: str) -> bool:
        if check in _STORE_CHECKS:
            return prefix in self._indifferent or not self._trouble()
        return check != STARTED or self._ready()

    def _discovery(self, info: RequestInfo, accept: str, if_none_match: str) -> Found:
        whole = not info.version and not info.group
        accepted = media.negotiate_discovery(accept, aggregated=whole, routed=has_route(info))
        document = self.discovery.answer(info, accepted)
        headers = {"ETag": document.etag, "Vary": "Accept"}
        if document.etag in if_none_match:
            return Found(b"", accepted.content_type, 304, headers)
        return Found(document.body, accepted.content_type, 200, headers)


def has_route(info: RequestInfo) -> bool:
    """Whether a path has a route of its own upstream, which looks at method and Accept before anything is answered.

    /apis, /apis/GROUP, health, metrics and OpenAPI have none: they answer every method alike.
    """
    return info.kind == "version" or (info.kind == "discovery" and (info.prefix == "api" or bool(info.version)))


def _told(name: str, passed: bool, excluded: bool) -> str:
    if excluded:
        return f"[+]{name} excluded: ok"
    return f"[+]{name} ok" if passed else f"[-]{name} failed: reason withheld"


def _verdict(ok: bool, passed: bytes, failed: bytes) -> Found:
    return Found(passed, TEXT) if ok else Found(failed, TEXT, 503)
