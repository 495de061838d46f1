"""Reading a whole cluster, a simulator or any other: all objects of all types, as of one revision.

Nothing but the ordinary API is used: discovery, and lists in pages at an exact resourceVersion.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kube32_sim.api import own
from kube32_sim.api.errors import ApiError
from kube32_sim.client import CLOCKS, Resource, Unreachable
from kube32_sim.clock import RealClock, rfc3339

JsonObject = dict[str, Any]

PAGE = 500
ATTEMPTS = 3
"""How often it is begun anew where the server forgets the revision meanwhile."""
SECRETS = Resource("", "v1", "secrets")
_OURS = "+kube32-sim"
_NEEDED = frozenset(("list", "watch"))
"""What can be watched is stored; what can only be listed is made when somebody looks."""
_TWICE = frozenset((("events.k8s.io", "events"),))
"""The same objects as of another group."""
_COMPUTED = (Resource("", "v1", "endpoints"), Resource("discovery.k8s.io", "v1", "endpointslices"))
"""A simulator brings them up to date when they are read, which makes new revisions."""


class Asking(Protocol):
    """`HttpClient.ask`."""

    async def ask(
        self, method: str, path: str, query: Mapping[str, str] | None = None, *, body: JsonObject | None = None
    ) -> JsonObject: ...


@dataclass(slots=True)
class Saved:
    """objects: how many were written.  warnings: what could not be read."""

    header: JsonObject
    objects: int = 0
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Type:
    resource: Resource
    kind: str

    @property
    def path(self) -> str:
        group, version, plural = self.resource.group, self.resource.version, self.resource.plural
        return f"/apis/{group}/{version}/{plural}" if group else f"/api/{version}/{plural}"

    @property
    def api_version(self) -> str:
        return f"{self.resource.group}/{self.resource.version}" if self.resource.group else self.resource.version


class Expired(Exception):
    """The server has forgotten the revision that is being read."""


class Saving:
    """One reading of a cluster.  without: types that are left out."""

    def __init__(self, client: Asking, without: frozenset[Resource] = frozenset()) -> None:
        self._client = client
        self._without = without
        self._warnings: list[str] = []

    async def begin(self) -> tuple[Saved, list[Type], str]:
        """(what there is to say of it, the types in the order in which they are to be written, the revision)."""
        self._warnings = []
        version = (await self._client.ask("GET", "/version")).get("gitVersion")
        if not isinstance(version, str):
            raise Unreachable("GET /version: the answer says no version, so it is no API server")
        types = [one for one in await self._types() if one.resource not in self._without]
        for one in types:
            if one.resource in _COMPUTED:
                await self._page(one, {"limit": "1"})
        first = await self._client.ask("GET", "/api/v1/namespaces", {"limit": "1"})
        revision = str(first["metadata"]["resourceVersion"])
        spec = {
            "time": await self._time(),
            "server": version,
            "resourceVersion": revision,
            "foreign": _OURS not in version,
            "complete": not (self._without or self._warnings),
        }
        header = {"apiVersion": own.API_VERSION, "kind": "Snapshot", "spec": spec}
        return Saved(header, warnings=self._warnings), types, revision

    async def _time(self) -> str:
        try:
            clock = await self._client.ask("GET", f"/apis/{CLOCKS.group}/{CLOCKS.version}/{CLOCKS.plural}/cluster")
        except ApiError:
            return rfc3339(RealClock().now())  # no simulator: its time is everybody's
        return str(clock["status"]["now"])

    async def objects(self, one: Type, revision: str) -> AsyncIterator[list[JsonObject]]:
        """The objects of a type, page by page; raises Expired."""
        query = {"limit": str(PAGE), "resourceVersion": revision, "resourceVersionMatch": "Exact"}
        while True:
            page = await self._page(one, query)
            head = {"apiVersion": one.api_version, "kind": one.kind}
            yield [{**head, **item} for item in page.get("items") or ()]
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return
            query = {"limit": str(PAGE), "continue": token}

    async def _page(self, one: Type, query: Mapping[str, str]) -> JsonObject:
        try:
            return await self._client.ask("GET", one.path, query)
        except ApiError as error:
            if error.code == 410:
                raise Expired from error
            raise

    # which types there are

    async def _types(self) -> list[Type]:
        found = await self._of_version("", "v1", set())
        groups = await self._client.ask("GET", "/apis")
        for group in groups.get("groups") or ():
            preferred = group["preferredVersion"]["version"]
            versions = [preferred, *(one["version"] for one in group["versions"] if one["version"] != preferred)]
            seen: set[str] = set()
            for version in versions:
                found += await self._of_version(group["name"], version, seen)
        return sorted(found, key=_order)

    async def _of_version(self, group: str, version: str, seen: set[str]) -> list[Type]:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            answer = await self._client.ask("GET", path)
        except ApiError as error:  # what serves it is away, as may be with aggregated APIs
            self._warnings.append(f"{path} cannot be read: {error.message}")
            return []
        found = []
        for one in answer.get("resources") or ():
            name = one["name"]
            if "/" in name or name in seen or not _NEEDED.issubset(one.get("verbs") or ()) or (group, name) in _TWICE:
                continue
            seen.add(name)
            found.append(Type(Resource(group, version, name), one["kind"]))
        return found


def _order(one: Type) -> int:
    """As a reader likes it: what others need comes before them."""
    first = ("namespaces", "customresourcedefinitions", "nodes")
    last = ("pods", "events")
    plural = one.resource.plural
    if plural in first:
        return first.index(plural)
    return 100 + last.index(plural) if plural in last else 50


async def save(saving: Saving, write: Callable[[JsonObject], None], progress: Callable[[int, int], None]) -> Saved:
    """Write the header and every object; answers what was saved.  progress: told (types in all, types done).

    Raises Expired, when a part may have been written; ApiError; Unreachable.
    """
    saved, types, revision = await saving.begin()
    write(saved.header)
    for done, one in enumerate(types):
        progress(len(types), done)
        async for page in saving.objects(one, revision):
            for obj in page:
                write(obj)
            saved.objects += len(page)
    return saved
