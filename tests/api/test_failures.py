"""Validation stops where there are more failures than anybody reads."""

from __future__ import annotations

from kube32_sim.api.errors import (
    MOST_FAILURE_TEXT,
    MOST_FAILURES,
    FieldError,
    failures_of,
    invalid_value,
    required,
)


def test_failures_are_all_told_where_they_are_few() -> None:
    few = [required(f"spec.x[{index}]") for index in range(MOST_FAILURES - 1)]
    assert failures_of(lambda: [required(each.field) for each in few]) == few


def test_validation_stops_at_so_many() -> None:
    looked_at = 0

    def validate() -> list[FieldError]:
        nonlocal looked_at
        found = []
        for index in range(10 * MOST_FAILURES):
            looked_at += 1
            found.append(required(f"spec.x[{index}]"))
        return found

    found = failures_of(validate)
    assert looked_at == MOST_FAILURES
    assert len(found) == MOST_FAILURES + 1
    assert found[-1].message == "Too many failures: the rest was not looked at"
    assert failures_of(lambda: [required("x")]) == [required("x")]


def test_validation_stops_where_failures_show_too_much() -> None:
    shown = ["x" * 100] * 100
    found = failures_of(lambda: [invalid_value("spec.x", shown, "no") for _ in range(MOST_FAILURES - 1)])
    assert sum(len(each.message) for each in found) < MOST_FAILURE_TEXT + 20_000
