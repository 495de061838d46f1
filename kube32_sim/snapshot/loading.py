"""Sending objects to a simulator: in parts that a request can hold, all under one name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kube32_sim.api.errors import ApiError
from kube32_sim.api.own import API_VERSION, GROUP, VERSION
from kube32_sim.options import CommandError
from kube32_sim.snapshot.reading import MOST_TOLD, Objects
from kube32_sim.snapshot.saving import Asking

JsonObject = dict[str, Any]

PART = 2_500_000
"""Bytes of a part, as JSON has them: a body may have some more."""
IN_THE_WAY = "--on-conflict skip leaves what is there, --on-conflict replace takes the snapshot's instead"
_PLACE = re.compile(r"spec\.lines\[(\d+)\](?:\.(.*))?", re.DOTALL)
_PATH = f"/apis/{GROUP}/{VERSION}/snapshots"


@dataclass(frozen=True, slots=True)
class Options:
    on_conflict: str = "Fail"
    strict: bool = False
    leave_nodes: bool = False
    dry_run: bool = False


@dataclass(slots=True)
class Loaded:
    loaded: int = 0
    replaced: int = 0
    notes: list[str] = field(default_factory=list)


async def load(
    client: Asking, name: str, objects: Objects, options: Options, progress: Callable[[int], None]
) -> Loaded:
    """name: under which the parts belong together.  progress: told how many objects more were sent.

    Raises CommandError, which tells of every object with a problem, ApiError and Unreachable.
    """
    problems: list[str] = []
    advice = ""
    parts = list(_parts(objects.lines))
    for number, (start, end) in enumerate(parts):
        spec: JsonObject = {
            "part": number,
            "more": number + 1 < len(parts) or bool(problems),
            "lines": b"\n".join(objects.lines[start:end]).decode(),
        }
        if number + 1 == len(parts):
            spec |= _last(objects, options)
        body = {"apiVersion": API_VERSION, "kind": "Snapshot", "metadata": {"name": name}, "spec": spec}
        try:
            answer = await client.ask("POST", _PATH, {"dryRun": "All"} if options.dry_run else None, body=body)
        except ApiError as error:
            found = list(_told(error, objects))
            if not found:
                raise
            problems += found
            if error.code != 422:
                advice = f"; {IN_THE_WAY}" if error.code == 409 else ""
                break
        progress(end - start)
    if problems:
        more = len(problems) - MOST_TOLD
        told = [*problems[:MOST_TOLD], *([f"and {more} more"] if more > 0 else []), f"nothing was loaded{advice}"]
        raise CommandError("\n".join(told))
    status = answer["status"]
    return Loaded(status.get("loaded", 0), status.get("replaced", 0), list(status.get("notes") or ()))


def _last(objects: Objects, options: Options) -> JsonObject:
    """What the last part says of all of them."""
    return {
        "time": objects.time,
        "complete": objects.complete,
        "foreign": objects.foreign,
        "onConflict": options.on_conflict,
        "strict": options.strict,
        "leaveNodes": options.leave_nodes,
    }


def _parts(lines: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """From which line to which the parts go."""
    start, size = 0, 0
    for number, line in enumerate(lines):
        room = len(line) + line.count(b'"') + line.count(b"\\") + 2  # as a text within JSON
        if size and size + room > PART:
            yield start, number
            start, size = number, 0
        size += room
    yield start, len(lines)


def _told(error: ApiError, objects: Objects) -> Iterator[str]:
    """What is wrong with which objects, by where they stand in their files."""
    for cause in (error.details or {}).get("causes") or ():
        place = _PLACE.fullmatch(cause.get("field", ""))
        message = cause.get("message", "")
        if place is None:
            yield message
        elif int(place[1]) < len(objects.sources):
            path = f": {place[2]}" if place[2] else ""
            yield f"{objects.sources[int(place[1])]}{path}: {message}"
