"""ClusterRoles that are made of others, through any number of steps, while any loop runs or RBAC decides."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from tests.support.rbac import rule

JsonObject = dict[str, Any]
CLUSTER_ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles")


def running(controllers: str = "job", mode: str = "AlwaysAllow") -> Cluster:
    return Cluster(ServeOptions(port=0, nodes=0, controllers=controllers, clock="virtual", authorization_mode=mode))


def role(name: str, *rules: JsonObject, of: str = "") -> JsonObject:
    """Labelled by its name; of: that of the role that it is made of."""
    made: JsonObject = {"metadata": {"name": name, "labels": {name: ""}}, "rules": list(rules)}
    if of:
        selector = {"matchExpressions": [{"key": of, "operator": "Exists"}]}
        made["aggregationRule"] = {"clusterRoleSelectors": [selector]}
    return made


async def rules(cluster: Cluster, name: str) -> list[JsonObject]:
    found: list[JsonObject] | None = (await cluster.client.get(CLUSTER_ROLES, "", name))["rules"]
    return found or []


async def test_a_long_chain_follows_in_one_write() -> None:
    async with running() as cluster:
        for number in range(60, 0, -1):
            await cluster.client.create(CLUSTER_ROLES, "", role(f"r{number:03}", of=f"r{number - 1:03}"))
        await cluster.client.create(CLUSTER_ROLES, "", role("r000", rule("get", "pods")))
        assert await rules(cluster, "r060") == [rule("get", "pods")]
        await cluster.client.patch(CLUSTER_ROLES, "", "r000", {"rules": [rule("list", "pods")]})
        assert await rules(cluster, "r060") == [rule("list", "pods")]


async def test_roles_in_a_ring_come_to_rest() -> None:
    async with running() as cluster:
        for name, of in (("a", "b"), ("b", "c"), ("c", "a")):
            await cluster.client.create(CLUSTER_ROLES, "", role(name, rule("get", name), of=of))
        before = cluster.store.revision
        await cluster.client.create(CLUSTER_ROLES, "", role("d"))
        assert cluster.store.revision - before < 20


@pytest.mark.parametrize(
    ("controllers", "mode", "follows"), [("none", "AlwaysAllow", False), ("none", "RBAC", False), ("job", "RBAC", True)]
)
async def test_where_nobody_acts_nothing_is_aggregated(controllers: str, mode: str, follows: bool) -> None:
    async with running(controllers, mode) as cluster:
        await cluster.client.create(CLUSTER_ROLES, "", role("whole", rule("get", "own"), of="part"))
        await cluster.client.create(CLUSTER_ROLES, "", role("part", rule("get", "pods")))
        assert await rules(cluster, "whole") == [rule("get", "pods" if follows else "own")]


async def test_a_refused_aggregation_is_no_failure_of_the_write(caplog: pytest.LogCaptureFixture) -> None:
    async with running() as cluster:
        await cluster.client.create(CLUSTER_ROLES, "", role("whole", of="part"))
        too_much = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "nonResourceURLs": ["/x"]}
        await cluster.store.create(("rbac.authorization.k8s.io", "clusterroles"), "part", role("part", too_much))
        await cluster.client.create(CLUSTER_ROLES, "", role("other"))
        assert "the ClusterRole whole is not made of those that it selects" in caplog.text
        assert await rules(cluster, "whole") == []
