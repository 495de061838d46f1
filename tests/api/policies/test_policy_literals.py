"""Literals of mutations: what is checked, what is evaluated, and whether their types are at their place."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.policies.literals import TYPE_KEY, as_written, plain, read_literals, type_faults


def t(name: str, fields: str = "") -> str:
    """A literal as it is evaluated."""
    return f'{{"\\u0000type": dyn("{name}"), {fields}}}'


@pytest.mark.parametrize(
    ("source", "checked", "evaluated"),
    [
        ("object.spec", "object.spec", "object.spec"),
        ("Object{}", "Object{}", t("Object")),
        ("Object{spec: x}", "Object{spec: x}", t("Object", '"spec":dyn( x)')),
        (
            "Object{spec: Object.spec{replicas: 3}}",
            "Object{spec: Object_spec{replicas: 3}}",
            t("Object", '"spec":dyn( ' + t("Object.spec", '"replicas":dyn( 3)') + ")"),
        ),
        ("Object.a . b {c: 1}", "Object_a_b   {c: 1}", " " + t("Object.a.b", '"c":dyn( 1)')),
        (
            'Object{?a: x ? y : z, b: {"c": d}}',
            'Object{?a: x ? y : z, b: {"c": d}}',
            t("Object", '?"a": x ? y : z, "b":dyn( {"c": d})'),
        ),
        (
            "Object{a: f(x, y), b: [p ? q : r, s], c: p ? q : r}",
            "Object{a: f(x, y), b: [p ? q : r, s], c: p ? q : r}",
            t("Object", '"a":dyn( f(x, y)), "b":dyn( [p ? q : r, s]), "c":dyn( p ? q : r)'),
        ),
        ('"Object{a: 1}"', '"Object{a: 1}"', '"Object{a: 1}"'),
        ("// Object{a: 1}\nx", "// Object{a: 1}\nx", "// Object{a: 1}\nx"),
        ("x.Object{a: 1}", "x.Object{a: 1}", "x.Object{a: 1}"),
        ("Objects{a: 1}", "Objects{a: 1}", "Objects{a: 1}"),
        ("Object.spec", "Object.spec", "Object.spec"),
        ('[JSONPatch{op: "add"}]', '[JSONPatch{op: "add"}]', "[" + t("JSONPatch", '"op":dyn( "add")') + "]"),
        ("}}Object{a", "}}Object{a", '}}{"\\u0000type": dyn("Object"), "a"'),
    ],
)
def test_literals_are_read_off_the_source(source: str, checked: str, evaluated: str) -> None:
    found = read_literals(source)
    assert found.checked == checked
    assert len(found.checked) == len(source)
    assert found.evaluated.strip() == evaluated.strip()


def test_the_types_have_the_fields_that_the_expression_gives_them() -> None:
    found = read_literals("x ? Object{spec: Object.spec{a: 1}} : Object{metadata: y, spec: Object.spec{b: 2}}")
    fields = {name: list(kind.fields or ()) for name, kind in found.types.items()}
    assert fields == {"Object": ["spec", "metadata"], "Object_spec": ["a", "b"]}
    assert as_written("no 'Object_spec' in Object_spec{", found) == "no 'Object.spec' in Object.spec{"


def test_a_value_is_plain_without_its_types() -> None:
    value = {TYPE_KEY: "Object", "a": [{TYPE_KEY: "Object.a", "b": 1}]}
    assert plain(value) == {"a": [{"b": 1}]}


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({TYPE_KEY: "Object", "spec": {TYPE_KEY: "Object.spec", "x": 1}}, ""),
        ({TYPE_KEY: "Object", "spec": {TYPE_KEY: "Object.wrong"}}, 'unexpected type name "Object.wrong", expected'),
        ({TYPE_KEY: "Object", "a": [{TYPE_KEY: "Object.a", "b": {TYPE_KEY: "Object.a.b"}}]}, ""),
        ({TYPE_KEY: "Object", "a": {"k": {TYPE_KEY: "Object.b"}}}, '"Object.b", expected "Object.a"'),
        ({TYPE_KEY: "Object.spec", "x": {TYPE_KEY: "Object.spec.x"}}, ""),
    ],
)
def test_a_type_must_say_its_place(value: Any, fault: str) -> None:
    found = type_faults(value)
    assert bool(found) == bool(fault)
    assert fault in "".join(found)
