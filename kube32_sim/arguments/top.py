"""The options of `kube32-sim top`."""

from __future__ import annotations

from kube32_sim.arguments.parser import WHERE, Commands, add_command, add_output, add_server


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "top",
        "show what boards have left and what runs on them, live in a terminal",
        f"{WHERE}\n\n"
        "Keys: q or Ctrl-C ends it, s sorts by the next column, arrow and page keys scroll.\n\n"
        "examples:\n"
        "  %(prog)s                       # live, until q\n"
        "  %(prog)s --sort heap           # what has least heap left first\n"
        "  %(prog)s --once | head         # one table",
        usage="[OPTION]...",
    )
    add_server(parser)
    parser.add_argument(
        "-n",
        "--namespace",
        default="",
        metavar="NAME",
        help="tell of the pods of this namespace only (default: of all)",
    )
    parser.add_argument(
        "--sort",
        choices=("name", "heap", "psram", "pins", "pods"),
        default="name",
        metavar="COLUMN",
        help="name, heap, psram, pins or pods: what has least left, or most pods, first (default: name)",
    )
    parser.add_argument("--once", action="store_true", help="print one table and end, as without a terminal")
    add_output(parser)
