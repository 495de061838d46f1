"""Times in JSON as metav1.Time and metav1.MicroTime read and write them: RFC 3339, rewritten in UTC.

`canonical` and `canonical_micro` give the text Go writes back; a text Go refuses raises TimeError with the message of
Go's `time.Parse`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_PLAIN = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_PLAIN_MICRO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
_ZERO = "0001-01-01T00:00:00Z"

#: One step of the layout: what it is called in the layout, its digits, and (name, least, most) for Go's range errors.
_STEPS: tuple[tuple[str, str, tuple[str, int, int] | None], ...] = (
    ("2006", "[0-9]{4}", None),
    ("-", "-", None),
    ("01", "[0-9]{2}", ("month", 1, 12)),
    ("-", "-", None),
    ("02", "[0-9]{2}", None),
    ("T", "T", None),
    ("15", "[0-9]{2}", ("hour", 0, 23)),
    (":", ":", None),
    ("04", "[0-9]{2}", ("minute", 0, 59)),
    (":", ":", None),
    ("05", "[0-9]{2}", ("second", 0, 59)),
)


class TimeError(ValueError):
    """A text that is no time; the message is Go's."""


def canonical(text: str) -> str | None:
    """An RFC 3339 time as metav1.Time writes it: UTC, whole seconds.  None for Go's zero time."""
    if _PLAIN.fullmatch(text) and _in_calendar(text[:-1]):
        return text if text != _ZERO else None
    written = _utc(text, _LAYOUT, _parse(text, _LAYOUT)).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    return written if written != _ZERO else None


def canonical_micro(text: str) -> str | None:
    """An RFC 3339 time with exactly six decimals as metav1.MicroTime writes it.  None for Go's zero time."""
    if _PLAIN_MICRO.fullmatch(text) and _in_calendar(text[:-1]):
        return text
    moment = _utc(text, _MICRO_LAYOUT, _parse(text, _MICRO_LAYOUT))
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _in_calendar(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if " " <= c != "\x7f" else f"\\x{ord(c):02x}" for c in escaped) + '"'


def _cannot(text: str, layout: str, rest: str, element: str) -> TimeError:
    return TimeError(
        f"parsing time {_quoted(text)} as {_quoted(layout)}: cannot parse {_quoted(rest)} as {_quoted(element)}"
    )


def _parse(text: str, layout: str) -> tuple[list[int], str]:
    """The six numbers of a time and what follows the seconds, fraction first."""
    numbers: list[int] = []
    rest = text
    for element, pattern, limits in _STEPS:
        found = re.match(pattern, rest)
        if found is None:
            raise _cannot(text, layout, rest, element)
        rest = rest[found.end() :]
        if element in "-T:":
            continue
        numbers.append(int(found[0]))
        if limits is not None and not limits[1] <= numbers[-1] <= limits[2]:
            raise TimeError(f"parsing time {_quoted(text)}: {limits[0]} out of range")
    return numbers, rest


def _utc(text: str, layout: str, parsed: tuple[list[int], str]) -> datetime:
    numbers, rest = parsed
    micro, rest = _fraction(text, layout, rest)
    offset, rest = _zone(text, layout, rest)
    if rest:
        raise TimeError(f"parsing time {_quoted(text)}: extra text: {_quoted(rest)}")
    try:
        moment = datetime(*numbers, micro, tzinfo=timezone(offset))  # type: ignore[arg-type,misc]
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise TimeError(f"parsing time {_quoted(text)}: day out of range") from None


def _fraction(text: str, layout: str, rest: str) -> tuple[int, str]:
    if layout == _MICRO_LAYOUT:
        found = re.match(r"[.,]([0-9]{6})(?![0-9])", rest)
        if found is None:
            raise _cannot(text, layout, rest, ".000000")
        return int(found[1]), rest[7:]
    found = re.match(r"[.,][0-9]+", rest)
    return (0, rest[found.end() :]) if found else (0, rest)


def _zone(text: str, layout: str, rest: str) -> tuple[timedelta, str]:
    if rest.startswith("Z"):
        return timedelta(0), rest[1:]
    found = re.match(r"([+-])([0-9]{2}):([0-9]{2})", rest)
    if found is None:
        raise _cannot(text, layout, rest, "Z07:00")
    hours, minutes = int(found[2]), int(found[3])
    if hours > 24:
        raise TimeError(f"parsing time {_quoted(text)}: time zone offset hour out of range")
    if minutes > 60:
        raise TimeError(f"parsing time {_quoted(text)}: time zone offset minute out of range")
    offset = timedelta(hours=hours, minutes=minutes)
    return (-offset if found[1] == "-" else offset), rest[6:]
