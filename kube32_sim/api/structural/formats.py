"""String formats that upstream checks (kube-openapi's `strfmt` with the library govalidator)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date

from kube32_sim.api import quantity
from kube32_sim.api.structural.mail import is_address
from kube32_sim.api.structural.uris import is_request_uri
from kube32_sim.api.validation.addresses import sloppy_cidr, sloppy_ip
from kube32_sim.api.validation.names import byte_length

_UUID = "[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?%s[0-9a-fA-F]{3}-?%s[0-9a-fA-F]{3}-?[0-9a-fA-F]{12}"
_ANY = "[0-9a-fA-F]"
_BYTE = "(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])"
_SPACE = r"[\t\n\f\r ]*"
_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_CARD = (
    "(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    "|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})"
)
_HOSTNAME = re.compile(r"a(?:-?a{0,62})?|(?:a(?:[a-]{0,61}a)?\.)+a(?:-?a){1,62}")
"""Of what `_kind_of` makes of a name: as upstream's, which allows a single label no dash but after its first letter."""
_BASE64 = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
_TIME = re.compile("([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})", re.ASCII)
_DATE = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})")
_GO_DURATION = re.compile(r"[-+]?(?:0|(?:(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:ns|us|µs|μs|ms|s|m|h))+)")
_DURATION = re.compile(r"[\t\n\f\r ]*(?:[0-9]++[\t\n\f\r ]*+[A-Za-zµ]++[\t\n\f\r ]*+)+")
_DURATION_PART = re.compile(r"[0-9]+[\t\n\f\r ]*([A-Za-zµ]+)")
_UNITS = frozenset(("ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"))
_UNIT_WORDS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_NOT_DIGITS = re.compile("[^0-9]+")
_GAPS = re.compile(r"[\t\n\f\r -]+")
_MAC = re.compile("[0-9a-fA-F]{2}(?:([:-])[0-9a-fA-F]{2})(?:\\1[0-9a-fA-F]{2})*")
_DOTTED_MAC = re.compile("[0-9a-fA-F]{4}(?:\\.[0-9a-fA-F]{4})+")
_MAC_BYTES = (6, 8, 20)


def _matching(pattern: str) -> Callable[[str], bool]:
    matches = re.compile(pattern).fullmatch
    return lambda text: matches(text) is not None


def _is_hostname(text: str) -> bool:
    """Letters of any script and symbols are as good as ASCII letters and digits."""
    if byte_length(text) > 255 or any(byte_length(part) > 63 for part in text.split(".")):
        return False
    return _HOSTNAME.fullmatch("".join(map(_kind_of, text))) is not None


def _kind_of(char: str) -> str:
    if char in "-.":
        return char
    return "a" if (char.isascii() and char.isalnum()) or unicodedata.category(char)[0] in "LS" else "!"


def _is_ipv4(text: str) -> bool:
    return "." in text and sloppy_ip(text) is not None


def _is_ipv6(text: str) -> bool:
    return ":" in text and sloppy_ip(text) is not None


def _is_cidr(text: str) -> bool:
    return sloppy_cidr(text) is not None


def _is_mac(text: str) -> bool:
    if _DOTTED_MAC.fullmatch(text):
        return (text.count(".") + 1) * 2 in _MAC_BYTES
    found = _MAC.fullmatch(text)
    return found is not None and text.count(found[1]) + 1 in _MAC_BYTES


def _is_isbn10(text: str) -> bool:
    digits = _GAPS.sub("", text)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum((at + 1) * value for at, value in enumerate(values)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = _GAPS.sub("", text)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    total = sum((1, 3)[at % 2] * int(digit) for at, digit in enumerate(digits[:12]))
    return int(digits[12]) == (10 - total % 10) % 10


_is_card = _matching(_CARD)


def _is_credit_card(text: str) -> bool:
    digits = _NOT_DIGITS.sub("", text)
    if not _is_card(digits):
        return False
    doubled = (int(digit) * (2 if at % 2 else 1) for at, digit in enumerate(reversed(digits)))
    return sum(value // 10 + value % 10 for value in doubled) % 10 == 0


def _in_calendar(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    try:
        date(year or 4, month, day)  # Go knows a year 0, which is a leap year
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    """A date, a letter t, and a time with its zone."""
    if len(text) < 4:
        return False
    parts = text.lower().split("t")
    if len(parts) < 2 or not _in_calendar(parts[0]):
        return False
    found = _TIME.fullmatch(parts[1])
    return found is not None and int(found[1]) <= 23 and int(found[2]) <= 59 and int(found[3]) <= 59


def _is_duration(text: str) -> bool:
    """Go's (`1h30m`), or numbers with words (`3 days`)."""
    if _GO_DURATION.fullmatch(text):
        return True
    if not _DURATION.fullmatch(text):
        return False
    units = [found[1].lower() for found in _DURATION_PART.finditer(text)]
    return any(unit in _UNITS or unit.startswith(_UNIT_WORDS) for unit in units)


def _short(most: int, fits: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: byte_length(text) <= most and fits(text)


_CHECKS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matching("[0-9a-fA-F]{24}"),
    "uri": is_request_uri,
    "email": is_address,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": _is_mac,
    "uuid": _matching(_UUID % (_ANY, _ANY)),
    "uuid3": _matching(_UUID % ("3", _ANY)),
    "uuid4": _matching(_UUID % ("4", "[89abAB]")),
    "uuid5": _matching(_UUID % ("5", "[89abAB]")),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _matching("[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
    "hexcolor": _matching("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matching(rf"rgb\({_SPACE}{_BYTE}{_SPACE},{_SPACE}{_BYTE}{_SPACE},{_SPACE}{_BYTE}{_SPACE}\)"),
    "byte": _matching(_BASE64),
    "password": lambda _: True,
    "date": _in_calendar,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "quantity": quantity.is_quantity,
    "k8sshortname": _short(63, _matching(_LABEL)),
    "k8slongname": _short(253, _matching(rf"{_LABEL}(?:\.{_LABEL})*")),
}


def format_check(name: str) -> Callable[[str], bool] | None:
    """What tells whether a text has a format; None: the format is not known."""
    return _CHECKS.get(name.replace("-", ""))
