"""The options of `kube32-sim serve` as one value: what the command line parses into and `Cluster` starts from.

Checks that need no I/O are here, so that the library refuses what the command line refuses, in the same words.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kube32_sim.election import DEFAULTS as ELECTION
from kube32_sim.election import Election
from kube32_sim.etcd_access import PLAIN, EtcdAccess
from kube32_sim.hosts import is_loopback, spelled
from kube32_sim.limits import DEFAULTS, Limits

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

SCHEDULER_PROFILES = ("kube32", "kestrel")
"""The rules by which the scheduler may go, by the names that `--scheduler-profile` knows."""

BOARDS = ("esp32", "esp32-s3", "esp32-s3-psram8", "esp32-c3", "esp32-c6", "linux")
"""Profiles of nodes; their figures are in `kubelet/boards.toml`, of `LINUX` in `kubelet/machines.toml`."""

LINUX = "linux"
"""The one that is no board but an ordinary node."""

DEFAULT_BOARD = "esp32-s3"
MOST_BOARDS = 32768
"""Boards in the process that have addresses of their own; in a mix an equal share of them is each kind's."""
MOST_LINUX = 16384
"""The same of ordinary nodes, in a mix or alone."""

AUTHORIZATION_MODES = ("AlwaysAllow", "RBAC", "AlwaysDeny")
"""What `--authorization-mode` knows."""
ETCD_PREFIX = "kube32-sim"
"""Of keys in etcd unless the store's address says another."""
_OTHER_MODES = ("ABAC", "Node", "Webhook")
"""What kube-apiserver knows besides."""

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


def authorization_modes(selection: str) -> tuple[str, ...]:
    """The modes of an `--authorization-mode` list, in the order in which they are asked."""
    modes = [word.strip() for word in selection.split(",")]
    for mode in modes:
        if mode in _OTHER_MODES:
            more = "; nodes that call as system:nodes get a binding of the ClusterRole system:node" * (mode == "Node")
            raise OptionError(
                f"--authorization-mode: {mode} is not supported, only {', '.join(AUTHORIZATION_MODES)}{more}"
            )
        if mode not in AUTHORIZATION_MODES:
            raise OptionError(
                f"--authorization-mode: {mode!r} is not a valid mode; there are: {', '.join(AUTHORIZATION_MODES)}"
            )
        if modes.count(mode) > 1:
            raise OptionError(f"--authorization-mode: {mode} is there twice")
    return tuple(modes)


@dataclass(frozen=True, slots=True)
class StorePlace:
    """Where objects are kept.  kind: `memory`, `sqlite` or `etcd`."""

    kind: str
    path: Path = Path()
    """Of the SQLite file."""
    endpoints: tuple[tuple[str, int], ...] = ()
    """(host, port) of etcd's members."""
    prefix: str = ""
    """Of all keys in etcd, with a slash at its beginning and none at its end."""
    access: EtcdAccess = PLAIN


def store_place(url: str) -> StorePlace:
    """`memory`, `sqlite:PATH` or `etcd://HOST:PORT[,HOST:PORT…][/PREFIX]`."""
    if url == "memory":
        return StorePlace("memory")
    scheme, colon, rest = url.partition(":")
    if scheme == "sqlite" and colon:
        if not rest or rest.endswith("/"):
            raise OptionError(f"--store: {url!r} names no file; say sqlite:PATH")
        if rest == ":memory:":
            raise OptionError(f"--store: {url!r} would be a file of that name; say memory, or sqlite:./:memory:")
        return StorePlace("sqlite", path=Path(rest).expanduser())
    if scheme == "etcd" and rest.startswith("//"):
        hosts, _, prefix = rest[2:].partition("/")
        prefix = "/".join(part for part in prefix.split("/") if part)
        endpoints = tuple(_endpoint(url, host) for host in hosts.split(","))
        return StorePlace("etcd", endpoints=endpoints, prefix=f"/{prefix or ETCD_PREFIX}")
    raise OptionError(f"--store: {url!r} is none of memory, sqlite:PATH and etcd://HOST:PORT[,HOST:PORT...][/PREFIX]")


def _endpoint(url: str, text: str) -> tuple[str, int]:
    if "@" in text:  # not repeated: it may be a password
        raise OptionError("--store: etcd is spoken to without user and password; say etcd://HOST:PORT")
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not _is_number(port) or not 1 <= int(port) <= 65535:
        raise OptionError(f"--store: {text!r} in {url!r} is no HOST:PORT of an etcd member")
    return host, int(port)


