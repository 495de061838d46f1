"""The documents of a file: what kubectl's decoder takes apart, JSON texts or YAML, as JSON values.

YAML becomes JSON as the API server reads it (`api.yamltext`): no dates, keys are texts, aliases expand to no more than
it allows.  A stream is taken apart before it is parsed, so that one broken document does not hide the others' faults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_UTF8_MARK = b"\xef\xbb\xbf"
_LINE = re.compile(r"\bline (\d+)")
_MARKER = re.compile(rb"(?:---|\.\.\.)(?=\s|$)")
_SPACE = re.compile(r"\s*")


class Document(NamedTuple):
    """value: JSON, never None.  warnings: about keys that occur twice.  problem: why there is no value, else ""."""

    value: Any
    warnings: tuple[str, ...] = ()
    problem: str = ""


def documents(data: bytes) -> Iterator[Document]:
    """Those that have content, in order."""
    if data.startswith(_UTF16_MARKS):
        data = data.decode("utf-16", "replace").encode()
    data = data.removeprefix(_UTF8_MARK)
    found = _json(data) if data.lstrip().startswith(b"{") else None
    if found is not None:
        yield from found
        return
    for line, part in _parts(data):
        document = _yaml(part, line)
        if document.value is not None or document.problem:
            yield document


def _json(data: bytes) -> list[Document] | None:
    """The objects of a JSON text, one after the other; None where it is none, such as a map in YAML's braces."""
    from kube32_sim.api import jsontext

    try:
        return [_json_document(data)]
    except jsontext.JsonError:
        pass
    try:
        text = data.decode()
        return [_json_document(text[start:end].encode()) for start, end in _spans(text)]
    except (ValueError, RecursionError):
        return None


def _json_document(data: bytes) -> Document:
    from kube32_sim.api import jsontext, strictness

    value = jsontext.loads(data)
    repeats = jsontext.may_repeat(data, jsontext.check_extent(value))
    return Document(value, tuple(map(_last_counts, strictness.faults(data, ()))) if repeats else ())


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """From where to where each of several JSON texts goes."""
    decoder, at = json.JSONDecoder(), _after_space(text, 0)
    while at < len(text):
        end = decoder.raw_decode(text, at)[1]
        yield at, end
        at = _after_space(text, end)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The documents of a YAML stream, and how many lines come before each."""
    started, lines = 0, list[bytes]()
    for number, line in enumerate(data.splitlines(keepends=True)):
        if _MARKER.match(line):
            yield started, _content(lines)
            # the end of a document is none itself; what begins one may have content behind it
            ends = line.startswith(b"...")
            started, lines = number + ends, [] if ends else [line]
        else:
            lines.append(line)
    yield started, _content(lines)


def _content(lines: Sequence[bytes]) -> bytes:
    """Directives belong to the document behind them, which would be missed here, and says nothing that matters."""
    told = [line for line in lines if line.strip() and not line.startswith(b"#")]
    return b"" if all(line.startswith(b"%") for line in told) else b"".join(lines)


def _yaml(part: bytes, line: int) -> Document:
    from kube32_sim.api import yamltext

    try:
        value, repeated = yamltext.loads(part)
    except yamltext.YamlError as error:
        return Document(None, problem=_further_down(str(error), line))
    return Document(value, tuple(_last_counts(_further_down(text, line)) for text in repeated))


def _further_down(text: str, lines: int) -> str:
    """A message about a part of a text, with the line it is in the whole."""
    return _LINE.sub(lambda found: f"line {int(found[1]) + lines}", text, count=1)


def _last_counts(text: str) -> str:
    return f"{text}; the last one counts"
