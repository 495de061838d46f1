"""The watch hub: who wants to know of which change, and in which form.

Watchers that ask for the same thing in the same form share one `Group`: a change is matched and encoded once for the
group, and what the group gathered during one turn of the event loop is joined once and handed to each of its members.
Groups are found by what they ask for (one name, one value of an indexed field, one namespace, everything), so an event
costs what it concerns, not the number of watchers.

A member first catches up with the past, which who joined for it reads from the store, then goes live
(`Member.go_live`); what arrives meanwhile waits in its backlog.  Position is taken before the snapshot, in the same
instant, so nothing is lost or doubled.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kube32_sim.clock import Gauge
from kube32_sim.storage.interface import Storage, Store
from kube32_sim.storage.objects import Event, StoredObject

log = logging.getLogger(__name__)


class Matcher(Protocol):
    """A parsed selector (see api/selectors)."""

    text: str
    everything: bool

    def matches(self, values: Mapping[str, str]) -> bool: ...


class Encoder(Protocol):
    """Turns changes into what members are handed.  `key` is equal for encoders that encode alike."""

    key: Any

    def encode(self, kind: str, stored: StoredObject) -> Any: ...

    def join(self, frames: Sequence[Any]) -> Any:
        """What the frames of one turn are handed over as."""


class Objects:
    """The encoder for members in process: (type, stored) pairs as they are."""

    key = "objects"

    def encode(self, kind: str, stored: StoredObject) -> tuple[str, StoredObject]:
        return kind, stored

    def join(self, frames: Sequence[Any]) -> Sequence[Any]:
        return frames


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked for.  name: one object's name, or "".  exact: (indexed field, value) the selection implies."""

    namespace: str = ""
    name: str = ""
    labels: Matcher | None = None
    fields: Matcher | None = None
    exact: tuple[str, str] | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        labels = self.labels.text if self.labels is not None else ""
        fields = self.fields.text if self.fields is not None else ""
        return (self.namespace, self.name, labels, fields, self.exact)

    def matches(self, stored: StoredObject) -> bool:
        if self.namespace and stored.namespace != self.namespace:
            return False
        if self.name and stored.name != self.name:
            return False
        if self.exact is not None and stored.value(self.exact[0]) != self.exact[1]:
            return False
        if self.labels is not None and not self.labels.matches(stored.labels):
            return False
        return self.fields is None or self.fields.matches(stored.fields)

    def transition(self, event: Event) -> tuple[str, StoredObject] | None:
        """The event as this selection sees it: objects that come into it are ADDED, that leave it DELETED."""
        before = event.previous is not None and self.matches(event.previous)
        if event.type == "DELETED":
            return ("DELETED", event.stored) if before else None
        if self.matches(event.stored):
            return ("MODIFIED" if before else "ADDED", event.stored)
        return ("DELETED", event.gone()) if before else None


class Group:
    """Members that ask for the same thing in the same form.  heartbeats: whether they are told of heartbeats."""

    def __init__(self, storage: Storage, selection: Selection, encoder: Encoder, heartbeats: bool) -> None:
        self.storage = storage
        self.selection = selection
        self.encoder = encoder
        self.heartbeats = heartbeats
        self.key = (selection.key, encoder.key, heartbeats)
        self.members: dict[Member, Any] = {}
        self.pending: list[Any] = []

    def frame(self, event: Event, made: dict[Any, Any]) -> Any | None:
        """made: the frames of this event so far, shared with the groups that encode alike."""
        seen = self.selection.transition(event)
        if seen is None:
            return None
        key = (seen[0], self.encoder.key)
        frame = made.get(key)
        if frame is None:
            frame = made[key] = self.encoder.encode(*seen)
        return frame

    def flush(self) -> None:
        frames, self.pending = self.pending, []
        payload = self.encoder.join(frames)
        for member in tuple(self.members):
            try:
                member.hand_over(payload)
            except Exception:
                log.exception("a watcher of %s failed", self.storage[1])
                member.cut()

    def cut(self) -> None:
        """Something cannot be told to the members: none must believe that it knows everything."""
        for member in tuple(self.members):
            member.cut()


class Member:
    """One watcher.  `deliver(payload)` is called in the event loop's turn after the change, once live.

    limit bounds what may wait while the member catches up, by the len() of payloads (bytes, or how many changes).
    Who lets more wait, or cannot be told of a change, is cut: he has left then, and `overflow` is called.
    """

    def __init__(
        self, hub: Hub, group: Group, deliver: Callable[[Any], None], overflow: Callable[[], None], limit: int
    ) -> None:
        self._hub = hub
        self.group = group
        self._deliver = deliver
        self._overflow = overflow
        self._limit = limit
        self._backlog: list[Any] | None = []
        self._waiting = 0

    def hand_over(self, payload: Any) -> None:
        if self._backlog is None:
            self._deliver(payload)
            return
        self._backlog.append(payload)
        self._waiting += len(payload)
        if self._waiting > self._limit:
            self.cut()

    def go_live(self) -> None:
        """Catching up is done: deliver what came meanwhile, and everything from now on."""
        backlog, self._backlog = self._backlog, None
        for payload in backlog or ():
            self._deliver(payload)

    def stop(self) -> None:
        self._hub.leave(self)

    def cut(self) -> None:
        self.stop()
        self._overflow()


