"""What a pod's annotations tell a simulated kubelet to do with its containers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kube32_sim.api.steering import EXIT_CODE, READY_AFTER_SECONDS, RUN_SECONDS, exit_code, seconds

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """run_seconds: when containers end by themselves (None: never)."""

    run_seconds: float | None = None
    exit_code: int = 0
    ready_after: float = 0.0


PLAIN = Behaviour()


def behaviour_of(pod: JsonObject) -> Behaviour:
    """Read from the annotations as they are now; one that makes no sense counts as absent."""
    annotations = pod["metadata"].get("annotations")
    if not annotations:
        return PLAIN
    return Behaviour(
        seconds(annotations.get(RUN_SECONDS, "")),
        exit_code(annotations.get(EXIT_CODE, "")) or 0,
        seconds(annotations.get(READY_AFTER_SECONDS, "")) or 0.0,
    )
