"""What a pod's annotations tell a simulated kubelet to do with its containers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kube32_sim.api.steering import EXIT_CODE, READY_AFTER_SECONDS, RUN_SECONDS, exit_code, seconds

JsonObject = dict[str, Any]

INPUT_SECONDS = 2.0
"""How long a container waits for input that nobody can send it: long enough for a client to try to attach."""


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


def lasts(pod: JsonObject, container: JsonObject, behaviour: Behaviour) -> float | None:
    """Seconds that a run of a container takes to its end; None: it has none.

    A container with `stdinOnce` ends with its first client, and `kubectl run -i --restart=Never` waits for that end.
    Nobody can attach here, so it comes by itself, but where the container would only be started again.
    """
    if behaviour.run_seconds is None and container.get("stdinOnce"):
        return INPUT_SECONDS if pod["spec"].get("restartPolicy", "Always") != "Always" else None
    return behaviour.run_seconds
