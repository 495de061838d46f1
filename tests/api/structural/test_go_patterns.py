"""Patterns in Go's syntax: what matches, and what Go says of those it refuses."""

from __future__ import annotations

import pytest

from kube32_sim.api.structural.patterns import PatternError, searcher

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
    "(|+)": "missing argument to repetition operator: `+`",
    "a{1001}": "invalid repeat count: `{1001}`",
    "a{2,1}": "invalid repeat count: `{2,1}`",
    r"\k": r"invalid escape sequence: `\k`",
    r"\8": r"invalid escape sequence: `\8`",
    "\\": "trailing backslash at end of expression: ``",
    "(?=a)": "invalid or unsupported Perl syntax: `(?=`",
    "(?!a)": "invalid or unsupported Perl syntax: `(?!`",
    "(?<=a)": "invalid or unsupported Perl syntax: `(?<=`",
    "(?P<n": "invalid named capture: `(?P<n`",
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


def test_an_ungreedy_pattern_swaps_its_repetitions() -> None:
    found = searcher("(?U)a+(b*?)")("aab")
    assert found.group() == "a"  # type: ignore[attr-defined]
