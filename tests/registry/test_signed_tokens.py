"""Tokens as signed JSON Web Tokens: others can verify them, and nothing that is tampered with passes."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from kube32_sim.api import account_tokens
from kube32_sim.api.users import User
from kube32_sim.registry.tokens import LEEWAY, Tokens

JsonObject = dict[str, Any]
ACCOUNT = {"metadata": {"name": "sa", "namespace": "ns", "uid": "u1"}}
NOW = 1_800_000_000


def claims(**details: JsonObject) -> JsonObject:
    whose = {"namespace": "ns", "serviceaccount": {"name": "sa", "uid": "u1"}, **details}
    return {
        "aud": ["https://kubernetes.default.svc"],
        "exp": NOW + 100,
        "iss": account_tokens.ISSUER,
        "jti": "j",
        "sub": "system:serviceaccount:ns:sa",
        "kubernetes.io": whose,
    }


class Shelf:
    """A cluster of some objects."""

    def __init__(self, objects: dict[tuple[str, str, str], JsonObject]) -> None:
        self._objects = {("serviceaccounts", "ns", "sa"): ACCOUNT, **objects}

    def get(self, storage: tuple[str, str], namespace: str, name: str) -> JsonObject | None:
        return self._objects.get((storage[1], namespace, name))

    def list(self, storage: tuple[str, str], namespace: str = "") -> list[JsonObject]:
        return []


def tokens(now: float = NOW, **objects: JsonObject) -> Tokens:
    """objects: of the cluster, as `pods__ns__p`."""
    found = {(key.split("__")[0], key.split("__")[1], key.split("__")[2]): obj for key, obj in objects.items()}
    return Tokens({b"static": User("ann")}, lambda: now, Shelf(found))


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def test_who_has_the_key_set_can_verify_a_token() -> None:
    token = account_tokens.signed(claims())
    head, body, signature = token.split(".")
    (key,) = account_tokens.key_set()["keys"]
    assert orjson.loads(decoded(head)) == {"alg": "RS256", "kid": key["kid"]}
    assert (key["kty"], key["alg"], key["use"]) == ("RSA", "RS256", "sig")
    modulus, exponent = (int.from_bytes(decoded(key[name]), "big") for name in ("n", "e"))
    public = rsa.RSAPublicNumbers(exponent, modulus).public_key()
    public.verify(decoded(signature), f"{head}.{body}".encode(), padding.PKCS1v15(), SHA256())
    assert account_tokens.claims_of(token) == claims()


def forged(head: JsonObject, body: JsonObject, signature: str = "") -> str:
    parts = [base64.urlsafe_b64encode(orjson.dumps(part)).rstrip(b"=").decode() for part in (head, body)]
    return ".".join([*parts, signature])


def test_what_nobody_here_has_signed_is_nobody_s() -> None:
    good = account_tokens.signed(claims())
    head, _, signature = good.split(".")
    key = orjson.loads(decoded(head))["kid"]
    for token in (
        forged({"alg": "none"}, claims()),
        forged({"alg": "HS256", "kid": key}, claims(), signature),
        forged({"alg": "RS256", "kid": "other"}, claims(), signature),
        forged({"alg": "RS256", "kid": key}, {**claims(), "sub": "system:admin"}, signature),
        forged({"alg": "RS256", "kid": key}, claims(), "!!"),
        forged([], claims(), signature),  # type: ignore[arg-type]
        f"{good}x",
    ):
        known = tokens().known(token)
        assert known is not None
        assert known.user is None


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "..", "é.ü.ß", "e30.e30.e30", "W10.W10.W10", "a.b", "\udc80.a.b"])
def test_what_is_no_token_of_ours_is_unknown(token: str) -> None:
    assert tokens().known(token) is None
    assert account_tokens.claims_of(token) is None


def test_static_tokens_are_for_the_api_server() -> None:
    assert (tokens().known("static") or [None])[0] == User("ann")
    assert (tokens().known("static", ["vault"]) or [None])[0] is None


POD: JsonObject = {"metadata": {"name": "p", "uid": "p1"}}
GONE = {"metadata": {**POD["metadata"], "deletionTimestamp": "2027-01-15T07:58:00Z"}}
"""Two minutes before NOW."""


@pytest.mark.parametrize(
    ("details", "objects", "good"),
    [
        ({}, {}, True),
        ({"pod": {"name": "p", "uid": "p1"}}, {"pods__ns__p": POD}, True),
        ({"pod": {"name": "p", "uid": "p1"}}, {}, False),
        ({"pod": {"name": "p", "uid": "p0"}}, {"pods__ns__p": POD}, False),
        ({"pod": {"name": "p", "uid": "p1"}}, {"pods__ns__p": GONE}, False),
        ({"pod": {"name": "p", "uid": "p1"}, "node": {"name": "n", "uid": "n1"}}, {"pods__ns__p": POD}, True),
        ({"node": {"name": "n", "uid": "p1"}}, {"nodes____n": POD}, True),
        ({"node": {"name": "n", "uid": "n1"}}, {}, False),
        ({"secret": {"name": "s", "uid": "p1"}}, {"secrets__ns__s": POD}, True),
        ({"secret": {"name": "s", "uid": "p1"}}, {"secrets__other__s": POD}, False),
    ],
)
def test_what_a_token_is_bound_to_has_to_be_there(
    details: JsonObject, objects: dict[str, JsonObject], good: bool
) -> None:
    known = tokens(**objects).known(account_tokens.signed(claims(**details)))
    assert known is not None
    assert (known.user is not None) is good
    if not good:
        assert known.failure == "service account token has been invalidated"


def test_what_is_being_deleted_keeps_its_tokens_for_a_moment() -> None:
    token = account_tokens.signed({**claims(pod={"name": "p", "uid": "p1"}), "exp": NOW * 2})
    began = NOW - 120
    for now, good in ((began + LEEWAY, True), (began + LEEWAY + 1, False)):
        known = tokens(now, pods__ns__p=GONE).known(token)
        assert known is not None
        assert (known.user is not None) is good


def test_a_user_s_extra_tells_the_pod_and_its_node() -> None:
    details = {"pod": {"name": "p", "uid": "p1"}, "node": {"name": "n", "uid": "n1"}}
    assert account_tokens.account_user(claims(**details)).extra == {
        "authentication.kubernetes.io/credential-id": ["JTI=j"],
        "authentication.kubernetes.io/pod-name": ["p"],
        "authentication.kubernetes.io/pod-uid": ["p1"],
        "authentication.kubernetes.io/node-name": ["n"],
        "authentication.kubernetes.io/node-uid": ["n1"],
    }


def test_why_a_token_is_nobody_s() -> None:
    expired = tokens(NOW + 100).known(account_tokens.signed(claims()))
    assert expired is not None
    assert expired.failure == "service account token has expired"
    for account, failure in (
        (None, 'serviceaccounts "sa" not found'),
        ({"metadata": {**ACCOUNT["metadata"], "uid": "u2"}}, "service account UID (u2) does not match claim (u1)"),
        ({"metadata": {**ACCOUNT["metadata"], **GONE["metadata"]}}, "service account ns/sa has been deleted"),
    ):
        known = tokens(serviceaccounts__ns__sa=account).known(account_tokens.signed(claims()))  # type: ignore[arg-type]
        assert known is not None
        assert known.failure == failure