Scope = tuple[str, ...]


class Hub:
    """Groups of one store, and the turn-by-turn delivery of its events."""

    def __init__(self, store: Store, gauge: Gauge, *, kept: bool = False) -> None:
        """kept: members are told of what is kept for good only."""
        self._store = store
        self._gauge = gauge
        self._kept = kept
        self._groups: dict[Storage, dict[Scope, dict[tuple[Any, ...], Group]]] = {}
        self._attentive: dict[Storage, int] = {}
        """How many groups of a type want to be told of heartbeats."""
        self._deafen: dict[Storage, Callable[[], None]] = {}
        """How to hear of the heartbeats of a type no more."""
        self._dirty: dict[Group, None] = {}
        self.told: Counter[Storage] = Counter()
        """Events that were handed over, to each member each, by type."""
        store.subscribe(self._on_event, kept=kept)

    @property
    def position(self) -> int:
        """The revision up to which members that are live have been told everything, after a `flush`."""
        return self._store.durable if self._kept else self._store.revision

    def watching(self, storage: Storage) -> bool:
        return bool(self._groups.get(storage))

    def count(self) -> int:
        return sum(
            len(g.members) for scopes in self._groups.values() for groups in scopes.values() for g in groups.values()
        )

    def join(
        self,
        storage: Storage,
        selection: Selection,
        encoder: Encoder,
        deliver: Callable[[Any], None],
        overflow: Callable[[], None],
        limit: int = 10_000,
        *,
        heartbeats: bool = True,
    ) -> Member:
        """Register at the present position: everything appended after this call reaches the member.

        heartbeats: heartbeats too (see `Store.pulse`).
        """
        self.flush()
        scopes = self._groups.setdefault(storage, {})
        groups = scopes.setdefault(self._scope(selection), {})
        new = Group(storage, selection, encoder, heartbeats)
        group = groups.setdefault(new.key, new)
        if group is new and heartbeats:
            self._attend(storage, 1)
        member = Member(self, group, deliver, overflow, limit)
        group.members[member] = None
        return member

    def leave(self, member: Member) -> None:
        group = member.group
        if group.members.pop(member, group) is group or group.members:
            return
        scopes = self._groups[group.storage]
        scope = self._scope(group.selection)
        del scopes[scope][group.key]
        if group.heartbeats:
            self._attend(group.storage, -1)
        if not scopes[scope]:
            del scopes[scope]
        if not scopes:
            del self._groups[group.storage]
        self._dirty.pop(group, None)

    def _attend(self, storage: Storage, more: int) -> None:
        """One group more, or less, wants to be told of the heartbeats of a type: while none does, nor is the hub."""
        groups = self._attentive[storage] = self._attentive.get(storage, 0) + more
        if groups == 0:
            del self._attentive[storage]
            self._deafen.pop(storage)()
        elif storage not in self._deafen:
            self._deafen[storage] = self._store.subscribe(self._on_event, (), [storage], kept=self._kept)

    @staticmethod
    def _scope(selection: Selection) -> Scope:
        if selection.name:
            return ("name", selection.name)
        if selection.exact is not None:
            return ("field", *selection.exact)
        return ("namespace", selection.namespace) if selection.namespace else ("all",)

    def _concerned(self, event: Event) -> Iterator[Group]:
        scopes = self._groups.get(event.stored.storage)
        if not scopes:
            return
        stored, previous = event.stored, event.previous
        names: list[Scope] = [("all",), ("name", stored.name)]
        if stored.namespace:
            names.append(("namespace", stored.namespace))
        for field in self._store.indexed(stored.storage):
            value = stored.value(field)
            names.append(("field", field, value))
            if previous is not None and previous.value(field) != value:
                names.append(("field", field, previous.value(field)))
        for name in names:
            groups = scopes.get(name)
            if groups:
                yield from groups.values()

    def _on_event(self, event: Event) -> None:
        made: dict[Any, Any] = {}
        for group in tuple(self._concerned(event)):
            if event.heartbeat and not group.heartbeats:
                continue
            try:
                frame = group.frame(event, made)
            except Exception:
                log.exception("%s %s cannot be told", event.stored.storage[1], event.stored.key)
                group.cut()
                continue
            if frame is None:
                continue
            if not self._dirty:
                self._gauge.up()
                asyncio.get_running_loop().call_soon(self._turn)
            self._dirty[group] = None
            group.pending.append(frame)

    def _turn(self) -> None:
        self.flush()
        self._gauge.down()

    def flush(self) -> None:
        """Hand over what is pending, so that who is live has been told everything up to the present revision."""
        dirty, self._dirty = self._dirty, {}
        for group in dirty:
            self.told[group.storage] += len(group.pending) * len(group.members)
            group.flush()
