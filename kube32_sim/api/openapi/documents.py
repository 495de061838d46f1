"""Which OpenAPI documents there are and how a request for one is answered.

A document is built when first asked for and kept until the table changes.  The hashes in the index stand for what a
document is made from, so that the index needs none of them built.  v3 is served as JSON only: clients that ask for
protobuf alone are refused (406); kubectl reads JSON.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from kube32_sim.api.discovery import groups_in_order
from kube32_sim.api.errors import method_not_allowed
from kube32_sim.api.media import JSON
from kube32_sim.api.openapi.operations import ALWAYS, RESOURCE_LIST, Operations, roots, tag_of
from kube32_sim.api.openapi.protobuf import encode
from kube32_sim.api.openapi.schemas import (
    PREFIX,
    Flavour,
    custom_definitions,
    definitions,
    has_definition,
)
from kube32_sim.api.paths import Query, RequestInfo
from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.version import GIT_VERSION

JsonObject = dict[str, Any]
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
"""What Go clients ask /openapi/v2 for (kubectl for kinds that it does not know, Argo CD, old kubectls for explain)."""
PROTOBUF_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
V2_PROTOBUF = "v2 as protobuf"
Schemas = Callable[[ResourceType], JsonObject | None]

_INFO = {"title": "Kubernetes", "version": GIT_VERSION}
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_GROUP = f"{_META}APIGroup"
_GROUPS = f"{_META}APIGroupList"
_VERSIONS = f"{_META}APIVersions"
_SECURITY = {
    "BearerToken": {
        "description": "Bearer Token authentication",
        "type": "apiKey",
        "name": "authorization",
        "in": "header",
    }
}


class Answer(NamedTuple):
    """status 200, 301, 304, 404 or 406; headers besides the content type."""

    status: int
    body: bytes
    content_type: str
    headers: Mapping[str, str]


def _no_schema(_: ResourceType) -> JsonObject | None:
    return None


class OpenAPI:
    """The documents of one table.  schemas: row -> OpenAPI v3 schema, for types that have no built-in definition."""

    def __init__(self, table: ResourceTable, schemas: Schemas = _no_schema) -> None:
        self._table = table
        self._schemas = schemas
        self._changed = -1
        self._sources: dict[str, bytes] = {}
        self._bodies: dict[str, bytes] = {}

    def answer(self, info: RequestInfo, query: Query, accept: str = "", if_none_match: str = "") -> Answer:
        """Answer a request for /openapi/…; raises ApiError 405 for anything but GET."""
        if info.verb != "get":
            raise method_not_allowed()
        self._refresh()
        if info.rest == "v2" and accept.strip().startswith(PROTOBUF):
            return _cached(self._body(V2_PROTOBUF), PROTOBUF_TYPE, if_none_match)
        if not _accepts_json(accept):
            return Answer(406, b"406 Not Acceptable\n", "text/plain; charset=utf-8", {})
        if info.rest == "v2":
            return _cached(self._body("v2"), JSON, if_none_match)
        if info.rest == "v3":
            return _cached(self._index(), "text/plain; charset=utf-8", if_none_match)
        name = info.rest.removeprefix("v3/")
        if name == info.rest or name not in self._sources:
            return Answer(404, b"404 page not found\n", "text/plain; charset=utf-8", {})
        return self._versioned(name, query.get("hash", ()), if_none_match)

    def _versioned(self, name: str, hashes: Any, if_none_match: str) -> Answer:
        current = self._hash(name)
        if hashes and hashes[0] != current:
            return Answer(301, b"", JSON, {"Location": f"/openapi/v3/{name}?hash={current}"})
        answer = _cached(self._body(name), JSON, if_none_match, current)
        if hashes:
            return answer._replace(headers={**answer.headers, "Cache-Control": "public, immutable"})
        return answer

    def _refresh(self) -> None:
        if self._changed == self._table.changed:
            return
        self._changed = self._table.changed
        sources = dict(self._inputs())
        kept = {name for name, source in sources.items() if self._sources.get(name) == source}
        self._bodies = {name: body for name, body in self._bodies.items() if name in kept}
        self._sources = sources

    def _inputs(self) -> Iterator[tuple[str, bytes]]:
        """Document name -> what it is made from."""
        yield "version", GIT_VERSION.encode()
        yield "api", b"api"
        yield "apis", b"apis"
        for group, versions in groups_in_order(self._table).items():
            if group:
                yield f"apis/{group}", group.encode()
            for version in versions:
                rows = self._table.rows(group, version)
                source = [(repr(row.schema), row.plural, row.verbs, self._own_schema(row)) for row in rows]
                subs = [(row.plural, sub.name, sub.verbs, sub.kind) for row in rows for sub in row.subresources]
                name = f"apis/{group}/{version}" if group else f"api/{version}"
                yield name, orjson.dumps([GIT_VERSION, source, subs])

    def _own_schema(self, row: ResourceType) -> JsonObject | None:
        return None if has_definition(row) else self._schemas(row)

    def _hash(self, name: str) -> str:
        return hashlib.sha512(name.encode() + b"\0" + self._sources[name]).hexdigest().upper()

    def _index(self) -> bytes:
        paths = {
            name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={self._hash(name)}"} for name in sorted(self._sources)
        }
        return orjson.dumps({"paths": paths})

    def _body(self, name: str) -> bytes:
        body = self._bodies.get(name)
        if body is None:
            body = self._bodies[name] = self._built(name)
        return body

    def _built(self, name: str) -> bytes:
        if name == V2_PROTOBUF:
            return encode(self._v2())
        return orjson.dumps(self._v2() if name == "v2" else self._v3(name))

    def _v3(self, name: str) -> JsonObject:
        prefix, _, rest = name.partition("/")
        group, _, version = rest.rpartition("/") if prefix == "apis" else ("", "", rest)
        if prefix == "apis" and rest and not group:
            group, version = version, ""
        if name == "version":
            return _document(3, {"/version/": _simple("getCodeVersion", "version", None, 3)}, {})
        if not version:
            return self._summary(f"/{name}/", group)
        rows = self._table.rows(group, version)
        paths = Operations(3).paths(rows)
        tag = tag_of(group, version)
        paths[f"/{name}/"] = _simple("getAPIResources", tag, RESOURCE_LIST, 3)
        return _document(3, dict(sorted(paths.items())), self._definitions(rows, 3))

    def _summary(self, path: str, group: str) -> JsonObject:
        """The documents of /api, /apis and /apis/GROUP: one operation each."""
        answer = _GROUP if group else _VERSIONS if path == "/api/" else _GROUPS
        tag = tag_of(group, "").rstrip("_") if group else path.strip("/")
        return _document(3, {path: _simple("getAPIGroup", tag, answer, 3)}, definitions([answer], 3, {}))

    def _definitions(self, rows: list[ResourceType], flavour: Flavour) -> dict[str, JsonObject]:
        custom: dict[str, JsonObject] = {}
        wanted = [*ALWAYS]
        for row in rows:
            wanted.extend(roots(row))
            if not has_definition(row):
                custom.update(custom_definitions(row, self._schemas(row), flavour))
        return definitions(wanted, flavour, custom)

    def _v2(self) -> JsonObject:
        rows = list(self._table)
        paths = Operations(2).paths(rows)
        for group, versions in groups_in_order(self._table).items():
            for version in versions:
                path = f"/apis/{group}/{version}/" if group else f"/api/{version}/"
                paths[path] = _simple("getAPIResources", tag_of(group, version), RESOURCE_LIST, 2)
        return _document(2, dict(sorted(paths.items())), self._definitions(rows, 2))


def _accepts_json(accept: str) -> bool:
    medias = [part.partition(";")[0].strip() for part in accept.split(",")]
    return not accept or any(media in (JSON, "*/*", "application/*") for media in medias)


def _cached(body: bytes, content_type: str, if_none_match: str, etag: str = "") -> Answer:
    """The document with its ETag, or 304 for a client that has it."""
    quoted = f'"{etag or hashlib.sha512(body).hexdigest().upper()}"'
    headers = {"ETag": quoted, "Vary": "Accept"}
    if quoted in if_none_match:
        return Answer(304, b"", content_type, headers)
    return Answer(200, body, content_type, headers)


def _simple(operation: str, tag: str, key: str | None, flavour: Flavour) -> JsonObject:
    """A path with one GET that takes nothing."""
    schema: JsonObject = {"$ref": PREFIX[flavour] + key} if key else {"type": "object"}
    answer: JsonObject = {"content": {JSON: {"schema": schema}}} if flavour == 3 else {"schema": schema}
    response = {"200": {"description": "OK", **answer}}
    words = tag[:1].upper() + tag[1:].replace("_", "")
    return {"get": {"operationId": f"{operation}{words}", "tags": [tag], "responses": response}}


def _document(flavour: Flavour, paths: JsonObject, schemas: JsonObject) -> JsonObject:
    if flavour == 3:
        components: JsonObject = {"schemas": schemas, "securitySchemes": _SECURITY}
        return {"openapi": "3.0.0", "info": _INFO, "paths": paths, "components": components}
    security = {"securityDefinitions": _SECURITY, "security": [{"BearerToken": []}]}
    return {"swagger": "2.0", "info": _INFO, "paths": paths, "definitions": schemas, **security}
