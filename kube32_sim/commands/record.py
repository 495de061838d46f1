"""`kube32-sim record`: a file of what happens to a running simulator."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys

from kube32_sim.api.errors import ApiError
from kube32_sim.client import Unreachable
from kube32_sim.clock import RealClock
from kube32_sim.http_client import HttpClient
from kube32_sim.ids import Ids
from kube32_sim.kubeconfig import Access, find_access
from kube32_sim.options import CommandError
from kube32_sim.replaying.taking import Taken, Taking
from kube32_sim.snapshot import files
from kube32_sim.snapshot.saving import Expired
from kube32_sim.terminal import tell


def run(parsed: argparse.Namespace) -> int:
    """The exit code; CommandError where nothing can be recorded."""
    access = find_access(parsed.server, parsed.kubeconfig)
    try:
        taken = asyncio.run(_record(access, parsed.file, parsed.lasts))
    except Unreachable as error:
        raise CommandError(f"cannot reach the server: {error}") from error
    except Expired as error:
        raise CommandError(f"{access.server} forgets what it was faster than it can be read; try again") from error
    except ApiError as error:
        if error.code == 404:
            raise CommandError(f"{access.server} cannot be recorded: it is no simulator, or an older one") from error
        raise CommandError(f"{access.server}: {error.message}") from error
    where = "" if parsed.file == files.STANDARD else f" in {parsed.file}"
    tell(f"{taken.requests} requests and {taken.steps} steps of pods recorded{where}")
    if taken.lost:
        raise CommandError(f"{taken.lost} lines were lost: more happened than could be read in time")
    return 0


async def _record(access: Access, file: str, lasts: float | None) -> Taken:
    loop, real, stopped = asyncio.get_running_loop(), RealClock(), asyncio.Event()
    if sys.platform != "win32":
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
    begun = real.steady()

    def is_over() -> bool:
        return stopped.is_set() or (lasts is not None and real.steady() - begun >= lasts)

    async with HttpClient(access, timeout=None) as client:
        with files.writing(file) as writer:
            taking = Taking(client, f"record-{Ids().suffix(10)}", writer.write)
            await taking.begin()
            for warning in taking.taken.warnings:
                tell(f"kube32-sim: {warning}")
            tell(f"recording {access.server}, {taking.taken.objects} objects at the start; Ctrl-C ends it")
            await taking.go_on(is_over)
            await taking.end()
    return taking.taken
