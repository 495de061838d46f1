"""What Go says of the regular expressions it refuses, made of RE2's errors and of the few differences between the two.

The words, limits and offending texts are those of Go's package regexp/syntax.
"""

from __future__ import annotations

import re

TOO_LARGE = "expression too large"
_REPEAT_COUNT = "invalid repeat count"
_NAMED_CAPTURE = "invalid named capture"
_NESTED_REPETITION = "invalid nested repetition operator"
_REPETITION_ARGUMENT = "missing argument to repetition operator"

_CODES = {
    "bad repetition operator": _NESTED_REPETITION,
    "invalid named capture group": _NAMED_CAPTURE,
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": _REPEAT_COUNT,
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": _REPETITION_ARGUMENT,
    "trailing \\": "trailing backslash at end of expression",
    "unexpected error": "regexp/syntax: internal error",
}
"""RE2's codes that Go words in another way; of the others it has the same."""
_LOOKBEHIND = ("(?<=", "(?<!")

_MOST_REPEATS = 1000
_MOST_NESTED = 1000
_MOST_WEIGHT = (128 << 20) // 40
"""Go's bound: 128 MB of instructions."""
_CLASS_WEIGHT = 1500
"""Instructions for a class of Unicode's, some."""
_CLASSES = re.compile(r"\\[pP]")
_COUNTS = re.compile(r"\b([0-9]{1,4}),?\}")

_LAST_COUNT = re.compile(r"(\{([0-9]+)(?:,([0-9]*))?\})\??\Z")
_PIECES = re.compile(
    r"\\Q(?:(?!\\E).)*+(?:\\E)?|\\."
    r"|\[\^?\]?(?:\[:\^?\w++:\]|\\.|[^\]\\])*+\]"
    r"|\{[0-9]{9,}+(?:,[0-9]*+)?\}|\{[0-9]++,[0-9]{9,}+\}"
    r"|\(\?[imsU-]++\)|\(\?P?<[^>]*+>|\(\??|\)",
    re.DOTALL,
)
"""What Go may refuse and RE2 does not, and what it cannot be in."""


class PatternError(ValueError):
    """A pattern that Go refuses; the message is Go's: error parsing regexp: ….."""

    def __init__(self, code: str, expression: str) -> None:
        super().__init__(f"error parsing regexp: {code}: `{expression}`")
        self.code = code


def refusal(message: str, pattern: str) -> PatternError:
    """RE2's error, as Go words it."""
    if message.startswith("pattern too large"):
        return PatternError(TOO_LARGE, pattern)
    code, _, text = message.partition(": ")
    code = _CODES.get(code, code)
    if code in (_NESTED_REPETITION, _REPETITION_ARGUMENT, _REPEAT_COUNT):
        count = _LAST_COUNT.search(text)
        if count is not None and _is_wrong_count(int(count[2]), int(count[3] or count[2])):
            return PatternError(_REPEAT_COUNT, count[1])  # Go looks at counts first
    if text in _LOOKBEHIND:
        return PatternError(_NAMED_CAPTURE, _to_angle(pattern[pattern.index(text) :]))
    return PatternError(code, text)


def difference(pattern: str) -> PatternError | None:
    """Why Go refuses a pattern that RE2 takes."""
    captures: list[bool] = []
    """For each open group, whether it captures."""
    for found in _PIECES.finditer(pattern):
        piece = found[0]
        if piece == r"\C":
            return PatternError("invalid escape sequence", piece)
        if piece[0] == "{":
            return PatternError(_REPEAT_COUNT, piece)
        if piece[-1] == ">" and not piece.isascii():
            return PatternError(_NAMED_CAPTURE, piece)
        if piece in ("(", "(?") or piece[-1] == ">":
            captures.append(piece != "(?")
        elif piece == ")" and captures:
            captures.pop()
        if len(captures) >= _MOST_NESTED and sum(captures) >= _MOST_NESTED:
            return PatternError("expression nests too deeply", pattern)
    return None


def check_extent(pattern: str) -> None:
    """Raises PatternError for what would take much memory or time before RE2 finds it too large."""
    classes = sum(1 for _ in _CLASSES.finditer(pattern))
    repeats = sum(int(found[1]) for found in _COUNTS.finditer(pattern))
    if len(pattern) + classes * _CLASS_WEIGHT + repeats > _MOST_WEIGHT:
        raise PatternError(TOO_LARGE, pattern)


def _is_wrong_count(least: int, most: int) -> bool:
    return least > _MOST_REPEATS or most > _MOST_REPEATS or least > most


def _to_angle(text: str) -> str:
    """Up to the end of what may be the name of a group."""
    head, angle, _ = text.partition(">")
    return head + angle
