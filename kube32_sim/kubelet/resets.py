"""When a board with a brownout resets, and when it has booted: at once, then again and again while the fault lasts."""

from __future__ import annotations

from kube32_sim.api.steering import Fault

BOOT_SECONDS = 3.0
"""From a reset until the board is heard again: ESP-IDF's second-stage bootloader and start, Wi-Fi, DHCP and TLS."""


class Resets:
    """Of one board.  off: when it was reset last."""

    def __init__(self) -> None:
        self.off = 0.0
        self._next: float | None = None
        self._booted: float | None = None

    @property
    def boots(self) -> bool:
        return self._booted is not None

    def due(self) -> float | None:
        """When there is something to do next."""
        return self._booted if self._booted is not None else self._next

    def changed(self, fault: Fault, now: float) -> None:
        """The board has another fault: one that boots goes on with that, unless it is switched off."""
        self._next = now if fault.kind == "brownout" else None
        if fault.kind == "stopped":
            self._booted = None

    def begin(self, fault: Fault, now: float) -> bool:
        """Whether the chip is reset now."""
        if self._booted is not None or self._next is None or now < self._next:
            return False
        self.off, self._booted, self._next = now, now + BOOT_SECONDS, now + fault.seconds
        return True

    def end(self, now: float) -> bool:
        """Whether it has booted now."""
        if self._booted is None or now < self._booted:
            return False
        self._booted = None
        return True
