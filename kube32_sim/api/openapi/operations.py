"""Paths and operations of an OpenAPI document: for every row its collection, its objects and their subresources.

Operations carry what clients look for: `x-kubernetes-action`, `x-kubernetes-group-version-kind` and the query
parameters (kubectl asks the document whether a type knows `fieldValidation` and `dryRun`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kube32_sim.api.media import JSON, PROTOBUF, STREAM, YAML
from kube32_sim.api.openapi.parameters import Parameter, common, of_operation, of_path
from kube32_sim.api.openapi.schemas import PREFIX, Flavour, key_of, list_key
from kube32_sim.api.openapi.wording import METHODS, describe, operation_id, tag_of
from kube32_sim.api.paths import path_of
from kube32_sim.api.resources import ResourceType, Subresource
from kube32_sim.api.schema import key_for

JsonObject = dict[str, Any]

STATUS = "io.k8s.apimachinery.pkg.apis.meta.v1.Status"
PATCH = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"
DELETE_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
WATCH_EVENT = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent"
RESOURCE_LIST = "io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList"

PRODUCED = (JSON, YAML, PROTOBUF)
_CUSTOM_PRODUCED = (JSON, YAML)
_PATCHES = ("application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"
_APPLY = "application/apply-patch+yaml"
_CONNECTS = frozenset(("exec", "attach", "portforward", "proxy"))
_PROXY_METHODS = ("delete", "get", "head", "options", "patch", "post", "put")
_CODES = {
    "create": ("200", "201", "202"),
    "update": ("200", "201"),
    "patch": ("200", "201"),
    "delete": ("200", "202"),
}
_MEANINGS = {"200": "OK", "201": "Created", "202": "Accepted", "401": "Unauthorized"}
_WAITING = ("CustomResourceDefinition", "Namespace")
_ACTIONS = {"create": "post", "update": "put"}


@dataclass(frozen=True, slots=True)
class _Op:
    """One operation before it is written down: `method` on a path of `row`.  connect: it is handed on as it is."""

    method: str
    verb: str
    row: ResourceType
    sub: Subresource | None = None
    everywhere: bool = False
    connect: bool = False
    rest: bool = False

    @property
    def watches(self) -> bool:
        return self.verb in ("watch", "watchlist")

    @property
    def query(self) -> tuple[Parameter, ...]:
        return of_operation(self.verb, self.sub, connect=self.connect)


class Operations:
    """Makes the operations of one flavour of document.

    list_keys: definition of a custom type -> that of its list, which may have any name.
    """

    def __init__(self, flavour: Flavour, list_keys: Mapping[str, str] | None = None) -> None:
        self.flavour = flavour
        self._list_keys = list_keys or {}

    def paths(self, rows: Iterable[ResourceType]) -> dict[str, JsonObject]:
        """All paths of these rows, by path."""
        found: dict[str, JsonObject] = {}
        for row in rows:
            for path, names, operations in _paths(row):
                if operations:
                    found[path] = self._item(of_path(row.kind, names), operations)
        return dict(sorted(found.items()))

    def reading(self, operation: str, tag: str, description: str, key: str, produced: Sequence[str]) -> JsonObject:
        """A path with one GET that takes nothing."""
        answered = self._responses(("200",), self._ref(key), produced)
        found = {"description": description, "operationId": operation, "tags": [tag], "responses": answered}
        if self.flavour == 2:
            found |= {"consumes": list(produced), "produces": list(produced), "schemes": ["https"]}
        return {"get": found}

    def _item(self, in_path: tuple[Parameter, ...], operations: Sequence[_Op]) -> JsonObject:
        shared = common([op.query for op in operations])
        entry: JsonObject = {op.method: self._operation(op, shared) for op in operations}
        of_all = sorted((*in_path, *shared), key=lambda each: each.name)
        return {**entry, "parameters": [self._parameter(each) for each in of_all]}

    def _parameter(self, parameter: Parameter) -> JsonObject:
        made: JsonObject = {
            "name": parameter.name,
            "in": parameter.place,
            "description": parameter.description,
            **({"required": True} if parameter.place == "path" else {}),
        }
        kind: JsonObject = {"type": parameter.kind, "uniqueItems": True}
        return {**made, "schema": kind} if self.flavour == 3 else {**made, **kind}

    def _operation(self, op: _Op, shared: Sequence[Parameter]) -> JsonObject:
        method = op.method if op.connect else ""
        answered = self._answer(op)
        query = sorted((each for each in op.query if each not in shared), key=lambda each: each.name)
        operation: JsonObject = {
            "description": describe(op.row, op.verb, op.sub, connect=method),
            "operationId": operation_id(
                op.row, op.verb, op.sub, everywhere=op.everywhere, connect=method, rest=op.rest
            ),
            "parameters": [self._parameter(each) for each in query],
            "responses": self._responses(_CODES.get(op.verb, ("200",)), answered, _produced(op)),
            "tags": [tag_of(op.row.group, op.row.version)],
            "x-kubernetes-action": "connect" if op.connect else _ACTIONS.get(op.verb, op.verb),
            "x-kubernetes-group-version-kind": _kind(op.row, op.sub),
        }
        self._add_body(operation, op)
        return operation

    def _add_body(self, operation: JsonObject, op: _Op) -> None:
        """What the operation takes, and in version 2 in which forms it takes and gives it."""
        taken = self._taken(op)
        takes = _patch_types(op.row) if op.verb == "patch" and not op.connect else ("*/*",)
        required = op.verb not in ("delete", "deletecollection")
        if self.flavour == 3:
            if taken is not None:
                body: JsonObject = {"content": {media: {"schema": taken} for media in takes}}
                operation["requestBody"] = {**body, "required": True} if required else body
            return
        operation |= {"consumes": list(takes), "produces": list(_produced(op)), "schemes": ["https"]}
        if taken is not None:
            body = {"name": "body", "in": "body", "schema": taken}
            operation["parameters"].insert(0, {**body, "required": True} if required else body)

    def _taken(self, op: _Op) -> JsonObject | None:
        if op.connect or op.watches:
            return None
        if op.verb in ("create", "update"):
            return self._ref(_schema_key(op.row, op.sub))
        key = {"patch": PATCH, "delete": DELETE_OPTIONS, "deletecollection": DELETE_OPTIONS}.get(op.verb)
        return None if key is None else self._ref(key)

    def _answer(self, op: _Op) -> JsonObject:
        if op.connect or (op.sub is not None and op.sub.name == "log"):
            return {"type": "string"}
        if op.watches:
            return self._ref(WATCH_EVENT)
        if op.verb == "list":
            return self._ref(self._list_keys.get(key_of(op.row)) or list_key(op.row))
        if op.verb == "deletecollection" or (op.verb == "delete" and not _returns_deleted(op.row)):
            return self._ref(STATUS)
        return self._ref(_schema_key(op.row, op.sub))

    def _responses(self, codes: Iterable[str], answered: JsonObject, produced: Sequence[str]) -> JsonObject:
        if self.flavour == 3:
            told: JsonObject = {"content": {media: {"schema": answered} for media in produced}}
        else:
            told = {"schema": answered}
        found = {code: {"description": _MEANINGS[code], **told} for code in codes}
        return {**found, "401": {"description": _MEANINGS["401"]}}

    def _ref(self, key: str) -> JsonObject:
        return {"$ref": PREFIX[self.flavour] + key}


_Path = tuple[str, tuple[str, ...], list[_Op]]
"""A path, the names of the parameters in it, its operations."""


def _paths(row: ResourceType) -> Iterable[_Path]:
    scope = ("namespace",) if row.namespaced else ()
    namespace = "{namespace}" if row.namespaced else ""
    item, named = path_of(row, namespace, "{name}"), ("name", *scope)
    lists = (("list", "get"), ("create", "post"), ("deletecollection", "delete"))
    yield path_of(row, namespace), scope, [_Op(method, verb, row) for verb, method in lists if verb in row.verbs]
    objects = ("get", "update", "patch", "delete")
    yield item, named, [_Op(METHODS[verb], verb, row) for verb in objects if verb in row.verbs]
    if row.namespaced and "list" in row.verbs:
        yield path_of(row), (), [_Op("get", "list", row, everywhere=True)]
    if "watch" in row.verbs and not _is_custom(row):
        yield from _watch_paths(row, item, named)
    for sub in row.subresources:
        yield f"{item}/{sub.name}", named, _subresource(row, sub)
        if sub.name == "proxy":
            yield f"{item}/proxy/{{path}}", (*named, "path"), _subresource(row, sub, rest=True)


def _watch_paths(row: ResourceType, item: str, named: tuple[str, ...]) -> Iterable[_Path]:
    """The deprecated paths under /watch/, which custom resources do not have."""
    base = path_of(row).removesuffix(f"/{row.plural}")
    yield item.replace(base, f"{base}/watch", 1), named, [_Op("get", "watch", row)]
    yield f"{base}/watch/{row.plural}", (), [_Op("get", "watchlist", row, everywhere=row.namespaced)]
    if row.namespaced:
        one = f"{base}/watch/namespaces/{{namespace}}/{row.plural}"
        yield one, ("namespace",), [_Op("get", "watchlist", row)]


def _subresource(row: ResourceType, sub: Subresource, *, rest: bool = False) -> list[_Op]:
    connect = sub.name in _CONNECTS
    if sub.name == "proxy":
        return [_Op(method, "get", row, sub, connect=True, rest=rest) for method in _PROXY_METHODS]
    return [_Op(METHODS[verb], "get" if connect else verb, row, sub, connect=connect) for verb in sub.verbs]


def _is_custom(row: ResourceType) -> bool:
    return row.names_in_list


def _returns_deleted(row: ResourceType) -> bool:
    """What upstream's documents say, which know nothing of answers with an object that waits for finalizers."""
    return row.strategy is not None and row.strategy.returns_deleted and row.kind not in _WAITING


def _produced(op: _Op) -> tuple[str, ...]:
    if op.connect:
        return ("*/*",)
    if op.sub is not None and op.sub.name == "log":
        return ("text/plain", *PRODUCED)
    if _is_custom(op.row):
        return _CUSTOM_PRODUCED
    if op.watches or op.verb == "list":
        return (*PRODUCED, f"{JSON}{STREAM}", f"{PROTOBUF}{STREAM}")
    return PRODUCED


def _patch_types(row: ResourceType) -> tuple[str, ...]:
    return (*_PATCHES, _APPLY) if _is_custom(row) else (*_PATCHES, _STRATEGIC, _APPLY)


def _kind(row: ResourceType, sub: Subresource | None) -> JsonObject:
    if sub is None:
        return {"group": row.group, "version": row.version, "kind": row.kind}
    return {"group": sub.group or row.group, "version": sub.version or row.version, "kind": sub.kind}


def _schema_key(row: ResourceType, sub: Subresource | None) -> str:
    """The definition of what is written and read; options that are only query parameters have none."""
    if sub is None or (sub.kind == row.kind and not sub.group):
        return key_of(row)
    kind = _kind(row, sub)
    return key_for(kind["group"], kind["version"], kind["kind"]) or key_of(row)
