"""Scale objects, and the kinds that are answered without being stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from strategy_objects import NOW, TABLE, UID

from kube32_sim.api.account_tokens import claims_of
from kube32_sim.api.authorization import ALWAYS_ALLOW
from kube32_sim.api.errors import ApiError
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.reviews import Asking, Known, check_token_request, review, token_request
from kube32_sim.api.scale import apply_scale, scale_of
from kube32_sim.api.users import User
from kube32_sim.clock import parse_time
from kube32_sim.ids import Ids

JsonObject = dict[str, Any]

ADMIN = User("admin", "", ("system:masters", "system:authenticated"))


def row(group: str, kind: str) -> ResourceType:
    found = TABLE.by_kind(group, "v1", kind)
    assert found is not None
    return found


DEPLOYMENT = row("apps", "Deployment")


def deployment() -> JsonObject:
    metadata = {"name": "d", "namespace": "ns", "uid": UID, "resourceVersion": "7", "creationTimestamp": NOW}
    selector = {"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}
    return {
        "metadata": {**metadata, "generation": 3, "labels": {"x": "y"}},
        "spec": {"replicas": 2, "selector": selector},
        "status": {"replicas": 1},
    }


def test_a_scale_shows_what_counts() -> None:
    assert scale_of(DEPLOYMENT, deployment()) == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "d", "namespace": "ns", "uid": UID, "resourceVersion": "7", "creationTimestamp": NOW},
        "spec": {"replicas": 2},
        "status": {"replicas": 1, "selector": "a=1,b=2,c"},
    }


def test_none_wanted_is_left_out() -> None:
    controller = {"metadata": {"name": "r"}, "spec": {"replicas": 0, "selector": {"x": "y"}}}
    scale = scale_of(row("", "ReplicationController"), controller)
    assert (scale["spec"], scale["status"]) == ({}, {"replicas": 0, "selector": "x=y"})


def test_a_scale_is_put_back() -> None:
    obj = deployment()
    scale = scale_of(DEPLOYMENT, obj)
    scale["spec"] = {}
    assert apply_scale(DEPLOYMENT, obj, scale)["spec"]["replicas"] == 0
    scale["spec"] = {"replicas": 9}
    assert apply_scale(DEPLOYMENT, obj, scale)["spec"]["replicas"] == 9


@pytest.mark.parametrize(
    ("metadata", "replicas", "code", "message"),
    [
        ({"name": "d"}, -1, 422, 'Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: must be greater'),
        ({"name": "d", "resourceVersion": "6"}, 1, 409, 'Operation cannot be fulfilled on deployments.apps "d": '),
        (
            {"name": "d", "uid": "other", "resourceVersion": "6"},
            1,
            409,
            'Operation cannot be fulfilled on deployments/scale.apps "d": Precondition failed: UID in precondition: ',
        ),
        ({"name": "e"}, 1, 400, "the name of the object (e) does not match the name on the URL (d)"),
        ({}, 1, 400, "the name of the object (d based on URL) was undeterminable"),
        ({"name": "d", "namespace": "o"}, 1, 400, "the namespace of the provided object does not match"),
    ],
)
def test_scales_are_refused(metadata: JsonObject, replicas: int, code: int, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        apply_scale(DEPLOYMENT, deployment(), {"metadata": metadata, "spec": {"replicas": replicas}})
    assert (caught.value.code, caught.value.message[: len(message)]) == (code, message)


class Fake:
    """Knows one token, which is for whom it is asked for."""

    def known(self, token: str, audiences: Sequence[str] = ()) -> Known | None:
        if token == "expired":
            return Known(None, failure="service account token has expired")
        return Known(User("ann", "7", ("devs",)), audiences or ["api"]) if token == "known" else None


def asked(kind: str, **fields: Any) -> JsonObject:
    group = "authentication.k8s.io" if kind in ("TokenReview", "SelfSubjectReview") else "authorization.k8s.io"
    return review(row(group, kind), fields, Asking(ADMIN, NOW, ALWAYS_ALLOW, Fake()))


ATTRIBUTES = {"verb": "get", "resource": "pods", "namespace": "ns"}


def test_who_am_i() -> None:
    assert asked("SelfSubjectReview") == {
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": NOW},
        "status": {"userInfo": {"username": "admin", "groups": ["system:masters", "system:authenticated"]}},
    }


@pytest.mark.parametrize(
    ("kind", "spec", "allowed"),
    [
        ("SelfSubjectAccessReview", {}, True),
        ("SubjectAccessReview", {"user": "ann"}, True),
        ("SubjectAccessReview", {"user": "system:anonymous"}, False),
        ("SubjectAccessReview", {"groups": ["system:unauthenticated"]}, False),
        ("LocalSubjectAccessReview", {"user": "ann"}, True),
    ],
)
def test_may_it(kind: str, spec: JsonObject, allowed: bool) -> None:
    metadata = {"namespace": "ns"} if kind.startswith("Local") else {}
    answer = asked(kind, metadata=metadata, spec={**spec, "resourceAttributes": ATTRIBUTES})
    assert answer["status"]["allowed"] is allowed
    assert answer["spec"]["resourceAttributes"] == ATTRIBUTES


def test_every_rule_of_an_administrator() -> None:
    status = asked("SelfSubjectRulesReview", spec={"namespace": "ns"})["status"]
    assert status["resourceRules"] == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    with pytest.raises(ApiError, match="no namespace on request"):
        asked("SelfSubjectRulesReview", spec={})


def test_questions_that_are_none() -> None:
    with pytest.raises(ApiError) as caught:
        asked("SubjectAccessReview", spec={})
    fields = [cause["field"] for cause in (caught.value.details or {})["causes"]]
    assert fields == ["spec.resourceAttributes", "spec.user"]
    both = {"user": "u", "resourceAttributes": ATTRIBUTES, "nonResourceAttributes": {"path": "/", "verb": "get"}}
    with pytest.raises(ApiError, match="cannot be specified in combination"):
        asked("SubjectAccessReview", spec=both)
    with pytest.raises(ApiError, match=r"must match metadata\.namespace"):
        asked(
            "LocalSubjectAccessReview",
            metadata={"namespace": "other"},
            spec={"user": "u", "resourceAttributes": ATTRIBUTES},
        )


@pytest.mark.parametrize(
    ("kind", "metadata", "attributes", "message"),
    [
        ("SelfSubjectAccessReview", {"name": "x"}, {}, 'metadata: Invalid value: {"name":"x"}: must be empty'),
        (
            "SubjectAccessReview",
            {"generateName": "x"},
            {},
            'metadata: Invalid value: {"generateName":"x"}: must be empty',
        ),
        (
            "LocalSubjectAccessReview",
            {"name": "x", "namespace": "ns"},
            {},
            'metadata: Invalid value: {"name":"x","namespace":"ns"}: must be empty except for namespace',
        ),
        (
            "SubjectAccessReview",
            {},
            {"fieldSelector": {}},
            "spec.resourceAttributes.fieldSelector.requirements: Required value: when "
            "spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required",
        ),
        (
            "SubjectAccessReview",
            {},
            {"labelSelector": {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "Newer"}]}},
            'spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a=b": '
            "may not specified at the same time as requirements",
        ),
        (
            "SelfSubjectAccessReview",
            {},
            {"fieldSelector": {"requirements": [{"operator": "In", "values": ["x"]}]}},
            "spec.resourceAttributes.fieldSelector.requirements[0].key: Required value: must be specified",
        ),
        (
            "SelfSubjectAccessReview",
            {},
            {"labelSelector": {"requirements": [{"key": "a", "operator": "Exists", "values": ["x"]}]}},
            "spec.resourceAttributes.labelSelector.requirements[0].values: Forbidden: may not be specified when "
            "`operator` is 'Exists' or 'DoesNotExist'",
        ),
        (
            "SelfSubjectAccessReview",
            {},
            {"labelSelector": {"requirements": [{"key": "a", "operator": "NotIn"}]}},
            "spec.resourceAttributes.labelSelector.requirements[0].values: Required value: must be specified when "
            "`operator` is 'In' or 'NotIn'",
        ),
    ],
)
def test_questions_that_are_put_wrongly(kind: str, metadata: JsonObject, attributes: JsonObject, message: str) -> None:
    spec = {"user": "u", "resourceAttributes": {**ATTRIBUTES, **attributes}}
    with pytest.raises(ApiError) as caught:
        asked(kind, metadata=metadata, spec=spec)
    assert caught.value.message == f'.authorization.k8s.io "" is invalid: {message}'


def test_a_local_question_is_about_resources() -> None:
    spec = {"user": "u", "nonResourceAttributes": {"path": "/", "verb": "get"}}
    with pytest.raises(ApiError, match="disallowed on this kind of request") as caught:
        asked("LocalSubjectAccessReview", metadata={"namespace": "ns"}, spec=spec)
    assert (caught.value.details or {})["causes"][0]["reason"] == "FieldValueInvalid"


ACCOUNT = {"metadata": {"name": "sa", "namespace": "ns", "uid": UID}}
STARTED = parse_time(NOW)


def test_a_token_is_known_again() -> None:
    answer = token_request({"spec": {"expirationSeconds": 600}}, ACCOUNT, STARTED, Ids(1), {})
    assert answer["spec"] == {"audiences": ["https://kubernetes.default.svc"], "expirationSeconds": 600}
    assert answer["status"]["expirationTimestamp"] == "2026-01-01T00:10:00Z"
    claims = claims_of(answer["status"]["token"]) or {}
    assert (claims["sub"], claims["exp"] - claims["iat"]) == ("system:serviceaccount:ns:sa", 600)
    assert claims["kubernetes.io"] == {"namespace": "ns", "serviceaccount": {"name": "sa", "uid": UID}}


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        (
            {"token": "known"},
            {"authenticated": True, "user": {"username": "ann", "uid": "7", "groups": ["devs"]}, "audiences": ["api"]},
        ),
        (
            {"token": "known", "audiences": ["b"]},
            {"authenticated": True, "user": {"username": "ann", "uid": "7", "groups": ["devs"]}, "audiences": ["b"]},
        ),
        (
            {"token": "expired"},
            {"user": {}, "error": "[invalid bearer token, service account token has expired]"},
        ),
        ({"token": "other"}, {"user": {}, "error": "invalid bearer token"}),
    ],
)
def test_whose_a_token_is(spec: JsonObject, status: JsonObject) -> None:
    assert asked("TokenReview", spec=spec)["status"] == status


@pytest.mark.parametrize("seconds", [10, 1 << 33])
def test_how_long_a_token_may_last(seconds: int) -> None:
    with pytest.raises(ApiError, match="may not specify a duration"):
        check_token_request({"spec": {"expirationSeconds": seconds}})
