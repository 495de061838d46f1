"""YAML texts as JSON values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kube32_sim.api import yamltext
from kube32_sim.api.strictness import MOST_FAULTS
from kube32_sim.api.yamltext import MOST_LEVELS, MOST_NODES, YamlError, loads


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


@pytest.mark.parametrize("text", ["[{}]", "x: &x [1, 1, 1]\ny: [{}]"], ids=["nodes", "nodes behind aliases"])
def test_the_reader_stops_at_so_many_nodes(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    item, size = ("*x", 4) if "&x" in text else ("1", 1)
    seen = 0

    def counted(data: bytes) -> Iterator[Any]:
        nonlocal seen
        for event in events(data):
            seen += 1
            yield event

    events = yamltext._events
    monkeypatch.setattr(yamltext, "_events", counted)
    monkeypatch.setattr(yamltext, "_MOST_ALIASED", 10 * MOST_NODES)
    body = text.replace("{}", f"{item}," * (3 * MOST_NODES // size)).encode()
    with pytest.raises(YamlError, match="more than 200000 nodes"):
        loads(body)
    assert seen <= MOST_NODES // size + 40
    fitting, _ = loads(text.replace("{}", f"{item}," * ((MOST_NODES - 10) // size)).encode())
    assert fitting


def test_only_so_many_repeated_keys_are_remembered() -> None:
    value, repeated = loads(b"a: 1\n" * 1000)
    assert value == {"a": 1}
    assert len(repeated) == MOST_FAULTS


def test_maps_of_a_merge_are_not_copied_into_one_another() -> None:
    first, second = {"a": 1}, {"a": 2, "b": 3}
    assert [
        found is map_ for found, map_ in zip(yamltext._merged([[first], second]), [first, second], strict=True)
    ] == [
        True,
        True,
    ]


def test_a_text_is_not_nested_too_deep() -> None:
    assert loads(b"[" * MOST_LEVELS + b"]" * MOST_LEVELS)[0]
    with pytest.raises(YamlError, match="nested more than 250 levels"):
        loads(b"[" * (MOST_LEVELS + 1) + b"]" * (MOST_LEVELS + 1))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("line", ["\n", "\r", "\u2028"])
def test_tag_directives_are_few(encoding: str, line: str) -> None:
    assert loads(f"%TAG !a! b{line}---{line}x: 1".encode(encoding))[0] == {"x": 1}
    text = "".join(f"%TAG !a{n}! b{line}" for n in range(30))
    with pytest.raises(YamlError, match="%TAG directives"):
        loads(f"{text}---{line}x: 1".encode(encoding))
