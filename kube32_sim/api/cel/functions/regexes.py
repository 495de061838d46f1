"""`kubernetes.regex`: find and findAll."""

from __future__ import annotations

from kube32_sim.api.cel.functions.declaring import Overload, method
from kube32_sim.api.structural.patterns import PatternError, find_all


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    try:
        return find_all(pattern, text, most)
    except PatternError as error:
        raise ValueError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern, 1)), "")


OVERLOADS: list[Overload] = [
    method("find", "string_find_string", ("string", "string"), "string", _find),
    method("findAll", "string_find_all_string", ("string", "string"), "list<string>", _find_all),
    method("findAll", "string_find_all_string_int", ("string", "string", "int"), "list<string>", _find_all),
]
