"""Kestrel's integer rule and its tie-break."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.kestrel.profiles import KESTREL, KUBE32
from kube32_sim.kestrel.score import choose, percent, score


@pytest.mark.parametrize(
    ("free", "capacity", "expected"),
    [(3000, 4000, 75), (0, 5, 0), (1, 3, 33), (5, 0, 0), (5, -1, 0), (-1, 3, -34), (2**53 + 1, 2**53 + 1, 100)],
)
def test_percent_is_floored_and_0_of_nothing(free, capacity, expected):
    assert percent(free, capacity) == expected


def test_score_is_the_floored_mean_of_floored_percentages():
    # Seed, Part 1: api-1 (1000, 1024) on an empty node of 4000, 8192 scores 81.
    assert score(3000, 4000, 7168, 8192) == (75 + 87) // 2 == 81
    assert score(1, 3, 0, 1) == 16


def test_score_does_not_round_through_floats():
    huge = 10**30
    assert score(huge - 1, huge, huge, huge) == (99 + 100) // 2


def test_highest_score_wins_and_ties_go_to_the_smallest_name():
    assert choose([("b", 5), ("c", 7), ("a", 5)]) == ("c", 7)
    assert choose([("n-10", 7), ("n-9", 7), ("n-2", 7)]) == ("n-10", 7)
    assert choose([]) is None


@given(st.dictionaries(st.text(max_size=3), st.integers(-3, 3), min_size=1))
def test_choice_does_not_depend_on_order(scores):
    winner = choose(scores.items())
    assert winner == choose(reversed(scores.items()))
    assert all((value, name) <= (winner[1], name) for name, value in scores.items())
    assert winner[0] == min(name for name, value in scores.items() if value == winner[1])


def test_profiles_name_what_is_scored():
    assert KESTREL.scored == ("cpu", "mem")
    assert KUBE32.scored == ("memory", "esp32.io/gpio")
