"""Writers and a watcher of a server that is killed while they are at it, and what must be true of what it has left.

Each writer has objects of its own, so it knows what each of them is: what was acknowledged last, and what it asked for
when the server went away, which is wholly done or not at all.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import aiohttp
import orjson

JsonObject = dict[str, Any]
Data = dict[str, str]

MAPS = "/api/v1/namespaces/default/configmaps"
NAMES = 12
"""Objects of each writer."""
GONE = (aiohttp.ClientError, ConnectionError, asyncio.IncompleteReadError)
"""What a client of a server that is killed gets."""


class State(NamedTuple):
    """An object that is there."""

    revision: int
    uid: str
    data: Data


class Moment(NamedTuple):
    """What a revision did."""

    type: str
    name: str
    data: Data


@dataclass
class Truth:
    """What is known of all that was ever written.

    objects: as acknowledged last, None once deleted.  asked: what was asked for last and not answered: the data wanted,
    None for a deletion.  history: by revision; what anybody was told stays so.
    """

    objects: dict[str, State | None] = field(default_factory=dict)
    asked: dict[str, Data | None] = field(default_factory=dict)
    history: dict[int, Moment] = field(default_factory=dict)
    uids: dict[str, str] = field(default_factory=dict)
    read: dict[int, tuple[str, Data]] = field(default_factory=dict)
    """By revision, what lists showed."""
    read_at: int = 0
    """The newest revision that a list was of."""
    acknowledged: int = 0
    unanswered: int = 0

    def learn(self, revision: int, moment: Moment) -> None:
        """Somebody was told."""
        known = self.history.setdefault(revision, moment)
        assert known == moment, f"revision {revision} was {known}, and is {moment}"

    @property
    def newest(self) -> int:
        """The newest revision that anybody was told of."""
        return max(self.read_at, *self.history, 0)

    def check_reads(self) -> None:
        """What lists showed has happened, and nothing else."""
        for revision, (name, data) in self.read.items():
            moment = self.history.get(revision)
            assert moment is not None, f"{name} was read as of revision {revision}, which has never been"
            assert (moment.name, moment.data) == (name, data), f"revision {revision} is {moment}"
        self.read.clear()

    def done(self, name: str, answer: JsonObject, kind: str) -> None:
        """A write was acknowledged."""
        state = state_of(answer)
        before = self.objects.get(name)
        if kind == "ADDED":
            assert self.uids.setdefault(state.uid, name) == name, "a uid is another object's"
        else:
            assert before is not None
            assert before.uid == state.uid
        if before is not None:
            assert state.revision >= before.revision
        if before is None or before.revision != state.revision or kind == "DELETED":
            self.objects[name] = None if kind == "DELETED" else state
            if kind != "DELETED":  # a deletion is answered with a Status
                self.learn(state.revision, Moment(kind, name, state.data))
        self.asked.pop(name, None)
        self.acknowledged += 1

    def check(self, found: dict[str, State]) -> None:
        """All that is there now, after a crash: what was acknowledged, and what was asked for wholly or not at all."""
        for name, state in self.objects.items():
            now = found.get(name)
            if now == state:
                continue
            assert name in self.asked, f"{name} was acknowledged as {state}, and is {now}"
            wanted = self.asked[name]
            if wanted is None:
                assert now is None, f"{name} is neither deleted nor {state}, but {now}"
                continue
            assert now is not None, f"{name} was {state}, was to be {wanted}, and is gone"
            assert now.data == wanted, f"{name} was {state}, was to be {wanted}, and is {now}"
            assert now.revision > (state.revision if state is not None else 0)
            assert state is None or now.uid == state.uid
        for name, now in found.items():
            if name not in self.objects:
                assert self.asked.get(name) == now.data, f"nobody has asked for {name}, which is {now}"
            last = max((revision for revision, moment in self.history.items() if moment.name == name), default=0)
            assert now.revision >= last, f"{name} is older than what was told of it"
            if now.revision == last:
                assert self.history[last].data == now.data
        for name in self.objects.keys() - found.keys():
            self.objects[name] = None
        self.objects.update(found)
        self.unanswered += len(self.asked)
        self.asked.clear()


def state_of(obj: JsonObject) -> State:
    metadata = obj["metadata"]
    return State(int(metadata["resourceVersion"]), metadata["uid"], obj.get("data") or {})


class Writer:
    """Over a connection of its own; ends when the server is gone.  wrote: called after every acknowledgement."""

    def __init__(self, number: int, seed: str, truth: Truth) -> None:
        self._number = number
        self._random = random.Random(f"{seed}/{number}")
        self._truth = truth
        self._count = 0

    async def write(self, url: str, wrote: asyncio.Event) -> None:
        async with aiohttp.ClientSession(url) as session:
            with suppress(*GONE):
                while True:
                    await self._one(session)
                    wrote.set()

    async def _one(self, session: aiohttp.ClientSession) -> None:
        chance, truth = self._random, self._truth
        name = f"w{self._number}-{chance.randrange(NAMES)}"
        before = truth.objects.get(name)
        fresh = {"n": str(chance.random()), "padding": "x" * chance.choice((0, 10, 3000, 40_000))}
        if before is None:
            truth.asked[name] = fresh
            answer = await self._ask(session, "POST", MAPS, {"metadata": {"name": name}, "data": fresh})
            truth.done(name, answer, "ADDED")
            return
        manner = chance.choice(("PUT", "PUT", "PATCH", "PATCH", "DELETE"))
        path = f"{MAPS}/{name}"
        if manner == "DELETE":
            truth.asked[name] = None
            await self._ask(session, "DELETE", path, None)
            truth.done(name, _ended(before), "DELETED")
        elif manner == "PUT":
            truth.asked[name] = fresh
            body = {"metadata": {"name": name, "resourceVersion": str(before.revision)}, "data": fresh}
            truth.done(name, await self._ask(session, "PUT", path, body), "MODIFIED")
        else:
            changes = {f"k{chance.randrange(3)}": str(chance.random())}
            truth.asked[name] = {**before.data, **changes}
            truth.done(name, await self._ask(session, "PATCH", path, {"data": changes}), "MODIFIED")

    async def _ask(self, session: aiohttp.ClientSession, method: str, path: str, body: JsonObject | None) -> JsonObject:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        data = None if body is None else orjson.dumps(body)
        async with session.request(method, path, data=data, headers={"Content-Type": kind}) as answer:
            text = await answer.read()
            assert answer.status in (200, 201), f"{method} {path}: {answer.status} {text!r}"
            found: JsonObject = orjson.loads(text)
            return found


def _ended(state: State) -> JsonObject:
    return {"metadata": {"resourceVersion": str(state.revision), "uid": state.uid}, "data": state.data}


async def watch(url: str, since: int, truth: Truth, until: int | None = None) -> None:
    """Learn of all events after a revision: until the server is gone, or up to a revision."""
    query = f"{MAPS}?watch=1&resourceVersion={since}&allowWatchBookmarks=true"
    last = since
    async with aiohttp.ClientSession(url, read_bufsize=1 << 22) as session:
        with suppress(*GONE):
            async with session.get(query, timeout=aiohttp.ClientTimeout(total=None)) as stream:
                assert stream.status == 200, await stream.text()
                rest = b""
                async for chunk in stream.content.iter_any():
                    *lines, rest = (rest + chunk).split(b"\n")
                    for event in map(orjson.loads, lines):
                        last = _heard(event, last, truth)
                    if until is not None and last >= until:
                        return
    assert until is None, f"the watch ended at {last}, and not at {until}"


def _heard(event: JsonObject, last: int, truth: Truth) -> int:
    assert event["type"] != "ERROR", event
    revision = int(event["object"]["metadata"]["resourceVersion"])
    if event["type"] != "BOOKMARK":
        assert revision > last, f"revision {revision} comes after {last}"
        state = state_of(event["object"])
        truth.learn(revision, Moment(event["type"], event["object"]["metadata"]["name"], state.data))
    return max(last, revision)


async def read(url: str, truth: Truth) -> None:
    """Get what is just being written, and list some, until the server is gone."""
    async with aiohttp.ClientSession(url) as session:
        with suppress(*GONE):
            while True:
                for name in tuple(truth.asked):
                    async with session.get(f"{MAPS}/{name}") as answer:
                        if answer.status == 200:
                            state = state_of(orjson.loads(await answer.read()))
                            truth.read[state.revision] = name, state.data
                async with session.get(f"{MAPS}?limit=3") as answer:
                    truth.read_at = int(orjson.loads(await answer.read())["metadata"]["resourceVersion"])


async def everything(url: str) -> tuple[int, dict[str, State]]:
    """(the revision, all objects of writers by name)."""
    async with aiohttp.ClientSession(url) as session, session.get(MAPS) as answer:
        found = orjson.loads(await answer.read())
    objects = {obj["metadata"]["name"]: state_of(obj) for obj in found["items"]}
    return int(found["metadata"]["resourceVersion"]), {
        name: state for name, state in objects.items() if name.startswith("w")
    }
