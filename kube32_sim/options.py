"""The options of `kube32-sim serve` as one value: what the command line parses into and `Cluster` starts from.

Checks that need no I/O are here, so that the library refuses what the command line refuses, in the same words.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LOOPS = (
    "scheduler",
    "node-lifecycle",
    "deployment",
    "daemonset",
    "job",
    "endpoints",
    "garbage-collector",
    "namespace",
    "serviceaccount",
    "pod-garbage-collector",
)
"""The control loops by the names that `--controllers` knows."""

BOARDS = ("esp32", "esp32-s3", "esp32-s3-psram8", "esp32-c3", "esp32-c6")
"""Board profiles; their figures are in `kubelet/boards.toml`."""

KUBECONFIG = Path("~/.kube/kube32-sim")
"""Where `serve` writes its kubeconfig unless told otherwise."""


class CommandError(Exception):
    """What keeps a command from doing its work; the message, of one line or more, is for whoever called it."""


class OptionError(ValueError):
    """An option with a value that cannot be; the message names both."""


def selected_loops(selection: str) -> frozenset[str]:
    """The loops that a `--controllers` list switches on.

    As kube-controller-manager reads it: `*` is all, `a` switches one on, `-a` off; an explicit name wins over `*`.
    `none` is nothing at all.
    """
    words = [word.strip() for word in selection.split(",") if word.strip()]
    if words == ["none"]:
        return frozenset()
    for word in words:
        if word != "*" and word.removeprefix("-") not in LOOPS:
            raise OptionError(f"--controllers: unknown controller {word!r}; there are: {', '.join(LOOPS)}")
    off = {word[1:] for word in words if word.startswith("-")}
    on = set(LOOPS) - off if "*" in words else set()
    return frozenset(on | {word for word in words if word in LOOPS})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Defaults are the command line's, but for `kubeconfig`: None writes none.

    Durations are seconds.  Raises OptionError for what cannot be.
    """

    host: str = "127.0.0.1"
    port: int = 6443
    kubeconfig: Path | None = None
    nodes: int = 2
    board: str = "esp32-s3"
    reconcile_interval: float = 1.0
    lease_check_interval: float = 0.5
    not_ready_timeout: float | None = None
    eviction_timeout: float = 15.0
    default_toleration_seconds: int = 300
    controllers: str = "*"
    store: str = "memory"
    clock: str = "real"
    token_file: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_self_signed: bool = False
    allow_anonymous: bool = False
    service_cluster_ip_range: str = "10.96.0.0/16"
    service_node_port_range: str = "30000-32767"
    seed: int | None = None
    """Of generated names and uids; None: from the machine, or 0 on a virtual clock."""

    def __post_init__(self) -> None:
        _check_numbers(self)
        _check_words(self)
        _check_access(self)
        _ = self.loops, self.service_network, self.node_ports

    @property
    def loops(self) -> frozenset[str]:
        return selected_loops(self.controllers)

    @property
    def tls(self) -> bool:
        return self.tls_self_signed or self.tls_cert is not None

    @property
    def boards(self) -> Sequence[tuple[str, str]]:
        """(node name, board profile) of each board that runs in the process."""
        return [(f"esp32-{number}", self.board) for number in range(self.nodes)]

    @property
    def service_network(self) -> ipaddress.IPv4Network:
        try:
            network = ipaddress.IPv4Network(self.service_cluster_ip_range)
        except ValueError as error:
            raise OptionError(f"--service-cluster-ip-range: {error}") from None
        if not 12 <= network.prefixlen <= 28:
            raise OptionError(f"--service-cluster-ip-range: {network} is not between a /12 and a /28")
        return network

    @property
    def node_ports(self) -> range:
        """Of a range as upstream writes it: `30000-32767`."""
        text = self.service_node_port_range
        low, dash, high = text.partition("-")
        if not (dash and low.isdecimal() and high.isdecimal() and 1 <= int(low) <= int(high) <= 65535):
            raise OptionError(f"--service-node-port-range: {text!r} is no range like 30000-32767")
        return range(int(low), int(high) + 1)


def _check_numbers(options: ServeOptions) -> None:
    if not 0 <= options.port <= 65535:
        raise OptionError(f"--port: {options.port} is not between 0 and 65535")
    if options.nodes < 0:
        raise OptionError(f"--nodes: {options.nodes} is less than 0")
    if options.default_toleration_seconds < 0:
        raise OptionError(f"--default-toleration-seconds: {options.default_toleration_seconds} is less than 0")
    for option, seconds in (
        ("--reconcile-interval", options.reconcile_interval),
        ("--lease-check-interval", options.lease_check_interval),
    ):
        if seconds < 0.01:
            raise OptionError(f"{option}: shorter than 10ms")


def _check_words(options: ServeOptions) -> None:
    if options.board not in BOARDS:
        raise OptionError(f"--board: unknown board {options.board!r}; there are: {', '.join(BOARDS)}")
    if options.clock not in ("real", "virtual"):
        raise OptionError(f"--clock: {options.clock!r} is neither real nor virtual")
    if options.store != "memory":
        raise OptionError(f"--store: {options.store!r} is not supported by this version; it keeps everything in memory")


def _check_access(options: ServeOptions) -> None:
    if (options.tls_cert is None) != (options.tls_key is None):
        raise OptionError("--tls-cert and --tls-key: give both or neither")
    if options.tls_self_signed and options.tls_cert is not None:
        raise OptionError("--tls-self-signed: not together with --tls-cert")
    if not is_loopback(options.host) and options.token_file is None and not options.allow_anonymous:
        raise OptionError(
            f"--host: {options.host} can be reached from other machines, where every caller would be an administrator; "
            "add --token-file, or --allow-anonymous if that is what you want"
        )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
