"""Small helpers that the printing columns of all areas share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kube32_sim.api.tables import Age, ColumnDefinition

JsonObject = dict[str, Any]

NAME = ColumnDefinition("Name", "The object's name, unique among its kind in its namespace.", format="name")
AGE = ColumnDefinition("Age", "Time since the object was created.")
CONTAINERS = ColumnDefinition("Containers", "The names of the template's containers.", priority=1)
IMAGES = ColumnDefinition("Images", "The images of the template's containers.", priority=1)
SELECTOR = ColumnDefinition("Selector", "Which pods belong to the object.", priority=1)


def text(name: str, description: str, *, wide: bool = False) -> ColumnDefinition:
    return ColumnDefinition(name, description, priority=1 if wide else 0)


def integer(name: str, description: str) -> ColumnDefinition:
    return ColumnDefinition(name, description, type="integer")


def boolean(name: str, description: str) -> ColumnDefinition:
    return ColumnDefinition(name, description, type="boolean")


def name_of(obj: JsonObject) -> str:
    name: str = obj["metadata"].get("name", "")
    return name


def age_of(obj: JsonObject) -> Age:
    return Age(obj["metadata"].get("creationTimestamp") or "")


def deleting(obj: JsonObject) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def section(obj: Mapping[str, Any], *path: str) -> JsonObject:
    """The object at a path, or an empty one."""
    found: Any = obj
    for name in path:
        found = found.get(name) or {}
    return found  # type: ignore[no-any-return]


def condition_status(conditions: Iterable[JsonObject], kind: str) -> str:
    """The status of the first condition of a type; "" where there is none."""
    return next((condition.get("status", "") for condition in conditions if condition.get("type") == kind), "")


def containers_and_images(template: JsonObject) -> tuple[str, str]:
    containers = section(template, "spec").get("containers") or ()
    return (
        ",".join(container.get("name", "") for container in containers),
        ",".join(container.get("image", "") for container in containers),
    )


def labels_text(labels: Mapping[str, str] | None) -> str:
    """`a=b,c=d`; `<none>` for no labels."""
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) if labels else "<none>"


def selector_text(selector: JsonObject | None) -> str:
    """A label selector as `kubectl -l` would take it; "" where it selects everything or nothing."""
    if not selector:
        return ""
    parts = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        parts.append((expression.get("key", ""), _requirement(expression)))
    return ",".join(part for _, part in sorted(parts, key=lambda part: part[0]))


def _requirement(expression: JsonObject) -> str:
    key, operator = expression.get("key", ""), expression.get("operator")
    if operator == "Exists":
        return f"{key}"
    if operator == "DoesNotExist":
        return f"!{key}"
    word = "in" if operator == "In" else "notin"
    return f"{key} {word} ({','.join(sorted(expression.get('values') or ()))})"


def selector_or_none(selector: JsonObject | None) -> str:
    return selector_text(selector) or "<none>"


def shortened(items: Sequence[str], most: int = 3, nothing: str = "<unset>") -> str:
    """The first few items, and how many more there are."""
    if len(items) > most:
        return f"{','.join(items[:most])} + {len(items) - most} more..."
    return ",".join(items) or nothing


def number(value: Any) -> int:
    """A count that may be absent."""
    return value or 0


def yes_no(value: bool | None) -> str:
    if value is None:
        return "<unset>"
    return "True" if value else "False"
