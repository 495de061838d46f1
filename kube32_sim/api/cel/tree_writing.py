"""Syntax trees of CEL back into what `Env.deserialize()` of the CEL library takes: `tree.decode` the other way round.

What a rewritten tree is for: macros that the library does not know.
"""

from __future__ import annotations

from kube32_sim.api.cel.tree import (
    CHECKED,
    PARSED,
    Call,
    Comprehension,
    Constant,
    Entry,
    Expr,
    Ident,
    ListExpr,
    Reference,
    Select,
    StructExpr,
    Tree,
    Type,
)
from kube32_sim.api.cel.tree_wire import put, put_number, put_real, put_varint

_PRIMITIVES = {"bool": 1, "int": 2, "uint": 3, "double": 4, "string": 5, "bytes": 6}
_WELL_KNOWN = {"any": 1, "timestamp": 2, "duration": 3}
_EMPTY = {"dyn": 1, "function": 8, "type": 11, "error": 12}
_NAMED = {"message": 9, "type_param": 10}
_SIMPLE_CONSTANTS = {"null": 1, "bool": 2, "int": 3, "uint": 4}
_OTHER_CONSTANTS = {"string": 6, "bytes": 7, "duration": 8, "timestamp": 9}


def encode(tree: Tree) -> bytes:
    """The bytes of a tree.  `Env.deserialize()` believes its types and references: it checks nothing again."""
    root = _expr(tree.root)
    if not tree.checked:
        return put(1, PARSED) + put(2, put(2, root) + put(3, tree.source_info))
    references = b"".join(put(2, put_number(1, id_) + put(2, _reference(of))) for id_, of in tree.references.items())
    types = b"".join(put(3, put_number(1, id_) + put(2, _type(of))) for id_, of in tree.types.items())
    return put(1, CHECKED) + put(2, references + types + put(4, root) + put(5, tree.source_info))


def _reference(reference: Reference) -> bytes:
    name = put(1, reference.name) if reference.name else b""
    constant = put(4, reference.constant) if reference.constant else b""
    return name + b"".join(put(3, overload) for overload in reference.overloads) + constant


def _type(of: Type) -> bytes:
    kind = of.kind
    if kind in _PRIMITIVES:
        return put_number(3, _PRIMITIVES[kind])
    if kind in _WELL_KNOWN:
        return put_number(5, _WELL_KNOWN[kind])
    if kind in _NAMED:
        return put(_NAMED[kind], of.name)
    match kind:
        case "null":
            return put_number(2, 0)
        case "list":
            return put(6, put(1, _type(of.params[0])))
        case "map":
            return put(7, put(1, _type(of.params[0])) + put(2, _type(of.params[1])))
        case "opaque":
            return put(14, put(1, of.name) + b"".join(put(2, _type(one)) for one in of.params))
    return put(_EMPTY[kind], b"")


def _expr(expr: Expr) -> bytes:
    match expr:
        case Constant():
            body = put(3, _constant(expr))
        case Ident():
            body = put(4, put(1, expr.name))
        case Select():
            test = put_number(3, 1) if expr.test_only else b""
            body = put(5, put(1, _expr(expr.operand)) + put(2, expr.field) + test)
        case Call():
            target = put(1, _expr(expr.target)) if expr.target is not None else b""
            body = put(6, target + put(2, expr.function) + b"".join(put(3, _expr(one)) for one in expr.args))
        case ListExpr():
            optional = put(2, b"".join(map(put_varint, expr.optional))) if expr.optional else b""
            body = put(7, b"".join(put(1, _expr(one)) for one in expr.elements) + optional)
        case StructExpr():
            message = put(1, expr.message) if expr.message else b""
            body = put(8, message + b"".join(put(2, _entry(one)) for one in expr.entries))
        case Comprehension():
            body = put(9, _comprehension(expr))
    return put_number(2, expr.id) + body


def _constant(constant: Constant) -> bytes:
    value, kind = constant.value, constant.kind
    if kind in _SIMPLE_CONSTANTS:
        return put_number(_SIMPLE_CONSTANTS[kind], int(value or 0))
    if isinstance(value, float):
        return put_real(5, value)
    if isinstance(value, (str, bytes)):
        return put(_OTHER_CONSTANTS[kind], value)
    raise ValueError(f"{value!r} is no constant of kind {kind}")


def _entry(entry: Entry) -> bytes:
    key = put(2, entry.key) if isinstance(entry.key, str) else put(3, _expr(entry.key))
    optional = put_number(5, 1) if entry.optional else b""
    return put_number(1, entry.id) + key + put(4, _expr(entry.value)) + optional


def _comprehension(expr: Comprehension) -> bytes:
    second = put(8, expr.iter_var2) if expr.iter_var2 else b""
    return b"".join(
        (
            put(1, expr.iter_var),
            put(2, _expr(expr.iter_range)),
            put(3, expr.accu_var),
            put(4, _expr(expr.accu_init)),
            put(5, _expr(expr.loop_condition)),
            put(6, _expr(expr.loop_step)),
            put(7, _expr(expr.result)),
            second,
        )
    )
