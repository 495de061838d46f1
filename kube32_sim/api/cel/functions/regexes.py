"""`kubernetes.regex`: find and findAll.

The library searches (it is RE2, which takes linear time); its own functions give the first group of a pattern, where
Kubernetes' give the whole match, so groups are made to capture nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kube32_sim.api.cel.functions.declaring import Overload, method

_PIECE = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\((?:\?P?<\w+>|(?!\?))|.", re.DOTALL)


@lru_cache(maxsize=1024)
def _without_groups(pattern: str) -> str:
    """The pattern with `(…)` and `(?P<name>…)` as `(?:…)`."""
    found = (piece[0] for piece in _PIECE.finditer(pattern))
    return "".join("(?:" if piece.startswith("(") and piece != "(?" else piece for piece in found)


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    from kube32_sim.api.cel.library import literal_fault, search  # which imports all functions

    try:
        found = search(text, _without_groups(pattern))
    except ValueError:
        raise ValueError(f"Illegal regex: {literal_fault('matches', pattern)}") from None
    return found if most < 0 else found[:most]


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern)), "")


OVERLOADS: list[Overload] = [
    method("find", "string_find_string", ("string", "string"), "string", _find),
    method("findAll", "string_find_all_string", ("string", "string"), "list<string>", _find_all),
    method("findAll", "string_find_all_string_int", ("string", "string", "int"), "list<string>", _find_all),
]
