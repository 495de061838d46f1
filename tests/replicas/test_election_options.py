"""The options of the election: what is refused, and when there is one at all."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.election import Election
from kube32_sim.options import OptionError, ServeOptions

ETCD = "etcd://127.0.0.1:2379"


@pytest.mark.parametrize(
    ("durations", "complaint"),
    [
        ((10.0, 10.0, 2.0), "--leader-elect-lease-duration: 10s is not longer than --leader-elect-renew-deadline 10s"),
        ((15.0, 2.4, 2.0), "--leader-elect-renew-deadline: 2.4s is not longer than 1.2 times"),
        ((15.0, 10.0, 0.0), "--leader-elect-renew-deadline: 10s is not longer than 1.2 times"),
        ((0.5, 0.4, 0.1), "--leader-elect-lease-duration: 0.5s is no whole number of seconds"),
        ((2.5, 2.0, 0.1), "--leader-elect-lease-duration: 2.5s is no whole number of seconds"),
    ],
)
def test_durations_that_cannot_be(durations: tuple[float, float, float], complaint: str) -> None:
    names = ("leader_elect_lease_duration", "leader_elect_renew_deadline", "leader_elect_retry_period")
    with pytest.raises(ValueError, match=complaint.replace("(", r"\(")):
        Election(**dict(zip(names, durations, strict=True)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"election": Election(leader_elect=True)}, "--leader-elect: with --store memory there is no other replica"),
        ({"store": ETCD, "clock": "virtual"}, "--clock: replicas on one etcd have no virtual clock in common"),
        ({"store": ETCD, "seed": 1}, "--seed: replicas on one etcd would all make the same names"),
    ],
)
def test_refused_by_name(values: dict[str, Any], complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint):
        ServeOptions(**values)


@pytest.mark.parametrize(
    ("store", "wanted", "elects"),
    [("memory", None, False), ("memory", False, False), (ETCD, None, True), (ETCD, True, True), (ETCD, False, False)],
)
def test_who_elects(store: str, wanted: bool | None, elects: bool) -> None:
    assert ServeOptions(store=store, election=Election(leader_elect=wanted)).elects is elects
