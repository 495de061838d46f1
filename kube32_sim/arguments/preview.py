"""The options of `kube32-sim preview`."""

from __future__ import annotations

import argparse

from kube32_sim.arguments.parser import RAW, Commands, add_server
from kube32_sim.arguments.preview_questions import EXAMPLES, add_questions

_EPILOG = (
    "Pods count, and those of Deployments, ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets\n"
    "and Jobs.  The cluster is looked for in --nodes, --server, --kubeconfig, $KUBECONFIG, then the file that\n"
    "`serve` writes.  `kubectl get nodes,pods,limitranges,priorityclasses -A -o yaml` makes a file for --nodes.\n\n"
    "examples:\n"
    "  %(prog)s -f manifests/blinky.yaml                  # on the running simulator\n"
    "  %(prog)s -f app/ -o wide                           # what each node says of each pod\n"
    "  %(prog)s -f app.yaml --kubeconfig ~/.kube/config --profile kestrel\n"
    "  %(prog)s -f app.yaml --nodes state.yaml            # on nodes, and pods, of a file\n"
    f"{EXAMPLES}\n"
    "  %(prog)s --operations replay.json                  # Kestrel's own operations, from an empty cluster"
)


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "preview",
        help="tell where the pods of manifests would go, and why not elsewhere; nothing is created",
        description="Tell where the pods of manifests would go, and why not elsewhere.  Nothing is created.",
        epilog=_EPILOG,
        formatter_class=RAW,
        usage="%(prog)s (-f FILE... | --explain POD | --operations FILE) [OPTION]...",
        allow_abbrev=False,
    )
    parser.set_defaults(command="preview", error=parser.error)
    parser.add_argument(
        "-f",
        "--filename",
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="manifests: files, directories, or - for stdin",
    )
    parser.add_argument(
        "-n",
        "--namespace",
        default="",
        metavar="NAME",
        help="of objects that name none (default: the kubeconfig's, or default)",
    )
    where = add_server(parser)
    where.add_argument("--nodes", default="", metavar="FILE", help="take nodes, and pods on them, from a file instead")
    _add_answer(parser)


def _add_answer(parser: argparse.ArgumentParser) -> None:
    """By which rules, and how it is told."""
    parser.add_argument(
        "--profile",
        choices=("kube32", "kestrel"),
        metavar="NAME",
        help="rules: kube32, as the simulator schedules, or kestrel: cpu and memory, taints, affinity, preemption "
        "(default: kube32)",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "wide", "json", "yaml"),
        metavar="FORMAT",
        help="table, wide, json or yaml; all but table tell of every node (default: table; of --operations: json)",
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=0,
        metavar="K",
        help="with -o wide, json or yaml: tell of the K best nodes of each pod only, and how many more there are",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="then create the pods in a private simulator of the same state and compare; exit code 1 if they differ",
    )
    add_questions(parser)
    parser.add_argument(
        "--operations", default="", metavar="FILE", help="replay a JSON list of operations instead; - for stdin"
    )
