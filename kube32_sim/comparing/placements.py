"""Which pod of one state is which of the other, and what became of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from kube32_sim.comparing.states import Key, State

JsonObject = dict[str, Any]

MOVED, PENDING, LOST, NEW, PLACED, REPLACED, RESTARTED, CHANGED = (
    "moved",
    "pending",
    "lost",
    "new",
    "placed",
    "replaced",
    "restarted",
    "changed",
)
MOST_OWNERS = 8
_RUNNING = ("Pending", "Running")


@dataclass(frozen=True, slots=True)
class Placement:
    """One pod on both sides; what: the word for the difference, "" where there is none.

    before, after: nodes, "" for none.  restarts: how many more there were.  at: when, RFC 3339, "" where nothing says.
    """

    pod: str
    became: str
    owner: str
    before: str
    after: str
    phases: tuple[str, str]
    what: str
    restarts: int = 0
    at: str = ""


def matched(one: State, other: State) -> Iterator[tuple[Key | None, Key | None]]:
    """Pods of both: those of one name, then those of one owner in the order in which they were made."""
    mine, theirs = one.of("Pod"), other.of("Pod")
    for key in mine:
        if key in theirs:
            yield key, key
    left, right = _by_owner(one, mine.keys() - theirs.keys()), _by_owner(other, theirs.keys() - mine.keys())
    for owner in sorted(left.keys() | right.keys()):
        yield from zip_longest(left[owner], right[owner])


def _by_owner(state: State, keys: Iterable[Key]) -> dict[tuple[str, str, str], list[Key]]:
    found: dict[tuple[str, str, str], list[Key]] = defaultdict(list)
    for key in keys:
        owner = owner_of(state, key)
        # a pod of nobody is nobody else's match
        found[key.namespace, owner or f"Pod/{key.name}", _ordinal(state, key)].append(key)
    for pods in found.values():
        pods.sort(key=lambda key: (state.objects[key]["metadata"].get("creationTimestamp") or "", key.name))
    return found


def owner_of(state: State, key: Key) -> str:
    """`Deployment/web`: the first of a pod's owners that has none itself; "" for a pod of nobody."""
    obj: JsonObject | None = state.objects[key]
    found = ""
    for _ in range(MOST_OWNERS):  # some may own each other
        if obj is None:
            break
        owners = obj["metadata"].get("ownerReferences") or ()
        owner = next((one for one in owners if one.get("controller")), None)
        if owner is None:
            return found
        found = f"{owner.get('kind', '')}/{owner.get('name', '')}"
        group = str(owner.get("apiVersion", "")).rpartition("/")[0]
        obj = state.objects.get(Key(group, owner.get("kind", ""), key.namespace, owner.get("name", "")))
    return found


def _ordinal(state: State, key: Key) -> str:
    """What tells the pods of one owner apart, where that is not only chance: a DaemonSet has one a node."""
    owners = state.objects[key]["metadata"].get("ownerReferences") or ()
    if any(owner.get("kind") == "DaemonSet" for owner in owners):
        return _node(state.objects[key])
    labels = state.objects[key]["metadata"].get("labels") or {}
    return str(labels.get("batch.kubernetes.io/job-completion-index") or "")


def placements(one: State, other: State) -> list[Placement]:
    """Of all pods of both, in the order of their names."""
    made = [_placement(one, other, *keys) for keys in matched(one, other)]
    return sorted(made, key=lambda each: each.pod or each.became)


def _placement(one: State, other: State, mine: Key | None, theirs: Key | None) -> Placement:
    before = one.objects[mine] if mine is not None else None
    after = other.objects[theirs] if theirs is not None else None
    owner = owner_of(other, theirs) if theirs is not None else owner_of(one, mine) if mine is not None else ""
    restarts = 0
    if before is not None and after is not None:
        same = before["metadata"].get("uid") == after["metadata"].get("uid")
        restarts = max(0, _restarts(after) - (_restarts(before) if same else 0))
    return Placement(
        pod=_title(mine),
        became=_title(theirs),
        owner=owner,
        before=_node(before),
        after=_node(after),
        phases=(_phase(before), _phase(after)),
        what=_word(before, after, restarts),
        restarts=restarts,
        at=_when(before, after),
    )


def _word(before: JsonObject | None, after: JsonObject | None, restarts: int) -> str:
    if before is None or after is None:
        if before is not None:
            return LOST
        return NEW if _node(after) else PENDING
    there, now = _node(before), _node(after)
    if not now and _phase(after) in _RUNNING:
        return PENDING if there else ""
    if there != now:
        return MOVED if there else PLACED
    if before["metadata"].get("uid") != after["metadata"].get("uid"):
        return REPLACED
    if restarts:
        return RESTARTED
    return CHANGED if _phase(before) != _phase(after) else ""


def _when(before: JsonObject | None, after: JsonObject | None) -> str:
    """When the pod came to where it is now."""
    if after is None:
        return ""
    status = after.get("status") or {}
    conditions = {one.get("type"): one.get("lastTransitionTime") for one in status.get("conditions") or ()}
    if before is not None and _node(before) == _node(after):
        runs = [((one.get("state") or {}).get("running") or {}).get("startedAt") for one in _containers(after)]
        times: list[str] = [time for time in runs if time]
        return max(times, default=str(conditions.get("Ready") or ""))
    return str(conditions.get("PodScheduled") or after["metadata"].get("creationTimestamp") or "")


def _title(key: Key | None) -> str:
    return f"{key.namespace}/{key.name}" if key is not None else ""


def _node(pod: JsonObject | None) -> str:
    return str(((pod or {}).get("spec") or {}).get("nodeName") or "")


def _phase(pod: JsonObject | None) -> str:
    return str(((pod or {}).get("status") or {}).get("phase") or "")


def _containers(pod: JsonObject) -> list[JsonObject]:
    return list((pod.get("status") or {}).get("containerStatuses") or ())


def _restarts(pod: JsonObject) -> int:
    return sum(int(one.get("restartCount") or 0) for one in _containers(pod))
