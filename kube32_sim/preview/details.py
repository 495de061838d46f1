"""More about why a node will not do, and about what a preview leaves out, in words that both profiles share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from kube32_sim.kestrel.filters import MISMATCH, UNTOLERATED, untolerated
from kube32_sim.kestrel.models import Node, Request

NAMED = 5
"""How many objects a message names before it counts the others."""
Shown = Callable[[int, int], str]
"""(place of a fitted resource, amount) as text with its unit."""


def detail(reason: str, request: Request, node: Node, shown: Shown) -> str:
    """What `filters.evaluate` leaves out of a reason; "" where there is no more to say.

    Of everything that is too little, not only of the first: who cures one lack wants to know the next.
    """
    if reason == UNTOLERATED:
        taint = untolerated(node.taints, request.tolerations)
        return f"{taint.key}={taint.value}:{taint.effect}" if taint is not None else ""
    if reason == MISMATCH:
        return ", ".join(f"{key}={value}" for key, value in request.selector if node.labels.get(key) != value)
    return "; ".join(_lacks(reason, request, node, shown))


def _lacks(reason: str, request: Request, node: Node, shown: Shown) -> Iterator[str]:
    for place, least, lacking in request.checks:
        if least > node.free[place]:
            amounts = (least, node.free[place], node.capacity[place])
            asked, free, capacity = (shown(place, amount) for amount in amounts)
            text = f"{asked} asked, {free} free of {capacity}"
            yield text if lacking == reason else f"{lacking}: {text}"


def some(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:NAMED])
    return f"{shown} and {len(names) - NAMED} more" if len(names) > NAMED else shown


def about_waiting(names: Collection[str]) -> Iterator[str]:
    """names: of pods of the cluster that have no node."""
    if names:
        yield f"{some(names)}: without a node, and left out, but may take a place first"
