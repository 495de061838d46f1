"""YAML texts as sigs.k8s.io/yaml turns them into JSON values: YAML 1.1 with Go's idea of numbers.

libyaml's events are put together here and not by PyYAML, whose numbers differ (`1:30`, `1e3`), which knows no limit to
what aliases expand to, and which does not say where a key occurs twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

JsonObject = dict[str, Any]

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE = frozenset(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"))
_FALSE = frozenset(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"))
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|[1-9][0-9]*|0)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_STRING_TAG = "tag:yaml.org,2002:str"
_BINARY_TAG = "tag:yaml.org,2002:binary"

#: Nodes that aliases may add up to, beyond ten for each node of the text.
_MOST_ALIASED = 100_000


class YamlError(ValueError):
    """A text that is no YAML, or not one that has a JSON form."""


@dataclass(slots=True)
class _Open:
    """A collection under construction.  key: of a mapping, the key whose value comes next."""

    value: Any
    anchor: str | None
    started: int
    key: str | None = None
    expects_key: bool = False
    merges: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class _Reader:
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, tuple[Any, int]] = field(default_factory=dict)
    repeated: list[str] = field(default_factory=list)
    root: Any = None
    nodes: int = 0
    aliased: int = 0


def loads(data: bytes) -> tuple[Any, list[str]]:
    """The first document as a JSON value (None where there is none), and a text per key that occurs twice."""
    import yaml

    reader = _Reader()
    try:
        for event in _events(data):
            if isinstance(event, yaml.DocumentEndEvent):
                break
            _take(reader, event)
    except yaml.YAMLError as error:
        raise YamlError(f"yaml: {_one_line(error)}") from None
    return reader.root, reader.repeated


def _events(data: bytes) -> Iterator[Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.parse(data, Loader=loader)


def _one_line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"line {mark.line + 1}: {problem}" if mark is not None else problem


def _take(reader: _Reader, event: Any) -> None:
    import yaml

    reader.nodes += 1
    if isinstance(event, yaml.ScalarEvent):
        value = _scalar(event)
        if event.anchor:
            reader.anchors[event.anchor] = (value, 1)
        _add(reader, value, event)
    elif isinstance(event, yaml.AliasEvent):
        _add(reader, _alias(reader, event.anchor), event)
    elif isinstance(event, yaml.MappingStartEvent):
        reader.stack.append(_Open({}, event.anchor, reader.nodes + reader.aliased, expects_key=True))
    elif isinstance(event, yaml.SequenceStartEvent):
        reader.stack.append(_Open([], event.anchor, reader.nodes + reader.aliased))
    elif isinstance(event, yaml.CollectionEndEvent):
        _close(reader, event)


def _alias(reader: _Reader, name: str | None) -> Any:
    if name is None or name not in reader.anchors:
        raise YamlError(f"yaml: unknown anchor '{name}' referenced")
    value, size = reader.anchors[name]
    reader.aliased += size
    if reader.aliased > _MOST_ALIASED + 10 * reader.nodes:
        raise YamlError("yaml: document contains excessive aliasing")
    return value


def _close(reader: _Reader, event: Any) -> None:
    done = reader.stack.pop()
    for source in reversed(done.merges):
        for name, item in _merged(source).items():
            done.value.setdefault(name, item)
    if done.anchor:
        reader.anchors[done.anchor] = (done.value, reader.nodes + reader.aliased - done.started + 1)
    _add(reader, done.value, event)


def _merged(source: Any) -> JsonObject:
    if isinstance(source, list):
        found: JsonObject = {}
        for item in source:
            found = {**_merged(item), **found}
        return found
    if not isinstance(source, dict):
        raise YamlError("yaml: map merge requires map or sequence of maps as the value")
    return source


def _add(reader: _Reader, value: Any, event: Any) -> None:
    if not reader.stack:
        reader.root = value
        return
    into = reader.stack[-1]
    if isinstance(into.value, list):
        into.value.append(value)
    elif into.expects_key:
        into.key, into.expects_key = _key(value, event), False
    else:
        _set(reader, into, value, event)
        into.expects_key = True


def _set(reader: _Reader, into: _Open, value: Any, event: Any) -> None:
    name = into.key or ""
    if name == "<<":
        into.merges.append(value)
        return
    if name in into.value:
        reader.repeated.append(f'line {event.start_mark.line + 1}: key "{name}" already set in map')
    into.value[name] = value


def _key(value: Any, event: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if value is None:
        return "null"
    raise YamlError(f"yaml: line {event.start_mark.line + 1}: invalid map key")


def _scalar(event: Any) -> Any:
    text: str = event.value
    if event.tag == _BINARY_TAG:
        return _binary(text)
    if not event.implicit[0] or event.tag == _STRING_TAG:
        return text
    return _plain(text)


def _binary(text: str) -> str:
    import base64

    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
    except ValueError:
        raise YamlError("yaml: !!binary value contains invalid base64 data") from None


def _plain(text: str) -> Any:
    if text in _NULLS:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if text[0] not in "+-.0123456789":
        return text
    return _number(text)


def _number(text: str) -> Any:
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(digits) and len(digits) < 70:
        value = int(re.sub(r"^([-+]?)0(?=[0-7])", r"\g<1>0o", digits), 0)
        return value if -(2**63) <= value < 2**64 else float(value)
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        if number == number and abs(number) < 1e21 and number.is_integer():
            return int(number) if abs(number) < 2**63 else number
        return number
    if text.lstrip("+-").lower() in (".inf", ".nan") and text.lower() != "+.nan":
        raise YamlError(f"json: unsupported value: {text.lower().replace('.', '').replace('inf', 'Inf')}")
    return text
