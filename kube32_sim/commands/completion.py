"""`kube32-sim completion`: a script for the shell, made of the parser."""

from __future__ import annotations

import argparse

from kube32_sim.arguments import build_parser
from kube32_sim.commands.answering import check_output, say

FILES = frozenset(("FILE", "PATH", "FILE...", "MANIFEST"))
"""What stands for a path where an option takes one."""


def run(parsed: argparse.Namespace) -> int:
    """The exit code."""
    import shtab

    check_output()
    parser = build_parser()
    parser.prog = "kube32-sim"  # under which the shell knows it, whatever started this
    _name_files(parser, shtab.FILE)
    say(shtab.complete(parser, shell=parsed.shell) + "\n")
    return 0


def _name_files(parser: argparse.ArgumentParser, completed: object) -> None:
    """Options whose value is a file are completed with files, those of all commands below too."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                _name_files(one, completed)
        elif action.metavar in FILES:
            action.complete = completed  # type: ignore[attr-defined]
