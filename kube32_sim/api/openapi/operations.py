"""Paths and operations of an OpenAPI document: for every row its collection, its objects and their subresources.

Operations carry what clients look for: `x-kubernetes-action`, `x-kubernetes-group-version-kind` and the query
parameters (kubectl asks the document whether a type knows `fieldValidation` and `dryRun`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from kube32_sim.api.media import JSON, PROTOBUF, YAML
from kube32_sim.api.openapi.schemas import PREFIX, Flavour, key_of, list_key
from kube32_sim.api.paths import path_of
from kube32_sim.api.resources import ResourceType, Subresource
from kube32_sim.api.schema import key_for

JsonObject = dict[str, Any]

STATUS = "io.k8s.apimachinery.pkg.apis.meta.v1.Status"
PATCH = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"
DELETE_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
WATCH_EVENT = "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent"
RESOURCE_LIST = "io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList"
ALWAYS = (STATUS, PATCH, DELETE_OPTIONS, WATCH_EVENT, RESOURCE_LIST)
"""Definitions that every group version's document has."""

_PATCH_TYPES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_METHODS = {"get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete"}
_ACTIONS = {"get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete", "list": "list"}
_NAMES = {"get": "read", "update": "replace"}
_CONNECTS = frozenset(("exec", "attach", "portforward", "proxy"))

_PRETTY = ("pretty", "string", "Defaults to 'false'; if 'true', the output is indented for people.")
_DRY_RUN = ("dryRun", "string", "When present, nothing is persisted; the only value is All.")
_MANAGER = ("fieldManager", "string", "The name of the actor that makes the change.")
_VALIDATION = ("fieldValidation", "string", "What to do about unknown and duplicate fields: Ignore, Warn or Strict.")
_WRITES = (_PRETTY, _DRY_RUN, _MANAGER, _VALIDATION)
_LISTS = (
    _PRETTY,
    ("allowWatchBookmarks", "boolean", "Ask for BOOKMARK events in a watch."),
    ("continue", "string", "The token of the page before, to go on from."),
    ("fieldSelector", "string", "Restrict the list by fields."),
    ("labelSelector", "string", "Restrict the list by labels."),
    ("limit", "integer", "The most items of one answer."),
    ("resourceVersion", "string", "Which version of the data may be served."),
    ("resourceVersionMatch", "string", "How resourceVersion is applied."),
    ("sendInitialEvents", "boolean", "Begin a watch with what there is."),
    ("timeoutSeconds", "integer", "End the call after this time."),
    ("watch", "boolean", "Watch for changes instead of listing."),
)
_DELETES = (
    _PRETTY,
    _DRY_RUN,
    ("gracePeriodSeconds", "integer", "The time before the object is deleted."),
    ("orphanDependents", "boolean", "Deprecated: use propagationPolicy."),
    ("propagationPolicy", "string", "What happens to dependents: Orphan, Background or Foreground."),
)
_PARAMETERS = {
    "get": (_PRETTY,),
    "list": _LISTS,
    "create": _WRITES,
    "update": _WRITES,
    "patch": (*_WRITES, ("force", "boolean", "Take over fields that others manage (apply only).")),
    "delete": _DELETES,
    "deletecollection": (*_DELETES, *_LISTS[2:8]),
}
_IN_PATH = {
    "namespace": "object name and auth scope, such as for teams and projects",
    "name": "name of the object",
    "path": "path to the resource",
}


def _words(group: str) -> str:
    """A group in operation ids: `rbac.authorization.k8s.io` -> RbacAuthorization, "" -> Core."""
    base = group.removesuffix(".k8s.io") or "core"
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[.-]", base))


def tag_of(group: str, version: str) -> str:
    base = _words(group)
    return f"{base[:1].lower()}{base[1:]}_{version}"


