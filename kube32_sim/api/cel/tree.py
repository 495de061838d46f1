"""The syntax tree of a compiled CEL expression, read from what the CEL library serializes, and written back.

The library (cel-expr-python) shows no tree of its own, but `Expression.serialize()` gives a `google.protobuf.Any` with
a `cel.expr.CheckedExpr`, or with a `cel.expr.ParsedExpr` where it was told not to check types.  The numbers of fields
below are those of `cel/expr/syntax.proto` and `checked.proto`; `tree_wire` knows the wire format, `tree_writing` is the
other direction.
`cost` estimates costs from these trees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from kube32_sim.api.cel.tree_wire import Message, read, real, signed, varints

CHECKED = "type.googleapis.com/cel.expr.CheckedExpr"
PARSED = "type.googleapis.com/cel.expr.ParsedExpr"

_KINDS = ("", "null", "bool", "int", "uint", "double", "string", "bytes", "duration", "timestamp")
_PRIMITIVES = ("dyn", "bool", "int", "uint", "double", "string", "bytes")
_WELL_KNOWN = ("dyn", "any", "timestamp", "duration")


@dataclass(slots=True)
class Constant:
    """kind: null, bool, int, uint, double, string, bytes, and duration and timestamp in old trees (their raw bytes)."""

    id: int
    kind: str
    value: bool | int | float | str | bytes | None


@dataclass(slots=True)
class Ident:
    id: int
    name: str


@dataclass(slots=True)
class Select:
    """`operand.field`, or with `test_only` what the macro `has(operand.field)` becomes."""

    id: int
    operand: Expr
    field: str
    test_only: bool = False


@dataclass(slots=True)
class Call:
    """Operators are functions too: `_==_`, `_[_]`, `_?_:_`.  target: None unless it is a method's."""

    id: int
    function: str
    args: list[Expr]
    target: Expr | None = None


@dataclass(slots=True)
class ListExpr:
    """optional: indices of the elements written `?element`."""

    id: int
    elements: list[Expr]
    optional: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Entry:
    """key: an expression in a map, the name of a field in a message."""

    id: int
    key: Expr | str
    value: Expr
    optional: bool = False


@dataclass(slots=True)
class StructExpr:
    """A map literal (message "") or a message literal."""

    id: int
    message: str
    entries: list[Entry]


@dataclass(slots=True)
class Comprehension:
    """What `all`, `exists`, `map`, `filter`, `cel.bind` and their like become.  iter_var2: "" but for two variables."""

    id: int
    iter_var: str
    iter_range: Expr
    accu_var: str
    accu_init: Expr
    loop_condition: Expr
    loop_step: Expr
    result: Expr
    iter_var2: str = ""


Expr = Constant | Ident | Select | Call | ListExpr | StructExpr | Comprehension


@dataclass(frozen=True, slots=True)
class Type:
    """The type that the checker found.

    kind: dyn, null, bool, int, uint, double, string, bytes, any, timestamp, duration, list, map, message, opaque,
    type_param, type, function or error.  name: of a message, an opaque type or a type parameter.  params: the element
    of a list, key and value of a map, the parameters of an opaque type.
    """

    kind: str
    params: tuple[Type, ...] = ()
    name: str = ""


DYN = Type("dyn")


@dataclass(slots=True)
class Reference:
    """name: what an identifier means, "" of a call.  overloads: which declarations of a function a call may run.

    constant: of an enumeration, as it came, for writing back.
    """

    name: str = ""
    overloads: tuple[str, ...] = ()
    constant: bytes = b""


@dataclass(slots=True)
class Tree:
    """types and references: by the ids of nodes, empty unless checked.  source_info: as it came, for writing back."""

    root: Expr
    types: dict[int, Type] = field(default_factory=dict)
    references: dict[int, Reference] = field(default_factory=dict)
    checked: bool = False
    source_info: bytes = b""

    def type_of(self, expr: Expr) -> Type:
        return self.types.get(expr.id, DYN)

    def overloads_of(self, expr: Expr) -> tuple[str, ...]:
        reference = self.references.get(expr.id)
        return reference.overloads if reference else ()


def decode(serialized: bytes) -> Tree:
    """The tree of `Expression.serialize()`; ValueError for bytes that are not one."""
    envelope = read(serialized)
    url, body = envelope.text(1), read(envelope.raw(2))
    if url == CHECKED:
        types = {one.number(1): _type_of(one.raw(2)) for one in body.messages(3)}
        references = {one.number(1): _reference(read(one.raw(2))) for one in body.messages(2)}
        return Tree(_expr(read(body.raw(4))), types, references, True, body.raw(5))
    if url == PARSED:
        return Tree(_expr(read(body.raw(2))), source_info=body.raw(3))
    raise ValueError(f"no syntax tree of CEL: {url!r}")


