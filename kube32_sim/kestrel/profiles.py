"""Profiles: which resources are fitted, which two are scored, and which of the rules apply.

`KESTREL` schedules by cpu and memory under taints, affinity and preemption; `KUBE32` as kube32's scheduler does, by the
memory and the pins of microcontrollers, with none of the three.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType


@dataclass(frozen=True)
class Profile:
    """A way to schedule.

    fitted: resources that a pod has to fit into, in the order in which they are looked at; amounts are tuples in this
    order.  scored: the two of them whose free percentages make the score.  taints, affinity, preemption: whether the
    rules of that name apply.  defaults: what a pod takes of a resource that it does not declare.
    """

    name: str
    fitted: tuple[str, ...]
    scored: tuple[str, str]
    taints: bool = False
    affinity: bool = False
    preemption: bool = False
    defaults: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    @cached_property
    def scored_places(self) -> tuple[int, int]:
        """Where the scored resources are among the fitted ones."""
        first, second = self.scored
        return self.fitted.index(first), self.fitted.index(second)


KESTREL = Profile("kestrel", ("cpu", "mem"), ("cpu", "mem"), taints=True, affinity=True, preemption=True)

KUBE32 = Profile(
    "kube32",
    (
        "memory",
        "esp32.io/psram",
        "esp32.io/gpio",
        "esp32.io/i2c",
        "esp32.io/uart",
        "esp32.io/adc",
        "esp32.io/rmt-tx",
        "esp32.io/rmt-rx",
    ),
    ("memory", "esp32.io/gpio"),
    defaults=MappingProxyType({"memory": 16 * 1024}),
)