class Operations:
    """Makes the operations of one flavour of document."""

    def __init__(self, flavour: Flavour) -> None:
        self.flavour = flavour

    def paths(self, rows: Iterable[ResourceType]) -> dict[str, JsonObject]:
        """All paths of these rows, by path."""
        found: dict[str, JsonObject] = {}
        for row in rows:
            found.update(self._row(row))
        return dict(sorted(found.items()))

    def _row(self, row: ResourceType) -> dict[str, JsonObject]:
        namespace = "{namespace}" if row.namespaced else ""
        item = path_of(row, namespace, "{name}")
        found = {
            path_of(row, namespace): self._item(row, ("list", "create", "deletecollection"), row.namespaced),
            item: self._item(row, ("get", "update", "patch", "delete"), row.namespaced, named=True),
        }
        if row.namespaced and "list" in row.verbs:
            everywhere = {"get": self._operation(row, "list", everywhere=True)}
            found[path_of(row)] = {**everywhere, "parameters": []}
        for sub in row.subresources:
            found[f"{item}/{sub.name}"] = self._subresource(row, sub)
            if sub.name == "proxy":
                found[f"{item}/proxy/{{path}}"] = self._subresource(row, sub, rest=True)
        return {path: entry for path, entry in found.items() if len(entry) > 1}

    def _item(self, row: ResourceType, verbs: Iterable[str], namespaced: bool, named: bool = False) -> JsonObject:
        entry: JsonObject = {}
        for verb in verbs:
            if verb in row.verbs:
                method = {"list": "get", "deletecollection": "delete"}.get(verb) or _METHODS[verb]
                entry[method] = self._operation(row, verb)
        entry["parameters"] = self._path_parameters(namespaced, named)
        return entry

    def _subresource(self, row: ResourceType, sub: Subresource, rest: bool = False) -> JsonObject:
        entry: JsonObject = {}
        for verb in sub.verbs:
            entry[_METHODS[verb]] = self._operation(row, verb, sub, rest=rest)
        entry["parameters"] = self._path_parameters(row.namespaced, True, rest)
        return entry

    def _path_parameters(self, namespaced: bool, named: bool, rest: bool = False) -> list[JsonObject]:
        names = [name for name, given in (("name", named), ("namespace", namespaced), ("path", rest)) if given]
        return [
            {"name": name, "in": "path", "required": True, "description": _IN_PATH[name], **self._typed("string")}
            for name in names
        ]

    def _typed(self, kind: str) -> JsonObject:
        schema: JsonObject = {"type": kind, "uniqueItems": True}
        return {"schema": schema} if self.flavour == 3 else schema

    def _operation(
        self,
        row: ResourceType,
        verb: str,
        sub: Subresource | None = None,
        *,
        everywhere: bool = False,
        rest: bool = False,
    ) -> JsonObject:
        connect = sub is not None and sub.name in _CONNECTS
        parameters = () if connect else _PARAMETERS[verb]
        operation: JsonObject = {
            "description": _describe(row, verb, sub),
            "operationId": _operation_id(row, verb, sub, everywhere, connect, rest),
            "tags": [tag_of(row.group, row.version)],
            "x-kubernetes-action": "connect" if connect else _ACTIONS.get(verb, verb),
            "x-kubernetes-group-version-kind": _kind(row, sub),
        }
        query = [{"name": n, "in": "query", "description": d, **self._typed(t)} for n, t, d in parameters]
        self._bodies(operation, query, row, verb, sub, connect)
        operation["parameters"] = query
        return operation

    def _bodies(
        self,
        operation: JsonObject,
        query: list[JsonObject],
        row: ResourceType,
        verb: str,
        sub: Subresource | None,
        connect: bool,
    ) -> None:
        """What the operation takes and answers."""
        own = self._ref(_schema_key(row, sub))
        if connect:
            answer: JsonObject = {"type": "string"}
        elif verb == "list":
            answer = self._ref(list_key(row))
        elif verb in ("delete", "deletecollection"):
            answer = self._ref(STATUS)
        else:
            answer = own
        taken = None
        if not connect:
            taken = {"create": own, "update": own, "patch": self._ref(PATCH)}.get(verb)
            if verb in ("delete", "deletecollection"):
                taken = self._ref(DELETE_OPTIONS)
        codes = {"create": ("200", "201", "202"), "delete": ("200", "202")}.get(verb, ("200",))
        takes = _PATCH_TYPES if verb == "patch" else ("*/*",)
        if self.flavour == 3:
            content = {media: {"schema": answer} for media in (("*/*",) if connect else (JSON, YAML, PROTOBUF))}
            operation["responses"] = {code: {"description": "OK", "content": content} for code in codes}
            if taken is not None:
                operation["requestBody"] = {"content": {media: {"schema": taken} for media in takes}}
            return
        operation["consumes"] = list(takes)
        operation["produces"] = ["*/*"] if connect else [JSON, YAML, PROTOBUF]
        operation["responses"] = {code: {"description": "OK", "schema": answer} for code in codes}
        operation["schemes"] = ["https"]
        if taken is not None:
            required = verb not in ("delete", "deletecollection")
            query.insert(0, {"name": "body", "in": "body", "required": required, "schema": taken})

    def _ref(self, key: str) -> JsonObject:
        return {"$ref": PREFIX[self.flavour] + key}


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


def roots(row: ResourceType) -> list[str]:
    """Definitions that the operations of a row refer to."""
    found = [key_of(row), *(_schema_key(row, sub) for sub in row.subresources)]
    if "list" in row.verbs:
        found.append(list_key(row))
    return found


def _describe(row: ResourceType, verb: str, sub: Subresource | None) -> str:
    what = f"{sub.name} of the specified {row.kind}" if sub else row.kind
    return {
        "get": f"read {'' if sub else 'the specified '}{what}",
        "list": f"list or watch objects of kind {row.kind}",
        "create": f"create {what if sub else f'a {row.kind}'}",
        "update": f"replace {'' if sub else 'the specified '}{what}",
        "patch": f"partially update {'' if sub else 'the specified '}{what}",
        "delete": f"delete {what if sub else f'a {row.kind}'}",
        "deletecollection": f"delete collection of {row.kind}",
    }[verb]


def _operation_id(
    row: ResourceType, verb: str, sub: Subresource | None, everywhere: bool, connect: bool, rest: bool
) -> str:
    group = f"{_words(row.group)}{row.version[:1].upper()}{row.version[1:]}"
    scope = "Namespaced" if row.namespaced and not everywhere else ""
    suffix = f"{sub.name[:1].upper()}{sub.name[1:]}" if sub else ""
    if connect:
        method = _METHODS[verb].capitalize()
        return f"connect{group}{method}{scope}{row.kind}{suffix}{'WithPath' if rest else ''}"
    if everywhere:
        return f"list{group}{row.kind}ForAllNamespaces"
    if verb == "deletecollection":
        return f"delete{group}Collection{scope}{row.kind}"
    return f"{_NAMES.get(verb, verb)}{group}{scope}{row.kind}{suffix}"