def _reference(message: Message) -> Reference:
    return Reference(message.text(1), tuple(message.texts(3)), message.raw(4))


@lru_cache(maxsize=256)
def _type_of(serialized: bytes) -> Type:
    """The same few types come again and again."""
    message = read(serialized)
    for number in message.present():
        reader = _TYPES.get(number)
        if reader is not None:
            return reader(message, number)
    return DYN


def _simple(kind: str) -> Callable[[Message, int], Type]:
    return lambda message, number: Type(kind)


def _enumerated(names: tuple[str, ...]) -> Callable[[Message, int], Type]:
    def typed(message: Message, number: int) -> Type:
        value = message.number(number)
        return Type(names[value] if value < len(names) else "dyn")

    return typed


def _named(kind: str) -> Callable[[Message, int], Type]:
    return lambda message, number: Type(kind, name=message.text(number))


def _parametrized(kind: str, *numbers: int) -> Callable[[Message, int], Type]:
    def typed(message: Message, number: int) -> Type:
        inner = read(message.raw(number))
        return Type(kind, tuple(_type_of(inner.raw(one)) for one in numbers))

    return typed


def _opaque(message: Message, number: int) -> Type:
    inner = read(message.raw(number))
    return Type("opaque", tuple(map(_type_of, inner.raws(2))), inner.text(1))


_TYPES: dict[int, Callable[[Message, int], Type]] = {
    1: _simple("dyn"),
    2: _simple("null"),
    3: _enumerated(_PRIMITIVES),
    4: _enumerated(_PRIMITIVES),  # a wrapper, such as google.protobuf.Int64Value
    5: _enumerated(_WELL_KNOWN),
    6: _parametrized("list", 1),
    7: _parametrized("map", 1, 2),
    8: _simple("function"),
    9: _named("message"),
    10: _named("type_param"),
    11: _simple("type"),
    12: _simple("error"),
    14: _opaque,
}


def _expr(message: Message) -> Expr:
    for number in message.present():
        reader = _EXPRESSIONS.get(number)
        if reader is not None:
            return reader(message.number(2), read(message.raw(number)))
    raise ValueError("an expression of no kind")


def _constant(id_: int, message: Message) -> Expr:
    for number in message.present():
        if 0 < number < len(_KINDS):
            kind = _KINDS[number]
            return Constant(id_, kind, _constant_value(kind, message, number))
    raise ValueError("a constant of no kind")


def _constant_value(kind: str, message: Message, number: int) -> bool | int | float | str | bytes | None:
    match kind:
        case "null":
            return None
        case "bool":
            return bool(message.number(number))
        case "int":
            return signed(message.number(number))
        case "uint":
            return message.number(number)
        case "double":
            return real(message.raw(number))
        case "string":
            return message.text(number)
    return message.raw(number)


def _ident(id_: int, message: Message) -> Expr:
    return Ident(id_, message.text(1))


def _select(id_: int, message: Message) -> Expr:
    return Select(id_, _expr(read(message.raw(1))), message.text(2), bool(message.number(3)))


def _call(id_: int, message: Message) -> Expr:
    target = _expr(read(message.raw(1))) if message.has(1) else None
    return Call(id_, message.text(2), [_expr(one) for one in message.messages(3)], target)


def _list(id_: int, message: Message) -> Expr:
    return ListExpr(id_, [_expr(one) for one in message.messages(1)], varints(message, 2))


def _struct(id_: int, message: Message) -> Expr:
    return StructExpr(id_, message.text(1), [_entry(one) for one in message.messages(2)])


def _entry(message: Message) -> Entry:
    key = _expr(read(message.raw(3))) if message.has(3) else message.text(2)
    return Entry(message.number(1), key, _expr(read(message.raw(4))), bool(message.number(5)))


def _comprehension(id_: int, message: Message) -> Expr:
    parts = {number: _expr(read(message.raw(number))) for number in (2, 4, 5, 6, 7)}
    return Comprehension(
        id_, message.text(1), parts[2], message.text(3), parts[4], parts[5], parts[6], parts[7], message.text(8)
    )


_EXPRESSIONS: dict[int, Callable[[int, Message], Expr]] = {
    3: _constant,
    4: _ident,
    5: _select,
    6: _call,
    7: _list,
    8: _struct,
    9: _comprehension,
}
