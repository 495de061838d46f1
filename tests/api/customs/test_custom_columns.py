"""Cells of custom objects: by the column's type, as apiextensions-apiserver converts them."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.customs.columns import columns_of
from kube32_sim.api.tables import Age

OBJ = {
    "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"n": 3, "f": 2.5, "b": True, "s": "text", "list": ["x", "y"], "map": {"k": 1}, "none": None}
    | {
        "parts": {"z": 1, "a": "<x>&"},
        "large": 12345678.5,
        "huge": 1e21,
        "small": 1e-5,
        "day": "2026-01-01",
        "empty": "",
    },
}


def cell(kind: str, path: str) -> Any:
    column = {"name": "C", "type": kind, "jsonPath": path}
    return columns_of({"additionalPrinterColumns": [column]}).cells(OBJ)[1]


@pytest.mark.parametrize(
    ("kind", "path", "shown"),
    [
        ("integer", ".spec.n", 3),
        ("integer", ".spec.f", 2),
        ("integer", ".spec.s", None),
        ("integer", ".spec.b", None),
        ("number", ".spec.f", 2.5),
        ("number", ".spec.n", 3.0),
        ("number", ".spec.s", None),
        ("boolean", ".spec.b", True),
        ("boolean", ".spec.n", None),
        ("string", ".spec.s", "text"),
        ("string", ".spec.n", "3"),
        ("string", ".spec.b", "true"),
        ("string", ".spec.list", '["x","y"]'),
        ("string", ".spec.map", '{"k":1}'),
        ("string", ".spec.list[*]", "x"),
        ("string", ".spec.none", "<no value>"),
        ("integer", ".spec.none", None),
        ("string", ".spec.parts", '{"a":"\\u003cx\\u003e\\u0026","z":1}'),
        ("string", ".spec.parts.a", "<x>&"),
        ("string", ".spec.f", "2.5"),
        ("string", ".spec.large", "1.23456785e+07"),
        ("string", ".spec.huge", "1e+21"),
        ("string", ".spec.small", "1e-05"),
        ("date", ".spec.s", "<invalid>"),
        ("date", ".spec.day", "<invalid>"),
        ("date", ".spec.empty", Age("")),
        ("string", ".spec.nothing", None),
        ("date", ".metadata.creationTimestamp", Age("2026-01-01T00:00:00Z")),
        ("date", ".spec.n", None),
    ],
)
def test_cells(kind: str, path: str, shown: Any) -> None:
    assert cell(kind, path) == shown


def test_without_columns_of_its_own_a_version_shows_the_age() -> None:
    columns = columns_of({})
    assert [column.name for column in columns.definitions] == ["Name", "Age"]
    assert columns.definitions[1].type == "date"


def test_a_column_tells_its_path_where_it_has_no_description() -> None:
    column = columns_of({"additionalPrinterColumns": [{"name": "C", "type": "string", "jsonPath": ".spec.s"}]})
    assert column.definitions[1].description == "Custom resource definition column (in JSONPath format): .spec.s"


def test_columns_end_before_the_first_whose_path_cannot_be_read() -> None:
    paths = (".spec.s", ".spec.list[", ".spec.n")
    columns = columns_of({"additionalPrinterColumns": [{"name": p, "type": "string", "jsonPath": p} for p in paths]})
    assert [column.name for column in columns.definitions] == ["Name", ".spec.s"]
    assert columns.cells(OBJ) == ["a", "text"]
