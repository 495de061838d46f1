"""Scenarios of faults as they are read: what is refused, where and in which words; and which requests a rule is for."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.api.fault_scenarios import STATUSES, VERBS, Request, Rule, decoded, read
from tests.support.faults import rule

JsonObject = dict[str, Any]


def problems(*rules: JsonObject, **spec: Any) -> dict[str, str]:
    return {wrong.field: wrong.message for wrong in read({"rules": list(rules), **spec})[1]}


def effect_problems(**effect: Any) -> dict[str, str]:
    return {field.removeprefix("spec.rules[0].effect"): why for field, why in problems(rule(effect=effect)).items()}


def made(effect: JsonObject | None = None, **match: Any) -> Rule:
    scenario, wrong = read({"rules": [rule(effect=effect or {"latency": "1s"}, match=match)]})
    assert not wrong
    return scenario.rules[0]


def request(verb: str = "get", resource: str = "pods", **more: Any) -> Request:
    usual = {"group": "", "namespace": "default", "name": "web-0", "user_agent": "kubectl/v1.36.0", "user": "bob"}
    return Request(verb=verb, resource=resource, **{**usual, **more})


@pytest.mark.parametrize(
    ("effect", "field", "why"),
    [
        ({}, "", "Required value: one of status, reset, latency and watch"),
        ({"status": 418}, ".status", 'supported values: "409", "410", "429", "500", "503", "504"'),
        ({"status": 503, "reset": True}, ".reset", "not together with status"),
        ({"status": 503, "watch": {"after": "1s"}}, ".watch", "not together with status"),
        ({"reset": True, "watch": {"after": "1s"}}, ".watch", "not together with reset"),
        ({"status": 429, "when": "After"}, ".when", "a 429 says that nothing was written"),
        ({"status": 503, "when": "Later"}, ".when", 'supported values: "Before", "After"'),
        ({"watch": {"after": "1s"}, "when": "After"}, ".when", "not together with watch"),
        ({"status": 500, "retryAfter": 1}, ".retryAfter", "only with status 429 or 503"),
        ({"status": 429, "retryAfter": -1}, ".retryAfter", "must be at least 0"),
        ({"latency": "soon"}, ".latency", "invalid duration"),
        ({"latency": "11m"}, ".latency", "no longer than 600s"),
        ({"latencyMost": "1s"}, ".latency", "Required value"),
        ({"latency": "2s", "latencyMost": "1s"}, ".latencyMost", "less than latency"),
        ({"watch": {}}, ".watch", "one of afterEvents, after and dropBookmarks"),
        ({"watch": {"ending": "Reset"}}, ".watch.after", "or afterEvents: when it ends"),
        ({"watch": {"after": "1s", "ending": "Loudly"}}, ".watch.ending", '"Close", "Reset", "Expired"'),
        ({"watch": {"afterEvents": 0}}, ".watch.afterEvents", "must be at least 1"),
    ],
)
def test_effects_that_cannot_be(effect: JsonObject, field: str, why: str) -> None:
    found = effect_problems(**effect)
    assert field in found
    assert why in found[field]


@pytest.mark.parametrize(
    ("broken", "field", "why"),
    [
        ({"name": ""}, "name", "Required value"),
        ({"name": "a b"}, "name", "must be a DNS label"),
        ({"name": "a" * 64}, "name", "must be a DNS label"),
        ({"probability": 1.01}, "probability", "between 0 and 1"),
        ({"probability": -0.5}, "probability", "between 0 and 1"),
        ({"probability": 0.5, "every": 2}, "every", "not together with probability"),
        ({"every": 0}, "every", "at least 1"),
        ({"times": 0}, "times", "at least 1"),
        ({"match": {"first": 0}}, "match.first", "at least 1"),
        ({"match": {"from": "x"}}, "match.from", "invalid duration"),
        ({"match": {"from": "2s", "until": "1s"}}, "match.until", "later than from"),
        ({"match": {"verbs": ["get", "post"]}}, "match.verbs[1]", "Unsupported value"),
        ({"match": {"verbs": ["create"]}, "effect": {"status": 409}}, "match.verbs[0]", "update, patch, delete"),
        ({"match": {"verbs": ["get"]}, "effect": {"status": 410}}, "match.verbs[0]", "only: list, watch"),
        ({"match": {"verbs": ["list"]}, "effect": {"watch": {"after": "1s"}}}, "match.verbs[0]", "only: watch"),
        ({"match": {"verbs": ["get"]}, "effect": {"reset": True, "when": "After"}}, "match.verbs[0]", "only: create"),
        ({"match": {"groups": ["sim.kube32.io"]}}, "match.groups[0]", "meet no faults"),
        ({"match": {"resources": ["pods/"]}}, "match.resources[0]", "pods/status"),
        ({"match": {"users": [""]}}, "match.users[0]", "Required value"),
        ({"match": {"names": ["n" * 254]}}, "match.names[0]", "Too long"),
        ({"match": {"names": ["n"] * 101}}, "match.names", "Too many"),
    ],
)
def test_rules_that_cannot_be(broken: JsonObject, field: str, why: str) -> None:
    found = problems({**rule(), **broken})
    assert why in found[f"spec.rules[0].{field}"]


def test_scenarios_that_cannot_be() -> None:
    assert problems() == {"spec.rules": "Required value: at least one"}
    assert problems(rule("a"), rule("a")) == {"spec.rules[1].name": 'Duplicate value: "a"'}
    assert "spec.rules" in problems(*(rule(f"r{number}") for number in range(101)))
    assert problems(rule(), seed=-1) == {"spec.seed": "Invalid value: -1: must be at least 0"}


def test_a_file_with_an_unknown_field_is_refused_by_its_name() -> None:
    text = b"kind: FaultScenario\napiVersion: sim.kube32.io/v1alpha1\nspec: {rules: [{name: a, effects: {}}]}\n"
    with pytest.raises(ApiError, match=r'unknown field "spec.rules\[0\].effects"'):
        decoded(text)


@pytest.mark.parametrize(
    ("match", "asked", "fits"),
    [
        ({}, {}, True),
        ({"verbs": ["list", "get"]}, {}, True),
        ({"verbs": ["list"]}, {}, False),
        ({"verbs": ["*"]}, {}, True),
        ({"groups": [""]}, {}, True),
        ({"groups": ["apps"]}, {}, False),
        ({"groups": []}, {}, True),
        ({"resources": ["pods"]}, {"resource": "pods/status"}, False),
        ({"resources": ["pods/*"]}, {"resource": "pods/status"}, True),
        ({"resources": ["pods/*"]}, {}, False),
        ({"resources": ["*/status"]}, {"resource": "pods/status"}, True),
        ({"resources": ["*"]}, {"resource": "pods/status"}, True),
        ({"namespaces": ["kube-*"]}, {}, False),
        ({"names": ["web-*"]}, {}, True),
        ({"names": ["*"]}, {"name": ""}, True),
        ({"userAgents": ["kubectl/*"]}, {}, True),
        ({"userAgents": ["Kubectl/*"]}, {}, False),
        ({"users": ["alice", "bob"]}, {}, True),
    ],
)
def test_what_a_rule_is_for(match: JsonObject, asked: JsonObject, fits: bool) -> None:
    assert made(**match).matches(request(**asked), 0.0) is fits


def test_a_rule_has_its_time() -> None:
    of_time = made(**{"from": "10s", "until": "1m"})
    assert [of_time.matches(request(), passed) for passed in (0, 9.9, 10, 59.9, 60, 3600)] == [
        *(False, False, True),
        *(True, False, False),
    ]


@pytest.mark.parametrize("status", STATUSES)
def test_no_request_gets_a_failure_that_a_real_server_would_not_give_it(status: int) -> None:
    meets = {verb for verb in VERBS if made({"status": status}).matches(request(verb), 0.0)}
    assert meets == {409: {"update", "patch", "delete"}, 410: set()}.get(status, set(VERBS))
    of_the_past = {verb for verb in VERBS if made({"status": status}).matches(request(verb, past=True), 0.0)}
    assert of_the_past == {409: {"update", "patch", "delete"}, 410: {"list", "watch"}}.get(status, set(VERBS))


def test_how_effects_are_told() -> None:
    told = {
        "500 after": {"status": 500, "when": "After"},
        "latency 0.2s to 2s, 503": {"status": 503, "latency": "200ms", "latencyMost": "2s"},
        "latency 1s after": {"latency": "1s", "when": "After"},
        "reset": {"reset": True},
        "watch Expired after 3 events or 10s, no bookmarks": {
            "watch": {"afterEvents": 3, "after": "10s", "ending": "Expired", "dropBookmarks": True}
        },
    }
    assert {made(effect).effect.text for effect in told.values()} == set(told)
