"""Kestrel answers what is known to be right; so does the reference that it is compared with elsewhere."""

import json

import pytest

from kube32_sim.kestrel import run
from tests.kestrel import golden, reference


def judge(case: golden.Case, run: golden.Run) -> None:
    before = json.dumps(case.operations)
    results = run(case.operations)
    assert not (difference := golden.first_difference(case.operations, results, case.expected)), difference
    assert json.dumps(case.operations) == before, "the operations were modified"


def test_all_cases_are_there():
    assert (len(golden.names("cases")), len(golden.names("bulk"))) == (60, 6)


@pytest.mark.parametrize("name", golden.names("cases"))
def test_case(name):
    judge(golden.load("cases", name), run)


@pytest.mark.parametrize("name", golden.names("bulk"))
def test_bulk(name):
    judge(golden.load("bulk", name), run)


def test_nothing_is_kept_between_calls():
    cases = [golden.load("cases", name) for name in golden.names("cases")]
    for case in [*cases, *reversed(cases)]:
        judge(case, run)


def test_results_do_not_change_afterwards():
    case = golden.load("cases", "example-part3")
    results = run(case.operations)
    for _, spec in (operation[1:] for operation in case.operations if operation[0] == "add_node"):
        spec.clear()
    run(case.operations)
    assert golden.as_text(results) == golden.as_text(case.expected)


@pytest.mark.parametrize("name", golden.names("cases"))
def test_reference_on_case(name):
    judge(golden.load("cases", name), reference.run)


@pytest.mark.soak
@pytest.mark.parametrize("name", golden.names("bulk"))
def test_reference_on_bulk(name):
    judge(golden.load("bulk", name), reference.run)


def test_comparing_is_that_of_json_text():
    assert golden.as_text(True) != golden.as_text(1) != golden.as_text(1.0)
    assert golden.as_text({"b": (1,), "a": 2}) == golden.as_text({"a": 2, "b": [1]})
    assert golden.first_difference([["pending"]], [[]], [[]]) == ""
    assert "operation 1" in golden.first_difference([["pending"]] * 2, [[], []], [[], ["p"]])
    assert "nothing" in golden.first_difference([["pending"]] * 2, [[]], [[], []])
