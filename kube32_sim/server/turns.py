"""Taking turns on one event loop: a crowd of writers keeps nobody from reading.

All that is ready in a turn of the loop is done before the loop looks for what has arrived.  Of two hundred writes that
would be a tenth of a second, in which nobody who came later gets a word in.  So only some begin in each turn; the
others wait, first come, first served, and what arrives meanwhile and is no write overtakes them.
"""

from __future__ import annotations

import asyncio
from collections import deque

EACH = 8
"""Writes that begin in one turn: some two milliseconds."""


class Turns:
    def __init__(self, each: int = EACH) -> None:
        self._each = each
        self._left = each
        """How many may begin in this turn yet."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._ticking = False

    async def take(self) -> None:
        """Go on at once, or where enough have in this turn already, in a later one."""
        if self._left and not self._waiting:
            self._left -= 1
            if not self._ticking:
                self._tick_later()
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _tick_later(self) -> None:
        self._ticking = True
        asyncio.get_running_loop().call_soon(self._tick)

    def _tick(self) -> None:
        """The next turn: those who have gone away meanwhile do not count."""
        self._ticking = False
        self._left = self._each
        while self._left and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._left -= 1
        if self._left < self._each:
            self._tick_later()
