"""What a request about a resource asks for: options and body -> registry -> the form of the answer.

What the verbs mean is the registry's business; streams are `streaming`'s.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import orjson
from aiohttp import HttpVersion11, web
from multidict import CIMultiDict

from kube32_sim.api import bodies, errors, media, options
from kube32_sim.api.columns import columns_for
from kube32_sim.api.confidential import REDACTED, unquoted
from kube32_sim.api.configuration import Configuration
from kube32_sim.api.errors import ApiError
from kube32_sim.api.media import Accepted
from kube32_sim.api.resources import ResourceType, Subresource
from kube32_sim.api.strictness import STRICT
from kube32_sim.registry import connections, logs, subresources
from kube32_sim.registry.asked import Result
from kube32_sim.registry.deletion import success
from kube32_sim.registry.reading import list_page, select
from kube32_sim.registry.registry import Registry
from kube32_sim.registry.tokens import Tokens
from kube32_sim.server import virtual
from kube32_sim.server.answers import JSON_HEADERS, Ready, answer
from kube32_sim.server.call import Call
from kube32_sim.server.documents import TEXT
from kube32_sim.server.forms import Form, JsonForm, MetadataForm, Shapes, TableForm
from kube32_sim.server.incoming import read_body
from kube32_sim.server.log_following import LogStream
from kube32_sim.server.long_lists import send_list
from kube32_sim.server.streaming import Stream, Streams, WatchOptions
from kube32_sim.storage.interface import Compacted, JsonObject, Unavailable
from kube32_sim.storage.watching import Hub

READING = frozenset(("get", "list", "watch"))
LARGE = 256 << 10
"""Bytes of a body from which it is worth asking early whether the object is too large."""


class Verbs:
    def __init__(self, registry: Registry, hub: Hub, streams: Streams, tokens: Tokens | None = None) -> None:
        """tokens: by which callers are known, for who asks whose one is."""
        self._registry = registry
        self._tokens = tokens or Tokens(None, registry.clock.now, registry.lookup, registry.signing_key)
        self._hub = hub
        self._shapes = Shapes(registry.table)
        self._json = JsonForm(self._shapes)
        self.streams = streams
        self._verbs: dict[str, Callable[[Call], Awaitable[web.StreamResponse]]] = {
            "get": self._get,
            "list": self._list,
            "watch": self._watch,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    async def __call__(self, call: Call, accept: str) -> web.StreamResponse:
        await self._registry.clock.rested()
        if call.subresource is not None:
            return await self._subresource(call, accept)
        verb = call.info.verb
        if verb not in READING:
            self._registry.refuse_computed(call.row, verb)
        call.accepted = media.negotiate(accept, call.row, watch=verb == "watch", collection=verb == "list")
        return await self._verbs[verb](call)

    async def kept(self, call: Call, response: web.StreamResponse) -> bool:
        """Wait until everything that an answer tells of is kept for good.

        False where a read has to be repeated, because it told of what was undone; raises Unavailable for a write.
        """
        if response.prepared:
            return True
        seen = call.seen or self._registry.store.revision
        if call.info.verb in READING:
            return await self._is_kept(seen)
        await self._registry.store.kept(seen)
        return True

    async def refusal_kept(self, call: Call, error: ApiError) -> bool:
        """The same of a refusal: False where what there was or was not for a read is otherwise now."""
        if call.info.verb not in READING or isinstance(error, Unavailable):
            return True
        return await self._is_kept(self._registry.store.revision)

    async def _is_kept(self, revision: int) -> bool:
        """Wait until it is; False where it was undone."""
        try:
            await self._registry.store.kept(revision)
        except Unavailable:
            return False
        return True

    # forms

    def _form(self, call: Call, *, is_list: bool) -> Form:
        accepted = call.accepted
        if accepted.form == "object":
            return self._json
        if accepted.form == "table":
            from kube32_sim.api.tables import parse_include

            include = parse_include((call.query.get("includeObject") or ("",))[0])
            return TableForm(self._shapes, self._registry.clock, include, accepted.version)
        media.check_form(accepted, call.row, is_list=is_list)
        return MetadataForm(accepted.version)

    def _encoded(
        self, accepted: Accepted, body: bytes, status: int = 200, warnings: Sequence[str] = ()
    ) -> web.Response:
        return answer(body, status, accepted.content_type, warnings)

    def _result(self, call: Call, result: Result) -> web.Response:
        form = self._form(call, is_list=False)
        status = 201 if result.created else 200
        if result.stored is not None:
            body = form.one(call.row, result.stored)
        else:
            body = form.unstored(call.row, result.object())
        return self._encoded(call.accepted, body, status, list(dict.fromkeys(result.warnings)))

    def _plain(self, call: Call, obj: JsonObject, status: int = 200, warnings: Sequence[str] = ()) -> web.Response:
        """An answer that is not an object of the call's type; a Status has no other form than its own."""
        if call.accepted.form == "object" or obj["kind"] == "Status":
            return self._encoded(call.accepted, orjson.dumps(obj), status, warnings)
        group, _, version = obj["apiVersion"].rpartition("/")
        row = replace(bodies.expected(group, version, obj["kind"]), columns=columns_for(group, obj["kind"]))
        return self._encoded(call.accepted, self._form(call, is_list=False).unstored(row, obj), status, warnings)

    # reading

    async def _refuse_future(self, version: int | None) -> None:
        if version is not None and not await self._registry.store.reached(version):
            raise errors.timeout_rv_too_large(version, self._registry.store.revision)

    async def _get(self, call: Call) -> web.StreamResponse:
        await self._refuse_future(options.get_options(call.query))
        form = self._form(call, is_list=False)
        call.stale = await self._registry.bring_up_to_date(call.row)
        stored = self._registry.get(call.asked())
        call.seen = stored.revision
        body = form.one(call.row, stored)
        if call.accepted is media.PLAIN:
            return web.Response(body=body, headers=CIMultiDict(JSON_HEADERS))
        return self._encoded(call.accepted, body)

    async def _list(self, call: Call) -> web.StreamResponse:
        wanted = options.list_options(call.query, call.row)
        form = self._form(call, is_list=True)
        version = wanted.resource_version
        await self._refuse_future(version)
        exact = wanted.match == "Exact" or (version and wanted.limit and not wanted.match)
        call.stale = await self._registry.bring_up_to_date(call.row)
        selection = select(call.row, call.info.namespace, wanted.labels, wanted.fields)
        if not call.row.stored:
            page = self._registry.own.page(call.row, selection, wanted.continue_)
            return self._encoded(call.accepted, form.many(call.row, page))
        page = list_page(
            self._registry.store,
            call.row,
            selection,
            revision=version if exact else None,
            limit=0 if version == 0 and not wanted.continue_ else wanted.limit,
            continue_token=wanted.continue_,
        )
        call.seen = page.revision
        if not await self._is_kept(page.revision):  # a stream cannot be repeated once it has begun
            return await self._list(call)
        return await send_list(call.request, call.headers_sent_at_once(), call.accepted, form, call.row, page)

    async def _watch(self, call: Call) -> web.StreamResponse:
        name = call.info.name
        wanted = options.list_options(call.query, call.row, watch=True, name=name)
        form = self._form(call, is_list=False)
        call.stale = await self._registry.bring_up_to_date(call.row)
        version, initial = wanted.resource_version, wanted.send_initial_events
        await self._refuse_future(version)
        if initial is not None:
            since, present = (None, True) if initial else (version or None, False)
        else:
            since, present = (version or None), True
        self.streams.admit()
        timeout = wanted.timeout_seconds or self.streams.lasting()
        watching = WatchOptions(
            since, present, bool(initial and wanted.allow_bookmarks), wanted.allow_bookmarks, timeout
        )
        selection = select(call.row, call.info.namespace, wanted.labels, wanted.fields)
        protobuf = call.accepted.encoding == "protobuf"
        make = call.stream or Stream
        stream = make(call.request, self._registry, self._hub, call.row, selection, form, watching, protobuf)
        call.stream_headers["Content-Type"] = media.stream_type(call.accepted)
        response = web.StreamResponse(headers=call.headers_sent_at_once())
        if call.request.version >= HttpVersion11:
            response.enable_chunked_encoding()
        try:
            await stream.run(response, self.streams)
        except Compacted as error:
            return Ready(body=stream.expired(error), headers=call.stream_headers)
        return response

    # writing

    async def _body(self, call: Call, validation: str, row: ResourceType | None = None) -> tuple[JsonObject, list[str]]:
        data = await read_body(call.request)
        kind = media.body_media(call.request.headers.get("Content-Type", ""), protobuf=not call.row.names_in_list)
        if not call.row.stored and "update" in call.row.verbs:
            validation = STRICT  # what is passed over would not do what was meant, and nobody finds it stored
        obj, warnings = bodies.decode_body(data, kind, row or call.row, validation)
        call.warnings.extend(warnings)
        if len(data) > LARGE and call.info.verb == "create" and call.row.stored:
            self._registry.steps.check_size(obj)  # before much is made of what cannot be stored
        return obj, warnings

    async def _create(self, call: Call) -> web.StreamResponse:
        wanted = options.create_options(call.query)
        obj, warnings = await self._body(call, wanted.field_validation)
        if not call.row.stored and "get" in call.row.verbs:
            result = await self._registry.own.create(call.asked(wanted), obj)
            return self._result(call, replace(result, warnings=warnings))
        if not call.row.stored:
            answered = await virtual.answer(self._registry, call.asked(wanted), obj, call.user, self._tokens)
            return self._plain(call, answered, 201, warnings)
        result = await self._registry.create(call.asked(wanted), self._shapes.stored(call.row, obj))
        return self._result(call, replace(result, warnings=[*warnings, *result.warnings]))

    async def _update(self, call: Call) -> web.StreamResponse:
        wanted = options.update_options(call.query)
        obj, warnings = await self._body(call, wanted.field_validation)
        if not call.row.stored:
            return self._plain(call, await self._registry.own.update(call.asked(wanted), obj), 200, warnings)
        result = await self._registry.update(call.asked(wanted), self._shapes.stored(call.row, obj))
        return self._result(call, replace(result, warnings=[*warnings, *result.warnings]))

    async def _patch(self, call: Call) -> web.StreamResponse:
        patcher, wanted = await self._patcher(call, call.row)
        if not call.row.stored:
            return await self._patch_own(call, patcher, wanted)
        if isinstance(patcher, Configuration):
            result = await self._registry.apply(call.asked(wanted), patcher, force=wanted.force)
            return self._result(call, replace(result, warnings=[*patcher.warnings, *result.warnings]))
        warnings = call.warnings

        def change(current: JsonObject) -> JsonObject:
            shown = self._shapes.view(call.row, current)
            obj, found = patcher.apply(shown, wanted.field_validation, call.info.subresource)
            warnings.extend(found)
            return self._shapes.stored(call.row, obj)

        try:
            result = await self._registry.patch(call.asked(wanted), change)
        except ApiError as error:
            raise (unquoted(error) if patcher.reveals else error) from None
        told = [REDACTED] if patcher.reveals and result.warnings else result.warnings
        return self._result(call, replace(result, warnings=[*warnings, *told]))

    async def _patch_own(
        self, call: Call, patcher: bodies.Patcher | Configuration, wanted: options.WriteOptions
    ) -> web.StreamResponse:
        if isinstance(patcher, Configuration):
            raise errors.unsupported_media_type(f"server-side apply of {call.row.plural} is not supported: use PUT")
        asked = call.asked(wanted)
        obj, warnings = patcher.apply(self._registry.get(asked).object(), STRICT, "")
        return self._plain(call, await self._registry.own.update(asked, obj), 200, warnings)

    async def _patcher(
        self, call: Call, row: ResourceType
    ) -> tuple[bodies.Patcher | Configuration, options.WriteOptions]:
        data = await read_body(call.request)
        patcher = bodies.patcher(data, call.request.headers.get("Content-Type", ""), row)
        if patcher.kind != "apply":
            return patcher, options.patch_options(call.query)
        wanted = options.patch_options(call.query, apply=True)
        return Configuration(data, row, wanted.field_validation), wanted

    async def _delete_options(self, call: Call) -> options.DeleteOptions:
        data = await read_body(call.request)
        if not data:
            return options.delete_options(call.query)
        kind = media.body_media(call.request.headers.get("Content-Type", ""))
        return options.delete_options(call.query, bodies.decode_plain(data, kind))

    async def _delete(self, call: Call) -> web.StreamResponse:
        wanted = await self._delete_options(call)
        doing = self._registry if call.row.stored else self._registry.own
        result = await doing.delete(call.asked(), wanted)
        if not result.removed or call.row.strategy.returns_deleted:
            return self._result(call, result)
        return self._plain(call, success(call.row, call.info.name, result.object()), 200, result.warnings)

    async def _delete_collection(self, call: Call) -> web.StreamResponse:
        selected = options.list_options(call.query, call.row)
        wanted = await self._delete_options(call)
        form = self._form(call, is_list=True)
        selection = select(call.row, call.info.namespace, selected.labels, selected.fields)
        page = list_page(
            self._registry.store, call.row, selection, limit=selected.limit, continue_token=selected.continue_
        )
        warnings = await self._registry.delete_collection(call.asked(), page.items, wanted)
        page = replace(page, revision=self._registry.store.revision)
        return self._encoded(call.accepted, form.many(call.row, page), 200, warnings)

    # subresources

    async def _subresource(self, call: Call, accept: str) -> web.StreamResponse:
        name, verb = call.info.subresource, call.info.verb
        if name == "log":
            media.check_log(accept)
            return await self._log(call)
        if name in ("exec", "attach", "portforward", "proxy"):
            container = (call.query.get("container") or ("",))[0]
            await connections.admit(self._registry, call.asked(), call.query)
            raise await connections.refusal(self._registry, call.asked(), container)
        call.accepted = media.negotiate(accept, call.row, created=verb == "create")
        if name == "scale":
            return await self._scale(call)
        if verb == "create" and call.subresource is not None:
            return await self._post_subresource(call, call.subresource)
        return await self._verbs[verb](call)

    async def _log(self, call: Call) -> web.StreamResponse:
        wanted = options.log_options(call.query, call.info.name)
        log = logs.read(self._registry, call.asked(), wanted)
        if log is None:
            return web.Response(status=204)
        if wanted.follow and log.run is not None:
            self.streams.admit()
            return await LogStream(call.request, call.asked(), log, log.run).run(self._hub, self.streams)
        return answer(log.body, 200, TEXT)

    async def _post_subresource(self, call: Call, sub: Subresource) -> web.StreamResponse:
        wanted = options.create_options(call.query)
        row = bodies.expected_of(call.row, sub, await read_body(call.request))
        body, warnings = await self._body(call, wanted.field_validation, row)
        obj = await subresources.create(self._registry, call.asked(wanted), body)
        return self._plain(call, obj, 201, warnings)

    async def _scale(self, call: Call) -> web.StreamResponse:
        sub = call.subresource
        if sub is None:
            raise errors.path_not_found()
        expected = bodies.expected(sub.group, sub.version, sub.kind)
        if call.info.verb == "get":
            await self._refuse_future(options.get_options(call.query))
            obj = subresources.get_scale(self._registry, call.asked())
        elif call.info.verb == "update":
            wanted = options.update_options(call.query)
            body, _ = await self._body(call, wanted.field_validation, expected)
            obj = await subresources.put_scale(self._registry, call.asked(wanted), lambda _: body)
        else:
            patcher, wanted = await self._patcher(call, expected)
            obj = await subresources.patch_scale(self._registry, call.asked(wanted), patcher, wanted, call.warnings)
        return self._plain(call, obj, 200, list(dict.fromkeys(call.warnings)))
