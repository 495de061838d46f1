"""Whether a CronJob's schedule and time zone can be read.

Syntax and messages are those of the parser that Kubernetes uses (robfig/cron, five standard fields): numbers, names of
months and weekdays, `*`, `?`, lists, ranges and steps; or a descriptor such as `@daily` or `@every 1h30m`.
"""

from __future__ import annotations

import json
import re

from kube32_sim.api.validation.time_zones import TIME_ZONES


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
_MOST = 2**63 - 1
_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_UNITS = frozenset(("ns", "us", "µs", "μs", "ms", "s", "m", "h"))
_AMOUNT = re.compile(r"(?=\.?[0-9])[0-9]*\.?[0-9]*").match
_UNIT = re.compile(r"[^.0-9]*").match
_ZONE_PART = re.compile(r"[A-Za-z._0-9+-]{1,14}").fullmatch
_LOCAL = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"


def schedule_errors(schedule: str, zone: str | None, *, zoned_before: bool) -> list[str]:
    """Why a schedule is refused.  zoned_before: the old one named a time zone in the schedule, as one could once."""
    wrong = _schedule_error(schedule)
    found = [wrong] if wrong else []
    if "TZ" in schedule:
        if not zoned_before:
            found.append("cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
        elif zone is not None:
            found.append("cannot use both timeZone field and TZ or CRON_TZ in schedule")
    return found


def _schedule_error(schedule: str) -> str:
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        zone, _, schedule = schedule.partition("=")[2].partition(" ")
        if not _loads(zone):
            return f"provided bad location {zone}: unknown time zone {zone}"
        schedule = schedule.strip()
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
    if not schedule.startswith(every):
        return f"unrecognized descriptor: {schedule}"
    why = _duration_error(schedule.removeprefix(every))
    return f"failed to parse duration {schedule}: time: {why}" if why else ""


def _duration_error(text: str) -> str:
    """What Go's `time.ParseDuration` says of a duration it does not take."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    shown = json.dumps(text, ensure_ascii=False)
    if rest == "0":
        return ""
    if not rest:
        return f"invalid duration {shown}"
    while rest:
        amount = _AMOUNT(rest)
        if amount is None:
            return f"invalid duration {shown}"
        rest = rest[amount.end() :]
        unit = _UNIT(rest)
        name = unit[0] if unit else ""
        if not name:
            return f"missing unit in duration {shown}"
        if name not in _UNITS:
            return f"unknown unit {json.dumps(name, ensure_ascii=False)} in duration {shown}"
        rest = rest[len(name) :]
    return ""


def _part_error(part: str, low: int, high: int, names: dict[str, int]) -> str:
    """One item of a list: `N`, `N-M`, `*`, each with or without `/STEP`."""
    pieces = part.split("/")
    ends = pieces[0].split("-")
    start, end = low, high
    if ends[0] not in ("*", "?"):
        start, why = _number(ends[0], names)
        if why or len(ends) > 2:
            return why or f"too many hyphens: {part}"
        end, why = _number(ends[1], names) if len(ends) > 1 else (start, "")
        if why:
            return why
    if len(pieces) > 2:
        return f"too many slashes: {part}"
    step = 1
    if len(pieces) > 1:
        step, why = _number(pieces[1], {})
        if why:
            return why
        end = high if len(ends) == 1 else end
    return _range_error(start, end, low, high, part) or (
        "" if step else f"step of range should be a positive number: {part}"
    )


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
    digits = text[1:] if text[:1] in ("-", "+") else text
    cannot = f"failed to parse int from {text}: strconv.Atoi: parsing {json.dumps(text, ensure_ascii=False)}"
    if not digits.isascii() or not digits.isdigit():
        return 0, f"{cannot}: invalid syntax"
    if len(digits.lstrip("0")) > 19 or int(digits) > _MOST:
        return 0, f"{cannot}: value out of range"
    number = -int(digits) if text.startswith("-") else int(digits)
    return number, f"negative number ({number}) not allowed: {text}" if number < 0 else ""


def _loads(zone: str) -> bool:
    """Whether Go's `time.LoadLocation` knows a time zone."""
    return zone in ("", "Local") or zone in TIME_ZONES


def time_zone_errors(zone: str) -> list[str]:
    """Why a time zone is refused."""
    if not zone:
        return ["timeZone must be nil or non-empty string"]
    unknown = f"unknown time zone {zone}"
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE_PART(part):
            return [unknown]
    found = [_LOCAL] if zone.lower() == "local" else []
    return found if _loads(zone) else [*found, unknown]