def mixed_boards(text: str) -> dict[str, int]:
    """How many boards of each kind, of a mix such as `esp32-s3=20,esp32-c3=5`."""
    mix: dict[str, int] = {}
    for word in text.split(","):
        kind, equals, number = (part.strip() for part in word.partition("="))
        if not equals:
            raise OptionError(f"--nodes: {text!r} is neither a number nor a mix like esp32-s3=20,esp32-c3=5")
        if kind not in BOARDS:
            raise OptionError(f"--nodes: unknown board {kind!r}; there are: {', '.join(BOARDS)}")
        if kind in mix:
            raise OptionError(f"--nodes: {kind} is there twice")
        if not _is_number(number):
            raise OptionError(f"--nodes: {number!r} is no number of {kind} boards")
        mix[kind] = int(number)
    return mix


def _count(nodes: int | str) -> int | str:
    """Digits as a number, everything else as it is."""
    return int(nodes) if isinstance(nodes, str) and _is_number(nodes.strip().removeprefix("-")) else nodes


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Defaults are the command line's, but for `kubeconfig`: None writes none.

    Durations are seconds.  Raises OptionError for what cannot be.
    """

    host: str = "127.0.0.1"
    port: int = 6443
    kubeconfig: Path | None = None
    nodes: int | str = 2
    """How many, or how many of each kind: `esp32-s3=20,esp32-c3=5`."""
    board: str | None = None
    """Of which kind they are; None: `DEFAULT_BOARD`.  Not together with a mix."""
    reconcile_interval: float = 1.0
    lease_check_interval: float = 0.5
    not_ready_timeout: float | None = None
    eviction_timeout: float = 15.0
    default_toleration_seconds: int = 300
    controllers: str = "*"
    scheduler_profile: str = SCHEDULER_PROFILES[0]
    """By which rules pods are scheduled: `SCHEDULER_PROFILES`."""
    store: str = "memory"
    clock: str = "real"
    token_file: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_self_signed: bool = False
    client_ca_file: Path | None = None
    """Authorities of the certificates by which callers are known."""
    allow_anonymous: bool = False
    allowed_hosts: Sequence[str] = ()
    """Names and addresses, besides its own, by which the server may be called, and whose pages may call it."""
    authorization_mode: str = ""
    """Who decides what is allowed: `AUTHORIZATION_MODES`, several joined by commas.

    "": callers are administrators, and RBAC decides for ServiceAccounts and for whom a caller impersonates.
    """
    node_lease_duration_seconds: int = 15
    node_status_update_frequency: float = 10.0
    service_cluster_ip_range: str = "10.96.0.0/16"
    service_node_port_range: str = "30000-32767"
    seed: int | None = None
    """Of generated names and uids; None: from the machine, or 0 on a virtual clock."""
    faults: Path | None = None
    """A file with faults of the API, from the start on."""
    limits: Limits = DEFAULTS
    """How much of anything the server takes; each of its fields is an option of the command line."""
    election: Election = ELECTION
    """How replicas elect who runs the loops; its fields are options too."""
    etcd: EtcdAccess = PLAIN
    """How an etcd is spoken to; its fields are options too."""

    def __post_init__(self) -> None:
        _check_numbers(self)
        _check_boards(self)
        check_pace(self.node_lease_duration_seconds, self.node_status_update_frequency)
        _check_words(self)
        _check_access(self)
        _check_replicas(self)
        _ = self.loops, self.service_network, self.node_ports, self.authorization_modes, self.store_place

    @property
    def loops(self) -> frozenset[str]:
        return selected_loops(self.controllers)

    @property
    def authorization_modes(self) -> tuple[str, ...]:
        return authorization_modes(self.authorization_mode) if self.authorization_mode else ("RBAC",)

    @property
    def store_place(self) -> StorePlace:
        return replace(store_place(self.store), access=self.etcd)

    @property
    def elects(self) -> bool:
        """Whether loops and boards run only while this process is the elected leader."""
        wanted = self.election.leader_elect
        return self.store_place.kind == "etcd" if wanted is None else wanted

    @property
    def tls(self) -> bool:
        return self.tls_self_signed or self.tls_cert is not None

    @property
    def authenticated(self) -> bool:
        """Whether who shows no credentials is nobody; else everybody is an administrator."""
        return self.token_file is not None or self.tls

    @property
    def boards(self) -> Sequence[tuple[str, str]]:
        """(node name, board profile) of each board that runs in the process.

        Of a number `esp32-0`, `esp32-1`, … (`linux-0`, … of that kind); of a mix each kind by its own name:
        `esp32-s3-0`, …, `esp32-c3-0`, ….
        """
        if isinstance(count := _count(self.nodes), int):
            family = LINUX if self.board == LINUX else "esp32"
            return [(f"{family}-{number}", self.board or DEFAULT_BOARD) for number in range(count)]
        return [(f"{kind}-{number}", kind) for kind, many in mixed_boards(count).items() for number in range(many)]

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
    if options.default_toleration_seconds < 0:
        raise OptionError(f"--default-toleration-seconds: {options.default_toleration_seconds} is less than 0")
    for option, seconds in (
        ("--reconcile-interval", options.reconcile_interval),
        ("--lease-check-interval", options.lease_check_interval),
    ):
        if seconds < 0.01:
            raise OptionError(f"{option}: shorter than 10ms")


def _check_boards(options: ServeOptions) -> None:
    if options.board is not None and options.board not in BOARDS:
        raise OptionError(f"--board: unknown board {options.board!r}; there are: {', '.join(BOARDS)}")
    count = _count(options.nodes)
    if isinstance(count, int):
        most = MOST_LINUX if options.board == LINUX else MOST_BOARDS
        if not 0 <= count <= most:
            raise OptionError(f"--nodes: {count} is {'less than 0' if count < 0 else f'more than {most}'}")
        return
    mix = mixed_boards(count)
    if options.board is not None:
        raise OptionError(f"--board: not together with a mix of boards (--nodes {options.nodes})")
    share = MOST_BOARDS // sum(kind != LINUX for kind in BOARDS)
    for kind, many in mix.items():
        most = MOST_LINUX if kind == LINUX else share
        if many > most:
            raise OptionError(f"--nodes: {many} of {kind} are more than {most}, the most of one kind in a mix")


def check_pace(lease: int, report: float) -> None:
    """What boards take for their leases' duration and the time between two reports (seconds)."""
    if lease < 1:
        raise OptionError(f"--node-lease-duration-seconds: {lease} is less than 1")
    if report < 0.1:
        raise OptionError("--node-status-update-frequency: shorter than 100ms")


