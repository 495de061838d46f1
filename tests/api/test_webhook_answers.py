"""What webhooks answer, read without any network: only what makes sense counts, and nothing else breaks anything."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as some

from kube32_sim.api.webhooks import review
from kube32_sim.api.webhooks.compiled import VERSIONS, webhooks_of

JSON = some.recursive(
    some.none() | some.booleans() | some.integers(-5, 700) | some.text(max_size=4),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
RESPONSE = some.fixed_dictionaries(
    {},
    optional={
        "uid": some.just("u") | JSON,
        "allowed": JSON,
        "status": some.fixed_dictionaries({}, optional=dict.fromkeys(("code", "message", "reason", "details"), JSON))
        | JSON,
        "patch": some.sampled_from(["", "W10=", "e30=", "bnVsbA=="]) | JSON,
        "patchType": some.just("JSONPatch") | JSON,
        "warnings": JSON,
    },
)


@given(RESPONSE, some.sampled_from(VERSIONS), some.booleans())
def test_any_answer_is_an_answer_or_unusable(response: dict[str, Any], version: str, mutating: bool) -> None:
    whole = {"kind": "AdmissionReview", "apiVersion": f"admission.k8s.io/{version}", "response": response}
    try:
        answer = review.read_answer(200, orjson.dumps(whole), "u", version, mutating=mutating)
    except review.Unusable:
        return
    error = review.denied("w", answer.status)
    assert 400 <= error.code <= 599
    orjson.dumps(error.status())
    assert all(isinstance(text, str) for text in answer.warnings)
    assert answer.patch is None or all(isinstance(operation, dict) for operation in answer.patch)


@given(some.integers(100, 599), some.binary(max_size=40))
def test_any_bytes_are_unusable(code: int, data: bytes) -> None:
    with pytest.raises(review.Unusable):
        review.read_answer(code, data, "u", "v1", mutating=True)


def encoded(value: Any) -> str:
    return base64.b64encode(orjson.dumps(value)).decode()


PATCHES = [
    (True, {"patch": "W10="}, "webhook returned response.patch but not response.patchType"),
    (True, {"patchType": "JSONPatch"}, "webhook returned response.patchType but not response.patch"),
    (True, {"patch": "W10=", "patchType": ""}, 'webhook returned invalid response.patchType of ""'),
    (True, {"patch": "W10=", "patchType": "Merge"}, 'unsupported patch type "Merge"'),
    (True, {"patch": "!", "patchType": "JSONPatch"}, "illegal base64 data"),
    (True, {"patch": encoded({}), "patchType": "JSONPatch"}, "received undecodable patch in webhook response"),
    (True, {"patch": encoded([1]), "patchType": "JSONPatch"}, "received undecodable patch in webhook response"),
    (True, {"patch": "W1s=", "patchType": "JSONPatch"}, "received undecodable patch in webhook response"),
    (False, {"patch": "W10=", "patchType": "JSONPatch"}, "validating webhook may not return response.patch"),
    (False, {"patchType": "JSONPatch"}, "validating webhook may not return response.patchType"),
]


@pytest.mark.parametrize(("mutating", "response", "why"), PATCHES)
def test_patches(mutating: bool, response: dict[str, Any], why: str) -> None:
    whole = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": {"uid": "u", **response}}
    with pytest.raises(review.Unusable) as failure:
        review.read_answer(200, orjson.dumps(whole), "u", "v1", mutating=mutating)
    assert why in str(failure.value)


def test_an_empty_patch_is_none() -> None:
    response = {"uid": "u", "allowed": True, "patch": "W10=", "patchType": "JSONPatch"}
    whole = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}
    assert not review.read_answer(200, orjson.dumps(whole), "u", "v1", mutating=True).patch


HTTP = {
    400: "the server rejected our request for an unknown reason",
    403: "said",
    418: "the server responded with the status code 418 but did not return more information",
    429: "the server has received too many requests and has asked us to try again later",
    500: 'an error on the server ("said") has prevented the request from succeeding',
    503: "the server is currently unable to handle the request",
}


@pytest.mark.parametrize("code", HTTP)
def test_http_failures(code: int) -> None:
    with pytest.raises(review.Unusable) as failure:
        review.read_answer(code, b" said\n", "u", "v1", mutating=False)
    assert str(failure.value) == f"failed to call webhook: {HTTP[code]}"


def test_a_configuration_made_ready() -> None:
    hooks: list[dict[str, Any]] = [
        {
            "name": "a",
            "sideEffects": "Some",
            "failurePolicy": "Ignore",
            "admissionReviewVersions": ["v9", "v1beta1", "v1"],
        },
        {"name": "b", "sideEffects": "NoneOnDryRun", "reinvocationPolicy": "IfNeeded", "timeoutSeconds": 3},
        {"name": "c", "sideEffects": "None", "matchConditions": [{"name": "n", "expression": "true"}]},
    ]
    made = webhooks_of({"metadata": {"name": "m"}, "webhooks": hooks})
    assert [one.key for one in made] == [("m", "a"), ("m", "b"), ("m", "c")]
    assert [(one.version, one.timeout, one.ignores, one.again, one.dry_run) for one in made] == [
        ("v1beta1", 10, True, False, False),
        ("", 3, False, True, True),
        ("", 10, False, False, True),
    ]
    assert [one.conditions is not None for one in made] == [False, False, True]
