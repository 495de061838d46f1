"""Sending objects to a simulator: in parts that a request can hold, all under one name."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

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
    answer: JsonObject = {}
    parts = _parts(objects, options)
    part = next(parts, None)
    while part is not None:
        spec = part.spec | {"more": part.spec["more"] or bool(problems)}
        body = {"apiVersion": API_VERSION, "kind": "Snapshot", "metadata": {"name": name}, "spec": spec}
        asking = client.ask("POST", _PATH, {"dryRun": "All"} if options.dry_run else None, body=body)
        # while the simulator looks at a part the next one is made
        outcome, following = await asyncio.gather(_outcome(asking), asyncio.to_thread(next, parts, None))
        if isinstance(outcome, ApiError):
            found = list(_told(outcome, objects))
            if not found:
                raise outcome
            problems += found
            if outcome.code != 422:
                advice = f"; {IN_THE_WAY}" if outcome.code == 409 else ""
                break
        else:
            answer = outcome
        progress(part.lines)
        part = following
    if problems:
        more = len(problems) - MOST_TOLD
        told = [*problems[:MOST_TOLD], *([f"and {more} more"] if more > 0 else []), f"nothing was loaded{advice}"]
        raise CommandError("\n".join(told))
    status = answer["status"]
    return Loaded(status.get("loaded", 0), status.get("replaced", 0), list(status.get("notes") or ()))


class _Part(NamedTuple):
    """lines: how many are in it."""

    spec: JsonObject
    lines: int


def _parts(objects: Objects, options: Options) -> Iterator[_Part]:
    """At least one.  Each is made when it is asked for, in a thread: it is much that has to be gone through."""
    ends = _ends(objects.lines)
    start, end = 0, next(ends)
    for number in count():
        following = next(ends, None)
        lines = b"\n".join(objects.lines[start:end]).decode()
        spec: JsonObject = {"part": number, "more": following is not None, "lines": lines}
        if following is None:
            yield _Part(spec | _last(objects, options), end - start)
            return
        yield _Part(spec, end - start)
        start, end = end, following


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


def _ends(lines: Sequence[bytes]) -> Iterator[int]:
    """Up to which line the parts go."""
    size = 0
    for number, line in enumerate(lines):
        room = len(line) + line.count(b'"') + line.count(b"\\") + 2  # as a text within JSON
        if size and size + room > PART:
            yield number
            size = 0
        size += room
    yield len(lines)


async def _outcome(asking: Awaitable[JsonObject]) -> JsonObject | ApiError:
    try:
        return await asking
    except ApiError as error:
        return error


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
