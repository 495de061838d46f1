"""Label and field selectors: grammar, errors, matching."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.errors import ApiError
from kube32_sim.api.field_selectors import parse_fields, select_fields
from kube32_sim.api.selectors import (
    EVERYTHING,
    NOTHING,
    label_selector,
    label_set,
    parse_labels,
)

TABLE = builtin_table()
OBJECTS = {
    "a": {"t": "x", "env": "prod", "tier": "web"},
    "b": {"t": "x", "env": "prod"},
    "c": {"t": "x", "env": "dev", "tier": "db"},
    "d": {"t": "x", "tier": "web"},
    "e": {"t": "x", "env": ""},
}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", "abcde"),
        ("env=prod", "ab"),
        ("env==prod", "ab"),
        ("env!=prod,t=x", "cde"),
        ("env,t", "abce"),
        ("!env,t", "d"),
        ("! env", "d"),
        ("env in (prod,dev)", "abc"),
        ("env notin (prod),t", "cde"),
        ("env in (prod),tier=web", "a"),
        ("env=,t", "e"),
        ("env in (),t", "e"),
        ("t,env notin (prod, dev)", "de"),
        ("nosuch=1", ""),
        (" env = prod ", "ab"),
        ("env=prod,env=dev", ""),
        ("env in (,prod)", "abe"),
        ("env in (prod,)", "abe"),
        ("env=in", ""),
        ("tier,tier!=db,env", "a"),
        ("in", ""),
    ],
)
def test_label_selectors(text: str, names: str) -> None:
    selector = parse_labels(text)
    assert "".join(name for name, labels in OBJECTS.items() if selector.matches(labels)) == names
    assert selector.everything is (text == "")


@pytest.mark.parametrize(("text", "names"), [("n>3", "a"), ("n<5", "bc"), ("n>3,n<5", ""), ("n > 1", "ab")])
def test_numeric_operators(text: str, names: str) -> None:
    objects = {"a": {"n": "5"}, "b": {"n": "3"}, "c": {"n": "-7"}, "d": {"n": "many"}, "e": {}}
    selector = parse_labels(text)
    assert "".join(name for name, labels in objects.items() if selector.matches(labels)) == names


KEY_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("env in prod", "unable to parse requirement: found 'prod' expected: '('"),
        ("env=(prod)", "unable to parse requirement: found '(', expected: identifier"),
        ("=prod", "found '=', expected: !, identifier, or 'end of string'"),
        ("env===prod", "unable to parse requirement: found '=', expected: identifier"),
        ("bad key=x", "unable to parse requirement: found 'key', expected: in, notin, =, ==, !=, gt, lt"),
        ("env=bad value", "found 'value', expected: ',' or 'end of string'"),
        ("env in (a", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("env!prod", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"),
        (
            "env>abc",
            'unable to parse requirement: values[0]: Invalid value: "abc": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        ("-x=1", f'unable to parse requirement: <nil>: Invalid value: "-x": {KEY_RULE}'),
        (",,", "found ',', expected: !, identifier, or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("key@=1", f'unable to parse requirement: <nil>: Invalid value: "key@": {KEY_RULE}'),
        ("a in (b=c)", "unable to parse requirement: found '=', expected: ',' or ')'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("!a in (b)", "found 'in', expected: ',' or 'end of string'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
    ],
)
def test_label_selector_errors(text: str, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse_labels(text)
    assert (caught.value.code, caught.value.reason, caught.value.message) == (400, "BadRequest", message)


def test_label_value_errors_name_the_key() -> None:
    with pytest.raises(ApiError, match=r'values\[0\]\[env\]: Invalid value: "b@d": a valid label must be'):
        parse_labels("env=b@d")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("b=1,a", "a,b=1"),
        (" a in ( y,x , y)", "a in (x,y)"),
        ("!a", "!a"),
        ("x notin (a)", "x notin (a)"),
        ("n>1", "n>1"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    assert parse_labels(text).text == canonical
    assert parse_labels(canonical).text == canonical


def test_object_form() -> None:
    expressions = [
        {"key": "env", "operator": "In", "values": ["prod", "dev"]},
        {"key": "x", "operator": "DoesNotExist"},
        {"key": "t", "operator": "Exists"},
    ]
    selector = label_selector({"matchLabels": {"tier": "web"}, "matchExpressions": expressions})
    assert selector.text == "env in (dev,prod),t,tier=web,!x"
    assert [name for name, labels in OBJECTS.items() if selector.matches(labels)] == ["a"]
    assert label_selector({}) is EVERYTHING
    assert label_selector(None) is NOTHING
    assert not NOTHING.matches({})
    assert not NOTHING.everything
    assert label_selector({"matchExpressions": [{"key": "a", "operator": "Near"}]}) is NOTHING
    assert label_set({"a": "b"}).text == "a=b"


def test_field_selectors() -> None:
    selector = parse_fields("spec.nodeName=n1,status.phase!=Running,metadata.name==x")
    assert selector.requirements == (
        ("metadata.name", "=", "x"),
        ("spec.nodeName", "=", "n1"),
        ("status.phase", "!=", "Running"),
    )
    assert selector.matches({"metadata.name": "x", "spec.nodeName": "n1", "status.phase": "Pending"})
    assert not selector.matches({"metadata.name": "x", "spec.nodeName": "n1", "status.phase": "Running"})
    assert selector.exact("spec.nodeName") == "n1"
    assert selector.exact("status.phase") is None
    assert selector.without("spec.nodeName").text == "metadata.name=x,status.phase!=Running"
    contradiction = parse_fields("metadata.name=p1,metadata.name=p2")
    assert contradiction.without("metadata.name").text == "metadata.name=p2"
    assert parse_fields("spec.nodeName=").matches({})
    assert parse_fields("").everything


@pytest.mark.parametrize(
    ("text", "requirement"),
    [
        (r"a=x\,y", ("a", "=", "x,y")),
        (r"a=x\=y", ("a", "=", "x=y")),
        (r"a==x\\y", ("a", "=", "x\\y")),
        (r"a!=\=", ("a", "!=", "=")),
    ],
)
def test_field_values_may_be_escaped(text: str, requirement: tuple[str, str, str]) -> None:
    assert parse_fields(text).requirements == (requirement,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        ("a===b", "invalid field selector: unescaped character in value: 61"),
        (r"a=b\q", r"invalid field selector: invalid escape sequence: \q"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
        (r"a=b\,c,d", r"invalid selector: 'a=b\,c,d'; can't understand 'd'"),
    ],
)
def test_field_values_with_special_characters(text: str, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse_fields(text)
    assert (caught.value.code, caught.value.message) == (400, message)


@pytest.mark.parametrize(
    ("plural", "text", "message"),
    [
        ("pods", "metadata.labels.x=1", "field label not supported: metadata.labels.x"),
        ("pods", "=x", "field label not supported: "),
        (
            "configmaps",
            "data.x=1",
            '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("pods", "metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        (
            "pods",
            "metadata.name in (a)",
            "invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'",
        ),
        ("nodes", "metadata.namespace=x", "field label not supported: metadata.namespace"),
    ],
)
def test_field_selector_errors(plural: str, text: str, message: str) -> None:
    row = TABLE.by_path("", "v1", plural)
    assert row is not None
    with pytest.raises(ApiError) as caught:
        select_fields(text, row)
    assert (caught.value.code, caught.value.message) == (400, message)


def test_field_labels_of_a_view_are_those_of_the_stored_form() -> None:
    events = TABLE.by_path("events.k8s.io", "v1", "events")
    pods = TABLE.by_path("", "v1", "pods")
    assert events is not None
    assert pods is not None
    assert select_fields("regarding.name=p,reportingController=c", events).requirements == (
        ("involvedObject.name", "=", "p"),
        ("reportingComponent", "=", "c"),
    )
    assert select_fields("spec.host=n", pods).exact("spec.nodeName") == "n"


@given(st.text(alphabet="ab=!(),<> in\tnot@-."))
def test_any_text_selects_or_is_refused(text: str) -> None:
    for parse in (parse_labels, parse_fields):
        with contextlib.suppress(ApiError):
            parse(text).matches({})
