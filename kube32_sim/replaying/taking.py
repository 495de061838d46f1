"""Records a running simulator: its state as of one moment, then what happens, until told to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from kube32_sim.api.own import API_VERSION, GROUP, VERSION
from kube32_sim.clock import RealClock
from kube32_sim.recording.audit import REVISION
from kube32_sim.replaying.files import END, RECORDING, STEP
from kube32_sim.snapshot.saving import Asking, Saving

JsonObject = dict[str, Any]

PERIOD = 0.5
"""Seconds between two questions for what has happened."""
_PATH = f"/apis/{GROUP}/{VERSION}/recordings"


@dataclass(slots=True)
class Taken:
    """requests, steps: how many were written.  lost: how many lines were not asked for in time."""

    requests: int = 0
    steps: int = 0
    lost: int = 0
    objects: int = 0
    warnings: list[str] = field(default_factory=list)


class Taking:
    """One recording.  name: by which the simulator knows it.  write: takes each object of the file."""

    def __init__(self, client: Asking, name: str, write: Callable[[JsonObject], None]) -> None:
        self._client, self._name, self._write = client, name, write
        self.taken = Taken()
        self._next = 0
        self._since = 0

    async def begin(self) -> None:
        """The header and the state; raises ApiError, Unreachable, `saving.Expired`."""
        status = await self._ask()
        self._since = int(status["resourceVersion"])
        self._write(_own(RECORDING, {"options": status["options"], "begin": status["now"]}))
        saving = Saving(self._client)
        saved, types, _ = await saving.begin()
        saved.header["spec"] |= {"time": status["now"], "resourceVersion": str(self._since)}
        self._write(saved.header)
        for one in types:
            async for page in saving.objects(one, str(self._since)):
                for obj in page:
                    self._write(obj)
                self.taken.objects += len(page)
        self.taken.warnings = saved.warnings

    async def go_on(self, stopped: Callable[[], bool]) -> None:
        """Write what happens until `stopped` is true."""
        real = RealClock()
        while not stopped():
            await real.sleep(PERIOD)
            await self._look()

    async def end(self) -> None:
        """The last lines."""
        status = await self._look(end=True)
        self._write(_own(END, {"end": status["now"], "lost": self.taken.lost}))

    async def _look(self, *, end: bool = False) -> JsonObject:
        while True:
            status = await self._ask()
            self._take(status)
            if not status.get("more"):
                return await self._ask(end=True) if end else status

    def _take(self, status: JsonObject) -> None:
        self._next = status["next"]
        self.taken.lost += status.get("lost") or 0
        for line in filter(None, status["lines"].split("\n")):  # what else ends a line may be in a text
            obj = orjson.loads(line)
            if obj["kind"] == STEP:
                self.taken.steps += 1
                self._write(_own(STEP, obj["spec"]))
            elif int(obj["annotations"].get(REVISION) or self._since + 1) > self._since:
                self.taken.requests += 1
                self._write(obj)

    async def _ask(self, *, end: bool = False) -> JsonObject:
        spec: JsonObject = {"after": self._next} if self._next else {}
        if end:
            spec["end"] = True
        body = {"apiVersion": API_VERSION, "kind": RECORDING, "metadata": {"name": self._name}, "spec": spec}
        answer = await self._client.ask("POST", _PATH, body=body)
        status: JsonObject = answer["status"]
        return status


def _own(kind: str, spec: JsonObject) -> JsonObject:
    return {"apiVersion": API_VERSION, "kind": kind, "spec": spec}
