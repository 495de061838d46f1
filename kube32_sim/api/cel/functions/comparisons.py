"""Functions of the standard library that Kubernetes has in more forms than the library's checker knows.

Numbers of different types can be compared since 1.28 (`1 < 1.5`), and addresses turned into strings.  The checker's
own declarations are left out of the environment, and these take their place; what they do is the library's still.
"""

from __future__ import annotations

from kube32_sim.api.cel.functions.declaring import Overload, function

_NUMBERS = (("int64", "int"), ("uint64", "uint"), ("double", "double"))
_TIMESTAMP, _DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"
_OTHERS = (
    ("bool", "bool"),
    ("string", "string"),
    ("bytes", "bytes"),
    ("timestamp", _TIMESTAMP),
    ("duration", _DURATION),
)
_OPERATORS = {"_<_": "less", "_<=_": "less_equals", "_>_": "greater", "_>=_": "greater_equals"}
_TO_STRING = (*_NUMBERS, *_OTHERS)

REPLACED = (*_OPERATORS, "string")
"""The functions whose own declarations are left out."""


def _comparison(operator: str, word: str) -> list[Overload]:
    made = [function(operator, f"{word}_{name}", (kind, kind), "bool", None) for name, kind in (*_NUMBERS, *_OTHERS)]
    for left, left_kind in _NUMBERS:
        for right, right_kind in _NUMBERS:
            if left != right:
                made.append(function(operator, f"{word}_{left}_{right}", (left_kind, right_kind), "bool", None))
    return made


OVERLOADS = [
    *(overload for operator, word in _OPERATORS.items() for overload in _comparison(operator, word)),
    *(function("string", f"{name}_to_string", (kind,), "string", None) for name, kind in _TO_STRING),
]
