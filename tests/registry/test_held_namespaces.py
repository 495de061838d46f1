"""Namespaces whose content may not be deleted: they say why, and go when it may."""

from __future__ import annotations

from kube32_sim.client import NAMESPACES, Resource
from kube32_sim.cluster import Cluster
from tests.support.objects import MAPS, config_map

POLICIES = Resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")
BINDINGS = Resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings")
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["DELETE"]}


async def test_who_keeps_a_namespace_from_going_is_told() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster:
        client = cluster.client
        spec = {
            "matchConstraints": {"resourceRules": [RULE]},
            "validations": [{"expression": "false", "message": "not now"}],
        }
        await client.create(POLICIES, "", {"metadata": {"name": "keep"}, "spec": spec})
        bound = {"policyName": "keep", "validationActions": ["Deny"]}
        await client.create(BINDINGS, "", {"metadata": {"name": "keep"}, "spec": bound})
        await client.create(NAMESPACES, "", {"metadata": {"name": "ns"}})
        await client.create(MAPS, "ns", config_map("kept"))
        await client.delete(NAMESPACES, "", "ns")
        await cluster.advance("5s")
        status = (await client.get(NAMESPACES, "", "ns"))["status"]
        (failure,) = (each for each in status["conditions"] if each["type"] == "NamespaceDeletionContentFailure")
        assert (failure["status"], failure["reason"]) == ("True", "ContentDeletionFailed")
        assert failure["message"].startswith("Failed to delete all resource types, 1 remaining: ")
        assert "denied request: not now" in failure["message"]
        await client.delete(BINDINGS, "", "keep")
        await cluster.advance("20m")
        assert "ns" not in [each["metadata"]["name"] for each in (await client.list(NAMESPACES)).items]
