"""Two states compared, as a value and as an object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kube32_sim.api.own import API_VERSION
from kube32_sim.clock import parse_time, rfc3339_micro
from kube32_sim.comparing.nodes import NodeChange, nodes
from kube32_sim.comparing.objects import Kind, kinds, told
from kube32_sim.comparing.placements import LOST, MOVED, NEW, PENDING, REPLACED, Placement, placements
from kube32_sim.comparing.states import State
from kube32_sim.durations import format_duration

JsonObject = dict[str, Any]

EVICTIONS = ("Evicted", "TaintManagerEviction", "Preempted", "EvictionByEvictionAPI")
KILLS = ("Killing",)


@dataclass(frozen=True, slots=True)
class Comparison:
    """pods: those of which anything differs.  events: by reason, (of the first only, of the second only)."""

    one: State
    other: State
    pods: Sequence[Placement]
    nodes: Sequence[NodeChange]
    events: tuple[Counter[str], Counter[str]]
    kinds: Mapping[str, Kind]

    @property
    def equal(self) -> bool:
        return not (self.pods or self.nodes or self.kinds or any(self.events))

    @property
    def begun(self) -> float | None:
        """When their ways parted, as far as is known."""
        known = [state.begun for state in (self.one, self.other) if state.begun is not None]
        return max(known) if known else self.one.time

    @property
    def passed(self) -> float | None:
        """Seconds from there to the second state; None where that is not known."""
        if self.begun is None or self.other.time is None:
            return None
        return max(0.0, self.other.time - self.begun)

    def count(self, *words: str) -> int:
        return sum(pod.what in words for pod in self.pods)

    @property
    def restarts(self) -> int:
        return sum(pod.restarts for pod in self.pods)

    def happened(self, reasons: Sequence[str]) -> int:
        """How often any of these was told on the second side only."""
        return sum(self.events[1][reason] for reason in reasons)

    def after(self, at: str) -> str:
        """How long after their ways parted something was: `50s`; "" where that is not known, or it was before."""
        if not at or self.begun is None:
            return ""
        passed = parse_time(at) - self.begun
        return format_duration(round(passed, 3)) if passed >= 0 else ""

    def summary(self) -> JsonObject:
        return {
            "moved": self.count(MOVED),
            "pending": self.count(PENDING),
            "lost": self.count(LOST),
            "new": self.count(NEW),
            "replaced": self.count(REPLACED),
            "restarts": self.restarts,
            "evicted": self.happened(EVICTIONS),
            "killed": self.happened(KILLS),
            "nodes": len(self.nodes),
        }

    def object(self) -> JsonObject:
        """With apiVersion and kind, for programs."""
        return {
            "apiVersion": API_VERSION,
            "kind": "Comparison",
            "first": _side(self.one),
            "second": _side(self.other),
            "equal": self.equal,
            "after": format_duration(round(self.passed, 3)) if self.passed is not None else None,
            "summary": self.summary(),
            "pods": [{**asdict(pod), "phases": list(pod.phases)} for pod in self.pods],
            "nodes": [asdict(node) for node in self.nodes],
            "events": {"first": dict(self.events[0]), "second": dict(self.events[1])},
            "objects": {title: asdict(kind) for title, kind in self.kinds.items()},
        }


def _side(state: State) -> JsonObject:
    return {"name": state.name, "time": rfc3339_micro(state.time) if state.time is not None else None}


def compare(one: State, other: State) -> Comparison:
    """What is different in the second."""
    changed = [pod for pod in placements(one, other) if pod.what]
    return Comparison(one, other, changed, nodes(one, other), told(one, other), kinds(one, other))
