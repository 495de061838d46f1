"""The options of `kube32-sim faults`."""

from __future__ import annotations

from kube32_sim.arguments.parser import Commands, add_action, add_actions, add_command, add_output


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "faults",
        "let boards break, and requests of clients fail",
        "`%(prog)s ACTION --help` tells the options of an action.\n\n"
        "examples:\n"
        "  %(prog)s board esp32-0 esp32-1 brownout\n"
        "  %(prog)s board esp32-0 esp32-1 none\n"
        "  %(prog)s set flaky.yaml\n"
        "  %(prog)s show -o yaml\n"
        "  %(prog)s clear",
    )
    actions = add_actions(parser)
    board = add_action(actions, "board", "break boards, or heal them with none", "NODE... FAULT [OPTION]...")
    board.add_argument("nodes", nargs="+", metavar="NODE", help="name of a board's Node")
    board.add_argument(
        "fault",
        metavar="FAULT",
        help="partitioned, stopped, brownout (or brownout:D, a reset every D), slow (or slow:D, late by D), or none",
    )
    given = add_action(actions, "set", "let requests fail as a FaultScenario says, from now on", "FILE [OPTION]...")
    given.add_argument("file", metavar="FILE", help="YAML or JSON; - for stdin")
    add_output(given)
    about = "tell which faults of requests are set, and how often each has happened"
    add_output(add_action(actions, "show", about, "[OPTION]..."))
    add_action(actions, "clear", "let no requests fail any more", "[OPTION]...")
