"""Whether and how replicas elect who runs the loops: options of `serve`, with upstream's names and checks."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from kube32_sim.option_fields import flag

JITTER = 1.2
"""Candidates wait up to this much of the retry period longer (client-go's JitterFactor)."""


def _option(default: Any, text: str, shown: str) -> Any:
    return field(default=default, metadata={"text": text, "shown": shown})


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    """Each field is an option of the same name; durations are seconds.  Raises ValueError."""

    leader_elect: bool | None = _option(
        None, "replicas that share a store elect one that runs loops and boards", "true with etcd"
    )
    leader_elect_lease_duration: float = _option(
        15.0, "time without renewal after which others take the lead; whole seconds", "15s"
    )
    leader_elect_renew_deadline: float = _option(10.0, "time without renewal after which the leader gives up", "10s")
    leader_elect_retry_period: float = _option(2.0, "time between two looks at the lease, or renewals of it", "2s")
    leader_elect_resource_name: str = _option("kube32-sim", "name of the Lease", "kube32-sim")
    leader_elect_resource_namespace: str = _option("kube-system", "its namespace", "kube-system")

    def __post_init__(self) -> None:
        lease, deadline = self.leader_elect_lease_duration, self.leader_elect_renew_deadline
        retry = self.leader_elect_retry_period
        if lease < 1 or lease != int(lease):
            raise ValueError(f"--leader-elect-lease-duration: {lease:g}s is no whole number of seconds, 1 or more")
        if lease <= deadline:
            raise ValueError(
                f"--leader-elect-lease-duration: {lease:g}s is not longer than "
                f"--leader-elect-renew-deadline {deadline:g}s"
            )
        if retry <= 0 or deadline <= JITTER * retry:
            raise ValueError(
                f"--leader-elect-renew-deadline: {deadline:g}s is not longer than {JITTER} times "
                f"--leader-elect-retry-period {retry:g}s"
            )
        for name in ("leader_elect_resource_name", "leader_elect_resource_namespace"):
            if not getattr(self, name):
                raise ValueError(f"{flag(name)}: is empty")


def add_election(group: argparse._ArgumentGroup, duration: Callable[[str], float]) -> None:
    """The options; duration: reads one."""
    for option in fields(Election):
        text = f"{option.metadata['text']} (default: {option.metadata['shown']})"
        add = partial(group.add_argument, flag(option.name), default=option.default, help=text)
        if option.default is None:
            add(type=_truth, metavar="BOOL", nargs="?", const=True)
        elif isinstance(option.default, float):
            add(type=duration, metavar="D")
        else:
            add(metavar="NAME")


def _truth(text: str) -> bool:
    """As Go's flags have it."""
    if text.lower() in ("true", "t", "1"):
        return True
    if text.lower() in ("false", "f", "0"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


DEFAULTS = Election()
