"""The parser of the command line: options, their help texts, and nothing that runs.

One module a command; `parser` has what they share.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from kube32_sim.arguments import (
    clock,
    completion,
    diff,
    faults,
    fork,
    kubelet,
    preview,
    record,
    replay,
    scenario,
    serve,
    snapshot,
    top,
    why,
)
from kube32_sim.arguments.parser import PROGRAM, Commands, Parser
from kube32_sim.version import VERSION

__all__ = ["COMMANDS", "PROGRAM", "Parser", "build_parser"]

COMMANDS: Mapping[str, Callable[[Commands], None]] = {
    "serve": serve.add,
    "kubelet": kubelet.add,
    "top": top.add,
    "preview": preview.add,
    "why": why.add,
    "clock": clock.add,
    "faults": faults.add,
    "fork": fork.add,
    "diff": diff.add,
    "snapshot": snapshot.add,
    "record": record.add,
    "replay": replay.add,
    "scenario": scenario.add,
    "completion": completion.add,
}
"""What adds each command, in the order in which a help lists them."""


def build_parser() -> Parser:
    """All commands."""
    parser = Parser(
        prog=os.environ.get(PROGRAM) or "kube32-sim",
        description="A Kubernetes API server, control loops and ESP32 boards to test against: no containers run.",
        epilog="`%(prog)s COMMAND --help` tells the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"kube32-sim {VERSION}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in COMMANDS.values():
        add(commands)
    return parser
