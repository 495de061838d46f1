"""Go's durations (`500ms`, `15s`, `1m30s`) as seconds, both ways.

Options take them, and Kubernetes' messages print them (`back-off 5m0s restarting failed container`).
"""

from __future__ import annotations

import math
import re
from datetime import timedelta

UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}

_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_UNIT = "|".join(sorted(UNITS, key=len, reverse=True))
_PART = re.compile(rf"({_NUMBER})({_UNIT})")
_DURATION = re.compile(rf"(?:{_NUMBER}(?:{_UNIT}))+", re.ASCII)
_SECONDS = re.compile(_NUMBER, re.ASCII)


def parse_duration(text: str) -> float:
    """Seconds of a Go duration, or of a plain number of seconds.

    Negative durations are refused: nothing here takes one.  ValueError says what is wrong.
    """
    if _SECONDS.fullmatch(text):
        seconds = float(text)
    elif _DURATION.fullmatch(text):
        seconds = sum(float(number) * UNITS[unit] for number, unit in _PART.findall(text))
    else:
        raise ValueError(f"invalid duration {text!r}: write it like 500ms, 15s or 1m30s, or as a number of seconds")
    if not math.isfinite(seconds):
        raise ValueError(f"invalid duration {text!r}: too long")
    return seconds


def format_duration(seconds: float) -> str:
    """As Go prints it: `1m30s`, `5m0s`, `1.5s`, `500ms`, `0s`."""
    whole = int(seconds)  # the product alone would be inexact for long ones
    nanoseconds = whole * 1_000_000_000 + round((seconds - whole) * 1e9)
    sign, nanoseconds = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if nanoseconds < 1_000_000_000:
        return sign + _below_a_second(nanoseconds)
    minutes, rest = divmod(nanoseconds, 60_000_000_000)
    text = f"{_decimal(rest, 9)}s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        text = f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"
    return sign + text


def _below_a_second(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return "0s"
    for unit, digits in (("ms", 6), ("µs", 3)):
        if nanoseconds >= 10**digits:
            return f"{_decimal(nanoseconds, digits)}{unit}"
    return f"{nanoseconds}ns"


def _decimal(value: int, digits: int) -> str:
    """value / 10**digits without trailing zeros."""
    whole, fraction = divmod(value, 10**digits)
    return f"{whole}.{fraction:0{digits}d}".rstrip("0").rstrip(".")


def seconds_of(duration: str | float | timedelta) -> float:
    """A duration as the library's callers may give it: Go's, a number of seconds, or a timedelta.

    Raises ValueError for what is no length of time: negative, infinite, or no number.
    """
    if isinstance(duration, str):
        return parse_duration(duration)
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if not 0 <= seconds < math.inf:
        raise ValueError(f"invalid duration {duration!r}: it must be 0 or more seconds")
    return seconds
