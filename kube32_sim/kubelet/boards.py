"""Profiles: the figures of `boards.toml` and `machines.toml` as values, and the resources they come to on a Node.

A board has a chip, of which a pod can use pins and buses; a machine has none: it is an ordinary node.  The data file of
the boards has what a chip has, and says what becomes of the rest.

Amounts are whole units of a resource; memory and PSRAM are counted in bytes here and always a multiple of 1 KiB.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from kube32_sim.api import quantity

KIB = 1024
COUNTED = ("esp32.io/gpio", "esp32.io/i2c", "esp32.io/uart", "esp32.io/adc", "esp32.io/rmt-tx", "esp32.io/rmt-rx")
"""Resources of which a board has a number, and single ones of which may be claimed by name."""
PSRAM = "esp32.io/psram"
HARDWARE = "hardware.kube32.io/"
MAX_PODS = 110
"""What a kubelet reports unless configured; nothing here refuses a pod for it."""


@dataclass(frozen=True, slots=True)
class Chip:
    """What a board has beside processor and memory.  psram is bytes; counts as `COUNTED` names them, without prefix.

    pins: which a pod may claim.  rmt: channels in all, where each may send or receive; no more can be given away.
    """

    name: str
    psram: int
    pins: frozenset[int]
    i2c: int
    uart: int
    adc: int
    rmt: int
    rmt_tx: int
    rmt_rx: int
    hardware: tuple[str, ...]

    def resources(self) -> dict[str, int]:
        """Of each resource that only boards have, how much."""
        amounts = {
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


@dataclass(frozen=True, slots=True)
class Profile:
    """One kind of node.  memory, system and storage are bytes; system is the part of memory that no pod can have.

    instance_type: the label node.kubernetes.io/instance-type.  os, os_image, kernel: as nodeInfo has them.
    """

    name: str
    instance_type: str
    arch: str
    os: str
    os_image: str
    kernel: str
    cores: int
    memory: int
    system: int
    storage: int
    chip: Chip | None = None
    host_ip: str = ""
    """The node's address; "": one by its name (`addresses`)."""

    @property
    def described(self) -> bool:
        """Whether it says all that the node tells of itself; else the Node does (`played`)."""
        return bool(self.cores)

    def capacity(self) -> dict[str, int]:
        """What the node has: its status.capacity."""
        amounts = {
            "cpu": self.cores,
            "memory": self.memory,
            "ephemeral-storage": self.storage,
            "pods": MAX_PODS,
        }
        return amounts | (self.chip.resources() if self.chip else {})

    def allocatable(self) -> dict[str, int]:
        """What pods can have of it while none runs."""
        return self.capacity() | {"memory": self.memory - self.system}


@lru_cache
def profiles() -> dict[str, Profile]:
    """All profiles by name."""
    return boards() | machines()


@lru_cache
def boards() -> dict[str, Profile]:
    """Those with a chip."""
    return {name: _board(name, row) for name, row in _table("boards.toml").items() if name != "capabilities"}


@lru_cache
def machines() -> dict[str, Profile]:
    """Those without: ordinary nodes."""
    return {name: _machine(name, row) for name, row in _table("machines.toml").items()}


def _table(file: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name(file).read_text(encoding="utf-8"))


def _board(name: str, row: dict[str, Any]) -> Profile:
    return Profile(
        name=name,
        instance_type=row["module"],
        arch=row["arch"],
        os="freertos",
        os_image=f"FreeRTOS (ESP-IDF v5.4, {row['chip']})",
        kernel="v10.5.1",
        cores=row["cores"],
        memory=row["heap"] * KIB,
        system=row["system"] * KIB,
        storage=row["flash"] * KIB,
        chip=_chip(row),
    )


def _chip(row: dict[str, Any]) -> Chip:
    led_out = frozenset(row["chip-pins"]) - set(row["memory-pins"]) - set(row["absent-pins"])
    return Chip(
        name=row["chip"],
        psram=row["psram"] * KIB,
        pins=led_out - set(row["console"]),
        i2c=row["i2c"],
        uart=row["uart"],
        adc=len(led_out & set(row["adc-pins"])),
        rmt=row["rmt"],
        rmt_tx=row["rmt-tx"],
        rmt_rx=row["rmt-rx"],
        hardware=tuple(row["hardware"]),
    )


def _machine(name: str, row: dict[str, Any]) -> Profile:
    return Profile(
        name=name,
        instance_type=row["instance-type"],
        arch=row["arch"],
        os=row["os"],
        os_image=row["os-image"],
        kernel=row["kernel"],
        cores=row["cores"],
        memory=quantity.value(row["memory"]),
        system=quantity.value(row["system"]),
        storage=quantity.value(row["storage"]),
    )
