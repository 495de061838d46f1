"""Single expressions: what is wrong with them, and what goes wrong in them, in cel-go's words; values in and out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kube32_sim.api.authorization import Attributes, Decision, Rules
from kube32_sim.api.cel.environment import CompileError, Environment, EvaluationError
from kube32_sim.api.cel.functions.authorizer import AuthorizerValue
from kube32_sim.api.cel.types import (
    AUTHORIZER,
    BOOL,
    DURATION,
    DYN,
    INT,
    LIST_STRING,
    RESOURCE_CHECK,
    STRING,
    TIMESTAMP,
    CelType,
    list_of,
    map_of,
    object_type,
    parse_type,
)
from kube32_sim.api.users import User

_INNER = object_type("T_inner", {"labels": map_of(STRING), "any": DYN, "when": TIMESTAMP, "a_b": map_of(INT)})
_SELF = object_type("T", {"n": INT, "names": LIST_STRING, "inner": _INNER, "lists": list_of(list_of(INT))})
_TYPED = Environment({"self": _SELF, "old.self": INT})
_DYN = Environment({"x": DYN})


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("self.n < 1.5", BOOL),
        ("self.names", LIST_STRING),
        ("self.inner", _INNER),
        ("self.inner.labels", map_of(STRING)),
        ("self.inner.a_b['x'] + old.self", INT),
        ("self.inner.any.whatever", DYN),
        ("self.inner.when", TIMESTAMP),
        ("self.inner.when - self.inner.when", DURATION),
        ("self.lists[0]", list_of(DYN)),
        ("quantity('1')", CelType("kubernetes.Quantity")),
        ("type(1)", CelType("type", (INT,))),
    ],
)
def test_an_expression_has_a_type(expression: str, kind: CelType) -> None:
    assert _TYPED.check(expression) == kind


@pytest.mark.parametrize(
    ("expression", "column", "message"),
    [
        ("nope == 1", 1, "undeclared reference to 'nope' (in container '')"),
        ("1 == nope . x.y", 6, "undeclared reference to 'nope' (in container '')"),
        ("Nope{a: 1} == 1", 5, "undeclared reference to 'Nope' (in container '')"),
        ("self.nope", 5, "undefined field 'nope'"),
        ("self.n.x", 7, "type 'int' does not support field selection"),
        ("self.n == 'x'", 8, "found no matching overload for '_==_' applied to '(int, string)'"),
        ("self.names.all(x, x < 1)", 21, "found no matching overload for '_<_' applied to '(string, int)'"),
        ("[1, 'a']", 5, "expected type 'int' but found 'string'"),
        ("{'a': 1, 'b': [1]}", 15, "expected type 'int' but found 'list(int)'"),
        ("{'a': 1, 2: 1}", 10, "expected type 'string' but found 'int'"),
        ("'a'.matches('[')", 13, "invalid matches argument"),
        ("duration('1y')", 10, "invalid duration argument"),
        ("timestamp('today')", 11, "invalid timestamp argument"),
    ],
)
def test_what_does_not_compile_is_told_with_its_place(expression: str, column: int, message: str) -> None:
    with pytest.raises(CompileError) as failed:
        _TYPED.compile(expression)
    place = f"ERROR: <input>:1:{column}: {message}\n | {expression}\n | {'.' * (column - 1)}^"
    assert str(failed.value) == place


def test_the_line_of_a_fault_is_told() -> None:
    with pytest.raises(CompileError) as failed:
        _DYN.compile("x == 1 ||\n  [1, 'a'] == x")
    assert str(failed.value) == (
        "ERROR: <input>:2:7: expected type 'int' but found 'string'\n |   [1, 'a'] == x\n | ......^"
    )


@pytest.mark.parametrize(
    "expression", ["[1, dyn('a')]", "[null, x]", "[timestamp('2020-01-01T00:00:00Z'), null]", "[]"]
)
def test_lists_may_have_elements_of_unknown_types(expression: str) -> None:
    _DYN.check(expression)


@pytest.mark.parametrize(
    "expression", ["cel.bind(a, 1, a)", "math.greatest(1, 2)", "base64.decode('x')", "'a'.reverse()"]
)
def test_what_kubernetes_has_not_is_not_there(expression: str) -> None:
    with pytest.raises(CompileError, match="undeclared reference"):
        _DYN.compile(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "{'a': optional.of(1)}",
        "dyn(optional.of(1))",
        "{'a': [optional.of(x)]}",
        "true ? x.?a : x",
        "{?'a': optional.of(x.?b)}",
        "{'a': x[?x.s].b}",
        "{'a': optional.of(x).orValue(x.?b)}",
        "{'a': x.?b.optMap(q, x[?q]).value()}",
        "x[?x.s] == x ? x[?x.s] : x",
    ],
)
def test_optional_values_that_would_end_the_process_are_refused(expression: str) -> None:
    with pytest.raises(CompileError, match="optional values in maps"):
        _DYN.compile(expression).evaluate({"x": 1})


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("x.?a.b.orValue(1)", 2),
        ("x[?'a'].?b.orValue(1)", 2),
        ("[?x.?a.b, ?x.?c]", [2]),
        ("x.?a.b.optMap(q, q + 1).orValue(0)", 3),
        ("x.?c.or(x.?a).b.value()", 2),
        ("[x.?a, x.?c].exists(i, !i.hasValue())", True),
        ("x.?c != optional.of(1) && x.?a.?b.optFlatMap(v, optional.of(v)).hasValue()", True),
    ],
)
def test_optional_values_are_of_use_elsewhere(expression: str, value: Any) -> None:
    assert _DYN.compile(expression).evaluate({"x": {"a": {"b": 2}}}) == value


def test_what_an_expression_may_evaluate_to() -> None:
    assert _DYN.compile("x", returns=(BOOL,)).type == DYN
    with pytest.raises(CompileError, match=r"^must evaluate to bool$"):
        _DYN.compile("1", returns=(BOOL,))
    with pytest.raises(CompileError, match=r"^must evaluate to one of \[string list\(string\)\]$"):
        _DYN.compile("1", returns=(STRING, LIST_STRING))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("x.nope", "no such key: nope"),
        ("x['a b']", "no such key: a b"),
        ("x.list[5]", "index out of bounds: 5"),
        ("x.list['a']", "unsupported index type 'string' in list"),
        ("x.n / 0", "division by zero"),
        ("x.n % 0", "modulus by zero"),
        ("x.n + 9223372036854775807", "integer overflow"),
        ("x.s + 1", "no such overload"),
        ("x.s < 1", "no such overload"),
        ("!x.s", "no such overload"),
        ("x.s && true", "no such overload"),
        ("x.s ? 1 : 2", "no such overload"),
        ("x.s.more", "no such overload"),
        ("x.n.startsWith('a')", "no such overload: startsWith"),
        ("size(x.n)", "no such overload: size"),
        ("x.s.orValue(1)", "no such overload: orValue"),
        ("format.named(x.n)", "no such overload: format.named"),
        ("int(x.s)", "type conversion error from 'string' to 'int'"),
        ("timestamp(x.s)", "type conversion error from 'string' to 'google.protobuf.Timestamp'"),
        ("duration(x.s)", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("[optional.of(1)]", "no such overload"),
        ("x.many.all(i, x.many.all(j, i >= 0 && j >= 0))", "operation cancelled: actual cost limit exceeded"),
    ],
)
def test_what_goes_wrong_is_told_in_the_words_of_cel_go(expression: str, message: str) -> None:
    values = {"list": [1], "n": 1, "s": "text", "many": list(range(200))}
    with pytest.raises(EvaluationError) as failed:
        _DYN.compile(expression).evaluate({"x": values})
    assert str(failed.value) == message


def test_an_error_that_does_not_matter_is_none() -> None:
    assert _DYN.compile("x.nope == 1 || true").evaluate({"x": {}}) is True
    assert _DYN.compile("has(x.nope)").evaluate({"x": {}}) is False
    assert _DYN.compile("has(x.no) && x.no == null").evaluate({"x": {"no": None}}) is True


def test_values_come_back_as_they_are_used_again() -> None:
    """What one expression comes to can be a variable of the next."""
    moment, span = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC), timedelta(hours=1)
    assert _DYN.compile("timestamp('2020-01-02T03:04:05Z')").evaluate({}) == moment
    for value in (
        moment,
        span,
        [moment],
        {"a": [1, 2.5, None, "b"]},
        b"ab",
        _DYN.compile("quantity('1')").evaluate({}),
    ):
        assert _DYN.compile("x").evaluate({"x": value}) == value
    later = _DYN.compile("x.getSeconds() == 3600").evaluate({"x": span})
    assert later is True


def test_values_are_bound_once_for_several_expressions() -> None:
    activation = _DYN.activation({"x": {"a": 1}})
    assert [_DYN.compile(f"x.a + {number}").evaluate(activation) for number in (1, 2)] == [2, 3]


def test_a_variable_without_a_value_is_told() -> None:
    with pytest.raises(EvaluationError, match=r"^no such attribute\(s\): x$"):
        _DYN.compile("x").evaluate({})


@pytest.mark.parametrize(
    "expression", ["1" + " + 1" * 3000, "(" * 3000 + "1" + ")" * 3000, "[" * 100 + "]" * 100, f"'{'a' * 100_001}' == x"]
)
def test_what_is_too_large_is_refused(expression: str) -> None:
    with pytest.raises(CompileError, match=r"recursion|exceeds codepoint limit"):
        _DYN.compile(expression)


def test_types_are_read_from_the_notation_of_the_library() -> None:
    found = parse_type("MAP<STRING, LIST<optional_type<T>>>", {"T": _SELF})
    assert found.shown() == "map(string, list(optional_type(T)))"
    assert found.parameters[1].parameters[0].parameters[0].fields is _SELF.fields


class _Deciding:
    """Allows what it is told to."""

    def __init__(self, allows: Callable[[User, Attributes], bool]) -> None:
        self._allows = allows
        self.asked: list[tuple[str, Attributes]] = []

    def decide(self, user: User, attributes: Attributes) -> Decision:
        self.asked.append((user.name, attributes))
        allowed = self._allows(user, attributes)
        return Decision(allowed, "because" if allowed else "")

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules((), ())


_AUTHORIZED = Environment({"authorizer": AUTHORIZER, "authorizer.requestResource": RESOURCE_CHECK})


@pytest.mark.parametrize(
    ("expression", "value", "asked"),
    [
        ("authorizer.path('/healthz').check('get').allowed()", True, ("jane", Attributes("get", path="/healthz"))),
        (
            "authorizer.group('apps').resource('deployments').subresource('scale').namespace('ns').name('x')"
            ".check('update').reason()",
            "because",
            ("jane", Attributes("update", "apps", "*", "deployments", "scale", "ns", "x")),
        ),
        (
            "authorizer.serviceAccount('ns', 'sa').group('').resource('pods').fieldSelector('a=b').labelSelector('c=d')"
            ".check('list').allowed()",
            False,
            ("system:serviceaccount:ns:sa", Attributes("list", "", "*", "pods")),
        ),
        (
            "authorizer.requestResource.check('custom').errored() || "
            "authorizer.requestResource.check('custom').error() != ''",
            False,
            ("jane", Attributes("custom", "apps", "*", "deployments", "", "ns", "me")),
        ),
    ],
)
def test_authorizers_can_be_asked(expression: str, value: Any, asked: tuple[str, Attributes]) -> None:
    deciding = _Deciding(lambda user, attributes: user.name == "jane")
    authorizer = AuthorizerValue(User("jane"), deciding)
    request = authorizer.request_resource(Attributes("create", "apps", "v1", "deployments", "", "ns", "me"))
    values = {"authorizer": authorizer, "authorizer.requestResource": request}
    assert _AUTHORIZED.compile(expression).evaluate(values) == value
    assert deciding.asked[-1] == asked


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("authorizer.path(' ')", "path must not be empty"),
        ("authorizer.group('').resource('')", "resource must not be empty"),
        ("authorizer.serviceAccount('ns', 'not@valid')", "Invalid service account name"),
        ("authorizer.serviceAccount('a.b', 'sa')", "Invalid service account namespace"),
    ],
)
def test_what_authorizers_refuse(expression: str, message: str) -> None:
    authorizer = AuthorizerValue(User("jane"), _Deciding(lambda user, attributes: True))
    with pytest.raises(EvaluationError, match=f"^{message}$"):
        _AUTHORIZED.compile(expression).evaluate({"authorizer": authorizer})
