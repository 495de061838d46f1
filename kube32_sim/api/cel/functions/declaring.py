"""How a function of CEL is declared here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Function(NamedTuple):
    """name: as expressions call it.  overloads: signature (`f(int)`, `list<int>.f()`) and the type of the result.

    act: what it does, for all overloads with the same Python arguments; None where the library does it itself.
    It raises ValueError with cel-go's words.
    """

    name: str
    overloads: Sequence[tuple[str, str]]
    act: Callable[..., Any] | None
