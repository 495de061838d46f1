"""JSON Patch (RFC 6902), as lenient and as strict as the library upstream uses.

It replaces members that do not exist, counts negative indexes from the end, takes a missing value for null, and reads
a path without a leading slash as if its first segment were not there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from kube32_sim.api.decode.diagnose import describe
from kube32_sim.api.errors import ApiError, bad_request

MOST_OPERATIONS = 10000
_MEMBERS = frozenset(("op", "path", "from", "value"))
#: Bytes that the copies of one patch may add up to; copies of copies grow fast.
MOST_COPIED = 3 * 2**20


class NotApplicable(ApiError):
    """422 for a patch that cannot be applied.  why: the operation's fault, which upstream does not tell who patches."""

    def __init__(self, why: str = "") -> None:
        super().__init__(422, "Invalid", "the server rejected our request due to an error in our request", {})
        self.why = why


class _CannotApply(Exception):
    """An operation that does not apply.  The text: why."""


class _LeadsNowhere(_CannotApply):
    """The text: the path."""


class _NoPath(_CannotApply):
    """The text: the member that has none."""


class _Draft:
    """A document that is changed without touching the original: containers are copied when first written to."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._owned: dict[int, Any] = {}  # id -> the container itself, so that no id is used again
        self.copied = 0

    def own(self, container: Any) -> Any:
        if id(container) in self._owned:
            return container
        copied = container.copy()
        self._owned[id(copied)] = copied
        return copied

    def parent(self, path: str, *, write: bool) -> tuple[Any, str]:
        """The container that a path's last segment is in, made our own where it is to be written to."""
        segments = path.split("/")
        if len(segments) < 2:
            raise _LeadsNowhere(path)
        if write:
            self.root = self.own(self.root)
        at = self.root
        try:
            for segment in segments[1:-1]:
                at = self._step(at, _unescaped(segment), write)
        except _CannotApply:
            raise _LeadsNowhere(path) from None
        if not isinstance(at, dict | list):
            raise _LeadsNowhere(path)
        return at, _unescaped(segments[-1])

    def _step(self, at: Any, name: str, write: bool) -> Any:
        inner = get(at, name)
        if not isinstance(inner, dict | list):
            raise _CannotApply
        if write:
            inner = self.own(inner)
            at[name if isinstance(at, dict) else _index(name, len(at))] = inner
        return inner


def _unescaped(segment: str) -> str:
    return segment.replace("~1", "/").replace("~0", "~")


def _index(name: str, length: int) -> int:
    no_number = f"strconv.Atoi: parsing {orjson.dumps(name).decode()}: invalid syntax"
    if not name.lstrip("-+").isdecimal() or not name.isascii() or len(name) > 9:
        raise _CannotApply(no_number)
    try:
        index = int(name)
    except ValueError:
        raise _CannotApply(no_number) from None
    if not -length <= index < length:
        raise _CannotApply(f"Unable to access invalid index: {index}: invalid index referenced")
    return index


def get(container: Any, name: str) -> Any:
    """What is there; None where a member is missing."""
    if isinstance(container, dict):
        return container.get(name)
    return container[_index(name, len(container))]


def _put(container: Any, name: str, value: Any) -> None:
    if isinstance(container, dict):
        container[name] = value
    elif name == "-":
        container.append(value)
    else:
        length = len(container)
        index = _index(name, length + 1)
        container.insert(index + length + 1 if index < 0 else index, value)


def _pointer(operation: Mapping[str, Any], name: str) -> str:
    path = operation.get(name)
    if not isinstance(path, str):
        raise _NoPath(name)
    return path


def _add(draft: _Draft, operation: Mapping[str, Any]) -> None:
    container, name = draft.parent(_pointer(operation, "path"), write=True)
    _put(container, name, operation.get("value"))


def _take(draft: _Draft, path: str) -> Any:
    container, name = draft.parent(path, write=True)
    if isinstance(container, dict):
        if name not in container:
            raise _CannotApply(f"Unable to remove nonexistent key: {name}: missing value")
        return container.pop(name)
    return container.pop(_index(name, len(container)))


def _remove(draft: _Draft, operation: Mapping[str, Any]) -> None:
    _take(draft, _pointer(operation, "path"))


def _replace(draft: _Draft, operation: Mapping[str, Any]) -> None:
    path, value = _pointer(operation, "path"), operation.get("value")
    if path == "":
        if not isinstance(value, dict | list):
            raise _CannotApply("replace operation hit doc which is no object")
        draft.root = value
        return
    container, name = draft.parent(path, write=True)
    container[name if isinstance(container, dict) else _index(name, len(container))] = value


