"""Requests on their way into a recording."""

from __future__ import annotations

from typing import Any

import orjson
from aiohttp import web

from kube32_sim.api import bodies, jsontext, media, strictness
from kube32_sim.api.errors import ApiError
from kube32_sim.api.own import GROUP
from kube32_sim.recording.audit import METHODS, Entry
from kube32_sim.recording.tape import Tape
from kube32_sim.server.call import Call
from kube32_sim.server.incoming import told


async def record(tape: Tape, call: Call, code: int, answer: object, now: float, revision: int) -> None:
    """Note a write that was answered.  What is about the simulator itself (group `sim.kube32.io`) is no part of it."""
    info = call.info
    if info.verb not in METHODS or info.group == GROUP or not call.row.stored:
        return
    body, content_type = await _body(call)
    tape.note(
        Entry(
            time=now,
            verb=info.verb,
            uri=call.request.rel_url.raw_path_qs,
            user=call.user.info(),
            agent=told(call.request.headers.get("User-Agent", "")),
            body=body,
            content_type=content_type,
            code=code,
            made=_made(answer) if info.verb == "create" and code == 201 and not info.name else "",
            revision=revision,
        )
    )


async def _body(call: Call) -> tuple[Any, str]:
    """(the body as JSON has it, how it was meant): it was read before, so it is at hand."""
    data = await call.request.read()
    if not data:
        return None, ""
    content_type = told(call.request.headers.get("Content-Type", ""))
    try:
        if call.info.verb == "patch":
            return _loaded(data), content_type.partition(";")[0].strip()
        kind = media.body_media(content_type)
        if kind == "protobuf" and call.info.verb in ("create", "update"):
            sub = call.row.subresource(call.info.subresource)
            row = call.row if sub is None else bodies.expected_of(call.row, sub, data)
            obj, _ = bodies.decode_body(data, kind, row, strictness.IGNORE)
            return {"apiVersion": row.api_version, "kind": row.kind, **obj}, media.JSON
        return bodies.decode_plain(data, kind), media.JSON
    except (ApiError, ValueError):  # which was refused for that
        return None, ""


def _loaded(data: bytes) -> Any:
    """A patch as a value that can be written as JSON.  Raises JsonError, YamlError."""
    try:
        value = jsontext.loads(data)
    except jsontext.JsonError:
        from kube32_sim.api import yamltext

        value = yamltext.loads(data)[0]
    jsontext.check_extent(value)
    return value


def _made(answer: object) -> str:
    """The name of what was created."""
    body = answer.body if isinstance(answer, web.Response) else None
    try:
        obj = orjson.loads(body) if isinstance(body, bytes) else {}
    except orjson.JSONDecodeError:
        return ""
    return str((obj.get("metadata") or {}).get("name") or "") if isinstance(obj, dict) else ""
