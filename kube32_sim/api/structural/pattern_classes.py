"""Character classes of Go's regular expressions, as Python's: brackets, `\\d`, `\\pL` and their like, escapes."""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache


class PatternError(ValueError):
    """A pattern that Go refuses; the message is Go's: error parsing regexp: ….."""


class Scanner:
    """A pattern, and how far it has been read."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    @property
    def more(self) -> bool:
        return self.at < len(self.text)

    def take(self) -> str:
        self.at += 1
        return self.text[self.at - 1]

    def took(self, text: str) -> bool:
        """Whether this comes next; it is behind then."""
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def until(self, end: str) -> str:
        found = self.text.find(end, self.at)
        start, stop = self.at, len(self.text) if found < 0 else found
        self.at = stop if found < 0 else stop + len(end)
        return self.text[start:stop]

    @staticmethod
    def error(why: str, what: str) -> PatternError:
        return PatternError(f"error parsing regexp: {why}: `{what}`")


_PERL = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": r"\ -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_CONTROL = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL = re.compile("0[0-7]{0,2}|[1-7][0-7]{1,2}")
_HEX = re.compile(r"x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})")
_UNICODE = re.compile(r"([pP])(?:\{(\^?)([^}]*)\}|([^{]))")
_POSIX_CLASS = re.compile(r"\[:(\^?)(\w+):\]")
_SCRIPT_NAMES = {"Han": "CJK UNIFIED IDEOGRAPH", "Common": ""}


def escaped(scanner: Scanner) -> str:
    """What stands after a backslash outside of brackets."""
    inside, negated = _class_escape(scanner) or ("", False)
    if inside:
        return f"[^{inside}]" if negated else f"[{inside}]"
    return re.escape(_character(scanner))


def bracket(scanner: Scanner) -> str:
    """A class in brackets, whose first one is behind."""
    start = scanner.at - 1
    negated = scanner.took("^")
    parts: list[str] = []
    first = True
    while first or not scanner.took("]"):
        if not scanner.more:
            raise scanner.error("missing closing ]", scanner.text[start:])
        parts.append(_part(scanner, start))
        first = False
    return f"[^{''.join(parts)}]" if negated else f"[{''.join(parts)}]"


def _part(scanner: Scanner, start: int) -> str:
    posix = _POSIX_CLASS.match(scanner.text, scanner.at)
    if posix is not None:
        scanner.at = posix.end()
        if posix[2] not in _POSIX:
            raise scanner.error("invalid character class range", posix[0])
        return _complement(_POSIX[posix[2]]) if posix[1] else _POSIX[posix[2]]
    low_at = scanner.at
    if scanner.took("\\"):
        found = _class_escape(scanner)
        if found is not None:
            return _complement(found[0]) if found[1] else found[0]
        low = _character(scanner)
    else:
        low = scanner.take()
    if not scanner.text.startswith("-", scanner.at) or scanner.text.startswith("-]", scanner.at):
        return _in_class(low)
    scanner.at += 1
    if not scanner.more:
        raise scanner.error("missing closing ]", scanner.text[start:])
    high = _character(scanner) if scanner.took("\\") else scanner.take()
    if high < low:
        raise scanner.error("invalid character class range", scanner.text[low_at : scanner.at])
    return f"{_in_class(low)}-{_in_class(high)}"


def _in_class(char: str) -> str:
    return char if char.isalnum() else f"\\U{ord(char):08x}"


def _class_escape(scanner: Scanner) -> tuple[str, bool] | None:
    """What a class is called after a backslash: its inside, and whether it is meant to be what is not in it."""
    char = scanner.text[scanner.at : scanner.at + 1]
    if char and char in "dwsDWS":
        scanner.at += 1
        return _PERL[char.lower()], char.isupper()
    found = _UNICODE.match(scanner.text, scanner.at)
    if found is None:
        return None
    scanner.at = found.end()
    name = found[3] if found[4] is None else found[4]
    inside = _unicode(name)
    if not inside:
        raise scanner.error("invalid character class range", "\\" + found[0])
    return inside, (found[1] == "P") != bool(found[2])


def _character(scanner: Scanner) -> str:
    """One character after a backslash."""
    for form in (_OCTAL, _HEX):
        found = form.match(scanner.text, scanner.at)
        if found is not None:
            scanner.at = found.end()
            code = int(found[0], 8) if form is _OCTAL else int(found[1] or found[2], 16)
            if code > sys.maxunicode:
                raise scanner.error("invalid escape sequence", "\\" + found[0])
            return chr(code)
    char = scanner.text[scanner.at : scanner.at + 1]
    if char in _CONTROL:
        scanner.at += 1
        return _CONTROL[char]
    if not char or (char.isascii() and char.isalnum()) or not char.isascii():
        raise scanner.error("invalid escape sequence", "\\" + char)
    scanner.at += 1
    return char


@cache
def _unicode(name: str) -> str:
    """The inside of a class of a general category (`L`, `Lu`) or a script (`Greek`); "" where there is none."""
    if name == "Any":
        return r"\x00-\U0010ffff"
    codes = range(sys.maxunicode + 1)
    if len(name) <= 2:
        found = [code for code in codes if unicodedata.category(chr(code)).startswith(name)] if name else []
    else:
        start = _SCRIPT_NAMES.get(name, name.replace("_", " ").upper() + " ")
        found = [code for code in codes if start and unicodedata.name(chr(code), "").startswith(start)]
    return _ranges(found)


def _ranges(codes: list[int]) -> str:
    runs: list[list[int]] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in runs)


@cache
def _complement(inside: str) -> str:
    """The inside of the class of everything that is not in a class."""
    matches = re.compile(f"[^{inside}]").match
    return _ranges([code for code in range(sys.maxunicode + 1) if matches(chr(code))])
