"""YAML texts as JSON values."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.yamltext import YamlError, loads


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ("a: 0644", {"a": 420}),
        ("a: 0o17", {"a": 15}),
        ("a: 0x1F", {"a": 31}),
        ("a: 0b11", {"a": 3}),
        ("a: 1_000", {"a": 1000}),
        ("a: 1e3", {"a": 1000}),
        ("a: 1.5", {"a": 1.5}),
        ("a: 09", {"a": 9}),
        ("a: 1:30", {"a": "1:30"}),
        ("a: 1.2.3", {"a": "1.2.3"}),
        ("a: 100m", {"a": "100m"}),
        ("a: '1'", {"a": "1"}),
        ("a: !!str 1", {"a": "1"}),
        ("a: yes\nb: Off\nc: 'no'", {"a": True, "b": False, "c": "no"}),
        ("a: ~\nb:\nc: null", {"a": None, "b": None, "c": None}),
        ("a: 2024-01-01", {"a": "2024-01-01"}),
        ("a: 2024-01-01T00:00:00Z", {"a": "2024-01-01T00:00:00Z"}),
        ("1: x\ntrue: w\n1.5: z", {"1": "x", "true": "w", "1.5": "z"}),
        ("a: !!binary aGk=", {"a": "hi"}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("- 1\n- [2, {a: b}]", [1, [2, {"a": "b"}]]),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3", {"a": {"b": 1, "c": 2}, "d": {"c": 3, "b": 1}}),
        ("a: &x {b: 1}\ne: &y {b: 2, f: 3}\nd: {<<: [*x, *y]}", None),
        ("a: 1\n---\nb: 2", {"a": 1}),
        ("", None),
        ("# nothing\n", None),
    ],
)
def test_values(text: str, value: Any) -> None:
    found, repeated = loads(text.encode())
    assert repeated == []
    if value is None and "<<" in text:
        assert found["d"] == {"b": 1, "f": 3}
    else:
        assert found == value


def test_repeated_keys_are_named_with_their_line() -> None:
    assert loads(b"a: 1\nb:\n  c: 1\n  c: 2\na: 3\n") == (
        {"a": 3, "b": {"c": 2}},
        ['line 4: key "c" already set in map', 'line 5: key "a" already set in map'],
    )


@pytest.mark.parametrize(
    "text",
    ["a: [b", "a: *x", "a: &x [*x]", "? [a]\n: b", "a: .inf", "<<: 5", "\t- a", "a: !!binary $", "\x00", "[" * 5000],
)
def test_what_has_no_json_form(text: str) -> None:
    with pytest.raises(YamlError):
        loads(text.encode())


def test_aliases_that_expand_without_end_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(YamlError, match="excessive aliasing"):
        loads("\n".join(lines).encode())
