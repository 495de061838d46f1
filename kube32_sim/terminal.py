"""What a command says to whoever called it: lines that stay lines, and command no terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def printable(text: str) -> str:
    """Text that stays on its line and commands no terminal: `\\n`, `\\x1b`, `\\u202e` for what does not print."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def tell(line: str) -> None:
    """Say something on stderr, if there is one: names in it may come from anywhere."""
    if sys.stderr is not None:
        print(printable(line), file=sys.stderr)


def counted(number: int, what: str) -> str:
    """`1 pod`, `2 pods`: of what has an ordinary plural."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as kubectl prints a table, a line each."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    padded = ("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [printable(line.rstrip()) for line in padded]
