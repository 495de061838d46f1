"""Warnings about pods with very long lists."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.validation import pod_warnings
from kube32_sim.server.answers import LONGEST_WARNING, MOST_WARNED, answer


def test_ports_are_compared_with_a_few_others(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    real = pod_warnings._overlap

    def counted(port: dict[str, Any], other: dict[str, Any]) -> str:
        nonlocal compared
        compared += 1
        return real(port, other)

    monkeypatch.setattr(pod_warnings, "_overlap", counted)
    ports = [{"containerPort": 1, "protocol": "TCP", "hostPort": n + 1} for n in range(500)]
    assert pod_warnings._port_warnings([({"ports": ports}, "spec.containers[0]")]) == []
    assert compared <= 500 * 16


def test_duplicates_are_looked_up() -> None:
    compared = 0

    class Counted(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    secrets = [{"name": Counted(f"s{n}")} for n in range(500)]
    assert pod_warnings._duplicate_warnings({"imagePullSecrets": secrets}, "spec") == []
    assert compared < 5000


def test_warnings_fit_into_headers() -> None:
    few = answer(b"", warnings=["a" * 1000, "b"]).headers.getall("Warning")
    assert few == [f'299 - "{"a" * 1000}"', '299 - "b"']
    many = answer(b"", warnings=["a" * 1000] * 5000).headers.getall("Warning")
    assert len(many) == MOST_WARNED // LONGEST_WARNING
