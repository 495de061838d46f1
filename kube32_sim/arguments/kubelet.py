"""The options of `kube32-sim kubelet`."""

from __future__ import annotations

from kube32_sim.arguments.boards import add_board, add_pace
from kube32_sim.arguments.parser import RAW, Commands, add_servers


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "kubelet",
        help="run simulated boards in a process of their own",
        description="Run simulated boards in a process of their own, speaking only HTTP to the server.",
        epilog="The server is looked for in --server, --kubeconfig, $KUBECONFIG, then the file that `serve` writes.\n\n"
        "examples:\n"
        "  %(prog)s --name bench --board esp32-c6\n"
        "  %(prog)s --server http://127.0.0.1:6443 --name board --count 1000   # board-0 … board-999\n"
        "  %(prog)s --server http://one:6443,http://two:6443 --name board  # two replicas of one cluster",
        formatter_class=RAW,
        usage="%(prog)s --name NAME [OPTION]...",
        allow_abbrev=False,
    )
    parser.set_defaults(command="kubelet", error=parser.error)
    add_servers(parser)
    parser.add_argument("--name", required=True, help="name of the node, or the start of the names")
    parser.add_argument(
        "--count", type=int, default=1, metavar="N", help="how many boards; more than one are NAME-0, NAME-1, …"
    )
    add_board(parser)
    add_pace(parser)
