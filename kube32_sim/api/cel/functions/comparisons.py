"""Comparisons of numbers of different types, which Kubernetes allows since 1.28: `1 < 1.5`.

The library compares them when it runs, but its checker knows only pairs of the same type: so its declarations are left
out, and these, which have all pairs, take their place.
"""

from __future__ import annotations

from kube32_sim.api.cel.functions.declaring import Function

_NUMBERS = ("int", "uint", "double")
_ORDERED = ("bool", "string", "bytes", "google.protobuf.Timestamp", "google.protobuf.Duration")


def _comparison(name: str) -> Function:
    pairs = [(left, right) for left in _NUMBERS for right in _NUMBERS] + [(kind, kind) for kind in _ORDERED]
    return Function(name, [(f"{name}({left}, {right})", "bool") for left, right in pairs], None)


FUNCTIONS = [_comparison(name) for name in ("_<_", "_<=_", "_>_", "_>=_")]
