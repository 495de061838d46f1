"""The lines of a token file, taken apart: CSV as Go's `encoding/csv` has it, but that no field goes over lines.

A quote that is left open would hand one user the groups of the next, so nothing here is guessed at.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterator

_QUOTED = re.compile(r'(?: *+(?:"(?:[^"]|"")*+"|[^",]*+)(?:,|$))*+')
"""Lines in which quotes are around whole fields; Python's reader takes those within a field for letters."""
_UNSEEN = ("Cc", "Zl", "Zp")
"""Unicode's categories of what commands a terminal or ends a line."""


class LineError(ValueError):
    """A line that is not what it should be; the message begins with its number."""


def records(text: str) -> Iterator[tuple[int, list[str]]]:
    """(number of the line, its fields) of each that is neither empty nor a comment (`#`).  Raises LineError."""
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            yield number, _fields(line)
        except (csv.Error, ValueError) as error:
            raise LineError(f"line {number}: {error}") from None


def _fields(line: str) -> list[str]:
    if _QUOTED.fullmatch(line) is None:
        raise ValueError('a quote (") is left open, or is not around a whole field')
    if _is_unseen(line.replace("\t", " ")):
        raise ValueError("control characters in it")
    (fields,) = csv.reader([line], skipinitialspace=True, strict=True)
    if any("\t" in field.strip(" \t") for field in fields):
        raise ValueError("a tab in a field")
    return fields


def _is_unseen(text: str) -> bool:
    """Whether there is anything in it that cannot be seen and is no space."""
    return any(unicodedata.category(letter) in _UNSEEN for letter in text)
