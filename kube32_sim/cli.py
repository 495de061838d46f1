"""The command line: arguments in, `cluster.py` or boards run, an exit code out.

Heavy modules are imported by the command that needs them, so that `--help` and a mistyped option answer at once.
Exit codes: 0 stopped cleanly, 1 it could not run, 2 the arguments are wrong; always with one line that says why.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, NoReturn

from kube32_sim.arguments import build_parser
from kube32_sim.kubeconfig import KubeconfigError, find_access
from kube32_sim.options import BOARDS, OptionError, ServeOptions

log = logging.getLogger(__name__)

Work = Callable[[], Coroutine[Any, Any, None]]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The console script."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Parse and run one command; answers the exit code (argparse itself exits with 2, or 0 after --help)."""
    parsed, unknown = build_parser().parse_known_args(arguments)
    if unknown:
        parsed.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        work = PREPARE[parsed.command](parsed)
        logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=LOG_FORMAT)
        _allow_many_connections()
        _run_until_stopped(work)
        log.info("stopped")
    except OptionError as error:
        parsed.error(str(error))
    except KubeconfigError as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(_os_error(error))
    return 0


NO_LISTENING = (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES, errno.EPERM)
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def _prepare_serve(parsed: argparse.Namespace) -> Work:
    _check_name(parsed.host)
    values = {key: value for key, value in vars(parsed).items() if key not in ("command", "error")}
    options = ServeOptions(**values)

    async def work() -> None:
        from kube32_sim.cluster import serve

        try:
            await serve(options)
        except OSError as error:
            if error.errno not in NO_LISTENING and not isinstance(error, socket.gaierror):
                raise
            why = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
            raise OSError(f"cannot listen on {options.host}:{options.port}: {why}") from error

    return work


def _check_name(host: str) -> None:
    """A name that means nothing here is told as that, before anything else is said of the address."""
    try:
        socket.getaddrinfo(host, None)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no name of a machine"
        raise OptionError(f"--host: the name {host!r} is not known: {why}") from None


def _prepare_kubelet(parsed: argparse.Namespace) -> Work:
    if parsed.board not in BOARDS:
        raise OptionError(f"--board: unknown board {parsed.board!r}; there are: {', '.join(BOARDS)}")
    if parsed.count < 1:
        raise OptionError(f"--count: {parsed.count} is less than 1")
    count: int = parsed.count
    names = [parsed.name] if count == 1 else [f"{parsed.name}-{number}" for number in range(count)]
    if not all(_is_node_name(name) for name in names):
        raise OptionError(f"--name: {parsed.name!r} cannot name a node: lower-case letters, digits, '-' and '.'")
    access = find_access(parsed.server, parsed.kubeconfig)

    async def work() -> None:
        from kube32_sim.kubelet.process import run_boards

        await run_boards(access, names, parsed.board)

    return work


PREPARE: dict[str, Callable[[argparse.Namespace], Work]] = {"serve": _prepare_serve, "kubelet": _prepare_kubelet}


def _is_node_name(name: str) -> bool:
    """RFC 1123 subdomain, as object names are."""
    letters = set("abcdefghijklmnopqrstuvwxyz0123456789-")
    labels = name.split(".")
    return len(name) <= 253 and all(
        label and set(label) <= letters and label[0] != "-" and label[-1] != "-" for label in labels
    )


def _run_until_stopped(work: Work) -> None:
    """Run until it ends by itself or SIGTERM or SIGINT asks it to stop, which is a clean end."""
    try:
        with asyncio.Runner(loop_factory=_event_loop()) as runner:
            runner.run(_stoppable(work))
    except KeyboardInterrupt:  # where signal handlers cannot be added to the loop
        return


async def _stoppable(work: Work) -> None:
    loop = asyncio.get_running_loop()
    task = loop.create_task(work(), name="main")
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        task.cancel()

    if sys.platform != "win32":
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not stopped:
            raise


def _event_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _allow_many_connections() -> None:
    """Watches are connections: raise the limit of open files as far as the system lets us."""
    if sys.platform == "win32":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        log.debug("the limit of open files stays as it is")


def _fail(message: str) -> int:
    print(f"kube32-sim: {message}", file=sys.stderr)
    return 1


def _os_error(error: OSError) -> str:
    text = error.strerror or str(error)
    return f"{error.filename}: {text}" if error.filename else text
