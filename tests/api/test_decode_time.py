"""Times: RFC 3339 in, UTC out, Go's messages for what is neither."""

from __future__ import annotations

import pytest

from kube32_sim.api import gotime
from kube32_sim.api.gotime import TimeError


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("2024-01-01T02:30:00+02:30", "2024-01-01T00:00:00Z"),
        ("2023-12-31T23:00:00-01:00", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00.999Z", "2024-01-01T00:00:00Z"),
        ("0999-01-01T00:00:00.5Z", "0999-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00Z", None),
    ],
)
def test_time_is_written_in_utc_with_seconds(text: str, written: str | None) -> None:
    assert gotime.canonical(text) == written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
        ("soon", 'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"'),
        ("2024-01-01", 'parsing time "2024-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
        (
            "2024-01-01T00:00:00",
            'parsing time "2024-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"',
        ),
        ("2024-13-01T00:00:00Z", 'parsing time "2024-13-01T00:00:00Z": month out of range'),
        ("2024-02-30T00:00:00Z", 'parsing time "2024-02-30T00:00:00Z": day out of range'),
        ("2024-01-01T24:00:00Z", 'parsing time "2024-01-01T24:00:00Z": hour out of range'),
        ("2024-01-01T00:00:00Zx", 'parsing time "2024-01-01T00:00:00Zx": extra text: "x"'),
    ],
)
def test_what_is_no_time(text: str, message: str) -> None:
    with pytest.raises(TimeError) as raised:
        gotime.canonical(text)
    assert str(raised.value) == message


def test_micro_times_have_six_decimals() -> None:
    assert gotime.canonical_micro("2024-01-01T00:00:00.123456Z") == "2024-01-01T00:00:00.123456Z"
    assert gotime.canonical_micro("2024-01-01T01:00:00.000001+01:00") == "2024-01-01T00:00:00.000001Z"
    with pytest.raises(TimeError) as raised:
        gotime.canonical_micro("2024-01-01T00:00:00Z")
    layout = "2006-01-02T15:04:05.000000Z07:00"
    assert str(raised.value) == f'parsing time "2024-01-01T00:00:00Z" as "{layout}": cannot parse "Z" as ".000000"'
