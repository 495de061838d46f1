"""Discovery: what the server serves, computed from the rows of the table.

The classic documents (`/api`, `/api/v1`, `/apis`, `/apis/GROUP`, `/apis/GROUP/VERSION`), the aggregated ones that
current clients ask `/api` and `/apis` for, and `/version`.  Encoded once, until the table changes.  Which form a client
wants is `media.negotiate_discovery`'s decision; schemas are `openapi`'s subject.
"""

from __future__ import annotations

import base64
import hashlib
import platform
import re
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import orjson

from kube32_sim.api.builtin import GROUP_ORDER
from kube32_sim.api.errors import method_not_allowed, path_not_found
from kube32_sim.api.media import Accepted
from kube32_sim.api.paths import RequestInfo
from kube32_sim.api.resources import ResourceTable, ResourceType, Subresource
from kube32_sim.version import GIT_VERSION

JsonObject = dict[str, Any]

READ = ("get", "list", "watch")
_VERSION = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?").fullmatch
_STAGES = {None: 2, "beta": 1, "alpha": 0}


def version_document() -> JsonObject:
    """The answer to `GET /version`."""
    minor = GIT_VERSION.split(".")[1]
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": "1",
        "minor": minor,
        "emulationMajor": "1",
        "emulationMinor": minor,
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": "gc",
        "platform": f"{platform.system().lower()}/{machine}",
    }


def _version_rank(version: str) -> tuple[int, ...]:
    """Newest and most stable first: v2, v1, v1beta2, v1alpha1, then the rest."""
    match = _VERSION(version)
    if match is None:
        return (1,)
    return (0, -_STAGES[match[2]], -int(match[1]), -int(match[3] or 0))


def groups_in_order(table: ResourceTable) -> dict[str, list[str]]:
    """Group -> versions, preferred first; built-in groups by priority, others by name after them."""
    groups = table.groups()
    builtin = [group for group in GROUP_ORDER if group in groups]
    others = sorted(group for group in groups if group not in GROUP_ORDER)
    ordered = {group: groups[group] for group in builtin}
    ordered.update((group, sorted(groups[group], key=lambda v: (_version_rank(v), v))) for group in others)
    return ordered


def api_versions(address: str) -> JsonObject:
    """`/api`."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def _group_version(group: str, version: str) -> JsonObject:
    return {"groupVersion": f"{group}/{version}", "version": version}


def _group(group: str, versions: list[str]) -> JsonObject:
    entries = [_group_version(group, version) for version in versions]
    return {"name": group, "versions": entries, "preferredVersion": entries[0]}


def group_list(table: ResourceTable) -> JsonObject:
    """`/apis`."""
    groups = [_group(group, versions) for group, versions in groups_in_order(table).items() if group]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group_document(table: ResourceTable, group: str) -> JsonObject:
    """`/apis/GROUP`."""
    versions = groups_in_order(table).get(group)
    if not versions:
        raise path_not_found()
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)}


def _sorted_rows(table: ResourceTable, group: str, version: str) -> list[ResourceType]:
    return sorted(table.rows(group, version), key=lambda row: row.plural)


Storages = Collection[tuple[str, str]]


def _verbs(row: ResourceType, read_only: Storages) -> tuple[str, ...]:
    return tuple(verb for verb in row.verbs if verb in READ) if row.storage in read_only else row.verbs


def storage_version_hash(row: ResourceType) -> str:
    """Tells clients which type objects are stored as; row: that type's own (`ResourceTable.by_storage`)."""
    named = f"{row.group}/{row.version}/{row.kind}".encode()
    return base64.b64encode(hashlib.sha256(named).digest()[:8]).decode()


def resource_list(table: ResourceTable, group: str, version: str, read_only: Storages = ()) -> JsonObject:
    """`/api/v1` and `/apis/GROUP/VERSION`; read_only: storages of types that nobody may write."""
    rows = _sorted_rows(table, group, version)
    if not rows:
        raise path_not_found()
    resources = []
    for row in rows:
        entry = _resource(row, read_only)
        if row.stored and "watch" in row.verbs:
            entry["storageVersionHash"] = storage_version_hash(table.by_storage(row.storage))
        resources.append(entry)
        resources.extend(_subresource(row, sub) for sub in row.subresources)
    api_version = {"apiVersion": "v1"} if group else {}
    return {"kind": "APIResourceList", **api_version, "groupVersion": rows[0].api_version, "resources": resources}


