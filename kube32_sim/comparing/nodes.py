"""What became of the nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kube32_sim.api.steering import FAULT
from kube32_sim.comparing.states import State

JsonObject = dict[str, Any]

GONE = "gone"


@dataclass(frozen=True, slots=True)
class NodeChange:
    """before, after: as kubectl words it (`Ready`, `NotReady`, `Unknown`, with `,SchedulingDisabled`), `gone`.

    fault: of its board, by the annotation, afterwards.  at: when readiness changed, RFC 3339, or "".
    """

    name: str
    before: str
    after: str
    fault: str
    at: str


def nodes(one: State, other: State) -> list[NodeChange]:
    """Those whose state differs, by name."""
    mine, theirs = one.of("Node"), other.of("Node")
    found = []
    for key in sorted(mine.keys() | theirs.keys()):
        before, after = _state(mine.get(key)), _state(theirs.get(key))
        fault = _fault(theirs.get(key))
        if before != after or fault != _fault(mine.get(key)):
            at = str(_ready(theirs.get(key)).get("lastTransitionTime") or "") if before != after else ""
            found.append(NodeChange(key.name, before, after, fault, at))
    return found


def _ready(node: JsonObject | None) -> JsonObject:
    conditions = ((node or {}).get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == "Ready"), {})


def _state(node: JsonObject | None) -> str:
    if node is None:
        return GONE
    ready = _ready(node).get("status")
    word = "Ready" if ready == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if (node.get("spec") or {}).get("unschedulable") else word


def _fault(node: JsonObject | None) -> str:
    return str((((node or {}).get("metadata") or {}).get("annotations") or {}).get(FAULT) or "")
