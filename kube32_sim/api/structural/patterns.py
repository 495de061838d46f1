"""Regular expressions in Go's syntax (RE2), as Python's.

Go has no lookaround and no backreferences, its classes are ASCII, `$` is the very end, and a flag counts until its
group ends.  What Go refuses is refused in its words.  Classes are in `pattern_classes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from kube32_sim.api.structural import pattern_classes
from kube32_sim.api.structural.pattern_classes import PatternError, Scanner

__all__ = ["PatternError", "searcher"]

_REPEAT = re.compile(r"\{(\d+)(,(\d*))?\}")
_NAME = re.compile(r"P?<([A-Za-z0-9_]+)>")
_FLAGS = re.compile(r"([imsU]*)(?:-([imsU]+))?([:)])")
_MOST_REPEATS = 1000
_ANCHORS = {"A": r"\A", "z": r"\Z", "b": r"(?a:\b)", "B": r"(?!(?a:\b))"}


@lru_cache(maxsize=4096)
def searcher(pattern: str) -> Callable[[str], object]:
    """What tells whether a text matches somewhere (truthy); raises PatternError with Go's words."""
    try:
        return re.compile(_Translation(pattern).made()).search
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"error parsing regexp: {error}") from None


class _Translation:
    def __init__(self, pattern: str) -> None:
        self._in = Scanner(pattern)
        self._out: list[str] = []
        self._flags = frozenset[str]()
        self._open: list[tuple[frozenset[str], int]] = []
        """For each open group: the flags outside, and how many groups of ours flags have opened in it."""
        self._ours = 0
        self._atom = False
        """Whether the last thing written can be repeated."""
        self._repeated = ""
        self._depth = 0

    def made(self) -> str:
        scanner = self._in
        while scanner.more:
            self._step(scanner.take())
        if self._open:
            raise scanner.error("missing closing )", scanner.text)
        return "".join(self._out) + ")" * self._ours

    def _step(self, char: str) -> None:
        if char in "*+?" or (char == "{" and _REPEAT.match(self._in.text, self._in.at - 1)):
            self._repeat(char)
            return
        if char == "(":
            self._group()
        elif char == ")":
            self._close()
        elif char == "|":
            self._alternative()
        elif char == "\\":
            self._escape()
        else:
            self._write(self._plain(char), atom=True)

    def _plain(self, char: str) -> str:
        if char == "[":
            return pattern_classes.bracket(self._in)
        if char == "^":
            return "(?:(?m:^))" if "m" in self._flags else r"(?:\A)"
        if char == "$":
            return "(?:(?m:$))" if "m" in self._flags else r"(?:\Z)"
        if char == ".":
            return r"[\s\S]" if "s" in self._flags else r"[^\n]"
        return re.escape(char)

    def _write(self, text: str, *, atom: bool) -> None:
        self._out.append(text)
        self._atom, self._repeated = atom, ""

    def _alternative(self) -> None:
        self._out.append(")" * self._ours + "|" + self._reopened() * (1 if self._ours else 0))
        self._ours = 1 if self._ours else 0
        self._atom, self._repeated = False, ""

    def _reopened(self) -> str:
        return "(?i:" if "i" in self._flags else "(?-i:"

    def _repeat(self, char: str) -> None:
        start = self._in.at - 1
        if char == "{":
            found = _REPEAT.match(self._in.text, start)
            if found is None:
                raise self._in.error("missing argument to repetition operator", char)
            self._in.at = found.end()
            self._check_repeat(found)
        lazy = self._in.took("?")
        text = self._in.text[start : self._in.at]
        if self._repeated:
            raise self._in.error("invalid nested repetition operator", self._repeated + text)
        if not self._atom:
            raise self._in.error("missing argument to repetition operator", text)
        self._out.append(text[:-1] if lazy else text)
        if lazy != ("U" in self._flags):
            self._out.append("?")
        self._repeated = text

    def _check_repeat(self, found: re.Match[str]) -> None:
        least, most = int(found[1]), int(found[3] or found[1])
        if least > _MOST_REPEATS or most > _MOST_REPEATS or least > most:
            raise self._in.error("invalid repeat count", found[0])

    def _group(self) -> None:
        if not self._in.took("?"):
            self._enter("(", self._flags)
            return
        named = _NAME.match(self._in.text, self._in.at)
        if named is not None:
            self._in.at = named.end()
            self._enter(f"(?P<{named[1]}>" if not named[1][0].isdigit() else "(", self._flags)
            return
        flags = _FLAGS.match(self._in.text, self._in.at)
        if flags is None or (flags[0] == ")"):
            raise self._refused()
        self._in.at = flags.end()
        new = (self._flags | frozenset(flags[1])) - frozenset(flags[2] or "")
        if flags[3] == ":":
            self._enter(_with_case(new), new)
        else:
            self._out.append(_with_case(new))
            self._ours += 1
            self._flags, self._atom, self._repeated = new, False, ""

    def _refused(self) -> PatternError:
        rest = self._in.text[self._in.at - 2 :]
        if rest.startswith(("(?P<", "(?<")) and not rest.startswith(("(?<=", "(?<!")):
            end = rest.find(">")
            return self._in.error("invalid named capture", rest[: end + 1] if end >= 0 else rest)
        length = 4 if rest.startswith(("(?<=", "(?<!")) else 3
        return self._in.error("invalid or unsupported Perl syntax", rest[:length])

    def _enter(self, text: str, inside: frozenset[str]) -> None:
        self._out.append(text)
        self._open.append((self._flags, self._ours))
        self._flags, self._ours, self._atom, self._repeated = inside, 0, False, ""

    def _close(self) -> None:
        if not self._open:
            raise self._in.error("unexpected )", self._in.text)
        closing = ")" * (self._ours + 1)
        self._flags, self._ours = self._open.pop()
        self._write(closing, atom=True)

    def _escape(self) -> None:
        if not self._in.more:
            raise PatternError("error parsing regexp: trailing backslash at end of expression: ``")
        char = self._in.take()
        if char == "Q":
            text = self._in.until(r"\E")
            for each in text:
                self._write(re.escape(each), atom=True)
        elif char in _ANCHORS:
            self._write(f"(?:{_ANCHORS[char]})", atom=True)
        else:
            self._in.at -= 1
            self._write(pattern_classes.escaped(self._in), atom=True)


def _with_case(flags: frozenset[str]) -> str:
    return "(?i:" if "i" in flags else "(?-i:"
