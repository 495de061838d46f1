"""`POST /apis/sim.kube32.io/v1alpha1/snapshots`: a snapshot is loaded, in parts that a request can hold.

The parts of one load have the same name.  Each is looked at when it comes, and kept aside; nothing is stored before the
last one is here, and nothing at all where one has a problem.  A load that nobody goes on with is forgotten after a
while, or when others begin.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from math import ceil

from kube32_sim.api import errors
from kube32_sim.api.errors import ApiError, FieldError
from kube32_sim.api.own import API_VERSION, GROUP
from kube32_sim.clock import END, RealClock, VirtualClock, parse_time
from kube32_sim.importing.conflicts import OnConflict
from kube32_sim.importing.judging import JsonObject, Judge, Judged, LeftOut, Problem
from kube32_sim.importing.storing import How, Outcome, Storing
from kube32_sim.importing.telling import MOST_TOLD
from kube32_sim.importing.translating import Translator
from kube32_sim.limits import DEFAULTS
from kube32_sim.registry.asked import Asked, Hooks
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.collector import without_collector
from kube32_sim.storage.interface import Storage
from kube32_sim.storage.objects import Ready

KIND, PLURAL = "Snapshot", "snapshots"
Alone = Callable[[Callable[[], Awaitable[Outcome]]], Awaitable[Outcome]]
MOST_LOADS = 4
"""Begun at a time: another one takes the place of the longest begun."""
MOST_BYTES = 1 << 30
"""Kept aside for all of them."""
BYTES_OF_NAMES = 400
"""That Python needs to know an object by its key and its uid, besides their letters."""
BYTES_OF_TEXT = 100
"""That Python needs for a label or a field, besides its letters."""
PATIENCE = 600.0
"""Seconds, of the time outside, until a load of which no part has come meanwhile is forgotten."""


@dataclass(slots=True)
class _Load:
    """What has come of one load.  broken: it had a problem, and is only looked at to the end."""

    judge: Judge
    translator: Translator = field(default_factory=Translator)
    objects: list[Judged] = field(default_factory=list)
    lines: int = 0
    parts: int = 0
    kept: int = 0
    """Bytes of the objects, and of what is known of them."""
    known: int = 0
    """Bytes of what they are known by."""
    broken: bool = False
    digest: int = 0
    keys: set[tuple[Storage, str]] = field(default_factory=set)
    uids: set[str] = field(default_factory=set)
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)

    call_off: Callable[[], object] = lambda: None
    """That it is forgotten."""

    @property
    def size(self) -> int:
        return self.kept + self.known

    def take(self, data: bytes) -> list[FieldError]:
        """Look at a part; answers what is wrong with it, by `spec.lines[N]`, where N counts through all parts."""
        failures: list[FieldError] = []
        for line in data.split(b"\n"):
            if not line.strip():
                continue
            number, self.lines = self.lines, self.lines + 1
            try:
                judged, obj = self.judge.judge(line, number)
                self._keep(judged, obj)
            except LeftOut as left:
                self.left_out[left.what, left.why] += 1
            except Problem as problem:
                failures += [_placed(number, failure) for failure in problem.failures]
        if failures:
            self.broken = True
            self.objects, self.kept = [], 0
        return failures

    def _keep(self, judged: Judged, obj: JsonObject) -> None:
        place = (judged.row.storage, judged.key)
        if place in self.keys:
            raise Problem([FieldError("FieldValueDuplicate", "metadata.name", f"{judged.title} is there twice")])
        if judged.uid and judged.uid in self.uids:
            raise Problem([errors.duplicate("metadata.uid", judged.uid)])
        self.keys.add(place)
        self.uids.add(judged.uid)
        self.known += len(judged.key) + len(judged.uid) + BYTES_OF_NAMES
        self.translator.see(judged.row, obj)
        if not self.broken:
            self.objects.append(judged)
            self.digest = zlib.crc32(judged.raw, self.digest)
            self.kept += len(judged.raw) + (_room_of(judged.ready) if judged.ready is not None else 0)

    def notes(self) -> list[str]:
        notes = [f"{what}: {number} left out: {why}" for (what, why), number in self.left_out.items()]
        unknown = self.judge.unknown
        notes += [f"{told} in {number} objects, left out" for told, number in list(unknown.items())[:MOST_TOLD]]
        if len(unknown) > MOST_TOLD:
            notes.append(f"{len(unknown) - MOST_TOLD} other unknown fields were left out")
        return notes


class Snapshots:
    """Answers what is posted.  played: the nodes that the simulator has boards for anyway.

    alone: does something while no loops run that could see it half done.
    """

    def __init__(
        self,
        registry: Registry,
        hooks: Hooks,
        alone: Alone,
        computed: Collection[Storage],
        played: Collection[str] = (),
        max_bytes: int = DEFAULTS.max_object_bytes,
    ) -> None:
        self._registry = registry
        self._hooks = hooks
        self._alone = alone
        self._computed = frozenset(computed)
        self._played = frozenset(played)
        self._max_bytes = max_bytes
        self._loads: dict[str, _Load] = {}
        self._real = RealClock()
        self._under_way: set[asyncio.Task[JsonObject]] = set()

    async def post(self, asked: Asked, obj: JsonObject) -> JsonObject:
        metadata, spec = obj.get("metadata") or {}, obj.get("spec") or {}
        name = metadata.get("name", "")
        if not name:
            raise errors.invalid(GROUP, KIND, "", [errors.required("metadata.name", "it tells the parts of a load")])
        asked = asked._replace(name=name)
        policy, time = _policy(name, spec), _time(name, spec)
        load = self._load(name, spec)
        with without_collector():
            failures = load.take(spec.get("lines", "").encode("utf-8", "surrogatepass"))
        if failures:
            raise _invalid(failures)
        if sum(other.size for other in self._loads.values()) > MOST_BYTES:
            self._forget(name)
            raise errors.too_large(f"loads together have more than {MOST_BYTES} bytes; load less at a time")
        if spec.get("more"):
            return _answer(name, "Staged", Outcome())
        self._forget(name)
        if load.broken:
            raise errors.conflict(GROUP, PLURAL, name, "a part of it had a problem; nothing was loaded")
        if spec.get("strict") and (load.left_out or load.judge.unknown):
            raise _invalid([FieldError("FieldValueNotSupported", "spec.strict", note) for note in load.notes()])
        # A task of its own: it is done to the end, whether or not anybody waits for the answer.
        work = asyncio.get_running_loop().create_task(self._finish(asked, spec, load, policy, time), name="load")
        self._under_way.add(work)
        work.add_done_callback(self._under_way.discard)
        return await asyncio.shield(work)

    def _load(self, name: str, spec: JsonObject) -> _Load:
        part = spec.get("part", 0)
        if part == 0:
            self._forget(name)
            while len(self._loads) >= MOST_LOADS:
                self._forget(next(iter(self._loads)))
            registry = self._registry
            judge = Judge(registry.table, registry.lookup, registry.clock.timestamp(), self._computed, self._max_bytes)
            self._loads[name] = _Load(judge)
        load = self._loads.get(name)
        if load is None or load.parts != part:
            expected = 0 if load is None else load.parts
            why = f"part {part} of it came, and part {expected} was expected; begin anew with part 0"
            raise errors.conflict(GROUP, PLURAL, name, why)
        load.parts += 1
        load.call_off()
        load.call_off = self._real.call_at(self._real.now() + PATIENCE, lambda: self._forget(name))
        return load

    def _forget(self, name: str) -> None:
        load = self._loads.pop(name, None)
        if load is not None:
            load.call_off()

    async def _finish(
        self, asked: Asked, spec: JsonObject, load: _Load, policy: OnConflict, time: float | None
    ) -> JsonObject:
        how = How(
            policy,
            complete=bool(spec.get("complete")),
            foreign=bool(spec.get("foreign")),
            leave_nodes=bool(spec.get("leaveNodes")),
            dry_run=asked.dry_run,
            played=self._played,
        )
        notes = load.notes()
        if not asked.dry_run:
            notes += await self._set_clock(time)
            self._registry.ids.turn_off(load.digest)  # the snapshot may be of a simulator with the same seed
        storing = Storing(self._registry, self._hooks, load.objects, load.translator, how)
        load.objects = []
        try:
            outcome = await (storing.run() if asked.dry_run else self._alone(storing.run))
        except ApiError as error:
            error.message += storing.way_on()
            raise
        outcome.notes = notes + outcome.notes
        if asked.dry_run:
            return _answer(asked.name, "Checked", outcome)
        if outcome.nodes:
            outcome.notes.append(f"{len(outcome.nodes)} nodes are run by the simulator from now on")
        return _answer(asked.name, "Loaded", outcome)

    async def _set_clock(self, time: float | None) -> list[str]:
        """Ages and time-outs are to go on where they were."""
        clock = self._registry.clock
        if time is None or not isinstance(clock, VirtualClock) or time <= clock.now():
            return []
        clock.set_on(ceil(time))  # loops and leases count in whole seconds from here, as from a fresh clock
        await self._registry.store.keep_time(clock.now())
        return [f"the virtual clock was set to {clock.timestamp()}, the time of the snapshot"]


def _room_of(known: Ready) -> int:
    return BYTES_OF_TEXT * (len(known.labels) + len(known.values)) + len("".join(known.values))


def _placed(number: int, failure: FieldError) -> FieldError:
    where = f"spec.lines[{number}]" + (f".{failure.field}" if failure.field else "")
    return FieldError(failure.reason, where, failure.message)


def _invalid(failures: list[FieldError]) -> ApiError:
    error = errors.invalid(GROUP, KIND, "", failures[:MOST_TOLD])
    error.message = error.message.replace('"" ', "", 1)
    return error


def _policy(name: str, spec: JsonObject) -> OnConflict:
    text = spec.get("onConflict") or OnConflict.FAIL.value
    try:
        return OnConflict(text)
    except ValueError:
        failure = errors.not_supported("spec.onConflict", text, [one.value for one in OnConflict])
        raise errors.invalid(GROUP, KIND, name, [failure]) from None


def _time(name: str, spec: JsonObject) -> float | None:
    text = spec.get("time")
    if not text:
        return None
    try:
        time = parse_time(text)
    except ValueError:
        time = END + 1
    if not 0 <= time <= END:
        raise errors.invalid(GROUP, KIND, name, [errors.invalid_value("spec.time", text, "must be an RFC 3339 time")])
    return time


def _answer(name: str, phase: str, outcome: Outcome) -> JsonObject:
    status = {"phase": phase, "loaded": outcome.loaded, "replaced": outcome.replaced, "notes": outcome.notes}
    return {"kind": KIND, "apiVersion": API_VERSION, "metadata": {"name": name}, "status": status}
