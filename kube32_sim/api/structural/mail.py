"""The format `email`: what Go's mail.ParseAddress accepts (RFC 5322 with a display name, without comments)."""

from __future__ import annotations

import re
from functools import cache

_ATOM = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\u0080-\U0010ffff]++"
_QUOTED = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[\x21-\x7e \t\u0080-\U0010ffff])*"'
_LOCAL = rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})"
_DOMAIN = rf"(?:{_ATOM}(?:\.{_ATOM})*|\[[0-9A-Fa-f.:]+\])"
_SPACE = r"[ \t]*"
_PHRASE = rf"(?:(?>{_ATOM}(?:\.++{_ATOM})*\.*|{_QUOTED}){_SPACE})*+"
_ADDRESS = rf"{_SPACE}(?:{_LOCAL}{_SPACE}@{_SPACE}{_DOMAIN}|{_PHRASE}<{_LOCAL}@{_DOMAIN}>){_SPACE}"


@cache
def _address() -> re.Pattern[str]:
    """Compiled when first asked for: that takes longer than all else that schemas need."""
    return re.compile(_ADDRESS)


def is_address(text: str) -> bool:
    return _address().fullmatch(text) is not None
