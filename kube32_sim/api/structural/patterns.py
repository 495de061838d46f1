"""Regular expressions as Go's, matched by RE2: in linear time, whatever somebody writes.

Go's package and RE2 have one syntax; `pattern_errors` words what they refuse.  A pattern is compiled once; of large
programs only a few are kept, and the others are compiled again when a text needs them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Protocol

from kube32_sim.api.structural.pattern_errors import TOO_LARGE, PatternError, check_extent, difference, refusal

__all__ = ["PatternError", "find_all", "searcher"]

_SMALL, _LARGE = 1 << 20, 1 << 26
"""Bytes for a program and what it remembers of texts; Go allows twice the larger."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Match(Protocol):
    def start(self) -> int: ...
    def end(self) -> int: ...
    def group(self) -> str: ...


class _Program(Protocol):
    def search(self, text: bytes) -> _Match | None: ...
    def finditer(self, text: str) -> Iterator[_Match]: ...


@lru_cache(maxsize=4096)
def searcher(pattern: str) -> Callable[[str], bool]:
    """What tells whether a text matches somewhere; raises PatternError with Go's words."""
    program = _small(pattern)
    if program is not None:
        return partial(_matches, program)
    _large(pattern)
    return lambda text: _matches(_large(pattern), text)


def find_all(pattern: str, text: str, most: int = -1) -> list[str]:
    """The matches from left to right, at most so many where it is not negative; raises PatternError with Go's words.

    As in Go, nothing is found where a match has just ended.
    """
    program = _small(pattern) or _large(pattern)
    found: list[str] = []
    end = -1
    for match in program.finditer(_well_formed(text)):
        if len(found) == most:
            break
        if not match.start() == match.end() == end:
            found.append(match.group())
        end = match.end()
    return found


def _matches(program: _Program, text: str) -> bool:
    return program.search(_well_formed(text).encode()) is not None


def _well_formed(text: str) -> str:
    """With U+FFFD for halves of characters, as Go decodes them."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


@lru_cache(maxsize=4096)
def _small(pattern: str) -> _Program | None:
    """None: the program is large."""
    return _compiled(pattern, _SMALL)


@lru_cache(maxsize=16)
def _large(pattern: str) -> _Program:
    program = _compiled(pattern, _LARGE)
    if program is None:
        raise PatternError(TOO_LARGE, pattern)
    return program


def _compiled(pattern: str, most: int) -> _Program | None:
    """None: it takes more bytes than `most`."""
    import re2  # which only those pay for who have patterns

    pattern = _well_formed(pattern)
    check_extent(pattern)
    options = re2.Options()
    options.log_errors, options.never_capture, options.max_mem = False, True, most
    try:
        program: _Program = re2.compile(pattern.encode(), options)
    except re2.error as error:
        refused: PatternError | None = refusal(error.args[0].decode(), pattern)
    else:
        refused = difference(pattern)
    re2.purge()  # its own cache keeps large programs too
    if refused is None:
        return program
    if refused.code == TOO_LARGE:
        return None
    raise refused
