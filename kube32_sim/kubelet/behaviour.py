"""What a pod's annotations tell a simulated kubelet to do with its containers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

JsonObject = dict[str, Any]

RUN_SECONDS = "sim.kube32.io/run-seconds"
EXIT_CODE = "sim.kube32.io/exit-code"
READY_AFTER_SECONDS = "sim.kube32.io/ready-after-seconds"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """run_seconds: when containers end by themselves (None: never).  problems: annotations that make no sense."""

    run_seconds: float | None = None
    exit_code: int = 0
    ready_after: float = 0.0
    problems: tuple[str, ...] = ()


PLAIN = Behaviour()


def behaviour_of(pod: JsonObject) -> Behaviour:
    """Read from the annotations as they are now; one that makes no sense counts as absent, and as a problem."""
    annotations = pod["metadata"].get("annotations")
    if not annotations:
        return PLAIN
    problems: list[str] = []
    run_seconds = _seconds(annotations, RUN_SECONDS, problems)
    ready_after = _seconds(annotations, READY_AFTER_SECONDS, problems)
    exit_code = _exit_code(annotations, problems)
    return Behaviour(run_seconds, exit_code, ready_after or 0.0, tuple(problems))


def _seconds(annotations: JsonObject, name: str, problems: list[str]) -> float | None:
    text = annotations.get(name)
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        problems.append(f"annotation {name} is no number of seconds: {text!r}")
        return None
    return seconds


def _exit_code(annotations: JsonObject, problems: list[str]) -> int:
    text = annotations.get(EXIT_CODE)
    if text is None:
        return 0
    if not (text.isdecimal() and len(text) <= 3 and int(text) <= 255):
        problems.append(f"annotation {EXIT_CODE} is no exit code between 0 and 255: {text!r}")
        return 0
    return int(text)
