"""What calls cost: cases and figures of the tests of apiserver's `pkg/cel/library/cost.go`, where they have some."""

from __future__ import annotations

import pytest

from kube32_sim.api.cel.cost_calls import CallCost, Operand, call_cost
from kube32_sim.api.cel.cost_range import MOST, ONE, UNKNOWN, Range, fixed
from kube32_sim.api.cel.tree import Constant, Type
from tests.api.cel.estimating import estimated

_INTS = "[1, 2, 3, 4, 5]"
_UINTS = "[uint(1), uint(2), uint(3), uint(4), uint(5)]"
_DOUBLES = "[1.0, 2.0, 3.0, 4.0, 5.0]"
_BOOLS = "[false, true, false, true, false]"
_TEXTS = "['012345678901', '012345678901', '012345678901', '012345678901', '012345678901']"
_BYTES = "[" + ", ".join(["bytes('012345678901')"] * 5) + "]"
_DURATIONS = "[duration('1s'), duration('2s'), duration('3s'), duration('4s'), duration('5s')]"
_TIMES = "[" + ", ".join(f"timestamp('2011-01-0{day}T00:00:00.000+01:00')" for day in range(1, 6)) + "]"


@pytest.mark.parametrize(
    ("items", "cost"),
    [
        (_INTS, Range(15, 15)),
        (_UINTS, Range(20, 20)),
        (_DOUBLES, Range(15, 15)),
        (_BOOLS, Range(15, 15)),
        (_DURATIONS, Range(20, 20)),
        (_TIMES, Range(20, 20)),
    ],
)
def test_lists_are_walked_through(items: str, cost: Range) -> None:
    for call in ("isSorted()", "min()", "max()", "sum()"):
        if call != "sum()" or items not in (_BOOLS, _TIMES):
            assert estimated(f"{items}.{call}") == cost


@pytest.mark.parametrize(
    ("expression", "cost"),
    [
        (f"{_INTS}.indexOf(3)", fixed(15)),
        (f"{_UINTS}.lastIndexOf(uint(3))", fixed(21)),
        (f"{_DURATIONS}.indexOf(duration('3s'))", fixed(21)),
        ("'01234567890123456789012345678901234567890123456789'.indexOf('123')", fixed(5)),
        ("'01234567890123456789012345678901234567890123456789'.lastIndexOf('123')", fixed(5)),
        ("url('https:://kubernetes.io/').getScheme()", fixed(4)),
        ("url('https:://kubernetes.io/').getQuery()", fixed(4)),
        ("ip('192.168.0.1')", fixed(2)),
        ("ip('2001:db8:3333:4444:5555:6666:7777:8888')", fixed(4)),
        ("ip('192.168.0.1').family()", fixed(3)),
        ("ip.isCanonical('192.168.0.1')", fixed(3)),
        ("ip.isCanonical('2001:db8:3333:4444:5555:6666:7777:8888')", fixed(8)),
        ("ip.isCanonical('2001:db8::abcd')", fixed(3)),
        ("cidr('192.168.0.0/16')", fixed(2)),
        ("cidr('192.168.0.0/16').ip()", fixed(3)),
        ("cidr('192.168.0.0/16').masked()", fixed(3)),
        ("cidr('192.168.0.0/16').containsCIDR(cidr('192.0.0.0/30'))", Range(7, 11)),
        ("cidr('192.168.0.0/16').containsCIDR('192.0.0.0/30')", Range(7, 11)),
        ("cidr('192.168.0.0/16').containsIP(ip('192.0.0.1'))", Range(4, 7)),
        ("cidr('192.168.0.0/16').containsIP('192.0.0.1')", Range(4, 7)),
        ("cidr('192.168.0.0/16').containsIP('192.169.0.1')", Range(5, 8)),
        ("cidr('2001:db8::/32').containsIP('2001:db8:3333:4444:5555:6666:7777:8888')", Range(7, 10)),
        ("'ABCDEFGHIJ abcdefghij'.lowerAscii()", fixed(3)),
        ("'ABCDEFGHIJ abcdefghij'.upperAscii() == 'abcdefghij ABCDEFGHIJ'.upperAscii()", Range(7, 9)),
        ("strings.quote('ABCDEFGHIJ abcdefghij')", fixed(3)),
        ("strings.quote('ABCDEFGHIJ abcdefghij') == strings.quote('ABCDEFGHIJ abcdefghij')", Range(7, 11)),
        ("'abc 123 def 123'.replace('123', '456')", fixed(3)),
        ("'abc 123 def 123'.replace('', 'x')", fixed(3)),
        ("'abc 123 def 123'.replace('123', '456', 1)", fixed(3)),
        ("'abc 123 def 123'.split(' ')", fixed(3)),
        ("'abc 123 def 123'.split(' ', 1)", fixed(3)),
        ("'abc 123 def 123'.substring(5, 8)", fixed(2)),
        ("'  abc 123 def 123  '.trim()", fixed(2)),
        ("'abc 123 def 123'.find('123')", fixed(2)),
        ("'abc 123 def 123'.findAll('123', 1)", fixed(2)),
        ("'%s'.format(['a'])", fixed(11)),
        ("authorizer.path('/healthz')", fixed(2)),
        ("authorizer.group('apps').resource('deployments').subresource('status').namespace('t').name('b')", fixed(6)),
        ("authorizer.path('/healthz').check('get').allowed()", fixed(350003)),
        ('quantity("12Mi")', fixed(1)),
        ('isQuantity("20M")', fixed(1)),
        ('quantity("200M") == quantity("200M")', fixed(3)),
        ('quantity("50M").isLessThan(quantity("50Mi"))', fixed(3)),
        ('quantity("200M").compareTo(quantity("0.2G")) > 0', fixed(4)),
        ('quantity("50k").add(20).sub(quantity("100k")).sub(-50000).asInteger() > 0', fixed(7)),
        ("sets.contains([], [])", fixed(21)),
        ("sets.contains([1], [1, 1])", fixed(23)),
        ("sets.contains([1, 2, 3, 4], [2, 3])", fixed(29)),
        ("sets.contains([[1], [2, 3]], [[2, 3]])", fixed(53)),
        ("!sets.contains([1], [1, 2])", fixed(24)),
        ("sets.equivalent([1], [1, 1])", fixed(25)),
        ("sets.intersects([1], [1])", fixed(22)),
        ("format.dns1123Label().validate('abc')", Range(33, 33)),
    ],
)
def test_functions(expression: str, cost: Range) -> None:
    assert estimated(expression) == cost


