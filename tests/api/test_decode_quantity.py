"""Quantities: what their texts mean and how Go writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.api import quantity
from kube32_sim.api.quantity import FORMAT_WRONG, NUMERIC_WRONG, SUFFIX_WRONG, QuantityError


@pytest.mark.parametrize(
    ("text", "canonical", "value"),
    [
        ("0", "0", 0),
        ("100m", "100m", 1),
        ("1000m", "1", 1),
        ("0.5", "500m", 1),
        ("1.5", "1500m", 2),
        ("-1500m", "-1500m", -2),
        ("5000", "5k", 5000),
        ("1000k", "1M", 10**6),
        ("1e3", "1e3", 1000),
        ("1E3", "1E3", 1000),
        ("12e-3", "12e-3", 1),
        ("1E", "1E", 10**18),
        ("1000E", "1e21", 10**21),
        ("1Ki", "1Ki", 1024),
        ("1024Mi", "1Gi", 2**30),
        ("1024Ki", "1Mi", 2**20),
        ("1.5Gi", "1536Mi", 3 * 2**29),
        ("0.5Ki", "512", 512),
        ("16Ei", "9223372036854775807", 2**63 - 1),
        ("100u", "100u", 1),
        ("1n", "1n", 1),
        ("0.0000000001", "1n", 1),
        ("+5", "+5", 5),
        ("007", "007", 7),
        ("1.500", "1.500", 2),
        (".5", "500m", 1),
        ("5.", "5.", 5),
    ],
)
def test_text_value_and_canonical_form(text: str, canonical: str, value: int) -> None:
    assert quantity.canonical(text) == canonical
    assert quantity.value(text) == value


@pytest.mark.parametrize(
    ("text", "nanos"),
    [("100m", 10**8), ("12e-3", 12 * 10**6), ("-1500m", -15 * 10**8), ("100u", 10**5), ("1n", 1), ("0.1n", 1),
     (".5", 5 * 10**8), ("1.500", 15 * 10**8), ("007", 7 * 10**9), ("0.0005Ki", 512 * 10**6)],
)  # fmt: skip
def test_parts_of_a_unit(text: str, nanos: int) -> None:
    assert quantity.parse(text).nanos == nanos


def test_amounts_by_resource_are_sorted() -> None:
    assert quantity.parse_all(None) == {}
    assert list(quantity.parse_all({"memory": "1Ki", "cpu": "1"})) == ["cpu", "memory"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", FORMAT_WRONG),
        ("12Zb", FORMAT_WRONG),
        ("abc", FORMAT_WRONG),
        ("1 ", FORMAT_WRONG),
        ("1\n", FORMAT_WRONG),
        ("1.2.3", FORMAT_WRONG),
        ("١", FORMAT_WRONG),
        ("1e", SUFFIX_WRONG),
        ("1kk", SUFFIX_WRONG),
        ("1i", SUFFIX_WRONG),
        ("1-3", SUFFIX_WRONG),
        ("1e" + "9" * 30, SUFFIX_WRONG),
        ("1e99999999", NUMERIC_WRONG),
        ("9" * 5000, NUMERIC_WRONG),
    ],
)
def test_what_is_no_quantity(text: str, message: str) -> None:
    with pytest.raises(QuantityError) as raised:
        quantity.parse(text)
    assert str(raised.value) == message


@given(st.integers(-(2**60), 2**60), st.sampled_from(["n", "u", "m", "", "k", "M", "G", "Ki", "Mi", "Gi", "e2"]))
def test_the_canonical_text_means_the_same(number: int, suffix: str) -> None:
    first = quantity.parse(f"{number}{suffix}")
    again = quantity.parse(first.text)
    assert again.nanos == first.nanos
    assert quantity.canonical(first.text) == first.text


@given(st.text(alphabet="0123456789.eEinumkKMGTP+-", max_size=12))
def test_any_text_is_a_quantity_or_a_quantity_error(text: str) -> None:
    try:
        parsed = quantity.parse(text)
    except QuantityError:
        return
    assert quantity.parse(parsed.text).nanos == parsed.nanos


def test_sums_keep_the_form_of_the_first_that_is_not_zero() -> None:
    assert quantity.add(quantity.parse("1Gi"), quantity.parse("500M")).text == "1573741824"
    assert quantity.add(quantity.parse("0"), quantity.parse("512Mi")).text == "512Mi"
    assert quantity.sub(quantity.parse("1Gi"), quantity.parse("512Mi")).text == "512Mi"
    assert quantity.sub(quantity.parse("1"), quantity.parse("1500m")).text == "-500m"
