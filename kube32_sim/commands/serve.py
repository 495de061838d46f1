"""`kube32-sim serve`: a cluster that runs until it is stopped."""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Callable, Coroutine
from typing import Any

from kube32_sim.election import Election
from kube32_sim.etcd_access import EtcdAccess
from kube32_sim.limits import Limits
from kube32_sim.option_fields import taken
from kube32_sim.options import CommandError, OptionError, ServeOptions

NO_LISTENING = (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES, errno.EPERM)
OTHER_PORTS = "; name another with --port N, or take a free one with --port 0"


def run(parsed: argparse.Namespace) -> int:
    """The exit code, when it has been stopped; CommandError, OSError where it cannot run."""
    work = _prepare(parsed)
    from kube32_sim.running import run_until_stopped

    run_until_stopped(work)
    return 0


def _prepare(parsed: argparse.Namespace) -> Callable[[], Coroutine[Any, Any, None]]:
    _check_name(parsed.host)
    values = {key: value for key, value in vars(parsed).items() if key not in ("command", "error")}
    try:
        limits, election, etcd = taken(Limits, values), taken(Election, values), taken(EtcdAccess, values)
    except ValueError as error:
        raise OptionError(str(error)) from None
    options = ServeOptions(**values, limits=limits, election=election, etcd=etcd)

    async def work() -> None:
        from kube32_sim.serving import serve
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
