"""What a request is about, read off its path and method without a router table; and the way back.

A path alone says group, version, namespace, plural, name and subresource; `resolve` then looks whether the table has
such a type and allows the verb.  So a custom resource is just one more row.  Query parameters are `options`' business,
but for `watch`, which decides between list and watch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote, unquote_plus

from kube32_sim.api.errors import bad_request, go_value, method_not_allowed, path_not_found
from kube32_sim.api.resources import ResourceTable, ResourceType, Subresource

Query = Mapping[str, Sequence[str]]
"""Decoded query parameters, each with all its values in order."""

NO_QUERY: Query = {}

_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_HEALTH = frozenset(("healthz", "livez", "readyz"))
_FALSE = frozenset(("0", "false"))
_WRONG_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})").search


class RequestInfo(NamedTuple):
    """kind: resource, discovery, openapi, health, version, metrics, index (`/`) or other.

    verb: for resources create, get, list, watch, update, patch, delete, deletecollection; the method in small letters
    for all else, and for methods that Kubernetes has no verb for.
    group, version: of resources, and of discovery as far as given.  prefix: `api` or `apis` (resources and discovery).
    namespace: "" for cluster-scoped resources, namespaces themselves included.
    rest: what follows the subresource (proxy), or the kind's first segment (openapi, health).
    old_watch: asked through the deprecated `/watch/` prefix.
    """

    kind: str
    verb: str
    path: str
    prefix: str = ""
    group: str = ""
    version: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""
    old_watch: bool = False


class Target(NamedTuple):
    """The row a request is about, and the subresource if it names one."""

    row: ResourceType
    subresource: Subresource | None


def parse_query(raw: str) -> Query:
    """The part of the URL after `?`, decoded (`+` is a space); keys without a value have the value "".

    As Go reads it: what holds a semicolon or is escaped wrongly is left out.
    """
    if not raw:
        return NO_QUERY
    found: dict[str, list[str]] = {}
    for pair in raw.split("&"):
        if pair and ";" not in pair:
            key, _, value = pair.partition("=")
            if "%" in pair or "+" in pair:
                if _WRONG_ESCAPE(pair):
                    continue
                key, value = unquote_plus(key), unquote_plus(value)
            found.setdefault(key, []).append(value)
    return found


def is_true(values: Sequence[str] | None) -> bool:
    """How Kubernetes reads a boolean parameter: anything present but `false` and `0` is true."""
    return bool(values) and values[0].lower() not in _FALSE  # type: ignore[index]


def parse(method: str, path: str, query: Query = NO_QUERY) -> RequestInfo:
    """`path` as it stands in the request line, still percent-encoded, without the query.  Never fails."""
    if "%" in path:
        path = unquote(path)
    parts = path.split("/")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    first = parts[1] if len(parts) > 1 else ""
    if first == "api":
        return _api(method, path, query, "", parts[2:], "api")
    if first == "apis":
        if len(parts) == 2:
            return RequestInfo("discovery", method.lower(), path, "apis")
        if parts[2]:
            return _api(method, path, query, parts[2], parts[3:], "apis")
    return _other(method, path, first, parts[2:])


def _other(method: str, path: str, first: str, rest: list[str]) -> RequestInfo:
    verb = method.lower()
    if first == "openapi":
        return RequestInfo("openapi", verb, path, rest="/".join(rest))
    if path == "/":
        return RequestInfo("index", verb, path)
    if first in _HEALTH:
        return RequestInfo("health", verb, path, first, rest="/".join(rest))
    if first in ("version", "metrics") and not rest:
        return RequestInfo(first, verb, path)
    return RequestInfo("other", verb, path)


def _api(method: str, path: str, query: Query, group: str, parts: list[str], prefix: str) -> RequestInfo:
    """`parts` starts with the version."""
    if len(parts) < 2:
        version = parts[0] if parts else ""
        return RequestInfo("discovery", method.lower(), path, prefix, group, version)
    version = parts[0]
    start = 1
    old_watch = parts[1] == "watch" and len(parts) > 2
    if old_watch:
        start = 2
    namespace = ""
    if parts[start] == "namespaces" and len(parts) > start + 2 and parts[start + 2] not in ("status", "finalize"):
        namespace = parts[start + 1]
        start += 2
    count = len(parts)
    plural = parts[start]
    name = parts[start + 1] if count > start + 1 else ""
    subresource = parts[start + 2] if count > start + 2 else ""
    rest = "/".join(parts[start + 3 :]) if count > start + 3 else ""
    if old_watch:
        verb = "watch" if method == "GET" else method.lower()
    elif name or subresource:
        verb = _VERBS.get(method) or method.lower()
    else:
        verb = _collection_verb(method, query)
    return RequestInfo(
        "resource", verb, path, prefix, group, version, plural, namespace, name, subresource, rest, old_watch
    )


def _collection_verb(method: str, query: Query) -> str:
    if method == "GET":
        return "watch" if "watch" in query and is_true(query["watch"]) else "list"
    if method == "DELETE":
        return "deletecollection"
    return _VERBS.get(method) or method.lower()


_ON_COLLECTIONS = frozenset(("create", "list", "watch", "deletecollection"))
_EVERYWHERE = frozenset(("list", "watch"))
_ON_OBJECTS = frozenset(("get", "update", "patch", "delete"))


def resolve(table: ResourceTable, info: RequestInfo) -> Target:
    """The row a resource request is about; raises ApiError 404 (no such path), 405, 400 (a bad name)."""
    row = table.by_path(info.group, info.version, info.plural)
    if row is None or (info.namespace and not row.namespaced):
        raise path_not_found()
    everywhere = row.namespaced and not info.namespace
    if everywhere and info.name and "/namespaces//" in info.path:
        raise bad_request("Namespace parameter required.")
    if not info.old_watch and not _served(row, info, everywhere):
        raise path_not_found()
    if info.subresource:
        target = Target(row, _subresource(row, info))
    elif not _allowed(row, info, everywhere):
        raise method_not_allowed()
    else:
        target = Target(row, None)
    _check_name(info)
    return target


def _check_name(info: RequestInfo) -> None:
    """What no name of an object can be, as the storage of a real server refuses it (two slashes are an empty name)."""
    why = ""
    if info.subresource and not info.name:
        raise bad_request("name must be provided")
    if info.name in (".", ".."):
        why = f"may not be '{info.name}'"
    elif "%" in info.name:
        why = "may not contain '%'"
    if why:
        raise bad_request(f"Name parameter invalid: {go_value(info.name)}: {why}")


def _served(row: ResourceType, info: RequestInfo, everywhere: bool) -> bool:
    """Whether the path exists at all: objects of namespaced types have a namespace, create-only types no objects."""
    if everywhere:
        return not info.name and not info.subresource and "list" in row.verbs
    return not info.name or bool(info.subresource) or "get" in row.verbs


def _subresource(row: ResourceType, info: RequestInfo) -> Subresource:
    found = row.subresource(info.subresource)
    if found is None or info.old_watch or (info.rest and info.subresource != "proxy"):
        raise path_not_found()
    if info.verb not in found.verbs:
        raise method_not_allowed()
    return found


def _allowed(row: ResourceType, info: RequestInfo, everywhere: bool) -> bool:
    verb = info.verb
    if verb not in row.verbs:
        return False
    if info.old_watch:
        return verb == "watch"
    if info.name:
        return verb in _ON_OBJECTS
    return verb in (_EVERYWHERE if everywhere else _ON_COLLECTIONS)


def not_found_is_plain(table: ResourceTable, info: RequestInfo) -> bool:
    """Whether an unknown path is answered with the text `404 page not found` instead of a Status, as upstream does.

    So for paths outside the API and for groups that nobody serves.
    """
    if info.prefix == "apis":
        return table.by_path(info.group, info.version, info.plural) is None and info.group not in table.groups()
    return info.prefix != "api"


PLAIN_NOT_FOUND = "404 page not found\n"


def path_of(row: ResourceType, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """The path of a collection, an object or its subresource; the inverse of `parse`.  Names need no escaping."""
    path = f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"
    if namespace:
        path = f"{path}/namespaces/{namespace}"
    path = f"{path}/{row.plural}"
    if name:
        path = f"{path}/{name}"
    return f"{path}/{subresource}" if subresource else path
