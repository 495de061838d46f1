"""Walking through the trees of expressions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from kube32_sim.api.cel.tree import Entry, Expr


def walk(expr: Expr) -> Iterator[Expr]:
    """An expression and all that is in it."""
    yield expr
    for each in fields(expr):
        value = getattr(expr, each.name)
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, Entry):
                for part in (item.key, item.value):
                    if isinstance(part, Expr):
                        yield from walk(part)
            elif isinstance(item, Expr):
                yield from walk(item)