def _check_words(options: ServeOptions) -> None:
    profile = options.scheduler_profile
    if profile not in SCHEDULER_PROFILES:
        raise OptionError(f"--scheduler-profile: {profile!r} is none; there are: {', '.join(SCHEDULER_PROFILES)}")
    if profile != SCHEDULER_PROFILES[0] and "scheduler" not in options.loops:
        raise OptionError(f"--scheduler-profile: {profile} needs the scheduler, which --controllers switches off")
    if options.clock not in ("real", "virtual"):
        raise OptionError(f"--clock: {options.clock!r} is neither real nor virtual")


def _check_replicas(options: ServeOptions) -> None:
    if options.store_place.kind != "etcd":
        if options.etcd.given:
            raise OptionError(f"--etcd-cafile: --store {options.store} is no etcd; say etcd://HOST:PORT")
        if options.elects:
            raise OptionError(
                f"--leader-elect: with --store {options.store} there is no other replica; only those on one etcd elect"
            )
        return
    if options.clock == "virtual":
        raise OptionError("--clock: replicas on one etcd have no virtual clock in common; use sqlite:PATH, or memory")
    if options.seed is not None:
        raise OptionError("--seed: replicas on one etcd would all make the same names and uids; leave it out")


def _check_access(options: ServeOptions) -> None:
    if (options.tls_cert is None) != (options.tls_key is None):
        raise OptionError("--tls-cert and --tls-key: give both or neither")
    if options.tls_self_signed and options.tls_cert is not None:
        raise OptionError("--tls-self-signed: not together with --tls-cert")
    if options.client_ca_file is not None and not options.tls:
        raise OptionError("--client-ca-file: needs TLS; add --tls-self-signed, or --tls-cert and --tls-key")
    _check_hosts(options)


def _check_hosts(options: ServeOptions) -> None:
    if not options.host.strip():
        raise OptionError("--host: no address; 0.0.0.0 is every one of this machine, :: those of IPv6 too")
    for host in options.allowed_hosts:
        if not spelled(host):
            raise OptionError(f"--allowed-host: {host!r} is no name or address of a machine, without scheme and port")
    if not is_loopback(options.host) and not options.authenticated and not options.allow_anonymous:
        raise OptionError(
            f"--host: {options.host} can be reached from other machines, where every caller would be an administrator; "
            "add --tls-self-signed and --token-file, or --allow-anonymous if that is what you want"
        )
