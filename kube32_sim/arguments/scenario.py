"""The options of `kube32-sim scenario`."""

from __future__ import annotations

from kube32_sim.arguments.parser import Commands, add_command


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "scenario",
        "run scenarios: what happens to a cluster at which time, and what has to be so then",
        "Each runs in a private simulator on a virtual clock.  A directory stands for all *.scenario.yaml in it.\n"
        "Exit codes: 0 all went as expected, 1 one did not.\n\n"
        "examples:\n"
        "  %(prog)s lost-board.scenario.yaml\n"
        "  %(prog)s scenarios/ --junit report.xml",
        "FILE... [OPTION]...",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="scenarios, or directories of them")
    parser.add_argument(
        "--check", action="store_true", help="read the files, tell what is wrong with them, run nothing"
    )
    parser.add_argument("--junit", default="", metavar="FILE", help="write a report there too, as JUnit's XML")
    parser.add_argument(
        "-o", "--output", choices=("json", "yaml"), default="", metavar="FORMAT", help="json or yaml: as an object"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="tell only of scenarios that fail")
