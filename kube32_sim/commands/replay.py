"""`kube32-sim replay`: a recording once more, and whether its pods go where they went."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kube32_sim.api.own import API_VERSION
from kube32_sim.clock import RealClock
from kube32_sim.commands.answering import as_document, say
from kube32_sim.durations import format_duration
from kube32_sim.options import CommandError, OptionError
from kube32_sim.progress import progress_bar
from kube32_sim.recording.history import BOUND, Difference, Step, compare
from kube32_sim.replaying.files import Recording, read, read_steps, step_line
from kube32_sim.replaying.playing import Played, options_of, play
from kube32_sim.snapshot import files
from kube32_sim.snapshot import reading as snapshots
from kube32_sim.terminal import counted, printable, tell

JsonObject = dict[str, Any]

_OPTIONS = ("nodes", "board", "controllers", "scheduler_profile", "eviction_timeout", "default_toleration_seconds")


@dataclass(frozen=True, slots=True)
class Outcome:
    """compared: whether there was anything to compare with.  took: seconds of real time."""

    recording: Recording
    played: Played
    differences: Sequence[Difference]
    compared: bool
    took: float


def run(parsed: argparse.Namespace) -> int:
    """The exit code: 0 where pods went as they should, 1 where not."""
    recording = _recording(parsed)
    expected = read_steps(parsed.golden) if parsed.golden else recording.steps
    options = options_of(recording, **{name: getattr(parsed, name, None) for name in _OPTIONS})
    real = RealClock()
    begun = real.steady()
    with progress_bar(len(recording.entries), "requests") as progress:
        played = asyncio.run(play(recording, options, speed=parsed.speed, progress=progress))
    took = real.steady() - begun
    for note in played.notes:
        tell(f"kube32-sim: {note}")
    if parsed.write_golden:
        with files.writing(parsed.write_golden) as writer:
            for step in played.steps:
                writer.write(step_line(step))
    compared = bool(parsed.golden) or not recording.is_log
    differences = compare(expected, played.steps) if compared else []
    _answer(parsed.output, Outcome(recording, played, differences, compared, took))
    return 1 if differences or played.refused else 0


def _recording(parsed: argparse.Namespace) -> Recording:
    recording = read(parsed.file)
    if parsed.snapshot:
        if recording.state.lines:
            raise OptionError("--snapshot: the recording has a state of its own")
        recording.state = snapshots.read([parsed.snapshot])
    if not recording.entries and not recording.state.lines:
        raise CommandError(f"{parsed.file}: there is nothing to play in it")
    recording.end += parsed.settle
    return recording


def _answer(output: str, outcome: Outcome) -> None:
    if output:
        say(as_document(_document(outcome), output))
    else:
        say("".join(f"{printable(line)}\n" for line in _lines(outcome)))


def _lines(outcome: Outcome) -> Sequence[str]:
    recording, played, differences = outcome.recording, outcome.played, outcome.differences
    lasted = format_duration(round(recording.end - recording.begin, 3))
    lines = [f"{counted(played.requests, 'request')} in {lasted} of the cluster's time, played in {outcome.took:.1f}s"]
    if played.passed_over:
        lines.append(f"{counted(played.passed_over, 'request')} passed over: of boards, refused ones, dry runs")
    lines += played.refused
    if differences:
        lines.append(f"{counted(len(differences), 'pod')} went otherwise:")
        lines += [f"  {line}" for one in differences for line in one.lines()]
    elif outcome.compared:
        lines.append(f"{counted(len({step.pod for step in played.steps}), 'pod')} went as before")
    else:
        bound = sum(step.what == BOUND for step in played.steps)
        lines.append(f"{counted(bound, 'time')} a pod got a node; there is nothing to compare with (--golden FILE)")
    return lines


def _document(outcome: Outcome) -> JsonObject:
    def shown(step: Step | None) -> JsonObject | None:
        return step.to_json() if step is not None else None

    played = outcome.played

    def told(one: Difference) -> JsonObject:
        found = {"pod": one.pod, "before": shown(one.before), "now": shown(one.now)}
        return found | ({"last": shown(one.last)} if one.last is not None else {})

    status = {
        "requests": played.requests,
        "passedOver": played.passed_over,
        "refused": played.refused,
        "placements": [step.to_json() for step in played.steps],
        "differences": [told(one) for one in outcome.differences],
    }
    return {"apiVersion": API_VERSION, "kind": "Replay", "status": status}
