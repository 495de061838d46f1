"""The format `email`: what Go's mail.ParseAddress accepts (RFC 5322 with a display name, without comments)."""

from __future__ import annotations

import re

_ATOM = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\u0080-\U0010ffff]++"
_QUOTED = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[\x21-\x7e \t\u0080-\U0010ffff])*"'
_LOCAL = rf"(?:{_ATOM}(?:\.{_ATOM})*|{_QUOTED})"
_DOMAIN = rf"(?:{_ATOM}(?:\.{_ATOM})*|\[[0-9A-Fa-f.:]+\])"
_SPACE = r"[ \t]*"
_PHRASE = rf"(?:(?>{_ATOM}(?:\.++{_ATOM})*\.*|{_QUOTED}){_SPACE})*+"
_ADDRESS = re.compile(rf"{_SPACE}(?:{_LOCAL}{_SPACE}@{_SPACE}{_DOMAIN}|{_PHRASE}<{_LOCAL}@{_DOMAIN}>){_SPACE}")


def is_address(text: str) -> bool:
    return _ADDRESS.fullmatch(text) is not None
