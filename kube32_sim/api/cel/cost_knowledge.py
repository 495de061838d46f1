"""What is known of the parts of an expression while its cost is estimated: their places in the schema, their sizes.

Follows the bookkeeping of cel-go's `checker/cost.go`: a size comes from a literal, from the schema at a part's path,
from the functions that made a value, or from the variable that a macro binds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kube32_sim.api.cel.cost_calls import Operand
from kube32_sim.api.cel.cost_range import ONE, UNKNOWN, Range, fixed
from kube32_sim.api.cel.cost_sizes import SizedType
from kube32_sim.api.cel.tree import DYN, Call, Constant, Expr, Ident, ListExpr, StructExpr, Tree, Type

Path = tuple[str, ...]

_ROOTS = {"self", "oldSelf"}
_ARITHMETIC = {"_+_", "_-_", "_*_", "_/_", "_%_"}
_SCALARS = {"bool", "int", "uint", "double", "timestamp", "duration"}


class Entries(NamedTuple):
    """Sizes of the keys and values of a map, or of the items of a list that the expression itself makes.

    kind: list or map.
    """

    kind: str
    key: Range
    value: Range

    def union(self, other: Entries | None) -> Entries | None:
        return other and Entries(self.kind, self.key.union(other.key), self.value.union(other.value))


class Variable(NamedTuple):
    """What a macro binds: a variable that runs over a range, an accumulator, or one of `cel.bind`."""

    path: Path
    size: Range | None
    entries: Entries | None = None


class Knowledge:
    """Of one tree.  Parts are told apart by their ids."""

    def __init__(self, tree: Tree, root: SizedType | None) -> None:
        self._tree = tree
        self._root = root
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, Entries] = {}
        self._variables: dict[str, list[Variable]] = {}

    def overloads_of(self, expr: Expr) -> tuple[str, ...]:
        return self._tree.overloads_of(expr)

    @contextmanager
    def bound(self, name: str, variable: Variable) -> Iterator[None]:
        """While the part is looked at in which the variable has its value."""
        stack = self._variables.setdefault(name, [])
        stack.append(variable)
        yield
        stack.pop()

    def _variable(self, expr: Expr) -> Variable | None:
        stack = self._variables.get(expr.name) if isinstance(expr, Ident) else None
        return stack[-1] if stack else None

    def local(self, expr: Expr) -> Variable:
        """A variable with the value of an expression."""
        return Variable(self.path(expr), self.size(expr), self.entries(expr))

    def each_key(self, over: Expr) -> Variable:
        """The first of two variables that run over a list or a map."""
        entries = self.entries(over)
        step = "@indices" if self._container(over) == "list" else "@keys"
        return Variable((*self.path(over), step), entries and entries.key)

    def each_value(self, over: Expr) -> Variable:
        """The second of two variables."""
        entries = self.entries(over)
        step = "@items" if self._container(over) == "list" else "@values"
        return Variable((*self.path(over), step), entries and entries.value)

    def each(self, over: Expr) -> Variable:
        """The only variable that runs over a list's items or a map's keys."""
        return self.each_value(over) if self._container(over) == "list" else self.each_key(over)

    def _container(self, over: Expr) -> str:
        entries = self.entries(over)
        return entries.kind if entries else self.type(over).kind

    def path(self, expr: Expr) -> Path:
        """Where the value lies in the schema, () if nowhere."""
        variable = self._variable(expr)
        return variable.path if variable else self._paths.get(expr.id, ())

    def set_path(self, expr: Expr, path: Path) -> None:
        self._paths[expr.id] = path

    def ident_path(self, expr: Ident) -> Path:
        variable = self._variable(expr)
        return variable.path if variable else (expr.name,)

    def _declared(self, expr: Expr) -> SizedType | None:
        return self._root.at(self.path(expr)) if self._root else None

    def type(self, expr: Expr) -> Type:
        """What the checker found; where it knew nothing (lists in lists have no protobuf form), what the schema has."""
        found = self._tree.type_of(expr)
        if found != DYN and DYN not in found.params:
            return found
        if isinstance(expr, Call) and expr.function in _ARITHMETIC:
            return self.type(expr.args[0])
        path = self.path(expr)
        if not path or path[0] not in _ROOTS:
            return found
        declared = self._declared(expr)
        return declared.type if declared else found

    def size(self, expr: Expr) -> Range | None:
        known = self._sizes.get(expr.id) or _literal_size(expr)
        if known:
            return known
        declared = self._declared(expr)
        if declared:
            self._sizes[expr.id] = declared.size
            return declared.size
        if _is_scalar(self.type(expr)):
            return ONE
        variable = self._variable(expr)
        return variable.size if variable else None

    def set_size(self, expr: Expr, size: Range | None) -> None:
        if size is not None:
            self._sizes[expr.id] = size

    def extent(self, expr: Expr) -> Range:
        """The size, even if nothing is known."""
        size = self.size(expr)
        return UNKNOWN if size is None else size

    def entries(self, expr: Expr) -> Entries | None:
        known = self._entries.get(expr.id)
        if known:
            return known
        variable = self._variable(expr)
        return variable.entries if variable else None

    def set_entries(self, expr: Expr, entries: Entries | None) -> None:
        if entries is not None:
            self._entries[expr.id] = entries

    def copy(self, to: Expr, of: Expr) -> None:
        """Sizes, where an expression has the value of another."""
        self.set_size(to, self.size(of))
        self.set_entries(to, self.entries(of))

    def operand(self, expr: Expr) -> Operand:
        kind = self.type(expr)
        element = kind.params[0] if kind.params else None
        path = self.path(expr)
        declared = self._root.at((*path, "@items")) if self._root and path and element else None
        return Operand(expr, kind, self.size(expr), element, declared.size if declared else None)


def _is_scalar(kind: Type) -> bool:
    """Of a size that does not depend on the value."""
    if kind.kind == "opaque" and kind.name == "optional_type":
        return _is_scalar(kind.params[0])
    return kind.kind in _SCALARS


def _literal_size(expr: Expr) -> Range | None:
    match expr:
        case Constant(value=str() | bytes() as value):
            return fixed(len(value))
        case Constant():
            return ONE
        case ListExpr():
            return fixed(len(expr.elements))
        case StructExpr(message=""):
            return fixed(len(expr.entries))
    return None
