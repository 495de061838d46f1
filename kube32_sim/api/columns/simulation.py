"""Printing columns of the simulator's own types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api import own
from kube32_sim.api.columns.form import NAME, name_of, section, text
from kube32_sim.api.tables import Cell, Columns

JsonObject = dict[str, Any]


def _clock(obj: JsonObject) -> Sequence[Cell]:
    status = section(obj, "status")
    return name_of(obj), status.get("mode", ""), status.get("now", "")


def _fork(obj: JsonObject) -> Sequence[Cell]:
    status = section(obj, "status")
    return name_of(obj), status.get("server", ""), status.get("revision", ""), status.get("forkedAt", "")


COLUMNS = {
    (own.GROUP, "Clock"): Columns(
        (
            NAME,
            text("Mode", "Real, or Virtual: it moves only when it is advanced."),
            text("Now", "The time by this clock."),
        ),
        _clock,
    ),
    (own.GROUP, "Fork"): Columns(
        (
            NAME,
            text("Server", "Where it is served."),
            text("Revision", "The resourceVersion from which it goes its own way."),
            text("Forked", "What time it was then, by the clocks of both."),
        ),
        _fork,
    ),
}
