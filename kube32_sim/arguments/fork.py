"""The options of `kube32-sim fork`."""

from __future__ import annotations

import argparse

from kube32_sim.arguments.parser import WHERE, Commands, add_command, add_output


def port(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 5 or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 65535")
    return int(text)


def add(commands: Commands) -> None:
    about = "branch a running simulator: a copy of this moment to try things on, with a virtual clock"
    parser = add_command(
        commands,
        "fork",
        about,
        "The original goes on as if nobody had asked; whoever may use it may use its forks in the same way.\n"
        "A fork ends with --delete, or with the simulator.  " + WHERE.replace("--kubeconfig, ", "") + "\n\n"
        "examples:\n"
        "  %(prog)s what-if\n"
        "  %(prog)s --list\n"
        "  %(prog)s --delete what-if",
        "[NAME | --list | --delete NAME] [OPTION]...",
    )
    parser.add_argument(
        "name", nargs="?", default="", metavar="NAME", help="what to call it (default: fork-1, fork-2…)"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="tell which forks there are")
    what.add_argument("--delete", default="", metavar="NAME", help="end a fork, and remove the kubeconfig made for it")
    parser.add_argument("--port", type=port, default=0, metavar="N", help="where it listens (default: a free port)")
    parser.add_argument("--server", default="", metavar="URL", help="address of the simulator to be forked")
    parser.add_argument(
        "--kubeconfig",
        default="",
        metavar="FILE",
        help="where to write the kubeconfig of the fork (default: ~/.kube/kube32-sim-NAME); with --list and --delete, "
        "the one that names the simulator",
    )
    add_output(parser)
