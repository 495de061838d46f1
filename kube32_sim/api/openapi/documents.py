"""Which OpenAPI documents there are and what is in them.

A document is built when first asked for and kept until something changes that it is made from: the rows of its group
version, or the CustomResourceDefinitions of it.  The hashes in the index stand for what a document is made from, so
that the index needs none of them built.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import orjson

from kube32_sim.api.discovery import groups_in_order
from kube32_sim.api.media import JSON
from kube32_sim.api.openapi.custom import Kind, Published, definitions_of, of_row, published
from kube32_sim.api.openapi.operations import PRODUCED, RESOURCE_LIST, Operations
from kube32_sim.api.openapi.protobuf import encode
from kube32_sim.api.openapi.schemas import Flavour, definitions, has_definition, references
from kube32_sim.api.openapi.wording import group_words, tag_of
from kube32_sim.api.resources import ResourceTable
from kube32_sim.version import GIT_VERSION

JsonObject = dict[str, Any]

_INFO = {"title": "Kubernetes", "version": GIT_VERSION}
_CUSTOM_INFO = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_GROUP = f"{_META}APIGroup"
_GROUPS = f"{_META}APIGroupList"
_VERSIONS = f"{_META}APIVersions"
_VERSION = "io.k8s.apimachinery.pkg.version.Info"
_SECURITY = {
    "BearerToken": {
        "description": "Bearer Token authentication",
        "type": "apiKey",
        "name": "authorization",
        "in": "header",
    }
}


class StoredDefinitions(Protocol):
    """The CustomResourceDefinitions that are stored."""

    def all(self) -> Mapping[Hashable, Callable[[], JsonObject]]:
        """What a revision of one of them is known by -> how to get it.  Cheap."""
        ...


class NoDefinitions:
    def all(self) -> Mapping[Hashable, Callable[[], JsonObject]]:
        return {}


class Documents:
    """The documents of one table, by name: `v2`, and those of version 3 such as `apis/apps/v1`."""

    def __init__(self, table: ResourceTable, stored: StoredDefinitions) -> None:
        self._table = table
        self._stored = stored
        self._changed = -1
        self._revisions: dict[Hashable, dict[Kind, Published]] = {}
        self._custom: dict[Kind, Published] = {}
        self._sources: dict[str, bytes] = {}
        self._bodies: dict[str, bytes] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._sources

    def refresh(self) -> None:
        """Forget what is no longer true.  To be called before anything else is asked for."""
        stored = self._stored.all()
        if self._changed == self._table.changed and self._revisions.keys() == stored.keys():
            return
        self._changed = self._table.changed
        known = self._revisions
        self._revisions = {key: known[key] if key in known else published(load()) for key, load in stored.items()}
        self._custom = {kind: each for found in self._revisions.values() for kind, each in found.items()}
        sources = dict(self._inputs())
        if sources != self._sources:
            kept = {name for name, source in sources.items() if self._sources.get(name) == source}
            self._bodies = {name: body for name, body in self._bodies.items() if name in kept}
            self._sources = sources

    def index(self) -> bytes:
        """`/openapi/v3`."""
        paths = {
            name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={self.hash(name)}"} for name in sorted(self._sources)
        }
        return orjson.dumps({"paths": paths})

    def hash(self, name: str) -> str:
        return hashlib.sha512(name.encode() + b"\0" + self._sources[name]).hexdigest().upper()

    def json(self, name: str) -> bytes:
        body = self._bodies.get(name)
        if body is None:
            body = self._bodies[name] = orjson.dumps(self._v2() if name == "v2" else self._v3(name))
        return body

    def protobuf(self) -> bytes:
        """Version 2 in its other form."""
        body = self._bodies.get("protobuf")
        if body is None:
            body = self._bodies["protobuf"] = encode(orjson.loads(self.json("v2")))
        return body

    def v2_tag(self) -> str:
        """What tells one version 2 document from another."""
        tag = self._bodies.get("tag")
        if tag is None:
            tag = self._bodies["tag"] = hashlib.sha512(self.json("v2")).hexdigest().upper().encode()
        return tag.decode()

    def _inputs(self) -> Iterator[tuple[str, bytes]]:
        """Name of a version 3 document -> what it is made from."""
        for name in ("version", "api", "apis"):
            yield name, GIT_VERSION.encode()
        for group in groups_in_order(self._table):
            if group and any(has_definition(row) for row in self._table.rows(group)):
                yield f"apis/{group}", group.encode()
        for group, version in self._group_versions():
            rows = self._table.rows(group, version)
            source = [(row.schema, row.plural, row.kind, row.namespaced, row.verbs) for row in rows]
            subs = [(row.plural, sub.name, sub.verbs, sub.kind) for row in rows for sub in row.subresources]
            custom = [each.hash for each in self._published(group, version)]
            name = f"apis/{group}/{version}" if group else f"api/{version}"
            yield name, orjson.dumps([GIT_VERSION, source, subs, custom])

    def _group_versions(self) -> list[tuple[str, str]]:
        """All there are documents of: those that are served, and those of which only the schemas are known."""
        served = [(group, version) for group, versions in groups_in_order(self._table).items() for version in versions]
        return list(dict.fromkeys([*served, *sorted((each.group, each.version) for each in self._custom.values())]))

    def _published(self, group: str, version: str) -> list[Published]:
        found = {kind: each for kind, each in self._custom.items() if kind[:2] == (group, version)}
        for row in self._table.rows(group, version):
            if not has_definition(row):
                found.setdefault((row.group, row.version, row.kind), of_row(row))
        return [found[kind] for kind in sorted(found)]

    def _v3(self, name: str) -> JsonObject:
        prefix, _, rest = name.partition("/")
        group, _, version = rest.rpartition("/") if prefix == "apis" else ("", "", rest)
        if prefix == "apis" and rest and not group:
            group, version = version, ""
        if not version:
            return self._summary(name, group)
        rows = self._table.rows(group, version)
        custom = self._published(group, version)
        paths = Operations(3, _list_keys(custom)).paths(rows)
        builtin = any(has_definition(row) for row in rows)
        if builtin:
            paths[f"/{name}/"] = _resources(3, group, version)
        info = _INFO if builtin else _CUSTOM_INFO
        return _document(3, dict(sorted(paths.items())), _definitions(paths, custom, 3), info)

    def _summary(self, name: str, group: str) -> JsonObject:
        """The documents of /version, /api, /apis and /apis/GROUP: one operation each."""
        path, entry = _one(3, name, group)
        return _document(3, {path: entry}, _definitions({path: entry}, (), 3))

    def _v2(self) -> JsonObject:
        rows = list(self._table)
        custom = [each for group, version in self._group_versions() for each in self._published(group, version)]
        paths = Operations(2, _list_keys(custom)).paths(rows)
        for name in (name for name in self._sources if name.count("/") < 2 and not name.startswith("api/")):
            path, entry = _one(2, name, name.partition("/")[2])
            paths[path] = entry
        for group, version in dict.fromkeys((row.group, row.version) for row in rows if has_definition(row)):
            path = f"/apis/{group}/{version}/" if group else f"/api/{version}/"
            paths[path] = _resources(2, group, version)
        return _document(2, dict(sorted(paths.items())), _definitions(paths, custom, 2))


def _definitions(paths: JsonObject, custom: Iterable[Published], flavour: Flavour) -> dict[str, JsonObject]:
    """All that paths refer to, and the custom types whether they have paths or not."""
    made = {key: schema for each in custom for key, schema in definitions_of(each, flavour).items()}
    return definitions([*made, *references(paths)], flavour, made)


def _list_keys(custom: Iterable[Published]) -> dict[str, str]:
    return {each.key: each.list_key for each in custom}


def _one(flavour: Flavour, name: str, group: str) -> tuple[str, JsonObject]:
    """The path of what is no group version, with its only operation."""
    operations = Operations(flavour)
    told: tuple[str, str, str, str, tuple[str, ...]]
    if name == "version":
        told = ("getCodeVersion", name, "get the version of the server", _VERSION, (JSON,))
    elif name == "api":
        told = ("getCoreAPIVersions", "core", "get available API versions", _VERSIONS, PRODUCED)
    elif name == "apis":
        told = ("getAPIVersions", name, "get available API versions", _GROUPS, PRODUCED)
    else:
        told = (f"get{group_words(group)}APIGroup", tag_of(group), "get information of a group", _GROUP, PRODUCED)
    return f"/{name}/", operations.reading(*told)


def _resources(flavour: Flavour, group: str, version: str) -> JsonObject:
    words = f"{group_words(group)}{version[:1].upper()}{version[1:]}"
    told = "get available resources"
    return Operations(flavour).reading(f"get{words}APIResources", tag_of(group, version), told, RESOURCE_LIST, PRODUCED)


def _document(flavour: Flavour, paths: JsonObject, schemas: JsonObject, info: JsonObject = _INFO) -> JsonObject:
    if flavour == 3:
        components: JsonObject = {"schemas": schemas, "securitySchemes": _SECURITY}
        return {"openapi": "3.0.0", "info": info, "paths": paths, "components": components}
    security = {"securityDefinitions": _SECURITY, "security": [{"BearerToken": []}]}
    return {"swagger": "2.0", "info": info, "paths": paths, "definitions": schemas, **security}
