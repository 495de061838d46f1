"""The options of `kube32-sim clock`."""

from __future__ import annotations

from kube32_sim.arguments.parser import Commands, add_action, add_actions, add_command, add_output, duration


def add(commands: Commands) -> None:
    about = "tell what time it is in a running simulator, or move its clock on"
    parser = add_command(
        commands,
        "clock",
        about,
        "`%(prog)s ACTION --help` tells the options of an action.\n\n"
        "examples:\n"
        "  %(prog)s show\n"
        "  %(prog)s advance 330s -o json",
    )
    parser.description = f"{parser.description}  Only a virtual clock can be moved."
    actions = add_actions(parser)
    add_output(add_action(actions, "show", "tell the mode of the clock, real or virtual, and its time", "[OPTION]..."))
    about = "move a virtual clock on; answers when all that is due has run"
    advance = add_action(actions, "advance", about, "D [OPTION]...")
    add_output(advance)
    advance.add_argument(
        "duration",
        type=duration,
        metavar="D",
        help="how far: a duration of Go's (500ms, 15s, 1h30m) or a number of seconds",
    )
