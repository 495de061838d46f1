"""Whether a CronJob's schedule and time zone can be read.

Syntax and messages are those of the parser that Kubernetes uses (robfig/cron, five standard fields): numbers, names of
months and weekdays, `*`, `?`, lists, ranges and steps; or a descriptor such as `@daily` or `@every 1h30m`.
"""

from __future__ import annotations

import re


def _names(text: str) -> list[str]:
    return text.split()


_MONTHS = {name: n for n, name in enumerate(_names("jan feb mar apr may jun jul aug sep oct nov dec"), 1)}
_DAYS = {name: n for n, name in enumerate(_names("sun mon tue wed thu fri sat"))}
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_DIGITS = 18
_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_DURATION = re.compile(r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0").fullmatch
_ZONE = re.compile(r"[A-Za-z_]+(?:[/+-][A-Za-z0-9_+-]+)*").fullmatch


def schedule_error(schedule: str) -> str:
    """Why a schedule is refused; empty where it is fine."""
    if "TZ" in schedule:
        return "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    if schedule.startswith("@"):
        return _descriptor_error(schedule)
    fields = schedule.split()
    if len(fields) != 5:
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    for text, (low, high, names) in zip(fields, _FIELDS, strict=True):
        for part in text.split(","):
            if part and (why := _part_error(part, low, high, names)):
                return why
    return ""


def _descriptor_error(schedule: str) -> str:
    if schedule in _DESCRIPTORS:
        return ""
    every = "@every "
    if schedule.startswith(every):
        length = schedule.removeprefix(every)
        if _DURATION(length):
            return ""
        return f'failed to parse duration {schedule}: time: invalid duration "{length}"'
    return f"unrecognized descriptor: {schedule}"


def _part_error(part: str, low: int, high: int, names: dict[str, int]) -> str:
    """One item of a list: `N`, `N-M`, `*`, each with or without `/STEP`."""
    pieces = part.split("/")
    if len(pieces) > 2:
        return f"too many slashes: {part}"
    ends = pieces[0].split("-")
    if len(ends) > 2 and ends[0] not in ("*", "?"):
        return f"too many hyphens: {part}"
    numbers: list[int] = []
    if ends[0] not in ("*", "?"):
        for end in ends:
            number, why = _number(end, names)
            if why:
                return why
            numbers.append(number)
    else:
        numbers = [low, high]
    return _step_error(pieces, part) or _range_error(numbers[0], _end(numbers, pieces, high), low, high, part)


def _end(numbers: list[int], pieces: list[str], high: int) -> int:
    if len(numbers) > 1:
        return numbers[1]
    return high if len(pieces) > 1 else numbers[0]


def _step_error(pieces: list[str], part: str) -> str:
    if len(pieces) < 2:
        return ""
    number, why = _number(pieces[1], {})
    if why:
        return why
    return f"step of range should be a positive number: {part}" if number == 0 else ""


def _range_error(start: int, end: int, low: int, high: int, part: str) -> str:
    if start < low:
        return f"beginning of range ({start}) below minimum ({low}): {part}"
    if end > high:
        return f"end of range ({end}) above maximum ({high}): {part}"
    if start > end:
        return f"beginning of range ({start}) beyond end of range ({end}): {part}"
    return ""


def _number(text: str, names: dict[str, int]) -> tuple[int, str]:
    if text.lower() in names:
        return names[text.lower()], ""
    digits = text.removeprefix("+").removeprefix("-")
    if not digits.isascii() or not digits.isdigit():
        return 0, f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax'
    number = int(text[:_DIGITS])
    return number, f"negative number ({number}) not allowed: {text}" if number < 0 else ""


def time_zone_error(zone: str) -> str:
    """Why a time zone is refused; empty where it looks like one."""
    if not zone:
        return "timeZone must be nil or non-empty string"
    if zone.lower() == "local":
        return "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
    return "" if _ZONE(zone) else f"unknown time zone {zone}"