def _resource(row: ResourceType, read_only: Storages) -> JsonObject:
    entry: JsonObject = {
        "name": row.plural,
        "singularName": row.singular,
        "namespaced": row.namespaced,
        "kind": row.kind,
        "verbs": _verbs(row, read_only),
    }
    return {**entry, **_names(row)}


def _names(row: ResourceType) -> JsonObject:
    names: JsonObject = {}
    if row.short_names:
        names["shortNames"] = row.short_names
    if row.categories:
        names["categories"] = row.categories
    return names


def _subresource(row: ResourceType, sub: Subresource) -> JsonObject:
    foreign = {"group": sub.group, "version": sub.version} if sub.group else {}
    return {
        "name": f"{row.plural}/{sub.name}",
        "singularName": "",
        "namespaced": row.namespaced,
        **foreign,
        "kind": sub.kind,
        "verbs": sub.verbs,
    }


def aggregated(table: ResourceTable, *, core: bool, version: str, read_only: Storages = ()) -> JsonObject:
    """Everything under `/api` (core) or `/apis` in one document; version: `v2` or `v2beta1`."""
    items = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [
                {
                    "version": name,
                    "resources": [_aggregated_resource(row, read_only) for row in _sorted_rows(table, group, name)],
                    "freshness": "Current",
                }
                for name in versions
            ],
        }
        for group, versions in groups_in_order(table).items()
        if core == (not group)
    ]
    api_version = f"apidiscovery.k8s.io/{version}"
    return {"kind": "APIGroupDiscoveryList", "apiVersion": api_version, "metadata": {}, "items": items}


def _response_kind(row: ResourceType, kind: str, group: str, version: str) -> JsonObject:
    """As recorded: built-in types leave group and version empty where they are their own, custom ones fill them in."""
    if row.names_in_list and not group:
        group, version = row.group, row.version
    return {"group": group, "version": version, "kind": kind}


def _aggregated_resource(row: ResourceType, read_only: Storages) -> JsonObject:
    entry: JsonObject = {
        "resource": row.plural,
        "responseKind": _response_kind(row, row.kind, "", ""),
        "scope": "Namespaced" if row.namespaced else "Cluster",
        "singularResource": row.singular,
        "verbs": _verbs(row, read_only),
        **_names(row),
    }
    if row.subresources:
        entry["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": _response_kind(row, sub.kind, sub.group, sub.version),
                "verbs": sub.verbs,
            }
            for sub in row.subresources
        ]
    return entry


def index_document(table: ResourceTable, others: Iterable[str]) -> JsonObject:
    """`/`: the paths that there are; others: besides those of groups and versions."""
    found = ["/apis/", *others]
    for group, versions in groups_in_order(table).items():
        base = f"/apis/{group}" if group else "/api"
        found += [base, *(f"{base}/{version}" for version in versions)]
    return {"paths": sorted({"/apis", *found})}


class Document(NamedTuple):
    """An encoded answer; etag: for the header of that name and If-None-Match, quotes included."""

    body: bytes
    etag: str


def encode(document: JsonObject) -> Document:
    body = orjson.dumps(document)
    return Document(body, f'"{hashlib.sha512(body).hexdigest().upper()}"')


class Discovery:
    """The documents of one table, encoded and kept until the table changes.

    address: `host:port` that `/api` tells clients, set when the server knows its port.  read_only: storages of types
    that nobody may write, because they are computed.
    """

    def __init__(self, table: ResourceTable, address: str = "", read_only: Storages = ()) -> None:
        self._table = table
        self._read_only = read_only
        self._documents: dict[tuple[str, str, str, str], Document] = {}
        self._changed = -1
        self.address = address

    def answer(self, info: RequestInfo, accepted: Accepted) -> Document:
        """The document of a discovery path, as JSON; raises ApiError 404 and 405.

        Whether a 404 is to be a plain text, `paths.not_found_is_plain` knows.
        """
        if self._table.changed != self._changed:
            self._documents.clear()
            self._changed = self._table.changed
        key = (info.prefix, info.group, info.version, accepted.version if accepted.form == "discovery" else "")
        found = self._documents.get(key)
        if found is None:
            found = encode(self._compute(*key))
        if info.verb != "get":
            raise method_not_allowed()
        self._documents[key] = found
        return found

    def _compute(self, prefix: str, group: str, version: str, aggregated_version: str) -> JsonObject:
        if aggregated_version and not group and not version:
            core = prefix == "api"
            return aggregated(self._table, core=core, version=aggregated_version, read_only=self._read_only)
        if version:
            return resource_list(self._table, group, version, self._read_only)
        if group:
            return group_document(self._table, group)
        return api_versions(self.address) if prefix == "api" else group_list(self._table)
