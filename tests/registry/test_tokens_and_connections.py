"""Tokens of ServiceAccounts and what they are bound to; what a connection to a container is refused for."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kube32_sim.api.account_tokens import claims_of
from kube32_sim.api.errors import ApiError
from kube32_sim.api.users import User
from kube32_sim.client import NODES, PODS, SERVICES, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.registry import connections, subresources
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.tokens import Tokens
from kube32_sim.server import virtual
from tests.support.objects import node, pod

JsonObject = dict[str, Any]
ACCOUNTS = Resource("", "v1", "serviceaccounts")
SECRETS = Resource("", "v1", "secrets")
ENDPOINTS = Resource("", "v1", "endpoints")


def asked(cluster: Cluster, plural: str, name: str, subresource: str) -> Asked:
    row = cluster.registry.table.by_path("", "v1", plural)
    assert row is not None
    return Asked(row, "default" if row.namespaced else "", name, subresource)


async def token(cluster: Cluster, reference: JsonObject | None = None, **metadata: Any) -> JsonObject:
    spec = {} if reference is None else {"boundObjectRef": {"apiVersion": "v1", **reference}}
    body: JsonObject = {"metadata": metadata, "spec": spec}
    return await subresources.create(cluster.registry, asked(cluster, "serviceaccounts", "sa", "token"), body)


async def make(cluster: Cluster) -> None:
    client = cluster.client
    await client.create(ACCOUNTS, "default", {"metadata": {"name": "sa"}})
    await client.create(SECRETS, "default", {"metadata": {"name": "s"}})
    await client.create(NODES, "", node("n"))
    await client.create(PODS, "default", pod("mine", spec={"serviceAccountName": "sa"}))
    await client.create(PODS, "default", pod("other", spec={"serviceAccountName": "else"}))


@pytest.mark.parametrize(("kind", "name"), [("Pod", "mine"), ("Secret", "s"), ("Node", "n")])
async def test_a_token_names_what_it_is_bound_to(cluster: Cluster, kind: str, name: str) -> None:
    await make(cluster)
    resource, namespace = {"Pod": (PODS, "default"), "Secret": (SECRETS, "default"), "Node": (NODES, "")}[kind]
    uid = (await cluster.client.get(resource, namespace, name))["metadata"]["uid"]
    answer = await token(cluster, {"kind": kind, "name": name, "uid": uid})
    claims = claims_of(answer["status"]["token"])
    assert claims is not None
    assert claims["kubernetes.io"][kind.lower()] == {"name": name, "uid": uid}


@pytest.mark.parametrize(
    ("reference", "code", "message"),
    [
        ({"kind": "Pod", "name": "none"}, 404, 'pods "none" not found'),
        ({"kind": "Secret", "name": "none"}, 404, 'secrets "none" not found'),
        ({"kind": "Node", "name": "none"}, 404, 'nodes "none" not found'),
        ({"kind": "ConfigMap", "name": "c"}, 400, "cannot bind token to object of type /v1, Kind=ConfigMap"),
        (
            {"kind": "Pod", "name": "other"},
            400,
            'cannot bind token for serviceaccount "sa" to pod running with different serviceaccount name.',
        ),
        (
            {"kind": "Secret", "name": "s", "uid": "x"},
            409,
            'Operation cannot be fulfilled on Secret "s": the UID in the bound object reference (x) does not match the '
            "UID in record. The object might have been deleted and then recreated",
        ),
    ],
)
async def test_what_a_token_cannot_be_bound_to(
    cluster: Cluster, reference: JsonObject, code: int, message: str
) -> None:
    await make(cluster)
    with pytest.raises(ApiError) as caught:
        await token(cluster, reference)
    assert (caught.value.code, caught.value.message) == (code, message)


@pytest.mark.parametrize(
    ("metadata", "code", "why"),
    [
        ({"name": "other"}, 422, "must match the service account name if specified"),
        ({"namespace": "other"}, 400, "does not match the namespace sent on the request"),
    ],
)
async def test_a_request_for_a_token_is_about_its_account(
    cluster: Cluster, metadata: JsonObject, code: int, why: str
) -> None:
    await make(cluster)
    with pytest.raises(ApiError, match=why) as caught:
        await token(cluster, **metadata)
    assert caught.value.code == code


# connections


SPECS: dict[str, JsonObject] = {
    "one": {},
    "two": {"containers": [{"name": name, "image": "i"} for name in ("a", "b")]},
    "bound": {"nodeName": "n"},
}
NO_HOST = "pod one does not have a host assigned"


@pytest.mark.parametrize(
    ("name", "subresource", "container", "message"),
    [
        ("one", "exec", "", NO_HOST),
        ("one", "portforward", "", NO_HOST),
        ("one", "attach", "zz", "container zz is not valid for pod one"),
        ("two", "exec", "", "a container name must be specified for pod two, choose one of: [a b]"),
        ("two", "attach", "b", "pod two does not have a host assigned"),
        ("two", "portforward", "", "pod two does not have a host assigned"),
        ("bound", "exec", "zz", "container zz is not valid for pod bound"),
        ("one", "proxy", "", "address not allowed"),
        ("http:one:80", "proxy", "", "address not allowed"),
        ("ftp:one:80", "proxy", "", 'invalid pod request "ftp:one:80"'),
        ("a:b:c:d", "proxy", "", 'invalid pod request "a:b:c:d"'),
    ],
)
async def test_what_is_refused_before_a_connection(
    cluster: Cluster, name: str, subresource: str, container: str, message: str
) -> None:
    for each, spec in SPECS.items():
        await cluster.client.create(PODS, "default", pod(each, spec=spec))
    with pytest.raises(ApiError) as caught:
        await connections.refusal(cluster.registry, asked(cluster, "pods", name, subresource), container)
    assert (caught.value.code, caught.value.message) == (400, message)


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("none", 404, 'endpoints "none" not found'),
        ("none:80", 404, 'services "none" not found'),
        ("alone", 404, 'endpoints "alone" not found'),
        ("alone:80", 404, 'endpoints "alone" not found'),
        ("ftp:s:80", 400, 'invalid service request "ftp:s:80"'),
        ("s:80", 501, "proxy is not supported: service s is simulated, nothing runs in it"),
        ("http:s:web", 501, "proxy is not supported: service s is simulated, nothing runs in it"),
    ],
)
async def test_what_a_service_s_proxy_reaches(cluster: Cluster, name: str, code: int, message: str) -> None:
    client = cluster.client
    for each in ("s", "alone"):
        await client.create(SERVICES, "default", {"metadata": {"name": each}, "spec": {"ports": [{"port": 80}]}})
    await client.create(ENDPOINTS, "default", {"metadata": {"name": "s"}})
    try:
        error = await connections.refusal(cluster.registry, asked(cluster, "services", name, "proxy"))
    except ApiError as raised:
        error = raised
    assert (error.code, error.message) == (code, message)


async def test_a_connection_that_could_be_made_is_not_supported(cluster: Cluster) -> None:
    made = await cluster.client.create(PODS, "default", pod("p", spec={"nodeName": "n"}))
    for subresource in ("exec", "attach", "portforward"):
        with pytest.raises(ApiError, match=r'^nodes "n" not found$'):
            await connections.refusal(cluster.registry, asked(cluster, "pods", "p", subresource))
    await cluster.client.create(NODES, "", node("n"))
    ip = {"status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}}
    await cluster.client.patch(PODS, "default", made["metadata"]["name"], ip, subresource="status")
    for subresource in ("exec", "attach", "portforward", "proxy"):
        refusal = await connections.refusal(cluster.registry, asked(cluster, "pods", "p", subresource))
        assert (refusal.code, refusal.reason) == (501, "NotImplemented"), subresource


# bindings


async def test_the_old_collection_binds_the_pod_that_the_binding_names(cluster: Cluster) -> None:
    await cluster.client.create(PODS, "default", pod("p"))
    user, tokens = User("system:admin"), Tokens(None, cluster.clock.now, cluster.registry.lookup)
    body = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    posted = asked(cluster, "bindings", "", "")
    assert (await virtual.answer(cluster.registry, posted, orjson.loads(orjson.dumps(body)), user, tokens))[
        "code"
    ] == 201
    assert (await cluster.client.get(PODS, "default", "p"))["spec"]["nodeName"] == "n1"
    with pytest.raises(ApiError, match="already assigned"):
        await virtual.answer(cluster.registry, posted, body, user, tokens)


async def test_a_local_review_is_of_the_namespace_of_its_path(cluster: Cluster) -> None:
    row = cluster.registry.table.by_path("authorization.k8s.io", "v1", "localsubjectaccessreviews")
    assert row is not None
    tokens = Tokens(None, cluster.clock.now, cluster.registry.lookup)
    spec = {"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}
    answer = await virtual.answer(cluster.registry, Asked(row, "default"), {"spec": spec}, User("system:admin"), tokens)
    assert answer["metadata"] == {"namespace": "default"}
    assert not answer["status"]["allowed"]
    body = {"metadata": {"namespace": "other"}, "spec": spec}
    with pytest.raises(ApiError, match="does not match the namespace sent on the request"):
        await virtual.answer(cluster.registry, Asked(row, "default"), body, User("system:admin"), tokens)
