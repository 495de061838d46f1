"""The options of `kube32-sim serve`."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from kube32_sim.arguments.boards import add_board, add_pace
from kube32_sim.arguments.parser import RAW, Commands, duration
from kube32_sim.election import add_election
from kube32_sim.etcd_access import add_etcd_access
from kube32_sim.limits import Limits
from kube32_sim.option_fields import flag
from kube32_sim.options import KUBECONFIG, SCHEDULER_PROFILES


def add(commands: Commands) -> None:
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
        formatter_class=RAW,
        usage="%(prog)s [OPTION]...",
        allow_abbrev=False,
    )
    parser.set_defaults(command="serve", error=parser.error)
    _add_listening(parser.add_argument_group("listening"))
    _add_access(parser.add_argument_group("who may call"))
    _add_boards(parser.add_argument_group("boards"))
    control_plane = parser.add_argument_group("control plane")
    _add_loops(control_plane)
    _add_control_plane(control_plane)
    faults = parser.add_argument_group("faults")
    faults.add_argument(
        "--faults", type=Path, metavar="FILE", help="let requests fail as a FaultScenario in this file says"
    )
    replicas = parser.add_argument_group("replicas")
    add_election(replicas, duration)
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
    add_board(group)
    add_pace(group)


def _add_loops(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--controllers",
        default="*",
        metavar="LIST",
        help="control loops to run: * all, none, a,b only those, *,-a all but (default: %(default)s)",
    )
    group.add_argument(
        "--scheduler-profile",
        default=SCHEDULER_PROFILES[0],
        choices=SCHEDULER_PROFILES,
        metavar="NAME",
        help="rules of the scheduler: kube32, by memory and pins, or kestrel, by cpu and memory, taints, affinity and "
        "preemption (default: %(default)s)",
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
        group.add_argument(option, type=duration, default=default, metavar="D", help=text + shown)
    group.add_argument(
        "--default-toleration-seconds",
        type=int,
        default=300,
        metavar="N",
        help="how long pods stay on a lost node unless they say so themselves (default: %(default)s)",
    )


def _add_control_plane(group: argparse._ArgumentGroup) -> None:
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
            type=duration if lasts else int,
            default=f"{bound.default:g}s" if lasts else bound.default,
            metavar="D" if lasts else "N",
            help=f"{bound.metadata['text']} (default: %(default)s)",
        )
