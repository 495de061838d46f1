"""The options of `kube32-sim snapshot`."""

from __future__ import annotations

from kube32_sim.arguments.parser import Commands, add_action, add_actions, add_command


def add(commands: Commands) -> None:
    """The command and its actions."""
    parser = add_command(
        commands,
        "snapshot",
        "save the state of a cluster in a file, or load it into a running simulator",
        "`%(prog)s ACTION --help` tells the options of an action.\n\n"
        "examples:\n"
        "  %(prog)s save state.jsonl\n"
        "  %(prog)s load state.jsonl\n"
        "  %(prog)s save production.jsonl.gz --kubeconfig ~/.kube/config     # of a real cluster",
    )
    actions = add_actions(parser)
    save = add_action(actions, "save", "save all objects of a cluster, as of one moment", "FILE [OPTION]...")
    save.add_argument(
        "file",
        metavar="FILE",
        help="JSON lines; YAML where it ends in .yaml, compressed where it ends in .gz; - for stdout",
    )
    save.add_argument("--without-secrets", action="store_true", help="leave Secrets out")
    load = add_action(actions, "load", "load objects into a running simulator, as they are", "FILE... [OPTION]...")
    load.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="snapshots, or what `kubectl get -o yaml` or `-o json` prints; - for stdin",
    )
    load.add_argument(
        "--on-conflict",
        choices=("fail", "skip", "replace"),
        default="fail",
        metavar="WORD",
        help="of objects that there are already: fail, skip or replace (default: %(default)s)",
    )
    load.add_argument("--dry-run", action="store_true", help="tell what would be loaded, and load nothing")
    load.add_argument(
        "--strict", action="store_true", help="fail where a type is not served or a field is unknown, and load nothing"
    )
    load.add_argument("--leave-nodes", action="store_true", help="let no simulated boards run the loaded nodes")
