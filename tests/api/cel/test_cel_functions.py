"""Kubernetes' functions in CEL: a table of expressions and what they come to, and one of what they refuse."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kube32_sim.api.cel.environment import Environment, EvaluationError, Optional
from kube32_sim.api.cel.types import DYN, optional_of
from kube32_sim.api.quantity import FORMAT_WRONG

_X: dict[str, Any] = {"list": [3, 1, 2], "floats": [1.0, 2], "mixed": [1, "a"], "objects": [{"a": 1}], "nothing": None}
_ENVIRONMENT = Environment({"x": DYN, "maybe": optional_of(DYN), "none": optional_of(DYN)})
_VALUES = {"x": _X, "maybe": Optional(True, {"a": 5}), "none": Optional(False)}


def _value(expression: str) -> Any:
    return _ENVIRONMENT.compile(expression).evaluate(_VALUES)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("[1, 2, 2].isSorted()", True),
        ("['b', 'a'].isSorted()", False),
        ("[duration('1s'), duration('1m')].isSorted()", True),
        ("[1, 3].sum()", 4),
        ("[1.5, 2.0].sum()", 3.5),
        ("[duration('1m'), duration('1s')].sum()", timedelta(seconds=61)),
        ("x.list.sum()", 6),
        ("x.floats.sum()", 3.0),
        ("[].sum()", 0),
        ("x.list.min()", 1),
        ("['a', 'b'].max()", "b"),
        ("[timestamp('2020-01-01T00:00:00Z')].max() == timestamp('2020-01-01T00:00:00Z')", True),
        ("[1, 2, 2].indexOf(2)", 1),
        ("x.list.indexOf(2.0)", 2),
        ("[true].indexOf(true)", 0),
        ("dyn([true]).indexOf(dyn(1))", -1),
        ("x.objects.indexOf({'a': 1})", 0),
        ("[1, 2, 2].lastIndexOf(2)", 2),
        ("['a'].lastIndexOf('b')", -1),
        ("'abcb'.indexOf('b') + 'abcb'.lastIndexOf('b')", 4),
        ("'abc 123'.find('[0-9]+')", "123"),
        ("'abc'.find('[0-9]+')", ""),
        ("'ab12'.find('(?P<letter>b)(1)')", "b1"),
        ("'a(b'.find('[(]b')", "(b"),
        (r"'a(b'.find('\\(b')", "(b"),
        ("'1a 2b'.findAll('([0-9])[a-z]')", ["1a", "2b"]),
        ("'1a 2b'.findAll('[0-9]', 1)", ["1"]),
        ("'abc'.matches('^a')", True),
    ],
)
def test_lists_and_regular_expressions(expression: str, value: Any) -> None:
    assert _value(expression) == value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("quantity('1.5Gi').isGreaterThan(quantity('1G'))", True),
        ("quantity('1').isLessThan(quantity('1001m'))", True),
        ("quantity('200M').compareTo(quantity('0.2G'))", 0),
        ("quantity('50Mi').compareTo(quantity('50M'))", 1),
        ("quantity('1') == quantity('1000m')", True),
        ("quantity('1') != quantity('2')", True),
        ("isQuantity('10000k') && !isQuantity('200K')", True),
        ("quantity('50k').asInteger()", 50000),
        ("quantity('1500m').isInteger()", False),
        ("quantity('9999999999999999999999999999999999999G').isInteger()", False),
        ("quantity('500m').asApproximateFloat()", 0.5),
        ("quantity('1e900').asApproximateFloat() > 1e300", True),
        ("sign(quantity('-1')) + sign(quantity('0'))", -1),
        ("quantity('50k').add(quantity('20k')).add(20) == quantity('70020')", True),
        ("quantity('50k').sub(quantity('20k')).sub(-1) == quantity('30001')", True),
        ("semver('1.2.3').isLessThan(semver('1.10.0'))", True),
        ("semver('1.0.0-alpha.1').compareTo(semver('1.0.0'))", -1),
        ("semver('1.0.0-alpha.2').isGreaterThan(semver('1.0.0-alpha.1'))", True),
        ("semver('1.0.0-2').isLessThan(semver('1.0.0-a'))", True),
        ("semver('1.0.0+a') == semver('1.0.0+b')", True),
        ("semver('v01.2', true).major() * 100 + semver('1.2.3').minor() * 10 + semver('1.2.3').patch()", 123),
        ("isSemver('v1.0') || isSemver('hello')", False),
        ("isSemver('v1.0', true)", True),
        ("isSemver('1.0-rc', true) || isSemver('01.0.0') || isSemver('1.0.0-') || isSemver('1.0.0+')", False),
    ],
)
def test_quantities_and_versions(expression: str, value: Any) -> None:
    assert _value(expression) == value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("url('https://user@example.com:80/a?b=1#c').getHost()", "example.com:80"),
        ("url('https://[::1]:80/').getHostname() + ' ' + url('https://[::1]:80/').getPort()", "::1 80"),
        ("url('HTTPS://example.com').getScheme() + url('/path').getScheme()", "https"),
        ("url('https://example.com/path with spaces/').getEscapedPath()", "/path%20with%20spaces/"),
        ("url('https://example.com/p?k1=a&k2=b&k2=c%20d').getQuery()", {"k1": ["a"], "k2": ["b", "c d"]}),
        ("url('/path').getHost() + url('/path').getPort()", ""),
        ("isURL('/absolute') && isURL('mailto:x') && !isURL('../relative') && !isURL('https://a:b:c/')", True),
        ("ip('127.0.0.1').family() + ip('::1').family()", 10),
        ("isIP('::1') && !isIP('127.0.0.256') && !isIP('fe80::1%eth0') && !isIP('::ffff:1.2.3.4')", True),
        ("ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD')", True),
        ("string(ip('2001:DB8::0:1')) + string(cidr('10.0.0.0/8'))", "2001:db8::110.0.0.0/8"),
        ("ip('::1') == ip('0:0::1') && ip('::1') != ip('::2')", True),
        ("ip('0.0.0.0').isUnspecified() && ip('127.0.0.9').isLoopback()", True),
        ("ip('224.0.0.1').isLinkLocalMulticast() && !ip('224.0.1.1').isLinkLocalMulticast()", True),
        ("ip('ff02::1').isLinkLocalMulticast() && !ip('fd00::1').isLinkLocalMulticast()", True),
        ("ip('169.254.169.254').isLinkLocalUnicast() && !ip('fd80::1').isLinkLocalUnicast()", True),
        ("ip('192.168.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()", True),
        ("cidr('192.168.0.0/24').containsIP('192.168.0.1') && !cidr('::/8').containsIP(ip('1.1.1.1'))", True),
        ("cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')", True),
        ("cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/16'))", False),
        ("string(cidr('192.168.0.1/24').ip()) + string(cidr('192.168.0.1/24').masked())", "192.168.0.1192.168.0.0/24"),
        ("cidr('::1/128').prefixLength()", 128),
        ("isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/08')", True),
    ],
)
def test_urls_and_addresses(expression: str, value: Any) -> None:
    assert _value(expression) == value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("format.dns1123Label().validate('ok').hasValue()", False),
        ("format.dns1123Label().validate('Not').value()[0].startsWith('a lowercase RFC 1123 label')", True),
        ("format.dns1123LabelPrefix().validate('ok-').hasValue()", False),
        ("format.dns1123Subdomain().validate('a..b').hasValue()", True),
        (
            "format.dns1035Label().validate('1a').hasValue() && !format.dns1035LabelPrefix().validate('a-').hasValue()",
            True,
        ),
        ("format.qualifiedName().validate('example.com/a b').hasValue()", True),
        ("format.labelValue().validate('-').hasValue()", True),
        ("format.uri().validate('x').orValue([])", ['parse "x": invalid URI for request']),
        ("format.uuid().validate('1').orValue([])", ["does not match the UUID format"]),
        ("format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()", False),
        ("format.byte().validate('a').orValue([])", ["invalid base64"]),
        ("format.date().validate('2021-02-30').orValue([])", ["invalid date"]),
        ("format.datetime().validate('2021-02-03T25:00:00Z').orValue([])", ["invalid datetime"]),
        ("format.datetime().validate('2021-02-03T05:06:07.89Z').hasValue()", False),
        ("format.named('uuid').value().validate('1').hasValue()", True),
        ("format.named('none').hasValue()", False),
        ("format.dns1123Label().validate('ok')", Optional(False)),
        ("sets.contains([1, 2], [2]) && sets.equivalent([1, 1], [1]) && !sets.intersects([1], [2])", True),
        ("'a,b'.split(',').join('-') + 'ABC'.lowerAscii().charAt(1).upperAscii()", "a-bB"),
        ("' x '.trim().replace('x', 'y') + 'hello'.substring(1, 3) + strings.quote('a\"')", 'yel"a\\""'),
        ("'%s is %d'.format([dyn('a'), dyn(1)])", "a is 1"),
        ("jsonpatch.escapeKey('a/b~c')", "a~1b~0c"),
        ("1 < 1.5 && 2u > 1 && 1.0 <= 1u && -1 < 1u", True),
        ("x.list.all(i, v, v > 0) && x.list.exists(i, v, i == 2 && v == 2)", True),
        ("x.list.existsOne(i, v, v > 2)", True),
        ("x.list.transformList(i, v, v > 1, v * 10 + i)", [30, 22]),
        ("{'a': 1}.transformMap(k, v, v + 1)", {"a": 2}),
        ("{'a': 'b'}.transformMapEntry(k, v, {v: k})", {"b": "a"}),
        ("maybe.?a.orValue(1) + none.?a.orValue(1)", 6),
        ("maybe.hasValue() && !none.hasValue()", True),
        ("x.list.exists(maybe, maybe == 3)", True),
        ("none", Optional(False)),
        ("maybe", Optional(True, {"a": 5})),
        ("optional.of(1)", Optional(True, 1)),
        ("{?'a': optional.of(1), ?'b': optional.none()}", {"a": 1}),
        ("x.?nope.orValue('d') + x[?'nope'].orValue('e')", "de"),
    ],
)
def test_formats_texts_sets_and_optionals(expression: str, value: Any) -> None:
    assert _value(expression) == value


_CIDR = "network address parse error during conversion from string: " * 2
_IP = "parse error during conversion from string: ParseAddr"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("[].min()", "min called on empty list"),
        ("[].max()", "max called on empty list"),
        ("x.mixed.isSorted()", "no such overload"),
        ("x.objects.sum()", "no such overload"),
        ("[9223372036854775807, 1].sum()", "integer overflow"),
        ("'a'.find('[')", "Illegal regex: error parsing regexp: missing closing ]: `[`"),
        ("'a'.findAll('(')", "Illegal regex: error parsing regexp: missing closing ): `(`"),
        ("'a'.matches('*' + '')", "error parsing regexp: missing argument to repetition operator: `*`"),
        ("'a'.matches('(?=b)' + '')", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
        ("quantity('x')", FORMAT_WRONG),
        ("quantity('1.5').asInteger()", "cannot convert value to integer"),
        ("url('../x')", 'URL parse error during conversion from string: parse "../x": invalid URI for request'),
        ("url('http://a:b/')",
         'URL parse error during conversion from string: parse "http://a:b/": invalid port ":b" after host'),
        ("ip('1.2.3')", f'IP Address "1.2.3" {_IP}("1.2.3"): IPv4 address too short'),
        ("ip('1.2.3.256')", f'IP Address "1.2.3.256" {_IP}("1.2.3.256"): IPv4 field has value >255'),
        ("ip('1.2.3.04')", f'IP Address "1.2.3.04" {_IP}("1.2.3.04"): IPv4 field has octet with leading zero'),
        ("ip('x')", f'IP Address "x" {_IP}("x"): unable to parse IP'),
        ("ip('::ffff:1.2.3.4')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        ("ip('fe80::1%eth0')", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("cidr('1.2.3.4')", f'{_CIDR}netip.ParsePrefix("1.2.3.4"): no \'/\''),
        ("cidr('1.2.3.4/33')", f'{_CIDR}netip.ParsePrefix("1.2.3.4/33"): prefix length out of range'),
        ("semver('1.2')", "No Major.Minor.Patch elements found"),
        ("semver('01.2.3')", 'Major number must not contain leading zeroes "01"'),
        ("semver('1.x.3')", 'Invalid character(s) found in minor number "x"'),
        ("semver('1-a', true)", "short version cannot contain PreRelease/Build meta data"),
        ("dyn(ip('::1')).isGreaterThan(quantity('1'))", "no such overload"),
        ("x.list.indexOf(optional.of(1))", "no such overload: indexOf"),
    ],
)  # fmt: skip
def test_what_functions_refuse(expression: str, message: str) -> None:
    with pytest.raises(EvaluationError) as failed:
        _value(expression)
    assert str(failed.value) == message
