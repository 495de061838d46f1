"""Figures as a table of text, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import orjson

from benchmarks.measuring import Figure

HEADS = ("what", "measured", "goal", "", "bound", "ratio", "real", "seen")
MARKS = {True: "met", False: "MISSED", None: ""}


def amount(value: float | None, unit: str) -> str:
    """A figure with its unit; three digits where it is small."""
    if value is None:
        return ""
    if abs(value) >= 1000 or abs(value) >= 100 or value == int(value):
        digits = 0
    elif abs(value) >= 10:
        digits = 1
    else:
        digits = 2 if abs(value) >= 1 else 3
    gap = "" if unit.startswith("/") else " "
    return f"{value:,.{digits}f}{gap}{unit}"


def cells(figure: Figure) -> tuple[str, ...]:
    sign = "" if figure.goal is None else ("≥ " if figure.more_is_better else "≤ ")
    ratio = "" if figure.ratio is None else f"{figure.ratio:.1f}"
    return (
        figure.what,
        amount(figure.value, figure.unit),
        sign + amount(figure.goal, figure.unit),
        MARKS[figure.met],
        amount(figure.bound, figure.unit),
        ratio,
        figure.real,
        figure.note,
    )


def header(widths: Sequence[int]) -> str:
    line = row(HEADS, widths)
    return f"{line}\n{row(['-' * width for width in widths], widths)}"


def row(texts: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(text.ljust(width) for text, width in zip(texts, widths, strict=True)) + " |"


def table(figures: Sequence[Figure]) -> str:
    """All of them, in Markdown's form."""
    rows = [cells(figure) for figure in figures]
    widths = [max(map(len, column)) for column in zip(HEADS, *rows, strict=True)]
    return "\n".join([header(widths), *(row(one, widths) for one in rows)])


def to_json(figures: Sequence[Figure]) -> bytes:
    found = [{**asdict(figure), "met": figure.met, "ratio": figure.ratio} for figure in figures]
    return orjson.dumps(found, option=orjson.OPT_INDENT_2)
