"""Kestrel's integer rule and its tie-break."""

import pytest

from kube32_sim.kestrel.profiles import KESTREL, KUBE32
from kube32_sim.kestrel.score import mean, percent, rank


@pytest.mark.parametrize(
    ("free", "capacity", "expected"),
    [(3000, 4000, 75), (0, 5, 0), (1, 3, 33), (5, 0, 0), (5, -1, 0), (-1, 3, -34), (2**53 + 1, 2**53 + 1, 100)],
)
def test_percent_is_floored_and_0_of_nothing(free, capacity, expected):
    assert percent(free, capacity) == expected


def test_the_score_is_the_floored_mean_of_floored_percentages():
    assert mean(percent(3000, 4000), percent(7168, 8192)) == (75 + 87) // 2 == 81
    assert mean(percent(1, 3), percent(0, 1)) == 16
    assert mean(-1, 0) == -1


def test_the_score_does_not_round_through_floats():
    huge = 10**30
    assert mean(percent(huge - 1, huge), percent(huge, huge)) == (99 + 100) // 2


def test_highest_score_wins_and_ties_go_to_the_smallest_name():
    scores = {"b": 5, "n-9": 7, "n-10": 7, "a": 5, "n-2": 7}
    assert sorted(scores, key=lambda name: rank(name, scores[name])) == ["n-10", "n-2", "n-9", "a", "b"]


def test_profiles_name_what_is_scored():
    assert KESTREL.scored == ("cpu", "mem")
    assert KUBE32.scored == ("memory", "esp32.io/gpio")
