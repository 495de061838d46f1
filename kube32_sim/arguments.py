"""The parser of the command line: options, their help texts, and nothing that runs."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import os
import re
from pathlib import Path
from typing import NoReturn

from kube32_sim.durations import parse_duration
from kube32_sim.election import add_election
from kube32_sim.etcd_access import add_etcd_access
from kube32_sim.limits import Limits
from kube32_sim.option_fields import flag
from kube32_sim.options import BOARDS, DEFAULT_BOARD, KUBECONFIG, LINUX
from kube32_sim.server_arguments import add_server, add_servers
from kube32_sim.snapshot_arguments import add_snapshot
from kube32_sim.version import VERSION

PROGRAM = "KUBE32_SIM_PROGRAM"
"""Environment variable: what to call the program in usage lines, where it was started in another way (`run.py`)."""


ONLY_RUN_PY = ("test",)
"""Commands that `run.py` has besides ours."""
_CHOICE = re.compile(r"(argument (\S+): invalid choice: '(.*)')(?:,.*)? \(choose from (.*)\)", re.DOTALL)
_OTHER_WORDS = {"run": "serve", "start": "serve", "status": "show", "get": "show", "step": "advance"}
"""What other programs call it."""


class Parser(argparse.ArgumentParser):
    """argparse takes what begins with `-` for an option: where that may be a value, it says so.

    Whoever mistypes one of several words is told which was probably meant.
    """

    def error(self, message: str) -> NoReturn:
        if choice := _CHOICE.fullmatch(message):
            message = _with_suggestion(*choice.groups())
        elif message.endswith("expected one argument"):
            message += " (one that begins with - is written OPTION=VALUE)"
        elif message.endswith("required: D"):
            message += " (a duration of 0 or more)"
        super().error(message)


def _with_suggestion(problem: str, argument: str, given: str, choices: str) -> str:
    known = re.findall(r"[\w.-]+", choices)
    if argument == "COMMAND" and os.environ.get(PROGRAM):
        known += ONLY_RUN_PY
    close = difflib.get_close_matches(given, known, 1) or [_OTHER_WORDS.get(given, "")]
    meant = f"; did you mean '{close[0]}'?" if close[0] in known else ""
    return f"{problem} (choose from {', '.join(known)}){meant}"


def build_parser() -> Parser:
    parser = Parser(
        prog=os.environ.get(PROGRAM) or "kube32-sim",
        description="A Kubernetes API server, control loops and ESP32 boards to test against: no containers run.",
        epilog="`%(prog)s COMMAND --help` tells the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"kube32-sim {VERSION}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_serve(commands)
    _add_kubelet(commands)
    _add_preview(commands)
    _add_clock(commands)
    add_snapshot(commands, add_server)
    return parser


def _add_serve(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "serve",
        help="run the API server, the control loops and simulated boards",
        description="Run the API server, the control loops and, in the same process, simulated boards.",
        epilog="Durations are Go's (500ms, 15s, 1m30s) or a number of seconds.\n\n"
        "examples:\n"
        "  %(prog)s\n"
        "  %(prog)s --port 0 --kubeconfig ./kubeconfig --nodes 5 --board esp32-c3\n"
        "  %(prog)s --nodes esp32-s3=20,esp32-c3=5      # esp32-s3-0 … esp32-s3-19, esp32-c3-0 … esp32-c3-4\n"
        "  %(prog)s --host 0.0.0.0 --tls-self-signed --token-file tokens.csv\n"
        "  %(prog)s --controllers none --nodes 0      # a bare API server",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s [OPTION]...",
        allow_abbrev=False,
    )
    parser.set_defaults(command="serve", error=parser.error)
    _add_listening(parser.add_argument_group("listening"))
    _add_access(parser.add_argument_group("who may call"))
    _add_boards(parser.add_argument_group("boards"))
    _add_control_plane(parser.add_argument_group("control plane"))
    replicas = parser.add_argument_group("replicas")
    add_election(replicas, _duration)
    add_etcd_access(replicas)
    _add_limits(parser.add_argument_group("bounds"))


def _add_listening(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: %(default)s)")
    group.add_argument(
        "--port",
        type=int,
        default=6443,
        metavar="N",
        help="port to listen on; 0: a free one (default: %(default)s)",
    )
    group.add_argument(
        "--allowed-host",
        dest="allowed_hosts",
        action="append",
        default=[],
        metavar="NAME",
        help="another name or address by which it is reached, for which the made certificate is good too, and whose "
        "pages may send requests; can be repeated",
    )
    group.add_argument(
        "--kubeconfig",
        type=Path,
        default=KUBECONFIG,
        metavar="FILE",
        help="write a kubeconfig for kubectl there (default: %(default)s)",
    )


def _add_access(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--token-file", type=Path, metavar="FILE", help='who may call: CSV lines token,user,uid,"group1,group2"'
    )
    group.add_argument("--tls-cert", type=Path, metavar="FILE", help="serve HTTPS with this certificate (PEM)")
    group.add_argument("--tls-key", type=Path, metavar="FILE", help="the certificate's private key (PEM)")
    group.add_argument("--tls-self-signed", action="store_true", help="serve HTTPS by an authority of its own")
    group.add_argument(
        "--client-ca-file", type=Path, metavar="FILE", help="who may call: by certificates of these authorities (PEM)"
    )
    group.add_argument(
        "--allow-anonymous",
        action="store_true",
        help="listen on an address that other machines reach though everybody is an administrator",
    )
    group.add_argument(
        "--authorization-mode",
        default="",
        metavar="LIST",
        help="what callers may do: AlwaysAllow, RBAC (as Roles and bindings say) or AlwaysDeny, several joined by "
        "commas; the group system:masters may do everything. Without it callers are administrators, and RBAC decides "
        "for ServiceAccounts and for whom a caller impersonates",
    )


def _add_boards(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--nodes",
        default="2",
        metavar="N",
        help="boards: esp32-0, esp32-1, …; or how many of each kind: esp32-s3=20,esp32-c3=5 (default: %(default)s)",
    )
    _add_board(group)
    _add_pace(group)


def _add_board(group: argparse._ActionsContainer) -> None:
    kinds = f"{', '.join(kind for kind in BOARDS if kind != LINUX)}; or {LINUX}, an ordinary node"
    group.add_argument("--board", metavar="NAME", help=f"kind of board: {kinds} (default: {DEFAULT_BOARD})")


def _add_pace(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--node-lease-duration-seconds",
        type=int,
        default=15,
        metavar="N",
        help="how long a board's lease lasts; it is renewed three times as often (default: %(default)s)",
    )
    group.add_argument(
        "--node-status-update-frequency",
        type=_duration,
        default="10s",
        metavar="D",
        help="how often a board reports its status though nothing changes (default: %(default)s)",
    )


def _add_control_plane(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--controllers",
        default="*",
        metavar="LIST",
        help="control loops to run: * all, none, a,b only those, *,-a all but (default: %(default)s)",
    )
    for option, default, text in (
        (
            "--reconcile-interval",
            "1s",
            "period of the scheduler's retries and of the workload loops",
        ),
        ("--lease-check-interval", "500ms", "how often the nodes' leases are looked at"),
        (
            "--not-ready-timeout",
            None,
            "time without renewal that makes a node Unknown (default: as its lease says)",
        ),
        ("--eviction-timeout", "15s", "time from Unknown until the NoExecute taint"),
    ):
        shown = "" if default is None else f" (default: {default})"
        group.add_argument(option, type=_duration, default=default, metavar="D", help=text + shown)
    group.add_argument(
        "--default-toleration-seconds",
        type=int,
        default=300,
        metavar="N",
        help="how long pods stay on a lost node unless they say so themselves (default: %(default)s)",
    )
    group.add_argument(
        "--service-cluster-ip-range",
        default="10.96.0.0/16",
        metavar="CIDR",
        help="addresses of Services (default: %(default)s)",
    )
    group.add_argument(
        "--service-node-port-range", default="30000-32767", metavar="A-B", help="node ports (default: %(default)s)"
    )
    group.add_argument(
        "--store",
        default="memory",
        metavar="URL",
        help="where objects are kept: memory, sqlite:PATH or etcd://HOST:PORT[,HOST:PORT...][/PREFIX] "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--clock",
        default="real",
        metavar="MODE",
        help="real, or virtual: time moves only when it is advanced (default: %(default)s)",
    )
    group.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="of generated names and uids: the same for the same N (default: by chance; on a virtual clock 0)",
    )


def _add_limits(group: argparse._ArgumentGroup) -> None:
    for bound in dataclasses.fields(Limits):
        lasts = isinstance(bound.default, float)
        group.add_argument(
            flag(bound.name),
            type=_duration if lasts else int,
            default=f"{bound.default:g}s" if lasts else bound.default,
            metavar="D" if lasts else "N",
            help=f"{bound.metadata['text']} (default: %(default)s)",
        )


def _add_kubelet(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "kubelet",
        help="run simulated boards in a process of their own",
        description="Run simulated boards in a process of their own, speaking only HTTP to the server.",
        epilog="The server is looked for in --server, --kubeconfig, $KUBECONFIG, then the file that `serve` writes.\n\n"
        "examples:\n"
        "  %(prog)s --name bench --board esp32-c6\n"
        "  %(prog)s --server http://127.0.0.1:6443 --name board --count 1000   # board-0 … board-999\n"
        "  %(prog)s --server http://one:6443,http://two:6443 --name board  # two replicas of one cluster",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s --name NAME [OPTION]...",
        allow_abbrev=False,
    )
    parser.set_defaults(command="kubelet", error=parser.error)
    add_servers(parser)
    parser.add_argument("--name", required=True, help="name of the node, or the start of the names")
    parser.add_argument(
        "--count", type=int, default=1, metavar="N", help="how many boards; more than one are NAME-0, NAME-1, …"
    )
    _add_board(parser)
    _add_pace(parser)


def _add_preview(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "preview",
        help="tell where the pods of manifests would go, and why not elsewhere; nothing is created",
        description="Tell where the pods of manifests would go, and why not elsewhere.  Nothing is created.",
        epilog="Pods count, and those of Deployments, ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets\n"
        "and Jobs.  The cluster is looked for in --nodes, --server, --kubeconfig, $KUBECONFIG, then the file that\n"
        "`serve` writes.  `kubectl get nodes,pods,limitranges,priorityclasses -A -o yaml` makes a file for --nodes.\n\n"
        "examples:\n"
        "  %(prog)s -f manifests/blinky.yaml                  # on the running simulator\n"
        "  %(prog)s -f app/ -o wide                           # what each node says of each pod\n"
        "  %(prog)s -f app.yaml --kubeconfig ~/.kube/config --profile kestrel\n"
        "  %(prog)s -f app.yaml --nodes state.yaml            # on nodes, and pods, of a file\n"
        "  %(prog)s --operations replay.json                  # Kestrel's own operations, from an empty cluster",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s (-f FILE... | --operations FILE) [OPTION]...",
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
        "--verify",
        action="store_true",
        help="then create the pods in a private simulator of the same state and compare; exit code 1 if they differ",
    )
    parser.add_argument(
        "--operations", default="", metavar="FILE", help="replay a JSON list of operations instead; - for stdin"
    )


def _add_clock(commands: argparse._SubParsersAction[Parser]) -> None:
    about = "tell what time it is in a running simulator, or move its clock on"
    parser = commands.add_parser(
        "clock",
        help=about,
        description=f"{about[:1].upper()}{about[1:]}.  Only a virtual clock can be moved.",
        epilog="`%(prog)s ACTION --help` tells the options of an action.\n\n"
        "examples:\n"
        "  %(prog)s show\n"
        "  %(prog)s advance 330s -o json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command="clock", error=parser.error)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_clock_action(actions, "show", "tell the mode of the clock, real or virtual, and its time", "")
    advance = _add_clock_action(
        actions, "advance", "move a virtual clock on; answers when all that is due has run", "D"
    )
    advance.add_argument(
        "duration",
        type=_duration,
        metavar="D",
        help="how far: a duration of Go's (500ms, 15s, 1h30m) or a number of seconds",
    )


def _add_clock_action(
    actions: argparse._SubParsersAction[Parser], name: str, about: str, takes: str
) -> argparse.ArgumentParser:
    parser = actions.add_parser(
        name,
        help=about,
        description=f"{about[:1].upper()}{about[1:]}.",
        epilog="The server is looked for in --server, --kubeconfig, $KUBECONFIG, then the file that `serve` writes.",
        usage=" ".join(["%(prog)s", *takes.split(), "[OPTION]..."]),
        allow_abbrev=False,
    )
    parser.set_defaults(action=name, error=parser.error)
    add_server(parser)
    parser.add_argument(
        "-o", "--output", choices=("json", "yaml"), default="", metavar="FORMAT", help="json or yaml: as an object"
    )
    return parser


def _duration(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
