"""The options of `kube32-sim diff`."""

from __future__ import annotations

from kube32_sim.arguments.parser import WHERE, Commands, add_command, add_server


def add(commands: Commands) -> None:
    about = "tell what is different between two states of a cluster: placements, disruptions, objects"
    parser = add_command(
        commands,
        "diff",
        about,
        "A and B are each a fork of the running simulator by its name, `.` for the simulator itself, a URL,\n"
        "a kubeconfig, or a file that `snapshot save` has written.  " + WHERE + "\n\n"
        "Exit codes as of diff(1): 0 nothing is different, 1 something is, 2 there was trouble.\n\n"
        "examples:\n"
        "  %(prog)s . what-if\n"
        "  %(prog)s before.jsonl . -o wide",
        "A B [OPTION]...",
    )
    parser.add_argument("first", metavar="A", help="the state that is compared with")
    parser.add_argument("second", metavar="B", help="the state of which is told what is different")
    add_server(parser)
    parser.add_argument(
        "-o",
        "--output",
        choices=("wide", "json", "yaml"),
        default="",
        metavar="FORMAT",
        help="wide: with the fields that differ; json or yaml: as an object",
    )
