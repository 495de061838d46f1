"""What is waited for, as `kubectl wait --for` says it, and what is seen of it in an object."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from kube32_sim.api.customs.paths import JSONPath, PathError

JsonObject = dict[str, Any]


class Condition(Protocol):
    """text: as it was given."""

    text: str

    def holds(self, obj: JsonObject | None) -> bool:
        """obj: None where there is none."""

    def seen(self, obj: JsonObject) -> str:
        """What an object says of it."""


class _Deleted:
    text = "delete"

    def holds(self, obj: JsonObject | None) -> bool:
        return obj is None

    def seen(self, obj: JsonObject) -> str:
        metadata = obj["metadata"]
        if "deletionTimestamp" not in metadata:
            return "it is there, and nobody has deleted it"
        finalizers = ", ".join(metadata.get("finalizers") or ())
        return f"it is being deleted since {metadata['deletionTimestamp']}" + (
            f"; finalizers: {finalizers}" if finalizers else ""
        )


class _Created:
    text = "create"

    def holds(self, obj: JsonObject | None) -> bool:
        return obj is not None

    def seen(self, obj: JsonObject) -> str:
        return "it is there"


class _Status:
    """One of `status.conditions`; what tells of an earlier generation does not count."""

    def __init__(self, text: str, kind: str, value: str) -> None:
        self.text, self._kind, self._value = text, kind.lower(), value.lower()

    def _of(self, obj: JsonObject) -> Mapping[str, Any] | None:
        found = (obj.get("status") or {}).get("conditions") or ()
        return next((one for one in found if str(one.get("type", "")).lower() == self._kind), None)

    def holds(self, obj: JsonObject | None) -> bool:
        found = self._of(obj) if obj is not None else None
        if obj is None or found is None or str(found.get("status", "")).lower() != self._value:
            return False
        seen, generation = found.get("observedGeneration"), obj["metadata"].get("generation", 0)
        return seen is None or seen >= generation

    def seen(self, obj: JsonObject) -> str:
        found = self._of(obj)
        if found is None:
            kinds = [str(one.get("type")) for one in (obj.get("status") or {}).get("conditions") or ()]
            return f"there is no such condition; there are: {', '.join(kinds) or 'none'}"
        why = ": ".join(part for part in (found.get("reason"), found.get("message")) if part)
        return f"{found.get('type')}={found.get('status')}" + (f" ({why})" if why else "")


class _Path:
    """value: None for any."""

    def __init__(self, text: str, path: str, value: str | None) -> None:
        self.text, self._path, self._value = text, JSONPath(path), value

    def holds(self, obj: JsonObject | None) -> bool:
        found = self._path.find(obj) if obj is not None else []
        if self._value is None:
            return any(value not in (None, "") for value in found)
        return len(found) == 1 and _printed(found[0]) == self._value

    def seen(self, obj: JsonObject) -> str:
        return f"{self._path.text} is {', '.join(map(_printed, self._path.find(obj))) or 'not there'}"


class _Asked:
    """A function of the caller's.  What it looks for need not be there yet."""

    def __init__(self, holds: Callable[[JsonObject], object]) -> None:
        self._asked, self.text = holds, getattr(holds, "__name__", repr(holds))

    def holds(self, obj: JsonObject | None) -> bool:
        try:
            return obj is not None and bool(self._asked(obj))
        except (LookupError, TypeError):
            return False

    def seen(self, obj: JsonObject) -> str:
        told = f"status is {json.dumps(obj.get('status'), default=repr)}"
        try:
            self._asked(obj)
        except (LookupError, TypeError) as error:
            return f"{type(error).__name__}: {error}; {told}"
        return told


def _printed(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


_PATH = re.compile(r"""['"]?(\{.*?\})['"]?(?:=(.*))?""", re.S)
FORMS = "condition=NAME[=VALUE], jsonpath={PATH}[=VALUE], delete or create"


def read_condition(given: str | Callable[[JsonObject], object]) -> Condition:
    """ValueError: it is none."""
    if callable(given):
        return _Asked(given)
    kind, _, rest = given.partition("=")
    if kind in ("delete", "create") and not rest:
        return _Deleted() if kind == "delete" else _Created()
    if kind == "condition" and rest:
        name, equals, value = rest.partition("=")
        return _Status(given, name, value if equals else "True")
    found = _PATH.fullmatch(rest) if kind == "jsonpath" else None
    if found is not None:
        try:
            return _Path(given, found[1], None if found[2] is None else _unquoted(found[2]))
        except PathError as error:
            raise ValueError(f"{given!r}: {error}") from None
    raise ValueError(f"{given!r} is nothing to wait for; there are: {FORMS}")


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
