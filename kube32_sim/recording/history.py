"""Where pods went: a history that two runs can be compared by.

Generated names are others in every run, so a pod is known by who made it and the how-manieth of his it is:
`default/Deployment/web#3`.  A pod by itself is known by its name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

JsonObject = dict[str, Any]

BOUND, EVICTED, GONE, WAITS = "Bound", "Evicted", "Gone", "Waits"
"""It got a node; lost it again; was deleted, or ended; fits nowhere."""
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Step:
    """after: seconds since the beginning.  pod: see above.  name: `namespace/name` in that run.  node: "" where none.

    why: what the cluster says of it.
    """

    after: float
    pod: str
    what: str
    node: str = ""
    name: str = ""
    why: str = ""

    def to_json(self) -> JsonObject:
        return {key: value for key, value in asdict(self).items() if value != ""}


def from_json(obj: Mapping[str, Any]) -> Step:
    """Raises ValueError, which names what is wrong."""
    after, pod, what = obj.get("after"), obj.get("pod"), obj.get("what")
    if not isinstance(after, int | float) or not isinstance(pod, str) or what not in (BOUND, EVICTED, GONE, WAITS):
        raise ValueError(f"no step of a placement history: {dict(obj)!r}")
    return Step(float(after), pod, str(what), *(str(obj.get(key) or "") for key in ("node", "name", "why")))


class Placements:
    """Follows pods, as they were and as they are now, and tells each step."""

    def __init__(self, begin: float) -> None:
        self._begin = begin
        self._numbers: Counter[str] = Counter()
        self._known: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._where: dict[str, tuple[str, str]] = {}

    def there(self, pod: JsonObject) -> None:
        """A pod that was there at the beginning."""
        self._where[pod["metadata"]["uid"]] = _state(pod)
        self._key(pod)

    def changed(self, pod: JsonObject, now: float, *, gone: bool = False) -> Step | None:
        """A pod was added, changed or deleted.  Answers the step, if it is one."""
        metadata = pod["metadata"]
        uid, key = metadata["uid"], self._key(pod)
        before, after = self._where.get(uid, ("", "")), (GONE, "") if gone else _state(pod)
        if before == after or before[0] == GONE:
            return None
        self._where[uid] = after
        what, node = after
        if not what:
            if before[0] != BOUND:
                return None
            what = EVICTED
        name = f"{metadata['namespace']}/{metadata['name']}"
        return Step(round(now - self._begin, 6), key, what, node, name, _why(pod, what))

    def _key(self, pod: JsonObject) -> str:
        uid = pod["metadata"]["uid"]
        key = self._known.get(uid)
        if key is None:
            owner = owner_of(pod)
            if owner.endswith("#"):
                self._numbers[owner] += 1
                owner += str(self._numbers[owner])
            key = self._known[uid] = owner
            self._names[key] = pod["metadata"]["name"]
        return key

    def next_key(self, pod: JsonObject) -> str:
        """By what a pod would be known that is made now."""
        owner = owner_of(pod)
        return f"{owner}{self._numbers[owner] + 1}" if owner.endswith("#") else owner

    def name_of(self, key: str) -> str | None:
        """What a pod is called in this run, as far as it was seen."""
        return self._names.get(key)


def owner_of(pod: JsonObject) -> str:
    """What a pod is known by; ends in `#` where a number has to follow."""
    metadata = pod["metadata"]
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            return f"{metadata['namespace']}/{owner['kind']}/{owner['name']}#"
    if metadata.get("generateName"):
        return f"{metadata['namespace']}/{metadata['generateName']}#"
    return f"{metadata['namespace']}/{metadata['name']}"


def _state(pod: JsonObject) -> tuple[str, str]:
    """(what it does, its node): bound, waiting, ended, or ("", "")."""
    status = pod.get("status") or {}
    if status.get("phase") in _ENDED:
        return GONE, ""
    node = pod["spec"].get("nodeName") or ""
    if node:
        return BOUND, node
    return (WAITS, "") if _condition(status, "PodScheduled").get("reason") == "Unschedulable" else ("", "")


def _why(pod: JsonObject, what: str) -> str:
    status = pod.get("status") or {}
    if what == WAITS:
        return str(_condition(status, "PodScheduled").get("message") or "")
    if what == EVICTED:
        return str(_condition(status, "DisruptionTarget").get("message") or "")
    if status.get("reason"):
        return str(status["reason"])
    ended = what == GONE and "deletionTimestamp" not in pod["metadata"] and status.get("phase") in _ENDED
    return f"its phase is {status['phase']}" if ended else ""


def _condition(status: JsonObject, kind: str) -> JsonObject:
    return next((one for one in status.get("conditions") or () if one.get("type") == kind), {})


# comparing


@dataclass(frozen=True, slots=True)
class Difference:
    """Of one pod: the first step in which two runs differ.  before, now: None where that run has no such step.

    last: where `now` is None the last step of the pod in that run, None where it took none.
    """

    pod: str
    before: Step | None
    now: Step | None
    last: Step | None = None

    def lines(self) -> Iterator[str]:
        """What is told of it."""
        if self.before is None and self.now is not None:
            yield f"{self.pod}: there was no such step before: {_told(self.now)}"
        elif self.now is None and self.before is not None:
            yield f"{self.pod}: no more: {_told(self.before)}"
            if self.last is not None:
                yield f"{' ' * len(self.pod)}  now its last step is {_told(self.last)}"
        elif self.before is not None and self.now is not None:
            yield f"{self.pod}: {_told(self.before)}"
            yield f"{' ' * len(self.pod)}  now {_told(self.now)}"


def _told(step: Step) -> str:
    where = {BOUND: f"to {step.node}", EVICTED: "evicted", GONE: "gone", WAITS: "waits"}[step.what]
    why = f": {step.why}" if step.why else ""
    return f"{where} at +{step.after:.3f}s{why}"


def compare(before: Iterable[Step], now: Iterable[Step]) -> Sequence[Difference]:
    """Of each pod the first step that is another one, in the order of time.

    When a step was taken does not count, for a recording on a real clock never comes to the same moments; nor does it
    count that a pod waited before it was bound: that is a matter of moments, too.
    """
    found = []
    ours, theirs = _by_pod(before), _by_pod(now)
    for pod in dict.fromkeys((*ours, *theirs)):
        difference = _first(pod, ours.get(pod, []), theirs.get(pod, []))
        if difference is not None:
            found.append(difference)
    return sorted(found, key=lambda one: min(step.after for step in (one.before, one.now) if step is not None))


def _by_pod(steps: Iterable[Step]) -> Mapping[str, list[Step]]:
    found: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        mine = found[step.pod]
        if mine and mine[-1].what == WAITS and step.what in (BOUND, WAITS):
            mine.pop()
        mine.append(step)
    return found


def _first(pod: str, before: Sequence[Step], now: Sequence[Step]) -> Difference | None:
    for one, other in zip(before, now, strict=False):
        if (one.what, one.node) != (other.what, other.node):
            return Difference(pod, one, other)
    if len(before) > len(now):
        return Difference(pod, before[len(now)], None, now[-1] if now else None)
    return Difference(pod, None, now[len(before)]) if len(now) > len(before) else None
