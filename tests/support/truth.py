"""What really happened, from the answers to the writes; and what a watcher of a selection has to have seen of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

JsonObject = Mapping[str, Any]
Key = tuple[str, str]
Seen = tuple[str, int, Key]
"""(type of the event, its revision, namespace and name)."""


@dataclass(frozen=True)
class State:
    """Of an object, as far as selections look at it."""

    key: Key
    labels: Mapping[str, str]
    node: str

    @staticmethod
    def of(obj: JsonObject) -> State:
        metadata = obj["metadata"]
        return State(
            (metadata["namespace"], metadata["name"]), metadata.get("labels", {}), obj["spec"].get("nodeName", "")
        )


Selection = Callable[[State], bool]


def revision(obj: JsonObject) -> int:
    return int(obj["metadata"]["resourceVersion"])


class Truth:
    """The writes of one type of object, in the order of their revisions whatever the order of their answers."""

    def __init__(self) -> None:
        self._writes: dict[int, tuple[State, bool]] = {}

    def wrote(self, answer: JsonObject) -> None:
        """A create, update or patch was answered; an answer that shows a known revision says that nothing changed."""
        self._note(revision(answer), State.of(answer), True)

    def removed(self, answer: JsonObject) -> None:
        """A pod was deleted without grace: first it is marked, then it is gone."""
        self._note(revision(answer) - 1, State.of(answer), True)
        self._note(revision(answer), State.of(answer), False)

    def _note(self, at: int, state: State, is_there: bool) -> None:
        known = self._writes.setdefault(at, (state, is_there))
        assert known == (state, is_there), f"two writes at revision {at}: {known} and {(state, is_there)}"

    def revisions(self) -> list[int]:
        return sorted(self._writes)

    def at(self, when: int, selection: Selection) -> dict[Key, int]:
        """The selected objects at a revision, each with its own revision."""
        found: dict[Key, int] = {}
        for revision in self.revisions():
            state, is_there = self._writes[revision]
            if revision > when:
                break
            found.pop(state.key, None)
            if is_there and selection(state):
                found[state.key] = revision
        return found

    def events(self, since: int, selection: Selection) -> Iterator[Seen]:
        """What a watch of the selection that starts after a revision sees."""
        selected = set(self.at(since, selection))
        for revision in self.revisions():
            if revision <= since:
                continue
            state, is_there = self._writes[revision]
            before, now = state.key in selected, is_there and selection(state)
            if now:
                selected.add(state.key)
                yield ("MODIFIED" if before else "ADDED", revision, state.key)
            elif before:
                selected.discard(state.key)
                yield ("DELETED", revision, state.key)
