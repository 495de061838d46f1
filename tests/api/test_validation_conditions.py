"""Conditions of any kind's status: bounds are in bytes, as Go counts."""

from __future__ import annotations

import pytest

from kube32_sim.api.validation.conditions import validate_conditions

GOOD = {"type": "Ready", "status": "True", "reason": "Good", "lastTransitionTime": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("message", "expected"),
    [("x" * 32768, []), ("é" * 16384, []), ("é" * 16385, ["status.conditions[0].message: Too long"])],
)
def test_messages_have_so_many_bytes(message: str, expected: list[str]) -> None:
    found = validate_conditions([GOOD | {"message": message}], "status.conditions")
    assert [f"{each.field}: {each.message.partition(':')[0]}" for each in found] == expected
