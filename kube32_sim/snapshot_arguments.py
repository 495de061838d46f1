"""The part of the command line's parser that is about snapshots (`arguments` has the rest)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

AddServer = Callable[[argparse.ArgumentParser], object]
"""Adds the options that say which server is meant."""


def add_snapshot(commands: argparse._SubParsersAction[Any], add_server: AddServer) -> None:
    """The command and its actions."""
    about = "save the state of a cluster in a file, or load it into a running simulator"
    parser: argparse.ArgumentParser = commands.add_parser(
        "snapshot",
        help=about,
        description=f"{about[:1].upper()}{about[1:]}.",
        epilog="`%(prog)s ACTION --help` tells the options of an action.\n\n"
        "examples:\n"
        "  %(prog)s save state.jsonl\n"
        "  %(prog)s load state.jsonl\n"
        "  %(prog)s save production.jsonl.gz --kubeconfig ~/.kube/config     # of a real cluster",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command="snapshot", error=parser.error)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    save = _add_action(actions, add_server, "save", "save all objects of a cluster, as of one moment", "FILE")
    save.add_argument(
        "file",
        metavar="FILE",
        help="JSON lines; YAML where it ends in .yaml, compressed where it ends in .gz; - for stdout",
    )
    save.add_argument("--without-secrets", action="store_true", help="leave Secrets out")
    load = _add_action(actions, add_server, "load", "load objects into a running simulator, as they are", "FILE...")
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


def _add_action(
    actions: argparse._SubParsersAction[Any], add_server: AddServer, name: str, about: str, takes: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        name,
        help=about,
        description=f"{about[:1].upper()}{about[1:]}.",
        epilog="The server is looked for in --server, --kubeconfig, $KUBECONFIG, then the file that `serve` writes.",
        usage=f"%(prog)s {takes} [OPTION]...",
        allow_abbrev=False,
    )
    parser.set_defaults(action=name, error=parser.error)
    add_server(parser)
    return parser
