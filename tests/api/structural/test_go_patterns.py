"""Patterns in Go's syntax: what matches, and what Go says of those it refuses."""

from __future__ import annotations

import pytest

from kube32_sim.api.structural.patterns import PatternError, find_all, searcher

MATCHING = [
    ("^[a-z]+$", "abc"),
    ("b", "abc"),
    (r"^\pL+$", "éa"),
    (r"^\PL$", "1"),
    (r"^\p{Greek}\p{Lu}\p{^L}$", "αA1"),
    ("a(?i)b|c", "aB"),
    ("a(?i)b|c", "C"),
    ("^(?i:a)b$", "Ab"),
    ("^(a(?i)b)c$", "aBc"),
    ("^[[:alpha:]-]+$", "a-"),
    ("^[[:^digit:]_]$", "x"),
    ("^x{,5}$", "x{,5}"),
    ("^a{2}$", "aa"),
    (r"^\Qa.b\E+$", "a.bbb"),
    (r"\A\x{41}\x42\103\z", "ABC"),
    ("(?s)^.$", "\n"),
    ("(?m)^b$", "a\nb\nc"),
    ("^(?P<n>a)(?<m>b)$", "ab"),
    ("^*a", "a"),
    (r"^[]a]$", "]"),
    (r"^[^]a]$", "b"),
    (r"^[a\-z&&||]+$", "-|&"),
    (r"^\*\.$", "*."),
    ("^[\\d\\w]$", "_"),
    ("^[^\\D]$", "5"),
    ("", ""),
    ("", "a"),
    ("^(?P<n>a)(?P<n>b)$", "ab"),
    (r"^\Q\C{99999999999}\E$", r"\C{99999999999}"),
    (r"^[{99999999999}]+\\C$", r"9\C"),
    (r"^[\]\\C]+$", "C]\\"),
    ("^.$", "\U0001f600"),
    ("^\U0001f600{2}$", "\U0001f600" * 2),
    ("^\ufffd.$", "\ud800\udfff"),
    ("^\udfff$", "\ud800"),
    (r"^\pL{1000}$", "é" * 1000),
    ("(?:" * 2000 + "a" + ")" * 2000, "a"),
    ("(?i)(a)" * 2000, "a" * 2000),
    (r"^\B$", ""),
]
NOT_MATCHING = [
    ("^[a-z]+$", "abc\n"),
    (r"^\d+$", "١"),
    (r"^\w$", "é"),
    (r"^\s$", "\v"),
    ("^.$", "\n"),
    ("^(a(?i)b)c$", "aBC"),
    ("^b$", "a\nb"),
    (r"^[^\d\s]$", "1"),
    (r"\bé", " é "),
]
REFUSED = {
    "a)": "unexpected ): `a)`",
    "(a": "missing closing ): `(a`",
    "[a": "missing closing ]: `[a`",
    "[a-": "missing closing ]: `[a-`",
    "a**": "invalid nested repetition operator: `**`",
    "x{2}{3}": "invalid nested repetition operator: `{2}{3}`",
    "*a": "missing argument to repetition operator: `*`",
    "*?a": "missing argument to repetition operator: `*?`",
    "(|+)": "missing argument to repetition operator: `+`",
    "a{1001}": "invalid repeat count: `{1001}`",
    "a{2,1}": "invalid repeat count: `{2,1}`",
    "a{1001}?": "invalid repeat count: `{1001}`",
    "{1001}": "invalid repeat count: `{1001}`",
    "a*{1001}": "invalid repeat count: `{1001}`",
    "a{99999999999}": "invalid repeat count: `{99999999999}`",
    "a{1,99999999999}": "invalid repeat count: `{1,99999999999}`",
    "((a{100}){10}){2}?": "invalid repeat count: `{2}?`",
    r"\k": r"invalid escape sequence: `\k`",
    r"\8": r"invalid escape sequence: `\8`",
    r"\C": r"invalid escape sequence: `\C`",
    r"[\C]": r"invalid escape sequence: `\C`",
    r"\é": r"invalid escape sequence: `\é`",
    r"\x{110000}": r"invalid escape sequence: `\x{110000`",
    "[\\": "trailing backslash at end of expression: ``",
    "\\": "trailing backslash at end of expression: ``",
    "(?=a)": "invalid or unsupported Perl syntax: `(?=`",
    "(?!a)": "invalid or unsupported Perl syntax: `(?!`",
    "(?>a)": "invalid or unsupported Perl syntax: `(?>`",
    "(?P=n)": "invalid or unsupported Perl syntax: `(?P`",
    "(?i-)a": "invalid or unsupported Perl syntax: `(?i-)`",
    "x(?<=a)b": "invalid named capture: `(?<=a)b`",
    "(?<!a>b)c": "invalid named capture: `(?<!a>`",
    "(?P<n": "invalid named capture: `(?P<n`",
    "(?P<a b>x)": "invalid named capture: `(?P<a b>`",
    "(?P<é>a)": "invalid named capture: `(?P<é>`",
    "[z-a]": "invalid character class range: `z-a`",
    r"\p{Foo}": r"invalid character class range: `\p{Foo}`",
    "[[:foo:]]": "invalid character class range: `[:foo:]`",
}


@pytest.mark.parametrize(("pattern", "text"), MATCHING)
def test_a_text_that_matches(pattern: str, text: str) -> None:
    assert searcher(pattern)(text)


@pytest.mark.parametrize(("pattern", "text"), NOT_MATCHING)
def test_a_text_that_does_not_match(pattern: str, text: str) -> None:
    assert not searcher(pattern)(text)


@pytest.mark.parametrize(("pattern", "why"), REFUSED.items())
def test_a_pattern_that_go_refuses(pattern: str, why: str) -> None:
    with pytest.raises(PatternError) as refused:
        searcher(pattern)
    assert str(refused.value) == f"error parsing regexp: {why}"


def test_a_pattern_that_searches_every_way_takes_no_time() -> None:
    """An engine that tries all ways would never be done."""
    assert not searcher("^(a+)+$")("a" * 1_000_000 + "b")
    assert not searcher("(a|b)*a(a|b){20}$")("ab" * 100_000 + "c")


@pytest.mark.parametrize("pattern", ["a{1000}" * 4000, r"\pL{1000}" * 100, r"\pL" * 100_000], ids=lambda text: text[:9])
def test_a_pattern_that_would_take_all_memory_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError) as refused:
        searcher(pattern)
    assert str(refused.value) == f"error parsing regexp: expression too large: `{pattern}`"


def test_groups_are_nested_a_thousand_deep_at_most() -> None:
    assert searcher("(" * 999 + "a" + ")" * 999)("a")
    with pytest.raises(PatternError, match="expression nests too deeply"):
        searcher("(" * 1000 + "a" + ")" * 1000)


def test_no_pattern_is_told_of_on_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PatternError):
        searcher("(a|(b[")
    assert capfd.readouterr().err == ""


def test_nothing_is_found_where_a_match_has_just_ended() -> None:
    assert find_all("a*", "baaac") == ["", "aaa", ""]
    assert find_all("", "éé") == ["", "", ""]
    assert find_all("(?U)a+", "aab", 1) == ["a"]
    assert find_all("(a)(b)", "ab abab", -1) == ["ab", "ab", "ab"]
    assert find_all("a", "aa", 0) == []
