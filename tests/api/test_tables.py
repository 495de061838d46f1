"""The form of Tables: ages, templates, rows and lists, metadata-only answers."""

from __future__ import annotations

import orjson
import pytest

from kube32_sim.api.columns import columns_for
from kube32_sim.api.errors import ApiError
from kube32_sim.api.tables import (
    Age,
    ColumnDefinition,
    Columns,
    human_duration,
    parse_include,
    partial_list,
    partial_object,
    render,
    row_template,
    table_list,
    table_object,
)

NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z
DAY = 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2.5, "<invalid>"),
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (-0.5, "0s"),
        (0, "0s"),
        (5.9, "5s"),
        (119, "119s"),
        (120, "2m"),
        (150, "2m30s"),
        (599, "9m59s"),
        (600, "10m"),
        (179 * 60 + 59, "179m"),
        (180 * 60, "3h"),
        (3 * 3600 + 240, "3h4m"),
        (7 * 3600 + 3599, "7h59m"),
        (8 * 3600, "8h"),
        (47 * 3600 + 3599, "47h"),
        (48 * 3600, "2d"),
        (2 * DAY + 5 * 3600, "2d5h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY, "8d"),
        (730 * DAY - 1, "729d"),
        (730 * DAY, "2y"),
        (730 * DAY + 300 * DAY, "2y300d"),
        (8 * 365 * DAY - 1, "7y364d"),
        (8 * 365 * DAY + 100 * DAY, "8y"),
    ],
)
def test_human_duration(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


def columns_of(*cells: object) -> Columns:
    return Columns(tuple(ColumnDefinition(f"C{i}") for i in range(len(cells))), lambda _: cells)  # type: ignore[arg-type, return-value]


def rendered(columns: Columns, obj: dict[str, object], now: float = NOW) -> list[object]:
    cells: list[object] = orjson.loads(render(row_template(columns, obj), now) + b"null}")["cells"]
    return cells


def test_ages_are_of_the_moment_of_the_answer() -> None:
    template = row_template(columns_of("a", Age("2025-12-31T23:59:00Z"), 3), {})
    assert orjson.loads(render(template, NOW) + b"1}") == {"cells": ["a", "60s", 3], "object": 1}
    assert orjson.loads(render(template, NOW + 3600) + b"1}") == {"cells": ["a", "61m", 3], "object": 1}


def test_cells_of_all_kinds() -> None:
    cells = (
        "",
        'quo"te\nü',
        0,
        True,
        None,
        Age("2026-01-01T00:00:00.123456Z"),
        Age("2025-12-30T00:00:00Z", '2 ("', " ago)"),
    )
    assert rendered(columns_of(*cells), {}, NOW + 10) == ["", 'quo"te\nü', 0, True, None, "9s", '2 ("2d ago)']


@pytest.mark.parametrize("since", ["", "never", "0001-01-01T00:00:00Z", "2026-13-01T00:00:00Z"])
def test_no_time_is_an_unknown_age(since: str) -> None:
    assert rendered(columns_of(Age(since), Age(since, "1 (", ")")), {}) == ["<unknown>", "1 (<unknown>)"]


def test_a_time_to_come_is_an_invalid_age() -> None:
    assert rendered(columns_of(Age("2026-01-01T00:00:30Z")), {}) == ["<invalid>"]


def rows(count: int) -> list[tuple[tuple[object, ...], bytes]]:
    columns = columns_for("", "ConfigMap")
    objects = [{"metadata": {"name": f"c{i}", "creationTimestamp": "2025-12-31T23:00:00Z"}} for i in range(count)]
    return [(row_template(columns, obj), orjson.dumps(obj["metadata"])) for obj in objects]


def test_list_with_metadata() -> None:
    columns = columns_for("", "ConfigMap")
    answer = orjson.loads(table_list(rows(2), columns, "17", "Metadata", NOW, continue_="next", remaining=4))
    assert answer["kind"] == "Table"
    assert answer["apiVersion"] == "meta.k8s.io/v1"
    assert answer["metadata"] == {"resourceVersion": "17", "continue": "next", "remainingItemCount": 4}
    assert [column["name"] for column in answer["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert answer["rows"][1] == {
        "cells": ["c1", 0, "60m"],
        "object": {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": {"name": "c1", "creationTimestamp": "2025-12-31T23:00:00Z"},
        },
    }
    assert len(answer["rows"]) == 2


def test_list_without_rows() -> None:
    answer = orjson.loads(table_list([], columns_for("", "Pod"), "1", "Metadata", NOW))
    assert answer["rows"] == []
    assert answer["metadata"] == {"resourceVersion": "1"}


def test_list_without_objects_and_with_whole_objects() -> None:
    columns = columns_for("", "ConfigMap")
    none = orjson.loads(table_list(rows(2), columns, "1", "None", NOW))
    assert [row["object"] for row in none["rows"]] == [None, None]
    template = rows(1)[0][0]
    whole = orjson.loads(table_list([(template, b'{"kind":"ConfigMap"}')] * 2, columns, "1", "Object", NOW))
    assert [row["object"] for row in whole["rows"]] == [{"kind": "ConfigMap"}] * 2


def test_the_table_of_one_object() -> None:
    template, metadata = rows(1)[0]
    columns = columns_for("", "ConfigMap")
    first = orjson.loads(table_object(template, metadata, columns, "9", "Metadata", NOW))
    assert first["metadata"] == {"resourceVersion": "9"}
    assert first["rows"][0]["object"]["metadata"]["name"] == "c0"
    assert len(first["columnDefinitions"]) == 3
    later = orjson.loads(table_object(template, metadata, None, "9", "None", NOW))
    assert orjson.loads(table_object(template, metadata, None, "", "None", NOW))["metadata"] == {}
    assert later["columnDefinitions"] is None
    assert later["rows"] == [{"cells": ["c0", 0, "60m"], "object": None}]


def test_the_old_version_of_the_form() -> None:
    template, metadata = rows(1)[0]
    answer = orjson.loads(
        table_list([(template, metadata)], columns_for("", "ConfigMap"), "1", "Metadata", NOW, version="v1beta1")
    )
    assert answer["apiVersion"] == "meta.k8s.io/v1beta1"
    assert answer["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


def test_metadata_only_answers() -> None:
    one = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}}
    assert orjson.loads(partial_object(b'{"name":"a"}')) == one
    assert orjson.loads(partial_list([b'{"name":"a"}'] * 2, "5", "c", 1)) == {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "5", "continue": "c", "remainingItemCount": 1},
        "items": [one, one],
    }
    assert orjson.loads(partial_list([], "5"))["items"] == []


def test_include_object() -> None:
    assert [parse_include(value) for value in ("", "Metadata", "None", "Object")] == [
        "Metadata",
        "Metadata",
        "None",
        "Object",
    ]
    with pytest.raises(ApiError) as refusal:
        parse_include("Bogus")
    assert refusal.value.code == 400
    assert refusal.value.message == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "Bogus": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )
