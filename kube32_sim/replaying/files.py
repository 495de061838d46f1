"""Files of recordings: JSON lines, of which the first tells what it is.

First `Recording`, with the server's options; then the state that it began with, as `snapshot save` writes it; then what
happened, in order: events of audit.k8s.io/v1 and `PlacementStep`s; last `RecordingEnd`, with the time when it ended.
An audit log of a real cluster has events only, and is read all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from kube32_sim.api.own import API_VERSION
from kube32_sim.clock import parse_time
from kube32_sim.options import CommandError
from kube32_sim.recording import audit, history
from kube32_sim.recording.audit import Entry
from kube32_sim.recording.history import Step
from kube32_sim.snapshot.files import STANDARD, content
from kube32_sim.snapshot.reading import Objects, Source

JsonObject = dict[str, Any]

RECORDING, STEP, END = "Recording", "PlacementStep", "RecordingEnd"
MOST_PROBLEMS = 20


@dataclass(slots=True)
class Recording:
    """options: of the recorded server, as texts by the names of `ServeOptions`.  state: with which it began.

    entries: in the order of time.  begin, end: seconds since 1970 on the recorded cluster's clock.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    state: Objects = field(default_factory=Objects)
    entries: list[Entry] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    begin: float = 0.0
    end: float = 0.0
    lost: int = 0

    @property
    def is_log(self) -> bool:
        """Whether it is an audit log: nobody has noted where pods went."""
        return not self.options


def read(file: str) -> Recording:
    """Raises CommandError with a line for everything that cannot be read."""
    called = "stdin" if file == STANDARD else file
    reading = _Reading(called)
    for number, line in enumerate(content(file).split(b"\n"), 1):
        if line.strip():
            reading.take(number, line)
    if reading.no_json == reading.lines > 1:
        raise CommandError(f"{called}: it is no recording, and no audit log: none of its lines is JSON")
    if reading.problems:
        more = len(reading.problems) - MOST_PROBLEMS
        told = [*reading.problems[:MOST_PROBLEMS], *([f"and {more} more"] if more > 0 else [])]
        raise CommandError("\n".join(told))
    return reading.found()


def read_steps(file: str) -> Sequence[Step]:
    """The placement history in a file: what `replay --write-golden` wrote, or a recording."""
    return read(file).steps


class _Reading:
    def __init__(self, called: str) -> None:
        self.problems: list[str] = []
        self.lines = self.no_json = 0
        self._called = called
        self._recording = Recording()
        self._definitions: list[tuple[bytes, Source]] = []
        self._objects: list[tuple[bytes, Source]] = []

    def take(self, number: int, line: bytes) -> None:
        where = f"{self._called}, line {number}"
        self.lines += 1
        try:
            obj = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            self.no_json += 1
            self.problems.append(f"{where}: it is no JSON: {error}")
            return
        if not isinstance(obj, dict):
            self.problems.append(f"{where}: it is no object")
            return
        try:
            self._take(obj, line, Source(self._called, number))
        except ValueError as error:
            self.problems.append(f"{where}: {error}")

    def _take(self, obj: JsonObject, line: bytes, source: Source) -> None:
        kind, spec = obj.get("kind"), obj.get("spec")
        if obj.get("apiVersion") == audit.API_VERSION:
            self._event(obj)
        elif obj.get("apiVersion") == API_VERSION and kind in (RECORDING, STEP, END, "Snapshot"):
            if not isinstance(spec, dict):
                raise ValueError("spec: must be an object")
            self._own(str(kind), spec)
        else:
            target = self._definitions if kind == "CustomResourceDefinition" else self._objects
            target.append((line, source))

    def _event(self, obj: JsonObject) -> None:
        if obj.get("kind") == "EventList":
            raise ValueError("kind: EventList; write one Event a line (jq -c '.items[]')")
        entry = audit.from_json(obj)
        if entry is not None:
            self._recording.entries.append(entry)

    def _own(self, kind: str, spec: JsonObject) -> None:
        recording = self._recording
        if kind == RECORDING:
            options = spec.get("options") or {}
            recording.options = {str(name): str(value) for name, value in options.items()}
            recording.begin = _time(spec, "begin")
        elif kind == STEP:
            recording.steps.append(history.from_json(spec))
        elif kind == END:
            recording.end = _time(spec, "end")
            recording.lost = int(spec.get("lost") or 0)
        else:
            recording.state.header = spec

    def found(self) -> Recording:
        recording, both = self._recording, self._definitions + self._objects
        recording.state.lines = [line for line, _ in both]
        recording.state.sources = [source for _, source in both]
        recording.entries.sort(key=lambda entry: entry.time)
        times = [entry.time for entry in recording.entries]
        recording.begin = recording.begin or (times[0] if times else 0.0)
        recording.end = max([recording.end, recording.begin, *times[-1:]])
        return recording


def _time(spec: JsonObject, name: str) -> float:
    text = spec.get(name)
    try:
        return parse_time(str(text))
    except ValueError:
        raise ValueError(f"spec.{name}: {text!r} is no time as RFC 3339 has it") from None


def step_line(step: Step) -> JsonObject:
    return {"apiVersion": API_VERSION, "kind": STEP, "spec": step.to_json()}
