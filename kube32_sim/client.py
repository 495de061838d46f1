"""The verbs of the API as every part of the simulator uses them, in process or over HTTP.

`Client` is the protocol.  `LocalClient` and `HttpClient` implement it; loops and boards are written against it and
cannot tell which one they hold.  Failures are `kube32_sim.api.errors.ApiError` in both.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from kube32_sim.api.own import GROUP, VERSION
from kube32_sim.storage.interface import Heartbeat, Pulse

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Resource:
    """Which type is meant.  Example: `Resource("apps", "v1", "deployments")`."""

    group: str
    version: str
    plural: str


PODS = Resource("", "v1", "pods")
NODES = Resource("", "v1", "nodes")
EVENTS = Resource("", "v1", "events")
SERVICES = Resource("", "v1", "services")
NAMESPACES = Resource("", "v1", "namespaces")
LEASES = Resource("coordination.k8s.io", "v1", "leases")
DEPLOYMENTS = Resource("apps", "v1", "deployments")
DAEMONSETS = Resource("apps", "v1", "daemonsets")
JOBS = Resource("batch", "v1", "jobs")
CLOCKS = Resource(GROUP, VERSION, "clocks")
EXPLANATIONS = Resource(GROUP, VERSION, "explanations")
FORKS = Resource(GROUP, VERSION, "forks")


@dataclass(frozen=True, slots=True)
class ListResult:
    items: list[JsonObject]
    resource_version: str


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """type: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR (object is a Status then)."""

    type: str
    object: JsonObject


PATCHES = {"merge": "application/merge-patch+json", "strategic": "application/strategic-merge-patch+json"}
"""Kinds of patch, and their media types."""


class Unreachable(Exception):
    """The server gave no answer: no connection, or one that broke.  Only clients over HTTP raise it."""


class Client(Protocol):
    """namespace is "" for cluster-scoped types (and, in list and watch, for all namespaces)."""

    async def get(self, resource: Resource, namespace: str, name: str) -> JsonObject: ...

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        at: str = "",
    ) -> ListResult:
        """at: exactly as of this resourceVersion; "": as of now."""

    def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        heartbeats: bool = True,
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """Events after resource_version (as `list` answered it); ends when the server ends it.

        heartbeats: False lets events be left out that tell of a heartbeat only.
        """

    async def create(
        self, resource: Resource, namespace: str, obj: JsonObject, *, subresource: str = "", name: str = ""
    ) -> JsonObject: ...

    async def update(self, resource: Resource, namespace: str, obj: JsonObject, *, subresource: str = "") -> JsonObject:
        """PUT, by obj's metadata.name; with metadata.resourceVersion only if that is current (else 409)."""

    def pulse(self, resource: Resource, namespace: str, name: str, version: str, heartbeat: Heartbeat) -> Pulse | None:
        """What writes the heartbeats of an object of this resourceVersion at once; None where that cannot be done.

        That is so over HTTP; then each takes an `update` or a `patch`.
        """

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: JsonObject,
        *,
        subresource: str = "",
        kind: str = "merge",
    ) -> JsonObject:
        """kind: `merge` or `strategic`."""

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, options: Mapping[str, Any] | None = None
    ) -> JsonObject:
        """options: fields of DeleteOptions (gracePeriodSeconds, preconditions, propagationPolicy)."""
