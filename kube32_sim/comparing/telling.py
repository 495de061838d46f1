"""A comparison for people: what it comes to first, then tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kube32_sim.comparing.comparison import Comparison
from kube32_sim.comparing.objects import Kind
from kube32_sim.comparing.placements import REPLACED
from kube32_sim.durations import format_duration
from kube32_sim.terminal import columns, printable

NONE = "<none>"
Row = Sequence[str]


def lines(found: Comparison, *, wide: bool) -> Iterator[str]:
    """wide: objects one by one, with the fields that differ."""
    yield f"{_after(found)}{_summary(found)}"
    if found.equal:
        return
    if disruptions := _disruptions(found):
        yield f"since then: {disruptions}"
    if found.nodes:
        changes = [
            (one.name, one.before, one.after, one.fault or NONE, found.after(one.at) or "-") for one in found.nodes
        ]
        yield from _table(("NODE", "BEFORE", "AFTER", "FAULT", "AT"), changes)
    if found.pods:
        yield from _table(("POD", "WHAT", "BEFORE", "AFTER", "RESTARTS", "AT"), [*_pods(found)])
    if any(found.events):
        first, second = found.events
        events = [(reason, str(first[reason]), str(second[reason])) for reason in sorted({*first, *second})]
        yield from _table(("EVENTS", "FIRST", "SECOND"), events)
    if found.kinds:
        rows = [_counts(title, kind) for title, kind in found.kinds.items()]
        yield from _table(("OBJECTS", "ADDED", "CHANGED", "REMOVED"), rows)
    if wide and found.kinds:
        yield ""
        for title, kind in found.kinds.items():
            yield from (printable(line) for line in _each(title, kind))


def _after(found: Comparison) -> str:
    return f"after {format_duration(round(found.passed, 3))}: " if found.passed is not None else ""


def _summary(found: Comparison) -> str:
    if found.equal:
        return "nothing is different"
    counts = found.summary()
    more = [f"{counts[word]} {word}" for word in ("new", REPLACED) if counts[word]]
    moved, pending, lost = counts["moved"], counts["pending"], counts["lost"]
    return ", ".join([f"{moved} pod{'' if moved == 1 else 's'} moved", f"{pending} pending", f"{lost} lost", *more])


def _disruptions(found: Comparison) -> str:
    counts = found.summary()
    words = (("evicted", "evicted"), ("killed", "killed"), ("restarts", "restarts"))
    return ", ".join(f"{counts[name]} {word}" for name, word in words if counts[name])


def _pods(found: Comparison) -> Iterator[Row]:
    for pod in found.pods:
        name = pod.pod or pod.became
        if pod.pod and pod.became and pod.pod != pod.became:
            name = f"{pod.pod} -> {pod.became.rpartition('/')[2]}"
        yield name, pod.what, pod.before or NONE, pod.after or NONE, str(pod.restarts), found.after(pod.at) or "-"


def _counts(title: str, kind: Kind) -> Row:
    return title, str(len(kind.added)), str(len(kind.changed)), str(len(kind.removed))


def _each(title: str, kind: Kind) -> Iterator[str]:
    for name in kind.added:
        yield f"+ {title} {name}"
    for name in kind.removed:
        yield f"- {title} {name}"
    for name, fields in kind.changed.items():
        yield f"~ {title} {name}: {', '.join(fields)}"


def _table(head: Row, rows: Sequence[Row]) -> Iterator[str]:
    yield ""
    yield from columns([head, *rows])
