"""Secrets that keep tokens of ServiceAccounts: filled once, gone with the account, good as long as they last."""

from __future__ import annotations

import base64
from typing import Any

from kube32_controllers.serviceaccount_controller import SERVICE_ACCOUNTS
from kube32_controllers.serviceaccount_token_controller import (
    NAME,
    SECRETS,
    TYPE,
    UID,
    ServiceAccountTokenController,
    plan_token,
)
from workload_objects import NOW, FakeView

from kube32_sim.api.account_tokens import claims_of
from kube32_sim.cluster import Cluster
from kube32_sim.registry.tokens import Tokens
from kube32_sim.runtime.actions import Delete, Patch, Plan

JsonObject = dict[str, Any]
ACCOUNT = {"metadata": {"name": "sa", "namespace": "ns", "uid": "u1"}}


def secret(uid: str = "", kind: str = TYPE, **data: str) -> JsonObject:
    annotations = {NAME: "sa", **({UID: uid} if uid else {})}
    return {
        "metadata": {"name": "s", "namespace": "ns", "uid": "s1", "annotations": annotations},
        "type": kind,
        "data": data,
    }


def plain(text: str) -> str:
    return base64.b64decode(text).decode()


def test_a_secret_is_filled() -> None:
    (patch,) = plan_token(secret(), ACCOUNT, "PEM").actions
    assert isinstance(patch, Patch)
    assert (patch.namespace, patch.name) == ("ns", "s")
    assert patch.patch["metadata"] == {"annotations": {UID: "u1"}}
    data = {key: plain(value) for key, value in patch.patch["data"].items()}
    assert (data["namespace"], data["ca.crt"]) == ("ns", "PEM")
    claims = claims_of(data["token"]) or {}
    assert claims["sub"] == "system:serviceaccount:ns:sa"
    assert claims["kubernetes.io/serviceaccount/secret.name"] == "s"
    assert "exp" not in claims


def test_a_secret_that_has_all_is_left_alone() -> None:
    full = secret("u1", token="dG9rZW4=", namespace="bnM=")
    assert plan_token(full, ACCOUNT, "") == Plan()
    assert plan_token(secret(kind="Opaque"), ACCOUNT, "") == Plan()
    assert plan_token(None, ACCOUNT, "") == Plan()
    (patch,) = plan_token(full, ACCOUNT, "PEM").actions
    assert isinstance(patch, Patch)
    assert patch.patch["data"] == {"ca.crt": "UEVN"}


def test_a_secret_goes_with_its_account() -> None:
    gone = (Delete(SECRETS, "ns", "s", "s1"),)
    assert plan_token(secret(), None, "").actions == gone
    assert plan_token(secret("u0"), ACCOUNT, "").actions == gone


def test_an_account_concerns_the_secrets_that_name_it() -> None:
    view = FakeView({SECRETS: [secret(), {"metadata": {"name": "other", "namespace": "ns"}, "type": "Opaque"}]})
    loop = ServiceAccountTokenController()
    assert list(loop.keys(SERVICE_ACCOUNTS, ACCOUNT, view)) == ["ns/s"]
    assert list(loop.keys(SECRETS, secret(), view)) == ["ns/s"]
    assert loop.plan("ns/s", view, NOW).actions == (Delete(SECRETS, "ns", "s", "s1"),)


async def test_the_token_of_a_secret_is_good_until_it_is_deleted(virtual_cluster: Cluster) -> None:
    client = virtual_cluster.client
    await client.create(SERVICE_ACCOUNTS, "default", {"metadata": {"name": "robot"}})
    metadata = {"name": "kept", "annotations": {NAME: "robot"}}
    await client.create(SECRETS, "default", {"metadata": metadata, "type": TYPE})
    await virtual_cluster.settle()
    data = (await client.get(SECRETS, "default", "kept"))["data"]
    token = plain(data["token"])
    tokens = Tokens(None, virtual_cluster.clock.now, virtual_cluster.registry.lookup)
    known = tokens.known(token)
    assert known is not None
    assert known.user is not None
    assert known.user.name == "system:serviceaccount:default:robot"
    await client.patch(SECRETS, "default", "kept", {"data": {"token": "b3RoZXI="}})
    assert (tokens.known(token) or [known])[0] is None
    await client.patch(SECRETS, "default", "kept", {"data": {"token": data["token"]}})
    assert (tokens.known(token) or [None])[0] == known.user
    await client.delete(SERVICE_ACCOUNTS, "default", "robot")
    await virtual_cluster.settle()
    assert not await has(virtual_cluster, "kept")


async def has(cluster: Cluster, name: str) -> bool:
    return name in {item["metadata"]["name"] for item in (await cluster.client.list(SECRETS, "default")).items}
