"""The options of `kube32-sim replay`."""

from __future__ import annotations

import argparse

from kube32_sim.arguments.parser import Commands, add_command, add_output, duration


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "replay",
        "play a recording in a private simulator, and compare where its pods go",
        "FILE is what `kube32-sim record` wrote, or an audit log (audit.k8s.io/v1) of a real cluster.\n"
        "Exit codes: 0 pods went where they should; 1 some did not, or it could not be played.\n\n"
        "examples:\n"
        "  %(prog)s incident.jsonl                             # as they went when it was recorded?\n"
        "  %(prog)s incident.jsonl --scheduler-profile kestrel # and by other rules?\n"
        "  %(prog)s incident.jsonl --write-golden placements.jsonl\n"
        "  %(prog)s incident.jsonl --golden placements.jsonl   # in CI\n"
        "  %(prog)s audit.log --nodes esp32-s3=20",
        "FILE [OPTION]...",
    )
    parser.add_argument("file", metavar="FILE", help="the recording; - for standard input")
    parser.add_argument(
        "--speed",
        type=_speed,
        default=0.0,
        metavar="N",
        help="max, or how many times as fast as it was recorded (default: max)",
    )
    parser.add_argument("--golden", default="", metavar="FILE", help="compare with this history of placements instead")
    parser.add_argument("--write-golden", default="", metavar="FILE", help="write the history of placements there")
    parser.add_argument(
        "--snapshot", default="", metavar="FILE", help="begin with this state (`snapshot save`); of audit logs"
    )
    parser.add_argument("--nodes", metavar="N", help="boards besides those of the state, as `serve` has them")
    parser.add_argument("--board", metavar="NAME", help="kind of these boards")
    parser.add_argument("--controllers", metavar="LIST", help="control loops to run, as `serve` has them")
    parser.add_argument("--scheduler-profile", metavar="NAME", help="rules of the scheduler, as `serve` has them")
    parser.add_argument("--eviction-timeout", type=duration, metavar="D", help="as `serve` has it")
    parser.add_argument("--default-toleration-seconds", type=int, metavar="N", help="as `serve` has it")
    parser.add_argument("--settle", type=duration, default=0.0, metavar="D", help="let so much time pass at the end")
    add_output(parser)


def _speed(text: str) -> float:
    """0 of `max`."""
    if text == "max":
        return 0.0
    try:
        speed = float(text.removesuffix("x"))
    except ValueError:
        speed = 0.0
    if not 0.0 < speed < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is neither max nor a number above 0")
    return speed
