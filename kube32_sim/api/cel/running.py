"""What a checked tree becomes before it runs: the library cannot hand optional values in or out, lists it can.

An optional value that comes from outside (a variable, a function of ours) is a list of at most one element there, and
`x[?0]` makes it optional again; a result that is optional goes out as `[?x]`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields
from typing import Any, NamedTuple

from kube32_sim.api.cel.functions import OVERLOADS
from kube32_sim.api.cel.tree import (
    Call,
    Comprehension,
    Constant,
    Entry,
    Expr,
    Ident,
    ListExpr,
    Tree,
    decode,
)
from kube32_sim.api.cel.tree_writing import encode
from kube32_sim.api.cel.walking import walk

_OPTIONAL_FUNCTIONS = frozenset(each.name for each in OVERLOADS if each.returns.startswith("optional_type"))


class Optional(NamedTuple):
    """An optional value.  present: whether there is one."""

    present: bool
    value: Any = None


def prepared(serialized: bytes, source: str, variables: Collection[str], *, optional_result: bool) -> bytes:
    """A checked tree as it runs.  variables: the names of optional ones."""
    if not (optional_result or any(mark in source for mark in ("?", "optional", *_OPTIONAL_FUNCTIONS, *variables))):
        return serialized
    tree = decode(serialized)
    rewriter = _Rewriter(tree, variables)
    root = rewriter.rewrite(tree.root)
    tree.root = rewriter.wrapped_result(root) if optional_result else root
    return encode(tree)


class _Rewriter:
    def __init__(self, tree: Tree, variables: Collection[str]) -> None:
        self._next = max((each.id for each in walk(tree.root)), default=0)
        self._variables = frozenset(variables)

    def _new_id(self) -> int:
        self._next += 1
        return self._next

    def rewrite(self, expr: Expr) -> Expr:
        bound = self._variables
        if isinstance(expr, Comprehension):
            inner = {expr.iter_var, expr.iter_var2, expr.accu_var}
            expr.iter_range, expr.accu_init = self.rewrite(expr.iter_range), self.rewrite(expr.accu_init)
            self._variables = bound - inner
            for name in ("loop_condition", "loop_step", "result"):
                setattr(expr, name, self.rewrite(getattr(expr, name)))
            self._variables = bound
            return expr
        _replace_children(expr, self.rewrite)
        if isinstance(expr, Ident) and expr.name in bound:
            return self._optional(expr)
        if isinstance(expr, Call) and expr.function in _OPTIONAL_FUNCTIONS:
            return self._optional(expr)
        return expr

    def _optional(self, expr: Expr) -> Expr:
        return Call(self._new_id(), "_[?_]", [expr, Constant(self._new_id(), "int", 0)])

    def wrapped_result(self, expr: Expr) -> Expr:
        return ListExpr(self._new_id(), [expr], [0])


def _replace_children(expr: Expr | Entry, replace: Callable[[Expr], Expr]) -> None:
    for each in fields(expr):
        value = getattr(expr, each.name)
        if isinstance(value, list):
            setattr(expr, each.name, [_replaced(item, replace) for item in value])
        else:
            setattr(expr, each.name, _replaced(value, replace))


def _replaced(value: Any, replace: Callable[[Expr], Expr]) -> Any:
    if isinstance(value, Entry):
        _replace_children(value, replace)
        return value
    return replace(value) if isinstance(value, Expr) else value
