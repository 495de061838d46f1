"""What `top` shows, as text of some width.  Pure: a picture in, a table or a screen out.

Names and messages come from outside: they stay on their line, and command no terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kube32_sim.terminal import printable
from kube32_sim.top.picture import MEMORY, PINS, PSRAM, SHOWN, Board, Pending, Picture

TITLES = {MEMORY: "HEAP", PSRAM: "PSRAM", PINS: "PINS"}
KEYS = "q quit   s sort   arrows, page keys scroll"
WIDE, NARROW = 110, 56
"""Columns from which kinds and all resources have room."""
LONGEST, SHORTEST, FIGURE, GAP = 10, 3, 7, 2
"""Characters of a bar, of what is written beside it, and between two columns."""
FULL, NEARLY = 0.9, 0.75
MOST_PENDING = 5


@dataclass(frozen=True, slots=True)
class View:
    """How it is looked at.  offset: how many boards are above the first line.  ascii: no other characters.

    clock: what time it is, in words.  trouble: what keeps the picture from being true; "" while nothing does.
    """

    width: int
    height: int
    sort: str = "name"
    offset: int = 0
    clock: str = ""
    trouble: str = ""
    ascii: bool = False


def amount(resource: str, value: int) -> str:
    """`240Ki`, `8Mi`, `30`."""
    if resource == PINS:
        return str(value)
    sign, left = ("-" if value < 0 else ""), float(abs(value))
    for unit in ("", "Ki", "Mi"):
        if left < 1024:
            return f"{sign}{round(left, 1 if left < 10 else 0):g}{unit}"
        left /= 1024
    return f"{sign}{round(left, 1 if left < 10 else 0):g}Gi"


# one table, for pipes and files


def plain(picture: Picture, sort: str) -> str:
    """As kubectl prints tables: the boards, and below them the pods that wait."""
    boards = picture.boards(sort)
    head = ["BOARD", "STATUS", "HEAP-FREE", "HEAP%", "PSRAM-FREE", "PSRAM%", "PINS-FREE", "PINS%", "PODS"]
    lines = _aligned([head, *map(_plain_row, boards)]) if boards else ["No boards."]
    pending = picture.pending()
    if pending:
        rows = [["PENDING", "MESSAGE"], *([printable(one.pod), printable(one.message)] for one in pending)]
        lines += ["", *_aligned(rows)]
    return "".join(f"{line}\n" for line in lines)


def _plain_row(board: Board) -> list[str]:
    cells = [printable(board.name), printable(board.status)]
    for resource in SHOWN:
        if resource in board.capacity:
            cells += [amount(resource, board.free[resource]), f"{board.used(resource):.0%}"]
        else:
            cells += ["-", "-"]
    return [*cells, f"{board.running}/{board.pods}"]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["   ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


# a screen


def room(view: View, pending: int) -> int:
    """How many boards there are lines for: beside the head, the pods that wait, and the foot."""
    return max(1, view.height - 4 - _lines_below(view, pending))


def _lines_below(view: View, pending: int) -> int:
    """Of the pods that wait, with their title: half of what there is at most, and none where that is too little."""
    wanted = min(pending, MOST_PENDING) + (pending > 0) + (pending > MOST_PENDING)
    lines = min(wanted, (view.height - 4) // 2)
    return lines if lines > 1 else 0


def screen(picture: Picture, view: View) -> RenderableType:
    """All of a terminal, and no line more."""
    boards, pending = picture.boards(view.sort), picture.pending()
    lines = room(view, len(pending))
    shown = boards[view.offset : view.offset + lines]
    parts: list[RenderableType] = [_summary(boards, picture, view), _table(shown, view)]
    parts += [Text("")] * (lines - len(shown))
    parts += _waiting(pending, _lines_below(view, len(pending)))
    hidden = f"{view.offset + 1}-{view.offset + len(shown)} of {len(boards)}   " if len(shown) < len(boards) else ""
    parts.append(_line(f"{hidden}sorted by {view.sort}   {KEYS}", "dim"))
    return Group(*parts)


def _line(text: str, style: str = "") -> Text:
    return Text(printable(text), style=style, no_wrap=True, overflow="ellipsis")


def _summary(boards: Sequence[Board], picture: Picture, view: View) -> Group:
    ready = sum(board.status.startswith("Ready") for board in boards)
    running, pods = picture.pods()
    pending = len(picture.pending())
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append("kube32-sim", style="bold").append("   boards ").append(
        f"{ready}/{len(boards)}", _alarm(ready < len(boards))
    )
    line.append("   pods ").append(f"{running}/{pods}").append("   pending ").append(str(pending), _alarm(pending > 0))
    if view.clock:
        line.append(f"   {view.clock}", style="dim")
    return Group(line, _line(view.trouble, "bold red") if view.trouble else Text(""))


def _alarm(wrong: bool) -> str:
    return "bold red" if wrong else "bold"


def _table(boards: Sequence[Board], view: View) -> Table:
    table = Table(box=None, padding=(0, GAP, 0, 0), expand=False, header_style="bold", show_edge=False)
    shown = SHOWN if view.width >= NARROW else (MEMORY,)
    columns: list[tuple[str, Callable[[Board], Text]]] = [("BOARD", lambda board: _line(board.name))]
    columns.append(("STATUS", lambda board: _line(board.status, "" if board.ready else "yellow")))
    length = _length_of_bars(boards, view, len(shown))
    columns += [(TITLES[resource], _gauge(resource, length, view.ascii)) for resource in shown]
    columns.append(("PODS", lambda board: Text(f"{board.running}/{board.pods}")))
    if view.width >= WIDE:
        columns.append(("KIND", lambda board: _line(board.kind, "dim")))
    for title, _ in columns:
        table.add_column(title, no_wrap=True, overflow="ellipsis", ratio=None)
    for board in boards:
        table.add_row(*(cell(board) for _, cell in columns))
    return table


def _length_of_bars(boards: Sequence[Board], view: View, count: int) -> int:
    """What all else leaves them; 0 where that is too little."""
    columns: list[Callable[[Board], str]] = [lambda board: board.name, lambda board: board.status]
    if view.width >= WIDE:
        columns.append(lambda board: board.kind)
    taken = sum(max((len(text(board)) for board in boards), default=0) + GAP for text in columns)
    left = view.width - taken - len("10/10") - GAP - count * (FIGURE + GAP)
    length = min(LONGEST, left // count)
    return length if length >= SHORTEST else 0


def _gauge(resource: str, length: int, ascii_only: bool) -> Callable[[Board], Text]:
    """A bar of what is used, where there is room, and what is free."""
    full, empty = ("#", ".") if ascii_only else ("■", "·")

    def cell(board: Board) -> Text:
        if resource not in board.capacity:
            return Text("-", style="dim")
        used = board.used(resource)
        style = "red" if used >= FULL else "yellow" if used >= NEARLY else "green"
        marks = min(length, round(used * length) or (used > 0))
        text = Text(full * marks, style=style).append(empty * (length - marks), style="dim")
        return text.append((" " if length else "") + amount(resource, board.free[resource]), style="")

    return cell


def _waiting(pending: Sequence[Pending], lines: int) -> list[RenderableType]:
    if not lines:
        return []
    shown = len(pending) if len(pending) < lines else lines - 1 - (lines > 2)
    parts: list[RenderableType] = [_line(f"PENDING {len(pending)}", "bold")]
    for one in pending[:shown]:
        text = Text(no_wrap=True, overflow="ellipsis").append(printable(one.pod), style="yellow")
        parts.append(text.append(f"  {printable(one.message)}"))
    if 2 < lines <= len(pending):
        parts.append(_line(f"and {len(pending) - shown} more", "dim"))
    return parts
