"""A terminal that shows the picture until somebody presses q."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.live import Live

from kube32_sim.clock import RealClock
from kube32_sim.top.drawing import View, room, screen
from kube32_sim.top.following import Following
from kube32_sim.top.picture import SORTS, Picture

SHORTEST, LONGEST = 0.1, 1.0
"""Seconds between two drawings: of a busy cluster, and while nothing but the clock moves."""
_KEYS = {
    b"\x1b[A": "up", b"\x1bOA": "up", b"k": "up", b"\x1b[B": "down", b"\x1bOB": "down", b"j": "down",
    b"\x1b[5~": "page up", b"\x1b[6~": "page down", b" ": "page down", b"\x1b[H": "home", b"\x1b[F": "end",
    b"q": "quit", b"Q": "quit", b"\x03": "quit", b"s": "sort",
}  # fmt: skip


class Screen:
    """What is looked at, and how far down."""

    def __init__(self, picture: Picture, following: Following, console: Console, sort: str) -> None:
        self._picture = picture
        self._following = following
        self._console = console
        self._sort = sort
        self._offset = 0
        self.ended = asyncio.Event()

    def view(self) -> View:
        width, height = self._console.size
        trouble = next((text for text in self._following.trouble.values() if text), "")
        view = View(width, height, self._sort, 0, self._following.clock(), trouble, not _writes_marks(self._console))
        most = len(self._picture.boards()) - self._lines(view)
        self._offset = max(0, min(self._offset, most))
        return replace(view, offset=self._offset)

    def _lines(self, view: View) -> int:
        return room(view, len(self._picture.pending()))

    def press(self, pressed: bytes) -> None:
        """What somebody has typed, which may be several keys."""
        for key in _split(pressed):
            if key == "quit":
                self.ended.set()
            elif key == "sort":
                self._sort = SORTS[(SORTS.index(self._sort) + 1) % len(SORTS)]
            else:
                page = self._lines(self.view())
                far = len(self._picture.boards())
                steps = {"up": -1, "down": 1, "page up": -page, "page down": page, "home": -far, "end": far}
                self._offset += steps[key]
        self._following.heard.set()


def _split(pressed: bytes) -> Iterator[str]:
    while pressed:
        found = next((known for known in sorted(_KEYS, key=len, reverse=True) if pressed.startswith(known)), None)
        if found is not None:
            yield _KEYS[found]
        pressed = pressed[len(found) if found else 1 :]


def _writes_marks(console: Console) -> bool:
    try:
        "■·…".encode(console.encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True


async def show(picture: Picture, following: Following, console: Console, sort: str) -> None:
    """Until q or a signal."""
    shown = Screen(picture, following, console, sort)
    with ExitStack() as stack:
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):  # where there are no signals, Ctrl-C is an exception
                asyncio.get_running_loop().add_signal_handler(number, shown.ended.set)
        stack.enter_context(_keys(shown.press))
        live = stack.enter_context(Live(console=console, screen=True, auto_refresh=False, transient=True))
        drawing = asyncio.create_task(_draw(live, shown, picture, following), name="drawing")
        work = asyncio.create_task(following.follow(), name="following")
        ended = asyncio.create_task(shown.ended.wait(), name="ended")
        tasks: tuple[asyncio.Task[Any], ...] = (drawing, work, ended)
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()


async def _draw(live: Live, shown: Screen, picture: Picture, following: Following) -> None:
    real = RealClock()
    while True:
        following.heard.clear()
        live.update(screen(picture, shown.view()), refresh=True)
        await real.sleep(SHORTEST)
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST - SHORTEST):
                await following.heard.wait()
        if not following.moves_by_itself:
            await following.look()


@contextmanager
def _keys(press: Callable[[bytes], None]) -> Iterator[None]:
    """Hear keys as they are pressed, where stdin is a terminal that can do that; it is as it was afterwards."""
    if sys.platform == "win32" or sys.stdin is None or not sys.stdin.isatty():
        yield
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    loop = asyncio.get_running_loop()

    def heard() -> None:
        pressed = os.read(descriptor, 1024)
        if pressed:
            press(pressed)
        else:  # the terminal is gone
            loop.remove_reader(descriptor)

    tty.setcbreak(descriptor)
    loop.add_reader(descriptor, heard)
    try:
        yield
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
