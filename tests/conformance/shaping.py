"""What a step of a case leaves out of the comparison, or picks for it; and its variables."""

from __future__ import annotations

import copy
import fnmatch
import re
from collections.abc import Mapping, Sequence
from typing import Any

VARIABLE = re.compile(r"\$\{(\w+)\}")


def substitute(value: Any, variables: Mapping[str, Any]) -> Any:
    """With `${name}` replaced wherever it occurs in a string; an unknown name stays."""
    if isinstance(value, str):
        return VARIABLE.sub(lambda found: str(variables.get(found[1], found[0])), value)
    if isinstance(value, dict):
        return {substitute(key, variables): substitute(item, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [substitute(item, variables) for item in value]
    return value


def segments(pointer: str) -> list[str]:
    return [segment.replace("~1", "/").replace("~0", "~") for segment in pointer.split("/")[1:]]


def resolve(value: Any, pointer: str) -> Any:
    """What a JSON pointer points at; None where nothing is."""
    for segment in segments(pointer):
        if isinstance(value, list):
            value = value[int(segment)] if segment.isdigit() and int(segment) < len(value) else None
        elif isinstance(value, dict):
            value = value.get(segment)
        else:
            return None
    return value


def drop(value: Any, path: Sequence[str]) -> None:
    """Remove what a path names, in which `*` is any one segment and `**` any number of them."""
    if not path:
        return
    first, rest = path[0], path[1:]
    if first == "**":
        drop(value, rest)
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            drop(item, path)
        return
    for key in matching_keys(value, first):
        if rest:
            drop(value[key], rest)
        else:
            del value[key]


def matching_keys(value: Any, pattern: str) -> list[Any]:
    """Of a map or a list, the last first, so that each can be deleted in turn."""
    if isinstance(value, dict):
        return [key for key in value if fnmatch.fnmatchcase(key, pattern)]
    if isinstance(value, list):
        return [index for index in reversed(range(len(value))) if pattern in ("*", str(index))]
    return []


def shape(body: Any, step: Mapping[str, Any]) -> Any:
    """A body as the step wants it compared."""
    if not isinstance(body, dict | list):
        return body
    body = copy.deepcopy(body)
    if step.get("select"):
        body = select(body, step["select"])
    left_out = ["/**/storageVersionHash", *step.get("ignore", ())]
    if not step.get("managedFields"):
        left_out.append("/**/managedFields")
    if not step.get("descriptions"):
        left_out.append("/**/columnDefinitions/*/description")
    for pointer in left_out:
        drop(body, segments(pointer))
    return body


def select(body: Any, selection: Mapping[str, Any]) -> Any:
    """`rows`, `rowsByMeta`: a list as a map by name, `only` some of it, `then` select in each; `pick`: pointers."""
    if "rows" in selection:
        body = by_name(resolve(body, selection["rows"]), f"/{selection.get('key', 'name')}", selection)
    elif "rowsByMeta" in selection:
        body = by_name(resolve(body, selection["rowsByMeta"]), "/metadata/name", selection)
    if "pick" in selection:
        body = {pointer: resolve(body, pointer) for pointer in selection["pick"]}
    return body


def by_name(rows: Any, key: str, selection: Mapping[str, Any]) -> dict[str, Any]:
    named = {str(resolve(row, key) or ""): row for row in rows or () if isinstance(row, dict)}
    only, then = selection.get("only"), selection.get("then")
    return {name: select(row, then) if then else row for name, row in named.items() if only is None or name in only}
