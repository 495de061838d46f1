"""YAML texts as sigs.k8s.io/yaml turns them into JSON values: YAML 1.1 with Go's idea of numbers.

libyaml's events are put together here and not by PyYAML, whose numbers differ (`1:30`, `1e3`), which knows no limit to
what aliases expand to, and which does not say where a key occurs twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from kube32_sim.api.strictness import MOST_FAULTS

JsonObject = dict[str, Any]

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE = frozenset(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"))
_FALSE = frozenset(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"))
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|[1-9][0-9]*|0)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_STRING_TAG = "tag:yaml.org,2002:str"
_BINARY_TAG = "tag:yaml.org,2002:binary"

#: Nodes of a text, those that aliases stand for counted: reading them must not hold up others for long.
MOST_NODES = 200_000
#: libyaml looks at every level for each token.
MOST_LEVELS = 250
#: libyaml compares each `%TAG` directive with all before it, and lets nobody else run meanwhile.
_MOST_TAGS = 20
_TAG_DIRECTIVE = re.compile(rb"(?:^|[\r\n]|\xc2\x85|\xe2\x80[\xa8\xa9])%TAG")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
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
    plain: dict[str, Any] = field(default_factory=dict)
    root: Any = None
    nodes: int = 0
    aliased: int = 0


def loads(data: bytes) -> tuple[Any, list[str]]:
    """The first document as a JSON value (None where there is none), and a text per key that occurs twice.

    Of such texts there are at most as many as an answer names.
    """
    import yaml

    reader, takers = _Reader(), _takers()
    try:
        for event in _events(data):
            take = takers.get(event.__class__)
            if take is not None:
                take(reader, event)
            elif event.__class__ is yaml.DocumentEndEvent:
                break
    except yaml.YAMLError as error:
        raise YamlError(f"yaml: {_one_line(error)}") from None
    return reader.root, reader.repeated


@cache
def _takers() -> dict[type, Callable[[_Reader, Any], None]]:
    import yaml

    return {
        yaml.ScalarEvent: _take_scalar,
        yaml.AliasEvent: _take_alias,
        yaml.MappingStartEvent: _open_mapping,
        yaml.SequenceStartEvent: _open_sequence,
        yaml.MappingEndEvent: _close,
        yaml.SequenceEndEvent: _close,
    }


def _events(data: bytes) -> Iterator[Any]:
    import yaml

    if data.startswith(_UTF16_MARKS):
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    if data.count(b"%TAG") > _MOST_TAGS and any(
        count == _MOST_TAGS for count, _ in enumerate(_TAG_DIRECTIVE.finditer(data))
    ):
        raise YamlError(f"yaml: document contains more than {_MOST_TAGS} %TAG directives")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.parse(data, Loader=loader)


def _one_line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"line {mark.line + 1}: {problem}" if mark is not None else problem


def _count(reader: _Reader) -> None:
    reader.nodes += 1
    if reader.nodes + reader.aliased > MOST_NODES:
        raise YamlError(f"yaml: document contains more than {MOST_NODES} nodes; send it as JSON")


def _take_scalar(reader: _Reader, event: Any) -> None:
    _count(reader)
    if event.tag is None and event.implicit[0]:
        text = event.value
        value = reader.plain.get(text, reader)
        if value is reader:
            value = reader.plain[text] = _plain(text)
    else:
        value = _scalar(event)
    if event.anchor:
        reader.anchors[event.anchor] = (value, 1)
    _add(reader, value, event)


def _take_alias(reader: _Reader, event: Any) -> None:
    name = event.anchor
    if name is None or name not in reader.anchors:
        raise YamlError(f"yaml: unknown anchor '{name}' referenced")
    value, size = reader.anchors[name]
    reader.aliased += size - 1
    if reader.aliased > _MOST_ALIASED + 10 * reader.nodes:
        raise YamlError("yaml: document contains excessive aliasing")
    _count(reader)
    _add(reader, value, event)


def _open_mapping(reader: _Reader, event: Any) -> None:
    _open(reader, {}, event)


def _open_sequence(reader: _Reader, event: Any) -> None:
    _open(reader, [], event)


def _open(reader: _Reader, value: Any, event: Any) -> None:
    _count(reader)
    if len(reader.stack) >= MOST_LEVELS:
        raise YamlError(f"yaml: document is nested more than {MOST_LEVELS} levels deep; send it as JSON")
    started = reader.nodes + reader.aliased
    reader.stack.append(_Open(value, event.anchor, started, expects_key=value.__class__ is dict))


def _close(reader: _Reader, event: Any) -> None:
    done = reader.stack.pop()
    for source in reversed(done.merges):
        for found in _merged(source):
            for name, item in found.items():
                done.value.setdefault(name, item)
    if done.anchor:
        reader.anchors[done.anchor] = (done.value, reader.nodes + reader.aliased - done.started + 1)
    _add(reader, done.value, event)


def _merged(source: Any) -> Iterator[JsonObject]:
    """The maps that a `<<` names, the most important first."""
    left = [source]
    while left:
        item = left.pop()
        if isinstance(item, list):
            left.extend(reversed(item))
        elif isinstance(item, dict):
            yield item
        else:
            raise YamlError("yaml: map merge requires map or sequence of maps as the value")


def _add(reader: _Reader, value: Any, event: Any) -> None:
    if not reader.stack:
        reader.root = value
        return
    into = reader.stack[-1]
    if into.value.__class__ is list:
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
    if name in into.value and len(reader.repeated) < MOST_FAULTS:
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


def is_text(text: str) -> bool:
    """Whether the text, written without quotes, would be read as itself."""
    try:
        return bool(_plain(text) == text)
    except YamlError:
        return False


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
