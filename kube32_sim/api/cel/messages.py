"""What goes wrong in an expression, in the words of cel-go, which Kubernetes' answers show.

The library is Google's C++ implementation: the same language and mostly the same texts, but not all.
"""

from __future__ import annotations

import re

from kube32_sim.api.structural.pattern_errors import refusal

LIMIT_EXCEEDED = "operation cancelled: actual cost limit exceeded"
"""What cel-go says when an expression has used up what a single one may cost."""


class CompileError(ValueError):
    """An expression that is none, or of the wrong type.  The message is upstream's, after `compilation failed: `."""


class EvaluationError(ValueError):
    """An expression that went wrong while it was evaluated, in cel-go's words: `no such key: x`."""


_CODE = re.compile(r"^[A-Z_]+: ")
_COMPILE = (
    (re.compile(r" \[[A-Z_]+\]$"), ""),
    (
        re.compile(r"expression of type '(.*?)' cannot be the operand of a select operation"),
        r"type '\1' does not support field selection",
    ),
    (re.compile(r"undefined field '([^']*)' not found in struct '[^']*'"), r"undefined field '\1'"),
)
_EVALUATE = (
    (re.compile(r'^Key not found in map : "(.*)"$', re.DOTALL), r"no such key: \1"),
    (re.compile(r"^Key not found in map : (.*?)u?$", re.DOTALL), r"no such key: \1"),
    (re.compile(r"^Index error: index=(-?\d+) size=\d+$"), r"index out of bounds: \1"),
    (re.compile(r"^Index error: expected integer type, got (\w+)$"), r"unsupported index type '\1' in list"),
    (re.compile(r"^divide by zero$"), "division by zero"),
    (re.compile(r"^cannot convert string to (\w+)$"), r"type conversion error from 'string' to '\1'"),
    (
        re.compile(r"^String to (Timestamp|Duration) conversion failed$"),
        r"type conversion error from 'string' to 'google.protobuf.\1'",
    ),
    (re.compile(r"^No matching overloads found : (?:[@_<!\-].*|\[.*|cel\.@.*)$", re.DOTALL), "no such overload"),
    (re.compile(r"^No matching overloads found : (?:\([^()]*\)\.)?([\w.]+).*$", re.DOTALL), r"no such overload: \1"),
    (re.compile(r"^(?:Applying SELECT to non-message type|Invalid container type: .*)$"), "no such overload"),
    (re.compile(r"^int64 out of uint64 range$|^uint64 out of int64 range$"), "integer overflow"),
    (re.compile(r"^Iteration budget exceeded(?: \[INTERNAL\])?$"), LIMIT_EXCEEDED),
    (re.compile(r'^No value with name "(.*)" found in Activation$'), r"no such attribute(s): \1"),
)


def compile_message(text: str) -> str:
    """A compile error as cel-go words it: `ERROR: <input>:1:1: undeclared reference to 'x' (in container '')…`."""
    return _UNDECLARED.sub(_undeclared, _first(_CODE.sub("", text), _COMPILE, every=True))


_UNDECLARED = re.compile(
    r"ERROR: <input>:(\d+):(\d+): undeclared reference to '([\w.]+)' \(in container ''\)\n \| (.*)\n \| \.*\^"
)
_QUALIFIED = re.compile(r"\s*+\w*[_a-zA-Z](?:\s*+\.\s*+\w*[_a-zA-Z])*")
"""`a.b.c` backwards: there is one place to begin at."""
_MESSAGE = re.compile(r"[\w.]+\s*\{")


def _undeclared(found: re.Match[str]) -> str:
    """cel-go names the first part of `a.b.c`, and where it begins; of a message literal it shows where the brace is."""
    line, name, source = found[1], found[3], found[4]
    column = int(found[2]) - 1
    literal, qualified = _MESSAGE.match(source, column), _QUALIFIED.match(source[:column][::-1])
    if literal is not None:
        column = literal.end() - 1
    elif "." in name and qualified is not None:
        name, column = name.partition(".")[0], column - qualified.end()
    what = f"undeclared reference to '{name}' (in container '')"
    return f"ERROR: <input>:{line}:{column + 1}: {what}\n | {source}\n | {'.' * column}^"


def evaluation_message(text: str) -> str:
    """An error met during evaluation as cel-go words it."""
    refused = text.partition("invalid regular expression: ")[2]
    if refused:
        return str(refusal(refused, refused))
    return _first(re.sub(r" \[[A-Z_]+\]$", "", _CODE.sub("", text)), _EVALUATE, every=False)


def _first(text: str, rules: tuple[tuple[re.Pattern[str], str], ...], *, every: bool) -> str:
    for pattern, replacement in rules:
        changed, count = pattern.subn(replacement, text)
        if count and not every:
            return changed
        text = changed
    return text
