"""How a command runs that goes on until it is stopped: event loop, signals, limits, logging."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any

log = logging.getLogger(__name__)

Work = Callable[[], Coroutine[Any, Any, None]]

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def run_until_stopped(work: Work) -> None:
    """Run until it ends by itself or SIGTERM or SIGINT asks it to stop, which is a clean end."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=LOG_FORMAT)
    _allow_many_connections()
    try:
        with asyncio.Runner(loop_factory=_event_loop()) as runner:
            runner.run(_stoppable(work))
    except KeyboardInterrupt:  # where signal handlers cannot be added to the loop
        return
    log.info("stopped")


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
