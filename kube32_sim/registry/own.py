"""Types of the simulator's own whose objects are made when somebody looks, and stored nowhere.

`clocks` is such a type.  Rows without storage that can be read are served from here; so are POSTs to subresources of
theirs.  (What only answers a POST, as SubjectAccessReview does, has nothing to be read: `server/virtual`.)  `snapshots`
only answers a POST, too, but somebody else makes the answer (`importing`).

Objects of some types are made and removed by clients, too (`Makes`): what they stand for comes and goes with them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from itertools import count
from typing import Protocol, cast, runtime_checkable

from kube32_sim.api import errors
from kube32_sim.api.authorization import Attributes, Authorizer, refusal_text
from kube32_sim.api.meta import object_key
from kube32_sim.api.options import DeleteOptions
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.validation import names
from kube32_sim.registry.asked import Asked, Result
from kube32_sim.registry.deletion import check_preconditions
from kube32_sim.registry.reading import Page, decode_continue
from kube32_sim.storage.interface import JsonObject, Store
from kube32_sim.storage.objects import Decoded, StoredObject
from kube32_sim.storage.watching import Selection

_CHOSEN = ("labels", "annotations")
"""What of the metadata of a new object, besides its name, is its maker's."""


class OwnType(Protocol):
    """What there is of one type."""

    def objects(self) -> Iterable[JsonObject]:
        """As they are now, in order of their keys, without apiVersion and kind; the caller's to keep."""

    async def post(self, asked: Asked, obj: JsonObject) -> JsonObject:
        """The answer to a POST to a subresource of an object, with apiVersion and kind.  Raises ApiError."""


@runtime_checkable
class Makes(Protocol):
    """What a type has besides whose row says `create` and `delete`.

    Names, uids and preconditions are looked at by `Own`, as for stored types.  Both verbs raise ApiError.
    """

    async def create(self, asked: Asked, obj: JsonObject) -> JsonObject:
        """The new object, without apiVersion and kind, or for a dry run what it would be.

        obj: as it was sent, with a name that can be one and that nothing has, and metadata of the sender's choice only.
        """

    async def delete(self, asked: Asked) -> None:
        """Of an object that there is."""

    def coming(self) -> Collection[str]:
        """Names of those that are being made: no generated name is one of them."""


class Writable(OwnType, Protocol):
    """One whose objects can be written, where its row has the verbs."""

    async def update(self, asked: Asked, obj: JsonObject) -> JsonObject:
        """The answer to a PUT, or a PATCH that comes to `obj`, with apiVersion and kind.  Raises ApiError."""


Answering = Callable[["Asked", JsonObject], Awaitable[JsonObject]]
"""(what is asked, the body) -> the answer to a POST, with apiVersion and kind; raises ApiError."""


def demand_reading(authorizer: Authorizer, asked: Asked, wanted: Attributes, what: str) -> None:
    """Raise ApiError 403 where who asks may not read what an answer shows.  what: shows it, such as `a preview`."""
    if not authorizer.decide(asked.user, wanted).allowed:
        why = f"{refusal_text(asked.user, wanted)}, which {what} shows"
        raise errors.forbidden(asked.row.group, asked.row.plural, "", why)


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

    async def create(self, asked: Asked, obj: JsonObject) -> Result:
        """Raises ApiError: 405 where a type takes none, 422 for its name, 409 where there is one of the name."""
        row = asked.row
        made = self._makes(row, "create")
        metadata = obj.setdefault("metadata", {})
        if metadata.get("resourceVersion"):
            raise errors.bad_request("resourceVersion should not be set on objects to be created")
        name = metadata.get("name") or ""
        prefix = "" if name else metadata.get("generateName") or ""
        problems = names.dns1123_subdomain(name or prefix, prefix=not name) if name or prefix else []
        failures = [errors.invalid_value("metadata.name", name or prefix, why) for why in problems]
        if not name and not prefix:
            failures = [errors.required("metadata.name", "name or generateName is required")]
        if failures:
            raise errors.invalid(row.group, row.kind, name, failures)
        obj["metadata"] = {field: metadata[field] for field in _CHOSEN if metadata.get(field)}
        asked = asked._replace(name=name or self._free_name(asked, prefix, made.coming()))
        obj["metadata"]["name"] = asked.name
        if any(one.key == asked.key for one in self._objects(row)):
            raise errors.already_exists(row.group, row.plural, asked.name)
        return Result(None, await made.create(asked, obj), created=True)

    async def delete(self, asked: Asked, options: DeleteOptions) -> Result:
        row = asked.row
        made = self._makes(row, "delete")
        last = self.get(asked)
        check_preconditions(row, asked.name, last.object()["metadata"], options)
        if not options.dry_run:
            await made.delete(asked)
        return Result(None, last.copy(), removed=True)

    def _makes(self, row: ResourceType, verb: str) -> Makes:
        served = self._types.get((row.group, row.plural))
        if not isinstance(served, Makes):
            raise errors.method_not_supported(row.group, row.plural, verb, "they cannot be written")
        return served

    def _free_name(self, asked: Asked, prefix: str, coming: Collection[str]) -> str:
        """The lowest number that makes a name nobody has or is about to get."""
        there = {one.name for one in self._objects(asked.row)} | set(coming)
        return next(name for number in count(1) if (name := f"{prefix}{number}") not in there)

    async def post(self, asked: Asked, obj: JsonObject) -> JsonObject:
        self.get(asked)
        return await self._types[asked.row.group, asked.row.plural].post(asked, obj)

    async def update(self, asked: Asked, obj: JsonObject) -> JsonObject:
        served = cast(Writable, self._types[asked.row.group, asked.row.plural])
        return await served.update(asked, obj)

    def _objects(self, row: ResourceType) -> Iterable[StoredObject]:
        served = self._types.get((row.group, row.plural))
        for obj in served.objects() if served is not None else ():
            metadata = obj["metadata"]
            key = object_key(row, metadata.get("namespace", ""), metadata["name"])
            yield StoredObject(row.storage, key, obj, self._store.revision, (), (), self._cache)
