"""The options of `kube32-sim completion`."""

from __future__ import annotations

from kube32_sim.arguments.parser import Commands, add_command

SHELLS = ("bash", "zsh", "fish", "powershell")


def add(commands: Commands) -> None:
    parser = add_command(
        commands,
        "completion",
        "print a script that completes commands and options in a shell",
        "examples:\n"
        "  source <(%(prog)s bash)                          # for this shell; into ~/.bashrc for all\n"
        "  %(prog)s zsh > ~/.zfunc/_kube32-sim              # a folder of your $fpath, before compinit\n"
        "  %(prog)s fish > ~/.config/fish/completions/kube32-sim.fish",
        "SHELL",
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
