"""Annotations that steer the simulation, as one table: what there is, on which kind, and what its value may be.

Boards act on them (`kubelet/`), `registry/logs.py` reads one, and admission warns of what nobody will act on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kube32_sim.durations import parse_duration

PREFIX = "sim.kube32.io/"

RUN_SECONDS = PREFIX + "run-seconds"
EXIT_CODE = PREFIX + "exit-code"
READY_AFTER_SECONDS = PREFIX + "ready-after-seconds"
LOG = PREFIX + "log"
FAULT = PREFIX + "fault"
RUNS_AS = PREFIX + "runs-as"
"""As what the simulator runs a node that came with a snapshot (`kubelet/played`)."""


class Fault(NamedTuple):
    """What is wrong with a board.  kind: one of `FAULTS`, "" for nothing.

    seconds: of a brownout from one reset to the next; of a slow board what everything takes longer; else 0.
    """

    kind: str = ""
    seconds: float = 0.0

    @property
    def silent(self) -> bool:
        """Whether nothing that the board would say arrives."""
        return self.kind in ("partitioned", "stopped")


FAULTS = ("partitioned", "stopped", "brownout", "slow")
_LASTING = {"brownout": (60.0, 10.0, 86400.0), "slow": (5.0, 0.001, 3600.0)}
"""Faults that may have a duration: what it is unless given, at least and at most, in seconds."""
NO_FAULT = Fault()
FAULT_FORMS = "partitioned, stopped, brownout, brownout:D (10s to 24h), slow and slow:D (1ms to 1h)"


def fault(text: str) -> Fault | None:
    """`stopped`, `slow` or `slow:5s`; None for what is no fault."""
    kind, colon, duration = text.partition(":")
    if kind not in FAULTS or (colon and kind not in _LASTING):
        return None
    if kind not in _LASTING:
        return Fault(kind)
    usual, least, most = _LASTING[kind]
    try:
        lasts = parse_duration(duration) if colon else usual
    except ValueError:
        return None
    return Fault(kind, lasts) if least <= lasts <= most else None


def seconds(text: str) -> float | None:
    """The number of seconds a text is, None where it is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def exit_code(text: str) -> int | None:
    """The exit code a text is, None where it is none."""
    plain = text.isascii() and text.isdecimal() and len(text) <= 3
    return int(text) if plain and int(text) <= 255 else None


class Value(NamedTuple):
    """fits: whether a text may be the value.  otherwise: what it is then, after `is`."""

    fits: Callable[[str], bool]
    otherwise: str


_SECONDS = Value(lambda text: seconds(text) is not None, "no number of seconds")

KNOWN: Mapping[str, Mapping[str, Value]] = {
    "Pod": {
        RUN_SECONDS: _SECONDS,
        EXIT_CODE: Value(lambda text: exit_code(text) is not None, "no exit code between 0 and 255"),
        READY_AFTER_SECONDS: _SECONDS,
        LOG: Value(lambda text: True, "no text"),
    },
    "Node": {
        FAULT: Value(lambda text: fault(text) is not None, f"none of {FAULT_FORMS}"),
        RUNS_AS: Value(bool, "no kind of board, and no amounts"),
    },
}


def problems(kind: str, metadata: Mapping[str, Any]) -> list[str]:
    """What is wrong with the steering annotations of a Pod or a Node, by its metadata."""
    annotations: Mapping[str, str] | None = metadata.get("annotations")
    if not annotations:
        return []
    found = []
    for name, text in annotations.items():
        if name.startswith(PREFIX):
            value = KNOWN[kind].get(name)
            if value is None:
                found.append(_misplaced(name, kind))
            elif not value.fits(text):
                found.append(f"annotation {name} is {value.otherwise}: {text!r}")
    return found


def _misplaced(name: str, kind: str) -> str:
    for other, known in KNOWN.items():
        if name in known:
            return f"annotation {name} belongs on a {other}, not on a {kind}"
    return f"annotation {name} is unknown on a {kind}; there are: {', '.join(KNOWN[kind])}"
