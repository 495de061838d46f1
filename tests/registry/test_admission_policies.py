"""Which policies are asked, and when they are compiled."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.policies import validating
from kube32_sim.api.resources import ResourceType
from kube32_sim.client import Resource
from kube32_sim.cluster import Cluster
from kube32_sim.registry import policies
from tests.support.objects import MAPS, config_map
from tests.support.policies import binding, policy

GROUP = "admissionregistration.k8s.io"
POLICIES = Resource(GROUP, "v1", "validatingadmissionpolicies")
BINDINGS = Resource(GROUP, "v1", "validatingadmissionpolicybindings")
MAP_RULES = [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]
JsonObject = dict[str, Any]


def row(cluster: Cluster, plural: str, group: str = "") -> ResourceType:
    found = cluster.registry.table.by_path(group, "v1", plural)
    assert found is not None
    return found


async def test_without_policies_and_bindings_nobody_is_asked(cluster: Cluster) -> None:
    asked = policies.AdmissionPolicies(cluster.store, cluster.registry.table, cluster.registry.authorizer)
    maps = row(cluster, "configmaps")
    assert not asked.active
    await cluster.client.create(BINDINGS, "", binding())
    assert not asked.active
    assert not asked.concerns(maps, "", "CREATE")
    await cluster.client.create(POLICIES, "", policy("true", rules=MAP_RULES))
    assert asked.active
    assert asked.concerns(maps, "", "CREATE")
    assert not asked.concerns(maps, "", "DELETE")
    assert not asked.concerns(row(cluster, "pods"), "", "CREATE")
    await cluster.client.delete(BINDINGS, "", "b")
    assert not asked.active
    assert not asked.concerns(maps, "", "CREATE")


async def test_policies_are_never_asked_about_policies_or_reviews(cluster: Cluster) -> None:
    await cluster.client.create(BINDINGS, "", binding())
    await cluster.client.create(POLICIES, "", policy("false"))
    concerns = cluster.registry.dynamic.concerns
    for plural in ("policies", "policybindings"):
        assert not concerns(row(cluster, f"validatingadmission{plural}", GROUP), "", "DELETE")
        assert not concerns(row(cluster, f"mutatingadmission{plural}", GROUP), "", "DELETE")
    assert concerns(row(cluster, "validatingwebhookconfigurations", GROUP), "", "DELETE")
    assert not concerns(row(cluster, "subjectaccessreviews", "authorization.k8s.io"), "", "CREATE")


async def test_a_policy_is_compiled_once_per_revision(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    compiled = validating.compile_validating

    def counted(obj: JsonObject) -> validating.ValidatingPolicy:
        seen.append(obj["metadata"]["name"])
        return compiled(obj)

    monkeypatch.setattr(validating, "compile_validating", counted)
    await cluster.client.create(BINDINGS, "", binding())
    await cluster.client.create(POLICIES, "", policy("true", rules=MAP_RULES))
    for name in "abc":
        await cluster.client.create(MAPS, "default", config_map(name))
    assert len(seen) == 1
    await cluster.client.create(BINDINGS, "", binding(name="c"))
    await cluster.client.create(MAPS, "default", config_map("d"))
    assert len(seen) == 1
    stored = await cluster.client.get(POLICIES, "", "p")
    stored["spec"]["validations"] = [{"expression": "1 == 1"}]
    await cluster.client.update(POLICIES, "", stored)
    await cluster.client.create(MAPS, "default", config_map("e"))
    assert len(seen) == 2


async def test_a_policy_of_the_same_name_is_another_one(cluster: Cluster) -> None:
    await cluster.client.create(BINDINGS, "", binding(actions=["Deny"]))
    for expression, allowed in (("false", False), ("true", True), ("false", False)):
        await cluster.client.create(POLICIES, "", policy(expression, rules=MAP_RULES))
        made = config_map(f"a{allowed}".lower())
        if allowed:
            await cluster.client.create(MAPS, "default", made)
        else:
            with pytest.raises(Exception, match="denied request: failed expression: false"):
                await cluster.client.create(MAPS, "default", made)
        await cluster.client.delete(POLICIES, "", "p")
