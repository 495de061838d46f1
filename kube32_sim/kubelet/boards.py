"""Board profiles: the figures of `boards.toml` as values, and the resources they come to on a Node.

A `Profile` has what a pod can use of a board.  The data file has what a chip has, and says what becomes of the rest.

Amounts are whole units of a resource; memory and PSRAM are counted in bytes here and always a multiple of 1 KiB.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

KIB = 1024
COUNTED = ("esp32.io/gpio", "esp32.io/i2c", "esp32.io/uart", "esp32.io/adc", "esp32.io/rmt-tx", "esp32.io/rmt-rx")
"""Resources of which a board has a number, and single ones of which may be claimed by name."""
PSRAM = "esp32.io/psram"
HARDWARE = "hardware.kube32.io/"
MAX_PODS = 110
"""What a kubelet reports unless configured; nothing here refuses a pod for it."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One kind of board.  heap, system, psram and flash are bytes; counts as `COUNTED` names them, without prefix.

    pins: which a pod may claim.  rmt: channels in all, where each may send or receive; no more can be given away.
    """

    name: str
    chip: str
    module: str
    arch: str
    cores: int
    heap: int
    system: int
    psram: int
    flash: int
    pins: frozenset[int]
    i2c: int
    uart: int
    adc: int
    rmt: int
    rmt_tx: int
    rmt_rx: int
    hardware: tuple[str, ...]

    def capacity(self) -> dict[str, int]:
        """What the board has: status.capacity of its Node."""
        amounts = {
            "cpu": self.cores,
            "memory": self.heap,
            "ephemeral-storage": self.flash,
            "pods": MAX_PODS,
            "esp32.io/gpio": len(self.pins),
            "esp32.io/i2c": self.i2c,
            "esp32.io/uart": self.uart,
            "esp32.io/adc": self.adc,
            "esp32.io/rmt-tx": self.rmt_tx,
            "esp32.io/rmt-rx": self.rmt_rx,
        }
        if self.psram:
            amounts[PSRAM] = self.psram
        return amounts | {HARDWARE + name: 1 for name in self.hardware}

    def allocatable(self) -> dict[str, int]:
        """What pods can have of it while none runs."""
        return self.capacity() | {"memory": self.heap - self.system}


@lru_cache
def profiles() -> dict[str, Profile]:
    """All profiles by name."""
    text = files(__package__).joinpath("boards.toml").read_text(encoding="utf-8")
    return {name: _profile(name, row) for name, row in tomllib.loads(text).items() if name != "capabilities"}


def _profile(name: str, row: dict[str, Any]) -> Profile:
    led_out = frozenset(row["chip-pins"]) - set(row["memory-pins"]) - set(row["absent-pins"])
    return Profile(
        name=name,
        chip=row["chip"],
        module=row["module"],
        arch=row["arch"],
        cores=row["cores"],
        heap=row["heap"] * KIB,
        system=row["system"] * KIB,
        psram=row["psram"] * KIB,
        flash=row["flash"] * KIB,
        pins=led_out - set(row["console"]),
        i2c=row["i2c"],
        uart=row["uart"],
        adc=len(led_out & set(row["adc-pins"])),
        rmt=row["rmt"],
        rmt_tx=row["rmt-tx"],
        rmt_rx=row["rmt-rx"],
        hardware=tuple(row["hardware"]),
    )
