"""Optional values in places where the library would end the process over them, found before an expression runs.

It cannot make Python values of maps with optional values; so these must not come about, neither in the open nor behind
the type dyn.  Upstream takes such expressions; what they would be good for is hard to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kube32_sim.api.cel.messages import CompileError
from kube32_sim.api.cel.tree import Call, Comprehension, Expr, ListExpr, Select, StructExpr, Tree, Type
from kube32_sim.api.cel.walking import walk

_MAKING = ("_?._", "_[?_]", "first", "last", "or")
"""Functions that may make optional values even where the checker is not sure of it."""
_PASSING = ("_[_]", "_?._", "_[?_]")
"""Operators whose first argument is what a method is called on."""


def forbid_hidden(tree: Tree) -> None:
    """Raises CompileError where an optional value may get into a map, or where nobody knows that it is one."""
    for expr in walk(tree.root):
        if any(_hides(tree, expr)):
            raise CompileError("optional values in maps, in lists of other values or of unknown type are not supported")


def _hides(tree: Tree, expr: Expr) -> Iterator[bool]:
    """Whether an expression puts optional values where they must not be, part by part."""
    if isinstance(expr, StructExpr):
        yield from _held(tree, ((entry.value, entry.optional) for entry in expr.entries))
    elif isinstance(expr, ListExpr) and not _has_optional(tree.type_of(expr)):
        yield from _held(tree, ((item, index in expr.optional) for index, item in enumerate(expr.elements)))
    elif isinstance(expr, Call) and _may_carry(tree.type_of(expr)):
        typed = _has_optional(tree.type_of(expr))
        for arg in expr.args[1:] if expr.function in _PASSING else expr.args:
            open_place = typed or expr.function not in ("dyn", "_?_:_")
            yield _is_hidden(tree, arg) or (not open_place and _may_be_optional(tree, arg))


def _held(tree: Tree, values: Iterable[tuple[Expr, bool]]) -> Iterator[bool]:
    """Whether elements are optional; of those written `?x`, whether what is in them is."""
    for value, optional in values:
        yield any(map(_has_optional, tree.type_of(value).params)) if optional else _may_be_optional(tree, value)


def _is_hidden(tree: Tree, expr: Expr) -> bool:
    return not _has_optional(tree.type_of(expr)) and _may_be_optional(tree, expr)


def _may_be_optional(tree: Tree, expr: Expr) -> bool:
    if _has_optional(tree.type_of(expr)):
        return True
    if isinstance(expr, Select):
        return not expr.test_only and _may_be_optional(tree, expr.operand)
    if not _may_carry(tree.type_of(expr)):
        return False
    if isinstance(expr, Comprehension):  # optMap is one, too
        return any(_may_be_optional(tree, part) for part in (expr.accu_init, expr.loop_step, expr.result))
    if not isinstance(expr, Call):
        return False
    if expr.function in _MAKING:
        return True
    if expr.function == "orValue":
        return any(_may_be_optional(tree, arg) for arg in expr.args)
    return expr.function == "_[_]" and _may_be_optional(tree, expr.args[0])


def _may_carry(kind: Type) -> bool:
    """Whether a value of a type can be optional, or have optional ones in it."""
    return kind.kind in ("dyn", "type_param") or kind.name == "optional_type" or any(map(_may_carry, kind.params))


def _has_optional(kind: Type) -> bool:
    return kind.name == "optional_type" or any(map(_has_optional, kind.params))
