"""One request: who asks, what for, and every failure as a Status.

The way of a request is written here once: path -> user -> row -> its verb (`verbs`) -> answer.
"""

from __future__ import annotations

import asyncio
import logging

import orjson
from aiohttp import web

from kube32_sim.api import errors, media, paths
from kube32_sim.api.builtin import deprecation
from kube32_sim.api.errors import ApiError
from kube32_sim.api.paths import Query, RequestInfo
from kube32_sim.limits import DEFAULTS, Limits
from kube32_sim.metrics.meters import stopwatch
from kube32_sim.metrics.traffic import Traffic
from kube32_sim.option_fields import flag
from kube32_sim.recording.tape import Tape
from kube32_sim.registry.fault_scenarios import FaultScenarios, Running
from kube32_sim.registry.registry import Registry
from kube32_sim.server import impersonation, openid
from kube32_sim.server.accidents import tell_accident
from kube32_sim.server.aggregation import refuse_aggregated
from kube32_sim.server.answers import answer, finish, plain_not_found, warning
from kube32_sim.server.authentication import Authenticator
from kube32_sim.server.authorization import attributes_of, demand, demand_creation
from kube32_sim.server.call import Call
from kube32_sim.server.documents import Documents, has_route
from kube32_sim.server.inflight import Inflight
from kube32_sim.server.pages import is_page, page
from kube32_sim.server.refusals import Refusals
from kube32_sim.server.streaming import Streams
from kube32_sim.server.verbs import READING, Verbs
from kube32_sim.storage.interface import Unavailable
from kube32_sim.storage.watching import Hub

log = logging.getLogger(__name__)


class _About:
    """What a request is about, once it is known that there is such a thing."""

    __slots__ = ("info",)

    def __init__(self) -> None:
        self.info: RequestInfo | None = None


def body_too_large(most: int) -> ApiError:
    """In upstream's words; where it is not upstream's bound, with the option that has set it."""
    option = flag("max_request_body_bytes")
    more = "" if most == DEFAULTS.max_request_body_bytes else f" ({option})"
    return errors.too_large(f"Request entity too large: limit is {most}{more}", option)


class Handler:
    def __init__(
        self,
        registry: Registry,
        hub: Hub,
        authenticator: Authenticator,
        documents: Documents,
        limits: Limits = DEFAULTS,
        refusals: Refusals | None = None,
        traffic: Traffic | None = None,
        inflight: Inflight | None = None,
        tape: Tape | None = None,
        faults: FaultScenarios | None = None,
    ) -> None:
        """tape: what writes are recorded on while somebody wants that."""
        self._registry = registry
        self._authenticator = authenticator
        self._documents = documents
        self.refusals = refusals or Refusals()
        self.streams = Streams(limits, self.refusals)
        self._verbs = Verbs(registry, hub, self.streams, authenticator.tokens)
        self.inflight = inflight or Inflight(limits)
        self._traffic = traffic or Traffic()
        self._tape = tape
        self._largest = limits.max_request_body_bytes
        self._faults = faults or FaultScenarios(registry.clock)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        accept, about, begun = request.headers.get("Accept", ""), _About(), stopwatch()
        try:
            try:
                response = await self._answer(request, accept, about)
            except ApiError as error:
                response = self._failure(error, accept)
            except web.HTTPRequestEntityTooLarge:
                response = self._failure(body_too_large(self._largest), accept)
            if type(response) is web.Response:
                await finish(request, response)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:
            tell_accident(log, request)
            message = "the simulator failed on this request; its log says where"
            response = self._failure(ApiError(503, "ServiceUnavailable", message), "")
        self._traffic.note(about.info, request.method, response.status, stopwatch() - begun)
        return response

    def _failure(self, error: ApiError, accept: str) -> web.Response:
        self.refusals.note(error)
        form = media.error_form(accept)
        return answer(orjson.dumps(error.status()), error.code, form.content_type, (), error.headers)

    async def _answer(self, request: web.BaseRequest, accept: str, about: _About) -> web.StreamResponse:
        target = request.rel_url.raw_path_qs
        path, _, raw_query = target.partition("?")
        query = paths.parse_query(raw_query)
        info = paths.parse(request.method, path, query)
        if info.kind == "other" and is_page(path):
            self._authenticator.check_origin(request)
            return page(request, path)
        user = self._authenticator.user(request)
        authorizer, asked = self._registry.authorizer, attributes_of(info, query)
        if impersonation.wanted(request.headers):
            user = impersonation.impersonated(user, request.headers, authorizer, asked)
        demand(authorizer, user, asked)
        if info.kind != "resource":
            if info.kind != "other":
                about.info = info
            return self._document(request, info, query, accept)
        if request.method == "HEAD":
            return answer(b"", 405)
        if paths.not_found_is_plain(self._registry.table, info):
            refuse_aggregated(self._registry.store, info)
            return plain_not_found()
        call = Call(request, info, query, user, paths.resolve(self._registry.table, info))
        about.info = info
        old = deprecation(call.row)
        told = [] if old is None else [old]
        for text in told:
            call.stream_headers.add(*warning(text))
        try:
            demand_creation(self._registry, call)
            if self._faults.running is None:
                response = await self.inflight.run(call, accept, self._work)
            else:
                response = await self._faulty(self._faults.running, call, accept)
        except ApiError as error:
            if call.info.verb not in READING and not isinstance(error, Unavailable):
                await self._registry.store.kept(self._registry.store.revision)
            error.headers = (*error.headers, *map(warning, dict.fromkeys((*told, *call.warnings, *error.warnings))))
            raise
        if not response.prepared:
            for text in filter(None, (*told, call.stale)):
                response.headers.add(*warning(text))
        return response

    async def _record(self, call: Call, code: int, response: web.StreamResponse | None = None) -> None:
        from kube32_sim.server.recording import record

        registry = self._registry
        if self._tape is not None:
            await record(self._tape, call, code, response, registry.clock.now(), registry.store.revision)

    async def _work(self, call: Call, accept: str) -> web.StreamResponse:
        """It is recorded as it went, whatever a fault lets its client know of it."""
        while True:
            try:
                response = await self._verbs(call, accept)
            except ApiError as error:
                if await self._verbs.refusal_kept(call, error):
                    if self._tape is not None and self._tape.on:
                        await self._record(call, error.code)
                    raise
                continue
            if await self._verbs.kept(call, response):
                if self._tape is not None and self._tape.on:
                    await self._record(call, response.status, response)
                return response

    async def _faulty(self, running: Running, call: Call, accept: str) -> web.StreamResponse:
        from kube32_sim.server.faults import under_faults

        return await under_faults(running, call, lambda: self.inflight.run(call, accept, self._work))

    # what is not about resources

    def _document(self, request: web.BaseRequest, info: RequestInfo, query: Query, accept: str) -> web.Response:
        address, key = self._documents.discovery.address, self._registry.signing_key
        found = openid.document(info.path, request.method, address, key)
        if found is not None:
            return found
        if info.kind == "other" or (info.kind == "discovery" and paths.not_found_is_plain(self._registry.table, info)):
            refuse_aggregated(self._registry.store, info)
            return plain_not_found()
        if request.method != "GET" and has_route(info):
            raise errors.method_not_allowed()
        page = self._documents.find(info._replace(verb="get"), query, accept, request.headers.get("If-None-Match", ""))
        if page is None:
            return plain_not_found()
        return answer(page.body, page.status, page.content_type, (), page.headers)
