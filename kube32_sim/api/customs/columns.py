"""How custom objects are printed: `additionalPrinterColumns`, or name and age where a version has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from kube32_sim.api.columns.form import NAME, name_of
from kube32_sim.api.customs.paths import JSONPath, PathError
from kube32_sim.api.tables import Age, Cell, ColumnDefinition, Columns

JsonObject = dict[str, Any]
_CREATED = ".metadata.creationTimestamp"
_AGE: JsonObject = {
    "name": "Age",
    "type": "date",
    "description": "CreationTimestamp is a timestamp representing the server time when this object was created.",
    "jsonPath": _CREATED,
}


def columns_of(version: JsonObject) -> Columns:
    """Of one entry of spec.versions."""
    wanted = version.get("additionalPrinterColumns") or [_AGE]
    definitions = [NAME, *(_definition(column) for column in wanted)]
    readers = [_reader(column) for column in wanted]

    def cells(obj: JsonObject) -> Sequence[Cell]:
        return [name_of(obj), *(read(obj) for read in readers)]

    return Columns(tuple(definitions), cells)


def _definition(column: JsonObject) -> ColumnDefinition:
    path = column["jsonPath"]
    described = column.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
    return ColumnDefinition(
        column["name"], described, column["type"], column.get("format", ""), column.get("priority", 0)
    )


def _reader(column: JsonObject) -> Callable[[JsonObject], Cell]:
    try:
        path = JSONPath(column["jsonPath"])
    except PathError:  # validation lets more through than anybody can read: upstream prints nothing then
        return lambda obj: None
    convert = _CONVERT.get(column["type"], _text)

    def read(obj: JsonObject) -> Cell:
        found = path.find(obj)
        return convert(found[0]) if found else None

    return read


def _text(value: Any) -> str | None:
    """As Go prints the value, or its JSON where it has parts."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return orjson.dumps(value).decode()


def _integer(value: Any) -> Cell:
    if isinstance(value, bool):
        return None
    return int(value) if isinstance(value, int | float) else None


def _number(value: Any) -> Cell:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None


def _boolean(value: Any) -> Cell:
    return value if isinstance(value, bool) else None


def _date(value: Any) -> Cell:
    """How long ago it was."""
    return Age(value) if isinstance(value, str) else None


_CONVERT: dict[str, Callable[[Any], Cell]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
