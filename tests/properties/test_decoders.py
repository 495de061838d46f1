"""Pure readers of text and bytes, with anything: an answer or their own refusal, and never anything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.making import trying
from tests.support.decoders import DECODERS, SEEDS, tried

PIECES = [
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b":",
        b",",
        b"\\u",
        b"\\ud800",
        b"null",
        b"-",
        b"e999",
        b"1e",
        b"0x",
        b"\x00",
        b"\xff",
    ),
    *(
        b"&a",
        b"*a",
        b"<<:",
        b"- ",
        b"? ",
        b"!!binary ",
        b"|\n",
        b"%TAG ! ! \n",
        b"---\n",
        b"\n",
        b"  ",
        b"~1",
        b"~",
        b"/",
    ),
    *(
        b" in (",
        b"notin",
        b"!",
        b"=",
        b"==",
        b"(",
        b")",
        b"m",
        b"Ki",
        b"E",
        b"k8s\0",
        b"\n\x0b",
        b"\x12\x80\x80\x80\x01",
    ),
    *(b'"op":"copy","from":', b'"path":"/', b"%2F", b"%zz", b"?a=b&", b"/apis/", b"watch/", b"2026-01-01T00:00:00Z"),
    *(
        b"9" * 400,
        b"[" * 1200,
        b'{"a":' * 300,
        b"(" * 500,
        b"a" * 5000,
        "é\u2028\U0001f600".encode(),
        b".map(x, ",
        b"has(",
    ),
]


@pytest.mark.parametrize("name", sorted(DECODERS))
@trying(25)
@given(data=st.data())
def test_answers_or_refuses(name: str, data: st.DataObject) -> None:
    pieces = st.one_of(st.sampled_from(PIECES), st.sampled_from(SEEDS[name]), st.binary(max_size=12))
    text = b"".join(data.draw(st.lists(pieces, max_size=8)))
    tried(name, text)


@pytest.mark.parametrize("name", sorted(DECODERS))
@trying(25)
@given(data=st.data())
def test_what_is_spoiled_in_one_place_is_answered_or_refused(name: str, data: st.DataObject) -> None:
    seed = bytearray(data.draw(st.sampled_from(SEEDS[name])))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(seed)))
        seed[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.one_of(st.sampled_from(PIECES), st.binary(max_size=3))
        )
    tried(name, bytes(seed))
