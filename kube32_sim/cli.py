"""The command line: arguments in, the command's module run, an exit code out.

Exit codes: 0 stopped cleanly, 1 it could not run, 2 the arguments are wrong; always with one line that says why.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from kube32_sim.arguments import build_parser
from kube32_sim.options import CommandError, OptionError
from kube32_sim.terminal import tell

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""
MOST_LINES = 25
"""Of what is wrong with one call; more than the commands list that say themselves how many more there are."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The console script."""
    try:
        code: str | int | None = run(arguments)
    except SystemExit as stop:  # argparse's, which has printed a help perhaps
        code = stop.code
    sys.exit(_all_said(code))


def _all_said(code: str | int | None) -> str | int | None:
    """What waits to be printed is printed here, where it can be told that nobody reads it."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        return _nobody_reads()
    return code


def run(arguments: Sequence[str] | None = None) -> int:
    """Parse and run one command; answers the exit code (argparse itself exits with 2, or 0 after --help).

    A command's module has the command's name: heavy modules are imported by the command that needs them, so that
    `--help` and a mistyped option answer at once.
    """
    parsed, unknown = build_parser().parse_known_args(arguments)
    if unknown:
        parsed.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        return int(import_module(f"kube32_sim.commands.{parsed.command}").run(parsed))
    except OptionError as error:
        return int(parsed.error(str(error)))  # which exits with 2
    except CommandError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _nobody_reads()
    except OSError as error:
        return _fail(_os_error(error))


def _fail(message: str) -> int:
    lines = message.splitlines()
    more = len(lines) - MOST_LINES
    for line in [*lines[:MOST_LINES], *([f"and {more} more"] if more > 0 else [])]:
        tell(f"kube32-sim: {line}")
    return 1


def _nobody_reads() -> int:
    """stdout was closed (`| head`): nothing to say, and nowhere to say it; nor may the interpreter try at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def _os_error(error: OSError) -> str:
    text = error.strerror or str(error)
    return f"{error.filename}: {text}" if error.filename else text
