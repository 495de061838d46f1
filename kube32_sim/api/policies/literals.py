"""The literals of mutations, `Object.spec{replicas: 3}` and `JSONPatch{op: "add"}`: typed to check, maps to evaluate.

CEL wants to know the fields of a type beforehand, but these types have whatever fields an expression gives them: they
are read off its source.  To be checked, the source stays as it is but for the dots in the names of types (a type cannot
be inside another); to be evaluated, literals become maps that remember their type.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from kube32_sim.api.cel.types import DYN, STRING, CelType, object_type

JsonObject = dict[str, Any]

TYPE_KEY = "\x00type"
"""Where the map of a literal remembers its type."""
OBJECT, JSON_PATCH = "Object", "JSONPatch"
JSON_PATCH_TYPE = object_type(JSON_PATCH, {"op": STRING, "path": STRING, "from": STRING, "value": DYN})

_TOKEN = re.compile(
    r"""
    (?P<skip>\s+|//[^\n]*)
    |(?P<string>[rRbB]{0,2}(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<literal>(?:Object(?:\s*\.\s*[_a-zA-Z]\w*)*|JSONPatch)(?=\s*\{))
    |(?P<name>[_a-zA-Z]\w*|\d[\w.]*)
    |(?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENING, _CLOSING = "([{", ")]}"


class Literals(NamedTuple):
    """checked, evaluated: the source for either purpose; the first has the length of the original.

    types: of the literals, by the names that `checked` gives them.  names: these -> as they are written.
    """

    checked: str
    evaluated: str
    types: dict[str, CelType]
    names: dict[str, str]


class _Frame:
    """A bracket that is open.  type: of a literal; "" for any other.  optional: of the field that was read last."""

    __slots__ = ("optional", "type", "wrapped")

    def __init__(self, kind: str) -> None:
        self.type = kind
        self.optional = False
        self.wrapped = False
        """Whether the value being read is inside a `dyn(...)`, without which a map's values must be of one type."""


class _Reader:
    """One walk over a source.  open: what encloses the place, innermost last.  starts: a field may begin here."""

    def __init__(self) -> None:
        self.checked: list[str] = []
        self.evaluated: list[str] = []
        self.fields: dict[str, dict[str, CelType]] = {}
        self.names: dict[str, str] = {}
        self.open = [_Frame("")]
        self.before = ""
        self.starts = False

    def read(self, source: str) -> None:
        pending = ""
        for found in _TOKEN.finditer(source):
            kind, text = found.lastgroup, found.group()
            if kind == "literal" and self.before != ".":
                pending = self._literal(text)
            elif kind == "mark":
                self._mark(text, pending)
                pending = ""
            elif kind == "name" and self.starts:
                self._field(text)
            else:
                self._copy(text)
            if kind != "skip":
                self.starts = bool(self.open[-1].type) and (text in "{," or (self.starts and text == "?"))
                self.before = text

    def _copy(self, text: str) -> None:
        self.checked.append(text)
        self.evaluated.append(text)

    def _literal(self, text: str) -> str:
        """The type of the literal whose brace comes next, as it is named while it is checked."""
        flat = re.sub(r"\s", "", text.replace(".", "_"))
        self.names[flat] = re.sub(r"\s", "", text)
        self.fields.setdefault(flat, {})
        self.checked.append(flat.ljust(len(text)))
        return flat

    def _mark(self, text: str, pending: str) -> None:
        frame = self.open[-1]
        if frame.wrapped and text in ",)]}":
            self.evaluated.append(")")
            frame.wrapped = False
        self._copy(text)
        if text in _OPENING:
            self.open.append(_Frame(pending))
            if pending:
                self.evaluated.append(f'"\\u0000type": dyn("{self.names[pending]}"), ')
        elif text in _CLOSING and len(self.open) > 1:
            self.open.pop()
        elif frame.type and text == ":" and not frame.wrapped and not frame.optional:
            self.evaluated.append("dyn(")
            frame.wrapped = True

    def _field(self, text: str) -> None:
        frame = self.open[-1]
        frame.optional = self.before == "?"
        self.checked.append(text)
        self.evaluated.append(f'"{text}"')
        self.fields[frame.type].setdefault(text, DYN)


def read_literals(source: str) -> Literals:
    """What an expression's literals are.  A source that is no CEL comes out as something that is none either."""
    reader = _Reader()
    reader.read(source)
    types = {name: object_type(name, fields) for name, fields in reader.fields.items() if name != JSON_PATCH}
    if JSON_PATCH in reader.fields:
        types[JSON_PATCH] = JSON_PATCH_TYPE
    return Literals("".join(reader.checked), "".join(reader.evaluated), types, reader.names)


def as_written(text: str, literals: Literals) -> str:
    """A message about `checked` with the types' names as they were written."""
    for flat, name in literals.names.items():
        text = re.sub(rf"\b{flat}\b", name, text)
    return text


def plain(value: Any) -> Any:
    """A value without what its literals remember."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items() if name != TYPE_KEY}
    return [plain(item) for item in value] if isinstance(value, list) else value


def type_faults(value: Any) -> list[str]:
    """Where the types of literals do not say the path at which they stand, in upstream's words."""
    named = value.get(TYPE_KEY) if isinstance(value, dict) else None
    return _type_faults(value, named) if named is not None else []


def _type_faults(value: Any, path: str) -> list[str]:
    """path: the type that a literal here must have."""
    if isinstance(value, list):
        return [fault for item in value for fault in _type_faults(item, path)]
    if not isinstance(value, dict):
        return []
    found, named = [], value.get(TYPE_KEY)
    if named is not None and named != path:
        what = "which matches field name path from root Object type"
        found.append(f'unexpected type name "{named}", expected "{path}", {what}')
    for name, item in value.items():
        if name != TYPE_KEY:
            found += _type_faults(item, path if named is None else f"{path}.{name}")
    return found
