"""A progress bar for people who wait, and nothing for anybody else."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from tqdm import tqdm


@contextmanager
def progress_bar(total: int, what: str, delay: float = 0.5) -> Iterator[Callable[[int], None]]:
    """A bar on stderr while the block runs; what is yielded is called with how many more of the total are done.

    Nothing is written unless stderr is a terminal and something is still to do after delay, in seconds.  The line is
    cleared when the block ends, however it ends.
    """
    if total < 2 or not somebody_watches():
        yield lambda done: None
        return
    with _new_bar(total, what, delay) as bar:

        def advance(done: int) -> None:
            # A bar that appears with the last step would only flicker.
            if bar.n + done < total:
                bar.update(done)

        yield advance


def somebody_watches() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def _new_bar(total: int, what: str, delay: float) -> tqdm[NoReturn]:
    # Dear to import, and rarely needed.
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[type-arg]  # generic to type checkers only
        """Neither tqdm's thread that looks after stalled bars nor its lock among processes, which may start one."""

        monitor_interval = 0

    Bar.set_lock(threading.RLock())
    return Bar(total=total, desc=what, delay=delay, miniters=1, leave=False, file=sys.stderr)
