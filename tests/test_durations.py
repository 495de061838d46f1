"""Go's durations: what is read, what is refused, what is printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("15s", 15.0),
        ("1m30s", 90.0),
        ("1h", 3600.0),
        ("1.5h", 5400.0),
        (".5s", 0.5),
        ("2us", 2e-6),
        ("2µs", 2e-6),
        ("100ns", 1e-7),
        ("0", 0.0),
        ("330", 330.0),
        ("0.25", 0.25),
    ],
)
def test_reads_what_go_reads_and_plain_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "s", "15 s", "15x", "-15s", "1m30", "1s2", "1e3", "nan", "inf", "+1s", "٣s", "9" * 400]
)
def test_refuses_everything_else(text: str) -> None:
    with pytest.raises(ValueError, match="invalid duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (10, "10s"),
        (80, "1m20s"),
        (300, "5m0s"),
        (3600, "1h0m0s"),
        (1.5, "1.5s"),
        (0.5, "500ms"),
        (0.0000015, "1.5µs"),
        (1e-9, "1ns"),
        (-90, "-1m30s"),
    ],
)
def test_prints_as_go_does(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(min_value=0, max_value=10**15))
def test_what_is_printed_reads_back(nanoseconds: int) -> None:
    assert parse_duration(format_duration(nanoseconds / 1e9)) == pytest.approx(nanoseconds / 1e9, abs=1e-9)


def test_long_durations_are_exact() -> None:
    assert format_duration(251_635_075_199.0) == "69898631h59m59s"
    assert format_duration(-90.5) == "-1m30.5s"
