"""Requests under RBAC: what each asks for, how it is refused, who may act as whom, and what writes of roles need."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.api import paths
from kube32_sim.api.authorization import Attributes
from kube32_sim.client import PODS, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from kube32_sim.server.authorization import attributes_of
from tests.support.objects import pod
from tests.support.rbac import binding, rule
from tests.support.wire import Answer, connected

JsonObject = dict[str, Any]
GROUP = "rbac.authorization.k8s.io"
TOKENS = 'root,admin,1,"system:masters"\nann-token,ann,2,"devs"\nbob-token,bob,3\n'
ACCOUNTS, SECRETS = Resource("", "v1", "serviceaccounts"), Resource("", "v1", "secrets")
SERVICE = "https://kubernetes.default.svc"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
ROLES = f"/apis/{GROUP}/v1/namespaces/default/roles"
CLUSTER_ROLES = f"/apis/{GROUP}/v1/clusterroles"


def under_rbac(folder: Path, controllers: str = "none") -> Cluster:
    """A server under RBAC, which knows admin, ann and bob."""
    (folder / "tokens.csv").write_text(TOKENS)
    options = ServeOptions(port=0, nodes=0, controllers=controllers, clock="virtual", authorization_mode="RBAC")
    return Cluster(options, token_file=folder / "tokens.csv")


@pytest_asyncio.fixture
async def rbac(tmp_path: Path) -> AsyncIterator[Cluster]:
    """A bare one."""
    async with under_rbac(tmp_path) as cluster:
        yield cluster


@pytest_asyncio.fixture
async def acting(tmp_path: Path) -> AsyncIterator[Cluster]:
    """One with a loop."""
    async with under_rbac(tmp_path, "job") as cluster:
        yield cluster


async def ask(cluster: Cluster, who: str, method: str, path: str, body: object = None, **headers: str) -> Answer:
    if who:
        headers["Authorization"] = f"Bearer {who}"
    async with connected(cluster.port) as wire:
        return await wire(method, path, body, **headers)


async def allow(cluster: Cluster, name: str, subject: str, *rules: JsonObject, namespace: str = "") -> None:
    """A role of these rules, and a binding of both names."""
    kind, place = ("", "clusterrole") if not namespace else ("Role", "role")
    role, bound = Resource(GROUP, "v1", f"{place}s"), Resource(GROUP, "v1", f"{place}bindings")
    await cluster.client.create(role, namespace, {"metadata": {"name": name}, "rules": list(rules)})
    obj = binding(name, name, subject, kind=kind or "ClusterRole")
    await cluster.client.create(bound, namespace, obj)


@pytest.mark.parametrize(
    ("method", "path", "asked"),
    [
        ("GET", "/api/v1/pods", Attributes("list", "", "v1", "pods")),
        ("HEAD", "/api/v1/pods", Attributes("list", "", "v1", "pods")),
        ("GET", "/api/v1/namespaces/a/pods/p", Attributes("get", "", "v1", "pods", "", "a", "p")),
        ("HEAD", "/api/v1/namespaces/a/pods/p", Attributes("get", "", "v1", "pods", "", "a", "p")),
        ("GET", "/api/v1/namespaces/a/pods/p/log", Attributes("get", "", "v1", "pods", "log", "a", "p")),
        ("GET", "/api/v1/pods?watch=1", Attributes("watch", "", "v1", "pods")),
        ("GET", "/api/v1/watch/namespaces/a/pods", Attributes("watch", "", "v1", "pods", "", "a")),
        ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Dp", Attributes("list", "", "v1", "pods", name="p")),
        ("DELETE", "/api/v1/namespaces/a/pods", Attributes("deletecollection", "", "v1", "pods", "", "a")),
        ("POST", "/api/v1/namespaces/a/pods/p/binding", Attributes("create", "", "v1", "pods", "binding", "a", "p")),
        ("PUT", "/apis/apps/v1/namespaces/a/deployments/d/scale",
         Attributes("update", "apps", "v1", "deployments", "scale", "a", "d")),
        ("PATCH", "/api/v1/namespaces/a", Attributes("patch", "", "v1", "namespaces", "", "a", "a")),
        ("PUT", "/api/v1/namespaces/a/status", Attributes("update", "", "v1", "namespaces", "status", "a", "a")),
        ("OPTIONS", "/api/v1/pods", Attributes("", "", "v1", "pods")),
        ("GET", "/apis/apps/v1", Attributes("get", path="/apis/apps/v1")),
        ("POST", "/version", Attributes("post", path="/version")),
        ("GET", "/openapi/v3/api/v1", Attributes("get", path="/openapi/v3/api/v1")),
    ],
)  # fmt: skip
def test_what_a_request_asks_for(method: str, path: str, asked: Attributes) -> None:
    bare, _, query = path.partition("?")
    parameters = paths.parse_query(query)
    assert attributes_of(paths.parse(method, bare, parameters), parameters) == asked


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "/api/v1/namespaces/default/pods",
         'pods is forbidden: User "ann" cannot list resource "pods" in API group "" in the namespace "default"'),
        ("GET", "/apis/apps/v1/deployments",
         'deployments.apps is forbidden: User "ann" cannot list resource "deployments" in API group "apps" '
         "at the cluster scope"),
        ("GET", "/apis/made.up/v1/namespaces/a/things/t",  # before it is told that there is none
         'things.made.up "t" is forbidden: User "ann" cannot get resource "things" in API group "made.up" '
         'in the namespace "a"'),
        ("GET", "/metrics", 'forbidden: User "ann" cannot get path "/metrics"'),
        ("HEAD", "/metrics", ""),
    ],
)  # fmt: skip
async def test_refusals(rbac: Cluster, method: str, path: str, message: str) -> None:
    answer = await ask(rbac, "ann-token", method, path)
    assert answer.status == 403
    if message:
        assert (answer.json()["message"], answer.json()["reason"]) == (message, "Forbidden")


async def test_what_is_open_to_whom(rbac: Cluster) -> None:
    for who, path, status in (
        ("", "/readyz", 200),
        ("", "/version", 200),
        ("", "/api", 403),
        ("ann-token", "/api", 200),
        ("ann-token", "/apis", 200),
        ("ann-token", "/openapi/v3", 200),
        ("root", "/metrics", 200),
        ("wrong", "/version", 401),
    ):
        assert (await ask(rbac, who, "GET", path)).status == status, (who, path)


async def test_a_binding_counts_from_the_moment_it_is_stored(rbac: Cluster) -> None:
    path = "/api/v1/namespaces/default/pods"
    await allow(rbac, "reader", "Group:devs", rule("get,list", "pods"), namespace="default")
    assert (await ask(rbac, "ann-token", "GET", path)).status == 200
    assert (await ask(rbac, "bob-token", "GET", path)).status == 403
    assert (await ask(rbac, "ann-token", "GET", "/api/v1/pods")).status == 403
    await rbac.client.delete(Resource(GROUP, "v1", "roles"), "default", "reader")
    message = (await ask(rbac, "ann-token", "GET", path)).json()["message"]
    assert message.endswith(f'in the namespace "default": RBAC: role.{GROUP} "reader" not found')
    await rbac.client.delete(Resource(GROUP, "v1", "rolebindings"), "default", "reader")
    assert (await ask(rbac, "ann-token", "GET", path)).json()["message"].endswith('in the namespace "default"')


async def test_a_put_or_an_apply_that_creates_needs_leave_to_create(rbac: Cluster) -> None:
    await allow(rbac, "writer", "User:ann", rule("update,patch", "configmaps,roles", f",{GROUP}"), namespace="default")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    applied = await ask(
        rbac, "ann-token", "PATCH", f"{CONFIG_MAPS}/c?fieldManager=m", body,
        Content_Type="application/apply-patch+yaml",
    )  # fmt: skip
    assert (applied.status, applied.json()["message"]) == (403, 'configmaps "c" is forbidden: ')
    role = {"apiVersion": f"{GROUP}/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": []}
    put = await ask(rbac, "ann-token", "PUT", f"{ROLES}/r", role)
    assert (put.status, put.json()["message"]) == (403, f'roles.{GROUP} "r" is forbidden: ')
    assert (await ask(rbac, "root", "POST", CONFIG_MAPS, body)).status == 201
    applied = await ask(
        rbac, "ann-token", "PATCH", f"{CONFIG_MAPS}/c?fieldManager=m", body,
        Content_Type="application/apply-patch+yaml",
    )  # fmt: skip
    assert applied.status == 200
    assert (await ask(rbac, "root", "PUT", f"{ROLES}/r", role)).status == 201
    assert (await ask(rbac, "ann-token", "PUT", f"{ROLES}/r", role)).status == 200


async def test_nobody_gives_what_he_has_not(rbac: Cluster) -> None:
    await allow(
        rbac, "roles", "User:ann", rule("create,update,patch", "roles,rolebindings", GROUP), rule("get", "pods")
    )
    role = {"metadata": {"name": "r"}, "rules": [rule("get,delete", "pods")]}
    refused = await ask(rbac, "ann-token", "POST", ROLES, role)
    message = (
        f'roles.{GROUP} "r" is forbidden: user "ann" (groups=["devs" "system:authenticated"]) is attempting to grant '
        'RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}'
    )
    assert (refused.status, refused.json()["message"]) == (403, message)
    invalid = {**role, "rules": [{"resources": ["pods"]}, rule("delete", "pods")]}
    assert (await ask(rbac, "ann-token", "POST", ROLES, invalid)).status == 403  # before it is validated
    assert (await ask(rbac, "ann-token", "POST", ROLES, {**role, "rules": invalid["rules"][:1]})).status == 422
    role["rules"] = [rule("get", "pods")]
    assert (await ask(rbac, "ann-token", "POST", ROLES, role)).status == 201
    bindings = f"/apis/{GROUP}/v1/namespaces/default/rolebindings"
    assert (await ask(rbac, "ann-token", "POST", bindings, binding("b", "r", "User:bob", kind="Role"))).status == 201
    assert (await ask(rbac, "ann-token", "POST", bindings, binding("c", "edit", "User:bob"))).status == 403
    unknown = await ask(rbac, "ann-token", "POST", bindings, binding("c", "gone", "User:bob"))
    assert (unknown.status, unknown.json()["message"]) == (404, f'clusterroles.{GROUP} "gone" not found')
    patch = {"rules": [rule("get", "secrets")]}
    changed = await ask(rbac, "ann-token", "PATCH", f"{ROLES}/r", patch, Content_Type="application/merge-patch+json")
    assert changed.status == 403


async def test_aggregated_roles_follow_their_parts(acting: Cluster) -> None:
    labels = {f"{GROUP}/aggregate-to-view": "true"}
    part = {"metadata": {"name": "things", "labels": labels}, "rules": [rule("get", "things", "made.up")]}
    assert (await ask(acting, "root", "POST", CLUSTER_ROLES, part)).status == 201
    for name in ("view", "edit", "admin"):
        role = (await ask(acting, "root", "GET", f"{CLUSTER_ROLES}/{name}")).json()
        assert part["rules"][0] in role["rules"], name
    assert (await ask(acting, "root", "DELETE", f"{CLUSTER_ROLES}/things")).status == 200
    assert part["rules"][0] not in (await ask(acting, "root", "GET", f"{CLUSTER_ROLES}/admin")).json()["rules"]
    own = {"metadata": {"name": "own"}, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"x": "y"}}]}}
    await ask(acting, "root", "POST", CLUSTER_ROLES, own)
    await ask(acting, "root", "POST", CLUSTER_ROLES, {**part, "metadata": {"name": "things", "labels": {"x": "y"}}})
    made = (await ask(acting, "root", "GET", f"{CLUSTER_ROLES}/own")).json()
    assert made["rules"] == part["rules"]
    assert "clusterrole-aggregation-controller" in {each["manager"] for each in made["metadata"]["managedFields"]}


# acting as somebody else


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"Impersonate_User": "bob"}, 'users "bob" is forbidden: User "ann" cannot impersonate resource "users" '
         'in API group "" at the cluster scope'),
        ({"Impersonate_User": "eve", "Impersonate_Group": "ops"}, 'groups "ops" is forbidden: User "ann" cannot '
         'impersonate resource "groups" in API group "" at the cluster scope'),
        ({"Impersonate_User": "eve", "Impersonate_Extra-team": "x"}, 'userextras.authentication.k8s.io "x" is '
         'forbidden: User "ann" cannot impersonate resource "userextras/team" in API group "authentication.k8s.io" '
         "at the cluster scope"),
        ({"Impersonate_User": "eve", "Impersonate_Uid": "7"}, 'uids.authentication.k8s.io "7" is forbidden: User "ann" '
         'cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope'),
        ({"Impersonate_User": "system:serviceaccount:default:sa"}, 'serviceaccounts "sa" is forbidden: User "ann" '
         'cannot impersonate resource "serviceaccounts" in API group "" in the namespace "default"'),
        ({"Impersonate_User": "system:serviceaccount:default:"}, 'users "system:serviceaccount:default:" is forbidden: '
         'User "ann" cannot impersonate resource "users" in API group "" at the cluster scope'),
    ],
)  # fmt: skip
async def test_who_may_not_act_as_whom(rbac: Cluster, headers: dict[str, str], message: str) -> None:
    await allow(rbac, "impersonator", "User:ann", rule("impersonate", "users", names="eve"))
    refused = await ask(rbac, "ann-token", "GET", "/api", **headers)
    assert (refused.status, refused.json()["message"]) == (403, message)


async def test_who_acts_as_somebody_may_what_that_one_may(rbac: Cluster) -> None:
    await allow(
        rbac, "impersonator", "User:ann", rule("impersonate", "users", names="eve"),
        rule("impersonate", "userextras/team,uids", "authentication.k8s.io"),
    )  # fmt: skip
    await allow(rbac, "eve", "User:eve", rule("list", "nodes"))
    headers = {"Impersonate_User": "eve", "Impersonate_Uid": "7", "Impersonate_Extra-team": "x"}
    assert (await ask(rbac, "ann-token", "GET", "/api/v1/nodes", **headers)).status == 200
    assert (
        (await ask(rbac, "ann-token", "GET", "/api/v1/pods", **headers))
        .json()["message"]
        .startswith('pods is forbidden: User "eve" cannot list')
    )
    review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    info = (await ask(rbac, "ann-token", "POST", review, {}, **headers)).json()["status"]["userInfo"]
    assert info == {"username": "eve", "uid": "7", "groups": ["system:authenticated"], "extra": {"team": ["x"]}}


@pytest.mark.parametrize(
    ("name", "group", "groups"),
    [
        ("eve", "ops", ["ops", "system:authenticated"]),
        ("eve", "system:unauthenticated", ["system:unauthenticated"]),
        ("system:anonymous", "ops", ["ops", "system:unauthenticated"]),
    ],
)
async def test_groups_of_whom_one_acts_as(rbac: Cluster, name: str, group: str, groups: list[str]) -> None:
    await allow(rbac, "all", f"User:{name}", rule("*", "*", "*"))
    headers = {"Impersonate_User": name, "Impersonate_Group": group}
    answer = await ask(rbac, "root", "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, **headers)
    assert answer.json()["status"]["userInfo"]["groups"] == groups


CONSTRAINED: list[tuple[dict[str, str], JsonObject, list[str]]] = [
    ({"Impersonate_User": "eve", "Impersonate_Group": "ops", "Impersonate_Uid": "7"},
     rule("impersonate:user-info", "users,groups,uids", "authentication.k8s.io"), ["ops", "system:authenticated"]),
    ({"Impersonate_User": "system:serviceaccount:default:sa"},
     rule("impersonate:serviceaccount", "serviceaccounts", "authentication.k8s.io"),
     ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]),
    ({"Impersonate_User": "system:node:a"}, rule("impersonate:arbitrary-node", "nodes", "authentication.k8s.io"),
     ["system:nodes", "system:authenticated"]),
]  # fmt: skip


@pytest.mark.parametrize(("headers", "whom", "groups"), CONSTRAINED)
async def test_who_may_act_as_somebody_for_some_requests(
    rbac: Cluster, headers: dict[str, str], whom: JsonObject, groups: list[str]
) -> None:
    mode = whom["verbs"][0].partition(":")[2]
    reviews = rule(f"impersonate-on:{mode}:create", "selfsubjectreviews", "authentication.k8s.io")
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    await allow(rbac, "whom", "User:ann", whom)
    assert (await ask(rbac, "ann-token", "POST", path, {}, **headers)).status == 403
    await allow(rbac, "what", "User:ann", reviews)
    answer = await ask(rbac, "ann-token", "POST", path, {}, **headers)
    assert answer.json()["status"]["userInfo"]["groups"] == groups
    assert (await ask(rbac, "ann-token", "GET", "/api", **headers)).status == 403
    masters = {**headers, "Impersonate_Group": "system:masters"}
    assert (await ask(rbac, "ann-token", "POST", path, {}, **masters)).status == 403


# reviews


async def test_reviews_are_answered_by_the_authorizer(rbac: Cluster) -> None:
    await allow(rbac, "reader", "User:ann", rule("get", "pods"))
    path = "/apis/authorization.k8s.io/v1"
    for verb, allowed in (("get", True), ("delete", False)):
        asked = {"resourceAttributes": {"verb": verb, "resource": "pods", "namespace": "default"}}
        own = (await ask(rbac, "ann-token", "POST", f"{path}/selfsubjectaccessreviews", {"spec": asked})).json()
        other = await ask(rbac, "root", "POST", f"{path}/subjectaccessreviews", {"spec": {**asked, "user": "ann"}})
        local = f"{path}/namespaces/default/localsubjectaccessreviews"
        here = await ask(rbac, "root", "POST", local, {"spec": {**asked, "user": "ann"}})
        reason = 'RBAC: allowed by ClusterRoleBinding "reader" of ClusterRole "reader" to User "ann"'
        wanted = {"allowed": True, "reason": reason} if allowed else {"allowed": False}
        assert own["status"] == other.json()["status"] == here.json()["status"] == wanted
    asked = {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}
    own = (await ask(rbac, "ann-token", "POST", f"{path}/selfsubjectaccessreviews", {"spec": asked})).json()
    assert own["status"] == {"allowed": False}
    assert (await ask(rbac, "ann-token", "POST", f"{path}/subjectaccessreviews", {"spec": asked})).status == 403
    rules = await ask(rbac, "ann-token", "POST", f"{path}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}})
    status = rules.json()["status"]
    assert rule("get", "pods") in status["resourceRules"]
    assert any("/api/*" in each["nonResourceURLs"] for each in status["nonResourceRules"])
    assert "evaluationError" not in status


# tokens of ServiceAccounts


async def account_token(cluster: Cluster, **spec: Any) -> str:
    path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    made: str = (await ask(cluster, "root", "POST", path, {"spec": spec})).json()["status"]["token"]
    return made


async def test_a_token_is_of_its_account_for_its_audience(rbac: Cluster) -> None:
    await rbac.client.create(ACCOUNTS, "default", {"metadata": {"name": "robot"}})
    await allow(rbac, "robot", "ServiceAccount:robot", rule("list", "pods"), namespace="default")
    token, other = await account_token(rbac), await account_token(rbac, audiences=["vault"])
    assert (await ask(rbac, token, "GET", "/api/v1/namespaces/default/pods")).status == 200
    assert (await ask(rbac, token, "GET", "/api/v1/namespaces/default/secrets")).status == 403
    assert (await ask(rbac, token, "GET", "/openid/v1/jwks")).status == 200
    assert (await ask(rbac, other, "GET", "/api")).status == 401
    reviews = "/apis/authentication.k8s.io/v1/tokenreviews"
    for given, audiences, status in (
        (token, [], {"audiences": [SERVICE]}),
        (other, ["x", "vault"], {"audiences": ["vault"]}),
        ("ann-token", [], {"audiences": [SERVICE, f"{SERVICE}.cluster.local"]}),
        (other, [], {"error": '[invalid bearer token, token audiences ["vault"] is invalid for the target audiences '
                              f'["{SERVICE}" "{SERVICE}.cluster.local"]]'}),
        ("ann-token", ["vault"], {}),
        ("nobody's", [], {"error": "invalid bearer token"}),
        (token[:-6] + "AAAAAA", [], {"error": "invalid bearer token"}),
    ):  # fmt: skip
        answer = (await ask(rbac, "root", "POST", reviews, {"spec": {"token": given, "audiences": audiences}})).json()
        assert answer["status"].get("authenticated", False) is ("audiences" in status)
        assert status.items() <= answer["status"].items()


async def test_others_find_the_key_of_tokens(rbac: Cluster) -> None:
    found = await ask(rbac, "root", "GET", "/.well-known/openid-configuration")
    assert (found.status, found.header("content-type")) == (200, "application/json")
    assert found.header("cache-control") == "public, max-age=3600"
    assert found.json() == {
        "issuer": f"{SERVICE}.cluster.local",
        "jwks_uri": f"https://127.0.0.1:{rbac.port}/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }
    keys = await ask(rbac, "root", "GET", "/openid/v1/jwks")
    assert (keys.status, keys.header("content-type")) == (200, "application/jwk-set+json")
    assert [key["kty"] for key in keys.json()["keys"]] == ["RSA"]
    assert (await ask(rbac, "root", "POST", "/openid/v1/jwks")).status == 405
    assert (await ask(rbac, "ann-token", "GET", "/openid/v1/jwks")).status == 403
    assert "/openid/v1/jwks" in (await ask(rbac, "root", "GET", "/")).json()["paths"]


async def test_a_token_ends_with_what_it_is_bound_to(rbac: Cluster) -> None:
    client = rbac.client
    await client.create(ACCOUNTS, "default", {"metadata": {"name": "robot"}})
    await client.create(PODS, "default", pod("p", spec={"serviceAccountName": "robot"}))
    await client.create(SECRETS, "default", {"metadata": {"name": "s"}})
    for resource, kind, name in ((PODS, "Pod", "p"), (SECRETS, "Secret", "s")):
        token = await account_token(rbac, boundObjectRef={"apiVersion": "v1", "kind": kind, "name": name})
        assert (await ask(rbac, token, "GET", "/api")).status == 200
        await client.delete(resource, "default", name, options={"gracePeriodSeconds": 0})
        assert (await ask(rbac, token, "GET", "/api")).status == 401, kind


async def test_an_account_s_token_that_is_not_good_makes_nobody_an_administrator() -> None:
    options = ServeOptions(port=0, nodes=0, controllers="none", clock="virtual", authorization_mode="RBAC")
    async with Cluster(options) as cluster:
        await cluster.client.create(ACCOUNTS, "default", {"metadata": {"name": "robot"}})
        token = await account_token(cluster, expirationSeconds=600)
        assert (await ask(cluster, "", "GET", "/api/v1/nodes")).status == 200
        assert (await ask(cluster, "whatever", "GET", "/api/v1/nodes")).status == 200
        assert (await ask(cluster, token, "GET", "/api/v1/nodes")).status == 403
        assert (await ask(cluster, f"{token}x", "GET", "/api/v1/nodes")).status == 401
        await cluster.advance(600)
        assert (await ask(cluster, token, "GET", "/api/v1/nodes")).status == 401


async def test_always_deny_lets_administrators_through() -> None:
    options = ServeOptions(port=0, nodes=0, controllers="none", clock="virtual", authorization_mode="AlwaysDeny")
    async with Cluster(options) as cluster:
        assert (await ask(cluster, "", "GET", "/api/v1/nodes")).status == 200
        refused = await ask(cluster, "", "GET", "/api/v1/nodes", Impersonate_User="ann")
        assert refused.json()["message"].endswith("at the cluster scope: Everything is forbidden.")
        assert rbac_objects(cluster) == 0


def rbac_objects(cluster: Cluster) -> int:
    return cluster.store.count((GROUP, "clusterroles"))
