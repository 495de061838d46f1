"""The command line: arguments in, `cluster.py` or boards run, an exit code out.

Heavy modules are imported by the command that needs them, so that `--help` and a mistyped option answer at once.
Exit codes: 0 stopped cleanly, 1 it could not run, 2 the arguments are wrong; always with one line that says why.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NoReturn

from kube32_sim.arguments import build_parser
from kube32_sim.election import Election
from kube32_sim.etcd_access import EtcdAccess
from kube32_sim.limits import Limits
from kube32_sim.option_fields import taken
from kube32_sim.options import BOARDS, DEFAULT_BOARD, CommandError, OptionError, ServeOptions, check_pace
from kube32_sim.terminal import tell

Work = Callable[[], Coroutine[Any, Any, None]]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The console script."""
    try:
        code: str | int | None = run(arguments)
    except SystemExit as stop:  # argparse's, which has printed a help perhaps
        code = stop.code
    sys.exit(_all_said(code))


def _all_said(code: str | int | None) -> str | int | None:
    """What waits to be printed is printed here, where it can be told that nobody reads it."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        return _nobody_reads()
    return code


def run(arguments: Sequence[str] | None = None) -> int:
    """Parse and run one command; answers the exit code (argparse itself exits with 2, or 0 after --help)."""
    parsed, unknown = build_parser().parse_known_args(arguments)
    if unknown:
        parsed.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        return COMMANDS[parsed.command](parsed)
    except OptionError as error:
        return int(parsed.error(str(error)))  # which exits with 2
    except CommandError as error:
        return _fail(str(error))
    except BrokenPipeError:
        return _nobody_reads()
    except OSError as error:
        return _fail(_os_error(error))


NO_LISTENING = (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES, errno.EPERM)
OTHER_PORTS = "; name another with --port N, or take a free one with --port 0"


def _prepare_serve(parsed: argparse.Namespace) -> Work:
    _check_name(parsed.host)
    values = {key: value for key, value in vars(parsed).items() if key not in ("command", "error")}
    try:
        limits, election, etcd = taken(Limits, values), taken(Election, values), taken(EtcdAccess, values)
    except ValueError as error:
        raise OptionError(str(error)) from None
    options = ServeOptions(**values, limits=limits, election=election, etcd=etcd)

    async def work() -> None:
        from kube32_sim.cluster import serve
        from kube32_sim.storage.interface import StoreError, Unavailable

        try:
            await serve(options)
        except (StoreError, Unavailable) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            import socket

            if error.errno not in NO_LISTENING and not isinstance(error, socket.gaierror):
                raise
            why = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
            instead = OTHER_PORTS if error.errno == errno.EADDRINUSE else ""
            raise OSError(f"cannot listen on {options.host}:{options.port}: {why}{instead}") from error

    return work


def _check_name(host: str) -> None:
    """A name that means nothing here is told as that, before anything else is said of the address."""
    import socket

    try:
        socket.getaddrinfo(host, None)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no name of a machine"
        raise OptionError(f"--host: the name {host!r} is not known: {why}") from None


def _prepare_kubelet(parsed: argparse.Namespace) -> Work:
    board = DEFAULT_BOARD if parsed.board is None else parsed.board
    if board not in BOARDS:
        raise OptionError(f"--board: unknown board {board!r}; there are: {', '.join(BOARDS)}")
    if parsed.count < 1:
        raise OptionError(f"--count: {parsed.count} is less than 1")
    count: int = parsed.count
    names = [parsed.name] if count == 1 else [f"{parsed.name}-{number}" for number in range(count)]
    if not all(_is_node_name(name) for name in names):
        raise OptionError(f"--name: {parsed.name!r} cannot name a node: lower-case letters, digits, '-' and '.'")
    lease, report = parsed.node_lease_duration_seconds, parsed.node_status_update_frequency
    check_pace(lease, report)
    from kube32_sim.kubeconfig import find_servers

    servers = find_servers(parsed.server, parsed.kubeconfig)

    async def work() -> None:
        from kube32_sim.kubelet.agent import Pace
        from kube32_sim.kubelet.process import run_boards

        await run_boards(servers, names, board, Pace(lease, report))

    return work


def _serve(prepare: Callable[[argparse.Namespace], Work]) -> Callable[[argparse.Namespace], int]:
    """A command that runs until it is stopped."""

    def command(parsed: argparse.Namespace) -> int:
        work = prepare(parsed)
        from kube32_sim.running import run_until_stopped

        run_until_stopped(work)
        return 0

    return command


def _preview(parsed: argparse.Namespace) -> int:
    from kube32_sim.preview.command import preview

    try:
        return preview(parsed)
    except KeyboardInterrupt:
        return INTERRUPTED


def _clock(parsed: argparse.Namespace) -> int:
    from kube32_sim.clock_command import clock

    try:
        return clock(parsed)
    except KeyboardInterrupt:
        return INTERRUPTED


def _snapshot(parsed: argparse.Namespace) -> int:
    from kube32_sim.snapshot.command import snapshot

    try:
        return snapshot(parsed)
    except KeyboardInterrupt:
        return INTERRUPTED


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "serve": _serve(_prepare_serve),
    "kubelet": _serve(_prepare_kubelet),
    "preview": _preview,
    "clock": _clock,
    "snapshot": _snapshot,
}
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


def _is_node_name(name: str) -> bool:
    """RFC 1123 subdomain, as object names are."""
    letters = set("abcdefghijklmnopqrstuvwxyz0123456789-")
    labels = name.split(".")
    return len(name) <= 253 and all(
        label and set(label) <= letters and label[0] != "-" and label[-1] != "-" for label in labels
    )


def _fail(message: str) -> int:
    for line in message.splitlines():
        tell(f"kube32-sim: {line}")
    return 1


def _nobody_reads() -> int:
    """stdout was closed (`| head`): nothing to say, and nowhere to say it; nor may the interpreter try at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def _os_error(error: OSError) -> str:
    text = error.strerror or str(error)
    return f"{error.filename}: {text}" if error.filename else text
