"""How custom objects are printed: `additionalPrinterColumns`, or name and age where a version has none."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import orjson

from kube32_sim.api.columns.form import NAME, name_of
from kube32_sim.api.customs.paths import JSONPath, PathError
from kube32_sim.api.tables import Age, Cell, ColumnDefinition, Columns

JsonObject = dict[str, Any]
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)")
_CREATED = ".metadata.creationTimestamp"
_AGE: JsonObject = {
    "name": "Age",
    "type": "date",
    "description": "CreationTimestamp is a timestamp representing the server time when this object was created.",
    "jsonPath": _CREATED,
}


def columns_of(version: JsonObject) -> Columns:
    """Of one entry of spec.versions."""
    definitions, readers = [NAME], []
    for column in version.get("additionalPrinterColumns") or [_AGE]:
        try:
            readers.append(_reader(column))
        except PathError:  # validation lets more through than can be read: upstream shows the columns before it
            break
        definitions.append(_definition(column))

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
    path = JSONPath(column["jsonPath"])
    convert = _CONVERT.get(column["type"], _text)

    def read(obj: JsonObject) -> Cell:
        found = path.find(obj)
        return convert(found[0]) if found else None

    return read


def _text(value: Any) -> str:
    """As Go prints the value, or its JSON where it has parts."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, float):
        return _shortest(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _shortest(value: float) -> str:
    """A float64 as `%v` writes it: no more digits than tell it from others, an exponent below -4 and from 6 on."""
    exact = Decimal(repr(value)).normalize()
    if -4 <= exact.adjusted() < 6:
        return f"{exact:f}"
    mantissa, _, power = f"{exact:e}".partition("e")
    return f"{mantissa}e{int(power):+03}"


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
    if not isinstance(value, str):
        return None
    if value in ("", "null"):
        return Age("")
    return Age(value) if _RFC3339.fullmatch(value) else "<invalid>"


_CONVERT: dict[str, Callable[[Any], Cell]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
