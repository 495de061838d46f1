"""One request about a resource, with what has been found out about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aiohttp import web
from multidict import CIMultiDict

from kube32_sim.api import media, options, paths
from kube32_sim.api.managed.entries import manager_name
from kube32_sim.api.paths import Query, RequestInfo
from kube32_sim.api.users import User
from kube32_sim.registry.asked import Asked
from kube32_sim.server.answers import JSON_HEADERS, warning

if TYPE_CHECKING:
    from kube32_sim.server.streaming import Stream


class Call:
    """accepted: the form of the answer.  stream_headers: of an answer that is a stream.  warnings: of the body, told
    also where the request is refused in the end.  seen: the newest revision that the answer tells of; 0: of whatever
    there was.  stale: why what is read may be out of date.  stream: what makes the stream of a watch, if it is
    not as others.
    """

    __slots__ = (
        "accepted",
        "info",
        "query",
        "request",
        "row",
        "seen",
        "stale",
        "stream",
        "stream_headers",
        "subresource",
        "user",
        "warnings",
    )

    def __init__(
        self, request: web.BaseRequest, info: RequestInfo, query: Query, user: User, target: paths.Target
    ) -> None:
        self.request = request
        self.info = info
        self.query = query
        self.user = user
        self.row, self.subresource = target
        self.accepted = media.PLAIN
        self.stream_headers = CIMultiDict(JSON_HEADERS)
        self.warnings: list[str] = []
        self.seen = 0
        self.stale = ""
        self.stream: Callable[..., Stream] | None = None

    def headers_sent_at_once(self) -> CIMultiDict[str]:
        """Those of an answer that is a stream."""
        if self.stale:
            self.stream_headers.add(*warning(self.stale))
        return self.stream_headers

    def asked(self, wanted: options.WriteOptions = options.PLAIN_WRITE) -> Asked:
        info = self.info
        manager = manager_name(wanted.field_manager, self.request.headers.get("User-Agent", ""))
        return Asked(self.row, info.namespace, info.name, info.subresource, wanted.dry_run, self.user, manager, wanted)
