"""The options of `kube32-sim record`."""

from __future__ import annotations

from kube32_sim.arguments.parser import WHERE, Commands, add_command, add_server, duration


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "record",
        "record what clients do to a running simulator, and where its pods go",
        "It records until Ctrl-C.  `kube32-sim replay FILE` plays the file.\n"
        f"{WHERE}\n\n"
        "examples:\n"
        "  %(prog)s incident.jsonl.gz\n"
        "  %(prog)s incident.jsonl --for 30m",
        "FILE [OPTION]...",
    )
    add_server(parser)
    parser.add_argument(
        "file", metavar="FILE", help="JSON lines, compressed where it ends in .gz; - for standard output"
    )
    parser.add_argument(
        "--for", dest="lasts", type=duration, metavar="D", help="end after this long (of real time) by itself"
    )
