"""Types of the simulator's own whose objects are made when somebody looks, and stored nowhere.

`clocks` is such a type.  Rows without storage that can be read are served from here; so are POSTs to subresources of
theirs.  (What only answers a POST, as SubjectAccessReview does, has nothing to be read: `server/virtual`.)  `snapshots`
only answers a POST, too, but somebody else makes the answer (`importing`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Protocol, cast

from kube32_sim.api import errors
from kube32_sim.api.meta import object_key
from kube32_sim.api.resources import ResourceType
from kube32_sim.registry.reading import Page, decode_continue
from kube32_sim.storage.interface import JsonObject, Store
from kube32_sim.storage.objects import Decoded, StoredObject
from kube32_sim.storage.watching import Selection

if TYPE_CHECKING:
    from kube32_sim.registry.asked import Asked


class OwnType(Protocol):
    """What there is of one type."""

    def objects(self) -> Iterable[JsonObject]:
        """As they are now, in order of their keys, without apiVersion and kind; the caller's to keep."""

    async def post(self, asked: Asked, obj: JsonObject) -> JsonObject:
        """The answer to a POST to a subresource of an object, with apiVersion and kind.  Raises ApiError."""


class Writable(OwnType, Protocol):
    """One whose objects can be written, where its row has the verbs."""

    async def update(self, asked: Asked, obj: JsonObject) -> JsonObject:
        """The answer to a PUT, or a PATCH that comes to `obj`, with apiVersion and kind.  Raises ApiError."""

    async def delete(self, asked: Asked, *, dry_run: bool) -> None:
        """Of an object that there is.  Raises ApiError."""


Answering = Callable[["Asked", JsonObject], Awaitable[JsonObject]]
"""(what is asked, the body) -> the answer to a POST, with apiVersion and kind; raises ApiError."""


class Own:
    """The types by their group and plural.  Their objects are of the store's present revision, whatever that is."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._types: dict[tuple[str, str], OwnType] = {}
        self._answering: dict[tuple[str, str], Answering] = {}
        self._cache = Decoded(limit=16)

    def serve(self, group: str, plural: str, served: OwnType) -> None:
        self._types[group, plural] = served

    def answer(self, group: str, plural: str, answering: Answering) -> None:
        """Of a type that is only posted to."""
        self._answering[group, plural] = answering

    def answers(self, row: ResourceType) -> Answering | None:
        return self._answering.get((row.group, row.plural))

    def get(self, asked: Asked) -> StoredObject:
        row = asked.row
        found = next((one for one in self._objects(row) if one.key == asked.key), None)
        if found is None:
            raise errors.not_found(row.group, row.plural, asked.name)
        return found

    def page(self, row: ResourceType, selection: Selection, continue_token: str = "") -> Page:
        """All that is selected: there are few of these.  Hence nobody has got a token to go on from."""
        if continue_token:
            decode_continue(continue_token)
            return Page([], self._store.revision)
        return Page([one for one in self._objects(row) if selection.matches(one)], self._store.revision)

    async def post(self, asked: Asked, obj: JsonObject) -> JsonObject:
        self.get(asked)
        return await self._types[asked.row.group, asked.row.plural].post(asked, obj)

    async def update(self, asked: Asked, obj: JsonObject) -> JsonObject:
        return await self._writable(asked).update(asked, obj)

    async def delete(self, asked: Asked, *, dry_run: bool) -> StoredObject:
        """Answers the object as it was."""
        before = self.get(asked)
        await self._writable(asked).delete(asked, dry_run=dry_run)
        return before

    def _writable(self, asked: Asked) -> Writable:
        return cast(Writable, self._types[asked.row.group, asked.row.plural])

    def _objects(self, row: ResourceType) -> Iterable[StoredObject]:
        served = self._types.get((row.group, row.plural))
        for obj in served.objects() if served is not None else ():
            metadata = obj["metadata"]
            key = object_key(row, metadata.get("namespace", ""), metadata["name"])
            yield StoredObject(row.storage, key, obj, self._store.revision, (), (), self._cache)