def _move(draft: _Draft, operation: Mapping[str, Any]) -> None:
    value = _take(draft, _pointer(operation, "from"))
    container, name = draft.parent(_pointer(operation, "path"), write=True)
    _put(container, name, value)


def _copy(draft: _Draft, operation: Mapping[str, Any]) -> None:
    source, key = draft.parent(_pointer(operation, "from"), write=False)
    # A true copy: a later operation may write into one of the two.
    try:
        encoded = orjson.dumps(get(source, key))
    except orjson.JSONEncodeError as error:
        raise _CannotApply(str(error)) from None
    draft.copied += len(encoded)
    if draft.copied > MOST_COPIED:
        raise _CannotApply(
            "Unable to complete the copy, the accumulated size increase of copy is "
            f"{draft.copied}, exceeding the limit {MOST_COPIED}"
        )
    value = orjson.loads(encoded)
    container, name = draft.parent(_pointer(operation, "path"), write=True)
    _put(container, name, value)


def _test(draft: _Draft, operation: Mapping[str, Any]) -> None:
    path = _pointer(operation, "path")
    if path == "":
        found = draft.root
    else:
        container, name = draft.parent(path, write=False)
        found = get(container, name)
    if not _same(found, operation.get("value")):
        raise _CannotApply("test failed")


def _same(left: Any, right: Any) -> bool:
    """Equal as JSON texts: `true` is not `1`, and neither is `1.0`."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return type(left) is type(right) and bool(left == right)


_OPERATIONS: dict[str, Callable[[_Draft, Mapping[str, Any]], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def apply_json_patch(obj: dict[str, Any], operations: Any) -> Any:
    """`obj` with the operations applied; neither is changed.  ApiError 400: no JSON Patch; NotApplicable."""
    check_operations(operations)
    draft = _Draft(obj)
    for operation in operations or ():
        name = operation.get("op") if operation is not None else None
        apply = _OPERATIONS.get(name) if isinstance(name, str) else None
        if apply is None:
            raise NotApplicable(f"Unexpected kind: {name if isinstance(name, str) else 'unknown'}")
        try:
            apply(draft, operation)
        except (_CannotApply, RecursionError) as fault:
            raise NotApplicable(_why(operation, fault)) from None
    return draft.root


def _why(operation: Mapping[str, Any], fault: Exception) -> str:
    """In the words of the library that upstream uses."""
    name, path = operation["op"], operation.get("path")
    if isinstance(fault, _NoPath):
        return f"{name} operation failed to decode {fault}: missing value"
    if not isinstance(fault, _LeadsNowhere):
        if name == "test":
            return f"testing path {path} failed: {fault}"
        return f"error in {name} for path: '{operation.get('from', path)}': {fault}"
    if name == "test":
        return f"test operation does not apply: is missing path: {path}: missing value"
    if name in ("move", "copy"):
        end = "from" if str(fault) == operation.get("from") else "destination"
        return f"{name} operation does not apply: doc is missing {end} path: {fault}: missing value"
    shown = path if name == "replace" else f'"{path}"'
    return f"{name} operation does not apply: doc is missing path: {shown}: missing value"


def check_operations(operations: Any) -> None:
    """Raises ApiError 400 or 413; null is a patch without operations."""
    if operations is None:
        return
    if not isinstance(operations, list):
        raise bad_request(f"error decoding patch: {_mismatch(operations)} into Go value of type []handlers.jsonPatchOp")
    if len(operations) > MOST_OPERATIONS:
        raise ApiError(
            413,
            "RequestEntityTooLarge",
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MOST_OPERATIONS}, got {len(operations)}",
        )
    for operation in operations:
        if operation is not None and not isinstance(operation, dict):
            what = f"{_mismatch(operation)} into Go value of type handlers.jsonPatchOp"
            raise bad_request(f"error decoding patch: {what}")


def takes_along(operations: Any) -> bool:
    """Whether any of them puts what the object has elsewhere.  Of no list of operations, as they come."""
    found = operations if isinstance(operations, list) else ()
    return any(isinstance(one, dict) and one.get("op") in ("copy", "move") for one in found)


def unknown_members(operations: Any) -> list[str]:
    """Paths of the members of operations that mean nothing; raises ApiError 400 where one that does is no string."""
    check_operations(operations)
    found = []
    for index, operation in enumerate(operations or ()):
        for name, value in (operation or {}).items():
            if name not in _MEMBERS:
                found.append(f"[{index}].{name}")
            elif name != "value" and value is not None and not isinstance(value, str):
                what = f"{_mismatch(value)} into Go struct field jsonPatchOp.{name} of type string"
                raise bad_request(f"error decoding patch: {what}")
    return found


def _mismatch(value: Any) -> str:
    return f"json: cannot unmarshal {describe(value)}"
