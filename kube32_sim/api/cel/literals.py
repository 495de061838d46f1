"""What Kubernetes asks of literals beyond their types: cel-go's validators, and lists and maps of one type each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from kube32_sim.api.cel.messages import CompileError
from kube32_sim.api.cel.tree import Call, Constant, Expr, ListExpr, StructExpr, Tree, Type
from kube32_sim.api.cel.tree_wire import read
from kube32_sim.api.cel.walking import walk

_CHECKED = re.compile(r"[\[{?]|\b(?:matches|duration|timestamp|optional|dyn)\b")
_NULLABLE = ("message", "timestamp", "duration", "opaque", "any")
_NAMES = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration", "null": "null_type"}


def may_have_faults(source: str) -> bool:
    """Whether an expression may have literals, or optional values in places that are to be looked at."""
    return _CHECKED.search(source) is not None


def check_literals(tree: Tree, source: str, fault_of: Callable[[str, str], str]) -> None:
    """Raises CompileError for a literal that is none.

    fault_of: why a function (`duration`, `timestamp`, `matches`) does not take a text, "" where it does.
    """
    faults = [*_mixed(tree), *_unreadable(tree, fault_of)]
    if faults:
        positions = _positions(tree)
        raise CompileError("\n".join(_shown(source, positions.get(id_, 0), why) for id_, why in faults))


def _unreadable(tree: Tree, fault_of: Callable[[str, str], str]) -> Iterator[tuple[int, str]]:
    for expr in walk(tree.root):
        if isinstance(expr, Call) and expr.function in ("duration", "timestamp", "matches"):
            text = expr.args[-1] if expr.args else None
            if not isinstance(text, Constant) or not isinstance(text.value, str):
                continue
            if fault_of(expr.function, text.value):
                yield text.id, f"invalid {expr.function} argument"


def _mixed(tree: Tree) -> Iterator[tuple[int, str]]:
    """Elements, keys and values whose types are not that of those before them."""
    for expr in walk(tree.root):
        if isinstance(expr, ListExpr):
            plain = (item for index, item in enumerate(expr.elements) if index not in expr.optional)
            yield from _mismatches(tree, plain)
        elif isinstance(expr, StructExpr) and not expr.message:
            yield from _mismatches(tree, (entry.key for entry in expr.entries if not isinstance(entry.key, str)))
            yield from _mismatches(tree, (entry.value for entry in expr.entries if not entry.optional))


def _mismatches(tree: Tree, elements: Iterable[Expr]) -> Iterator[tuple[int, str]]:
    before: Type | None = None
    for element in elements:
        kind = tree.type_of(element)
        if before is not None and not _compatible(before, kind):
            yield element.id, f"expected type '{_named(before)}' but found '{_named(kind)}'"
            return
        before = kind if before is None or before.kind == "null" else before


def _compatible(one: Type, other: Type) -> bool:
    if "dyn" in (one.kind, other.kind) or "type_param" in (one.kind, other.kind):
        return True
    if "null" in (one.kind, other.kind):
        return one.kind == other.kind or one.kind in _NULLABLE or other.kind in _NULLABLE
    if one.kind != other.kind or one.name != other.name or len(one.params) != len(other.params):
        return False
    return all(map(_compatible, one.params, other.params))


def _named(kind: Type) -> str:
    name = kind.name or _NAMES.get(kind.kind, kind.kind)
    return f"{name}({', '.join(map(_named, kind.params))})" if kind.params else name


def _positions(tree: Tree) -> dict[int, int]:
    """Where expressions begin, by their ids: characters from the start."""
    return {one.number(1): one.number(2) for one in (read(raw) for raw in read(tree.source_info).raws(4))}


def _shown(source: str, position: int, why: str) -> str:
    start = source.rfind("\n", 0, position) + 1
    line, column = source.count("\n", 0, position) + 1, position - start
    text = source[start:].partition("\n")[0]
    return f"ERROR: <input>:{line}:{column + 1}: {why}\n | {text}\n | {'.' * column}^"
