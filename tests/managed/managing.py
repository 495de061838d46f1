"""Objects under the field manager alone: created, changed, applied, without a server around it."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.decode import decode_value
from kube32_sim.api.managed.entries import decoded
from kube32_sim.api.managed.fieldset import paths, text
from kube32_sim.api.managed.manager import FieldManager, Writer
from kube32_sim.api.resources import ResourceType

TABLE = builtin_table()
FIELDS = FieldManager(TABLE)
T0, T1, T2 = (f"2026-01-01T00:00:0{second}Z" for second in range(3))


def row_of(kind: str, version: str = "") -> ResourceType:
    return next(row for row in TABLE if row.kind == kind and version in ("", row.api_version))


def new(kind: str, obj: dict[str, Any], manager: str = "maker", now: str = T0, version: str = "") -> dict[str, Any]:
    row = row_of(kind, version)
    made, _ = decode_value(obj, row.schema)
    FIELDS.created(Writer(row, manager, "", now), made)
    return made


def changed(
    kind: str, old: dict[str, Any], obj: dict[str, Any], manager: str, now: str = T1, subresource: str = ""
) -> dict[str, Any]:
    row = row_of(kind)
    made, _ = decode_value(obj, row.schema)
    FIELDS.updated(Writer(row, manager, subresource, now), made, old)
    return made


def applied(
    kind: str,
    old: dict[str, Any] | None,
    config: dict[str, Any],
    manager: str,
    now: str = T1,
    *,
    force: bool = False,
    subresource: str = "",
    version: str = "",
) -> dict[str, Any]:
    row = row_of(kind, version)
    made = FIELDS.applied(Writer(row, manager, subresource, now), config, old, force=force)
    return decode_value(made, row.schema)[0]


def owners(obj: dict[str, Any]) -> dict[str, list[str]]:
    """manager (and `/subresource`, `+` for an applier) -> the paths it owns."""
    found = {}
    for manager, entry in decoded(obj["metadata"].get("managedFields")).items():
        name = manager.name + ("+" if manager.operation == "Apply" else "")
        name += f"/{manager.subresource}" if manager.subresource else ""
        found[name] = [text(path) for path in paths(entry.fields)]
    return found


def times(obj: dict[str, Any]) -> dict[str, str | None]:
    return {entry["manager"]: entry.get("time") for entry in obj["metadata"]["managedFields"]}


def bare(obj: dict[str, Any]) -> dict[str, Any]:
    """The object without managedFields."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return {**obj, "metadata": metadata}


def config_map(**data: str) -> dict[str, Any]:
    return {"metadata": {"name": "c"}, **({"data": data} if data else {})}
