"""Values as Go's fmt shows them: `%v`, `%#v`, `%T`, and strings quoted (`%q`)."""

from __future__ import annotations

from typing import Any

_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_TYPES = {bool: "bool", str: "string", int: "int64", float: "float64", list: "[]interface {}"}
_MAP = "map[string]interface {}"


def quoted(text: str) -> str:
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """A float64 (or an int64): whole numbers without a fraction, in full below 1e21."""
    return str(int(value)) if value == value // 1 and abs(value) < 1e21 else repr(value)


def plain(value: Any) -> str:
    """`%v`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, list):
        return "[" + " ".join(map(plain, value)) + "]"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{plain(value[name])}" for name in sorted(value)) + "]"
    return "<nil>" if value is None else str(value)


def syntax(value: Any) -> str:
    """`%#v`."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(syntax, value)) + "}"
    if isinstance(value, dict):
        return _MAP + "{" + ", ".join(f"{quoted(name)}:{syntax(value[name])}" for name in sorted(value)) + "}"
    return "interface {}(nil)" if value is None else plain(value)


def type_name(value: Any) -> str:
    """`%T` of a value that is not null."""
    return _TYPES.get(type(value), _MAP)
