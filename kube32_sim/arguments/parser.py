"""The parser itself, and what commands have in common: durations, where the server is, how actions are added."""

from __future__ import annotations

import argparse
import difflib
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from kube32_sim.durations import parse_duration
from kube32_sim.terminal import printable

PROGRAM = "KUBE32_SIM_PROGRAM"
"""Environment variable: what to call the program in usage lines, where it was started in another way (`run.py`)."""


ONLY_RUN_PY = ("test",)
"""Commands that `run.py` has besides ours."""
_CHOICE = re.compile(r"(argument (\S+): invalid choice: '(.*)')(?:,.*)? \(choose from (.*)\)", re.DOTALL)
_OTHER_WORDS = {"run": "serve", "start": "serve", "status": "show", "get": "show", "step": "advance"}
"""What other programs call it."""


class Parser(argparse.ArgumentParser):
    """argparse takes what begins with `-` for an option: where that may be a value, it says so.

    Whoever mistypes one of several words is told which was probably meant.
    """

    def error(self, message: str) -> NoReturn:
        if choice := _CHOICE.fullmatch(message):
            message = _with_suggestion(*choice.groups())
        elif message.endswith("expected one argument"):
            message += " (one that begins with - is written OPTION=VALUE)"
        elif message.endswith("required: D"):
            message += " (a duration of 0 or more)"
        elif message.endswith("required: ACTION"):
            message += f" ({', '.join(self._words())})"
        super().error(printable(message))

    def _words(self) -> Iterator[str]:
        """The actions that there are."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from action.choices


def _with_suggestion(problem: str, argument: str, given: str, choices: str) -> str:
    known = re.findall(r"[\w.-]+", choices)
    if argument == "COMMAND" and os.environ.get(PROGRAM):
        known += ONLY_RUN_PY
    close = difflib.get_close_matches(given, known, 1) or [_OTHER_WORDS.get(given, "")]
    meant = f"; did you mean '{close[0]}'?" if close[0] in known else ""
    return f"{problem} (choose from {', '.join(known)}){meant}"


if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[Parser]
else:
    Commands = argparse._SubParsersAction  # which is generic to type checkers only

RAW = argparse.RawDescriptionHelpFormatter
WHERE = "The server is looked for in --server, --kubeconfig, $KUBECONFIG, then the file that `serve` writes."
"""What the help of a command says that talks to a running simulator."""


def sentence(about: str) -> str:
    return f"{about[:1].upper()}{about[1:]}."


def duration(text: str) -> float:
    """Seconds, of a duration as Go writes it or a number of seconds."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_command(commands: Commands, name: str, about: str, epilog: str, usage: str | None = None) -> Parser:
    """A command.  about: what it does, as in a list of commands.  usage: its words after the name, if not made."""
    parser = commands.add_parser(
        name,
        help=about,
        description=sentence(about),
        epilog=epilog,
        formatter_class=RAW,
        usage=None if usage is None else f"%(prog)s {usage}",
        allow_abbrev=False,
    )
    parser.set_defaults(command=name, error=parser.error)
    return parser


def add_actions(parser: Parser) -> Commands:
    """A command of several actions: which was meant is `parsed.action`."""
    return parser.add_subparsers(title="actions", metavar="ACTION", required=True)


def add_action(actions: Commands, name: str, about: str, usage: str, *, server: bool = True) -> Parser:
    """An action.  server: it talks to a running simulator, and has the options that say to which."""
    parser = actions.add_parser(
        name,
        help=about,
        description=sentence(about),
        epilog=WHERE if server else None,
        usage=" ".join(["%(prog)s", *usage.split()]),
        allow_abbrev=False,
    )
    parser.set_defaults(action=name, error=parser.error)
    if server:
        add_server(parser)
    return parser


def add_output(parser: argparse.ArgumentParser) -> None:
    """`-o json|yaml` of a command whose answer is one object: "" where not given."""
    parser.add_argument(
        "-o", "--output", choices=("json", "yaml"), default="", metavar="FORMAT", help="json or yaml: as an object"
    )


def add_server(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """One: both are texts, "" where not given."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--server", default="", metavar="URL", help="address of the server")
    where.add_argument("--kubeconfig", default="", metavar="FILE", help="kubeconfig that names the server")
    return where


def add_servers(parser: argparse.ArgumentParser) -> None:
    """Several of one cluster, any of which will do: both are lists of what was given."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--server",
        action="append",
        default=[],
        metavar="URL",
        help="address of the server, or of several replicas, with commas between or one in each `--server`",
    )
    where.add_argument(
        "--kubeconfig",
        action="append",
        default=[],
        metavar="FILE",
        help="kubeconfig that names the server; several for several replicas, one in each `--kubeconfig`",
    )
