"""What a server shows to other machines: refused where that cannot be meant, else told in the log."""

from __future__ import annotations

import logging
import stat
from collections.abc import Iterable
from pathlib import Path

from kube32_sim.hosts import is_loopback
from kube32_sim.options import OptionError, ServeOptions

log = logging.getLogger(__name__)


def check_exposure(options: ServeOptions, addresses: Iterable[str]) -> None:
    """addresses: where the server listens, whatever name that was given by.

    Raises OptionError where others reach a server that asks for no credentials, and nobody has said that they may.
    """
    outside = [address for address in addresses if not is_loopback(address)]
    if not outside:
        return
    if options.authenticated:
        if not options.tls:
            log.warning("who calls from another machine sends his token in the clear: --tls-self-signed encrypts it")
        return
    if not options.allow_anonymous:
        raise OptionError(f"--host: {options.host} is {outside[0]} here, which other machines reach: name an address")
    log.warning("everybody who reaches %s is an administrator of this simulator", ", ".join(outside))


def warn_of_readers(option: str, path: Path) -> None:
    """A file with secrets should be readable by its owner (and his group) only."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if mode & stat.S_IROTH:
        log.warning("%s %s: every user of this machine can read it; `chmod 600` keeps its secrets", option, path)
