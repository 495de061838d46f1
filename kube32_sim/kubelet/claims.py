"""What pods take of a board: their requests, the free rest, and the capability firewall at admission.

Everything here is arithmetic on pod objects and a profile.  The scheduler looks at counts only; what it does not see
(single pins, hardware capabilities, pods bound by hand) is refused here, in the words of a kubelet's admission.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kube32_sim.api import quantity
from kube32_sim.api.requests import Amounts, declared, pod_totals
from kube32_sim.kubelet.boards import COUNTED, HARDWARE, KIB, PSRAM, Profile

JsonObject = dict[str, Any]

Unit = tuple[str, int]

GPIO = "esp32.io/gpio"
RMT = ("esp32.io/rmt-tx", "esp32.io/rmt-rx")
IN_KIB = ("memory", PSRAM)
ALIASES = {"esp.io/psram": PSRAM}
IGNORED = ("cpu", "ephemeral-storage", "pods")
"""Never a reason to refuse a pod: a board has no more to say about them than the scheduler."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a pod may not run on a board: status.reason and status.message, as a kubelet words them."""

    reason: str
    message: str


def pod_requests(pod: JsonObject) -> Amounts:
    """What a pod asks for, by resource."""
    return pod_totals(pod.get("spec") or {}, _container_requests)


def _container_requests(container: JsonObject) -> Amounts:
    wanted = dict(declared(container))
    for alias, name in ALIASES.items():
        if alias in wanted:
            wanted.setdefault(name, wanted.pop(alias))
    return {name: _amount(name, text) for name, text in wanted.items()}


def _amount(name: str, text: Any) -> int:
    """Whole units, of memory whole KiB; what cannot be read counts 0."""
    try:
        value = quantity.value(str(text))
    except quantity.QuantityError:
        return 0
    return -(-value // KIB) * KIB if name in IN_KIB else value


@lru_cache(maxsize=1024)
def named_unit(resource: str) -> Unit | None:
    """The counted resource that a named one is a unit of, and its number: `esp32.io/gpio-5` is ("esp32.io/gpio", 5).

    A bus may have a word before its number (`esp32.io/i2c-bus-0` is `esp32.io/i2c-0`).  -1: a unit that there is not.
    """
    for counted in COUNTED:
        if resource.startswith(f"{counted}-"):
            words = "" if counted == GPIO else "(?:[a-z]+-)?"
            number = re.fullmatch(rf"{words}(0|[1-9][0-9]{{0,3}})", resource[len(counted) + 1 :])
            return counted, int(number[1]) if number else -1
    return None


def usage(requests: Iterable[Amounts]) -> Amounts:
    """What several pods take together, as counts.

    A named bus takes one from the count of its kind beside what the pod asks for without naming it; named pins are
    among the number of pins that the pod asks for, where it gives a number.
    """
    used: Amounts = {}
    for wanted in requests:
        for name, amount in _counts(wanted).items():
            used[name] = used.get(name, 0) + amount
    return used


def _counts(wanted: Amounts) -> Amounts:
    counts: Amounts = {}
    pins = 0
    for name, amount in wanted.items():
        unit = named_unit(name)
        if name.startswith(HARDWARE) or (unit and amount <= 0):
            continue
        if unit is None:
            counts[name] = counts.get(name, 0) + amount
        elif unit[0] == GPIO:
            pins += 1
        else:
            counts[unit[0]] = counts.get(unit[0], 0) + 1
    if pins:
        counts[GPIO] = max(counts.get(GPIO, 0), pins)
    return counts


def free(profile: Profile, requests: Iterable[Amounts]) -> Amounts:
    """What is left for more pods: status.allocatable as a board measures it, never below 0."""
    used = usage(requests)
    rest = profile.allocatable()
    for name in rest:
        if name not in IGNORED and name in used:
            rest[name] = max(0, rest[name] - used[name])
    if profile.chip is None:
        return rest
    channels = max(0, profile.chip.rmt - sum(used.get(name, 0) for name in RMT))
    return rest | {name: min(rest[name], channels) for name in RMT}


def admit(pod: JsonObject, profile: Profile, running: Iterable[Amounts]) -> Rejection | None:
    """Whether the board takes a pod on beside those that run on it; None is yes.

    First, in order of the resources' names, capabilities the board lacks and named units that it does not have or that
    another pod holds; then counts and memory that are used up.
    """
    wanted, others = pod_requests(pod), list(running)
    for name in sorted(wanted):
        if wanted[name] > 0:
            if name.startswith(HARDWARE):
                refused = _shortage(name, wanted[name], 0, profile.capacity().get(name, 0))
            elif (unit := named_unit(name)) is not None:
                refused = _unit_shortage(name, unit, wanted, profile, others)
            else:
                refused = None
            if refused is not None:
                return refused
    return _counts_fit(_counts(wanted), profile, usage(others))


def _unit_shortage(
    name: str, unit: Unit, wanted: Amounts, profile: Profile, others: Sequence[Amounts]
) -> Rejection | None:
    """Nobody shares a unit, under whatever name: not with another pod, nor with another container."""
    used = sum(1 for other in others if _of_unit(other, unit) > 0)
    return _shortage(name, _of_unit(wanted, unit), used, int(_has_unit(profile, *unit)))


def _of_unit(wanted: Amounts, unit: Unit) -> int:
    return sum(amount for name, amount in wanted.items() if amount > 0 and named_unit(name) == unit)


def _counts_fit(wanted: Amounts, profile: Profile, used: Amounts) -> Rejection | None:
    allocatable = profile.allocatable()
    for name in sorted(wanted):
        if wanted[name] > 0 and name not in IGNORED and not name.startswith(HARDWARE):
            refused = _shortage(name, wanted[name], used.get(name, 0), allocatable.get(name, 0))
            if refused is not None:
                return refused
    asked = [name for name in RMT if wanted.get(name, 0) > 0]
    requested, taken = (sum(amounts.get(name, 0) for name in RMT) for amounts in (wanted, used))
    return _shortage(asked[0], requested, taken, profile.chip.rmt) if asked and profile.chip else None


def _shortage(name: str, requested: int, used: int, capacity: int) -> Rejection | None:
    if requested + used <= capacity:
        return None
    numbers = f"requested: {requested}, used: {used}, capacity: {capacity}"
    message = f"Pod was rejected: Node didn't have enough resource: {name}, {numbers}"
    return Rejection(f"OutOf{name}", message)


def _has_unit(profile: Profile, counted: str, number: int) -> bool:
    """Pins go by their number; everything else is counted from 0, but UARTs from 1, as UART0 is the console."""
    if profile.chip is None:
        return False
    if counted == GPIO:
        return number in profile.chip.pins
    first = 1 if counted == "esp32.io/uart" else 0
    return first <= number < first + profile.capacity()[counted]