_TEXT = Type("string")


def _text(size: Range | None) -> Operand:
    return Operand(Constant(1, "string", ""), _TEXT, size)


def _of(name: str, size: Range | None = None) -> Operand:
    return Operand(Constant(1, "null", None), Type("message", name=name), size)


@pytest.mark.parametrize(
    ("size", "old", "new", "made"),
    [
        (fixed(16), fixed(3), fixed(3), fixed(16)),
        (fixed(16), fixed(3), fixed(4), Range(16, 24)),
        (fixed(16), fixed(3), fixed(0), Range(0, 16)),
        (fixed(16), fixed(0), fixed(2), fixed(50)),
        (Range(4, 10), Range(0, 5), Range(1, 2), Range(1, 32)),
        (UNKNOWN, Range(0, 5), Range(1, 2), Range(0, MOST)),
    ],
)
def test_what_replace_makes(size: Range, old: Range, new: Range, made: Range) -> None:
    found = call_cost("replace", "string_replace_string_string", _text(size), [_text(old), _text(new)])
    assert found.size == made


def test_what_split_makes() -> None:
    text, limit = _text(fixed(16)), Operand(Constant(2, "int", 3), Type("int"), ONE)
    endless = Operand(Constant(2, "int", -1), Type("int"), ONE)
    assert call_cost("split", "", text, [_text(ONE)]).size == Range(0, 16)
    assert call_cost("split", "", text, [_text(ONE), limit]).size == Range(0, 3)
    assert call_cost("split", "", text, [_text(ONE), endless]).size == Range(0, MOST)


def test_join_counts_separators_and_items() -> None:
    items = Operand(Constant(1, "null", None), Type("list", (_TEXT,)), Range(0, 10), _TEXT, Range(0, 4))
    assert call_cost("join", "", items, []) == CallCost(Range(0, 4), Range(0, 40))
    assert call_cost("join", "", items, [_text(ONE)]) == CallCost(Range(0, 5), Range(0, 49))


def test_values_of_kubernetes_are_compared_at_once() -> None:
    for name in ("kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR"):
        assert call_cost("_==_", "equals", None, [_of(name), _of(name)]) == CallCost(ONE)
        assert call_cost("_!=_", "not_equals", None, [_of(name), _of(name)]).cost.max > 10**18
    name = "kubernetes.NamedFormat"
    assert call_cost("_==_", "equals", None, [_of(name), _of(name)]) == CallCost(Range(1, 7))
    name = "kubernetes.URL"
    assert call_cost("_==_", "equals", None, [_of(name), _of(name, fixed(30))]) == CallCost(Range(1, 3))
    assert call_cost("_==_", "equals", None, [_of(name), _of("net.IP")]).cost.max > 10**18


def test_selectors_are_parsed_into_requirements() -> None:
    for function in ("fieldSelector", "labelSelector"):
        found = call_cost(function, "", _of("kubernetes.authorization.ResourceCheck"), [_text(Range(0, 10))])
        assert found == CallCost(Range(10, 10 + 1 + 5 * 50))


def test_a_function_that_nobody_knows_costs_one() -> None:
    assert call_cost("unheardOf", "unheard_of", None, []) == CallCost(ONE)
    assert call_cost("trim", "global_trim", None, [_text(fixed(100))]) == CallCost(ONE)


def test_conversions_between_texts_and_bytes_know_how_long_the_other_is() -> None:
    assert call_cost("bytes", "string_to_bytes", None, [_text(Range(4, 30))]) == CallCost(Range(1, 3), Range(4, 120))
    assert call_cost("string", "bytes_to_string", None, [_text(Range(4, 30))]) == CallCost(Range(1, 3), Range(1, 30))
