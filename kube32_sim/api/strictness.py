"""Unknown and repeated fields: what `fieldValidation` asks for, and the words for them."""

from __future__ import annotations

from collections.abc import Sequence

from kube32_sim.api import jsontext

#: As many as upstream reports.
MOST_FAULTS = 100
IGNORE, WARN, STRICT = "Ignore", "Warn", "Strict"


def unknown_field(path: str) -> str:
    return f'unknown field "{path}"'


def repeated_field(path: str) -> str:
    return f'duplicate field "{path}"'


def strict_error(faults: Sequence[str]) -> str:
    return f"strict decoding error: {', '.join(faults)}"


def faults(data: bytes, unknown: Sequence[str]) -> list[str]:
    """Texts for the unknown fields and for those that occur twice in a JSON text, in the order of the text."""
    first, again = jsontext.order_of_paths(data)
    dropped = tuple(mark for path in unknown for mark in (f"{path}.", f"{path}["))
    found = [(first.get(path, -1), unknown_field(path)) for path in unknown]
    for path, at in again.items():
        # What is inside an unknown field is never looked at.
        if path not in unknown and not path.startswith(dropped):
            found.append((at, repeated_field(path)))
    return [text for _, text in sorted(found)[:MOST_FAULTS]]
