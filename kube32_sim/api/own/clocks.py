"""`clocks`: what time it is, and `advance`; `registry/clocks` answers."""

from __future__ import annotations

from kube32_sim.api.own.parts import META, JsonObject, kind, list_of, own, part, reference, text

_MODE = "Real: time moves by itself. Virtual: it moves only when it is advanced."
_NOW = "The time that it is, by this clock."


def definitions() -> dict[str, JsonObject]:
    status = part(
        "How a clock goes, and what time it is.", {"mode": text(_MODE), "now": reference(f"{META}.MicroTime", _NOW)}
    )
    asked = part(
        "How far a clock is to be advanced.",
        {"duration": text("How far, as Go writes durations: 500ms, 15s, 1m30s; or a number of seconds. Required.")},
    )
    clock = kind(
        "Clock", "The simulator's clock: there is one, named cluster.", status=own("ClockStatus", "What it shows.")
    )
    clocks = list_of("Clock")
    advance = kind(
        "ClockAdvance",
        "Moves a virtual clock on. The answer comes when everything due by then has run.",
        spec=own("ClockAdvanceSpec", "How far."),
        status=own("ClockStatus", "The clock afterwards."),
    )
    found = {"Clock": clock, "ClockList": clocks, "ClockStatus": status}
    return {**found, "ClockAdvance": advance, "ClockAdvanceSpec": asked}
