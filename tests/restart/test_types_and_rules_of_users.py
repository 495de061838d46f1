"""Custom types, webhooks, policies and roles are in force from the first request after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.bootstrap import API_SERVICES
from kube32_sim.client import NAMESPACES, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.kubeconfig import Access
from kube32_sim.storage.objects import StoredObject
from tests.support.definitions import CRDS, custom, definition, object_schema, served, version
from tests.support.objects import MAPS, config_map
from tests.support.restarting import Outliving
from tests.support.webhook import VALIDATING, Hook, rule

JsonObject = dict[str, Any]
WIDGETS = served()
BARE: JsonObject = {"nodes": 0, "clock": "real"}
POLICIES = Resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")
BINDINGS = Resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles")


async def names(cluster: Cluster, resource: Resource, namespace: str = "") -> list[str]:
    return [each["metadata"]["name"] for each in (await cluster.client.list(resource, namespace)).items]


def without(found: StoredObject, part: str) -> JsonObject:
    return {name: value for name, value in found.copy().items() if name != part}


SIZED = object_schema(spec=object_schema(size={"type": "integer", "maximum": 10}))


async def test_custom_types_and_their_objects_are_served_again(tmp_path: Path) -> None:
    async with Outliving(tmp_path, **BARE) as kept:
        client = kept.cluster.client
        columns = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]
        await client.create(
            CRDS,
            "",
            definition(
                "widgets",
                "Widget",
                version(schema=SIZED, additionalPrinterColumns=columns, subresources={"status": {}}),
            ),
        )
        made = await client.create(WIDGETS, "default", custom("one", spec={"size": 3}))
        crd, revision = await client.get(CRDS, "", "widgets.example.com"), kept.cluster.store.revision
        cluster = await kept.restart(port=kept.cluster.port)
        assert await cluster.client.get(WIDGETS, "default", "one") == made
        assert await cluster.client.get(CRDS, "", "widgets.example.com") == crd
        with pytest.raises(ApiError, match="should be less than or equal to 10"):
            await cluster.client.create(WIDGETS, "default", custom("two", spec={"size": 11}))
        async with HttpClient(cluster.access) as http:
            assert [each["metadata"]["name"] for each in (await http.list(WIDGETS)).items] == ["one"]
        assert cluster.store.revision - revision < 5  # nothing was made anew
        await cluster.client.delete(CRDS, "", "widgets.example.com")
        assert "v1.example.com" not in await names(cluster, API_SERVICES)


async def test_a_definition_that_is_going_waits_for_its_objects(tmp_path: Path) -> None:
    async with Outliving(tmp_path, **BARE) as kept:
        client = kept.cluster.client
        await client.create(CRDS, "", definition())
        await client.create(WIDGETS, "default", custom("held", metadata={"finalizers": ["me.io/x"]}))
        await client.create(WIDGETS, "default", custom("free"))
        await client.delete(CRDS, "", "widgets.example.com")
        cluster = await kept.restart()
        assert await names(cluster, CRDS) == ["widgets.example.com"]
        assert await names(cluster, WIDGETS) == ["held"]
        await cluster.client.patch(WIDGETS, "default", "held", {"metadata": {"finalizers": None}})
        await cluster.clock.settle()
        assert await names(cluster, CRDS) == []
        with pytest.raises(ApiError):
            await names(cluster, WIDGETS)


async def test_one_that_nobody_has_accepted_yet_is_accepted_at_the_start(tmp_path: Path) -> None:
    """The process ended between its write and that of its status; or before its APIService was made, or deleted."""
    async with Outliving(tmp_path, **BARE) as kept:
        client, store = kept.cluster.client, kept.cluster.store
        await client.create(CRDS, "", definition())
        await client.create(CRDS, "", definition("gadgets", "Gadget", group="gone.com"))
        crds = ("apiextensions.k8s.io", "customresourcedefinitions")
        await store.update(crds, "widgets.example.com", lambda found: without(found, "status"))
        await store.delete(("apiregistration.k8s.io", "apiservices"), "v1.example.com", lambda _: None)
        await store.delete(crds, "gadgets.gone.com", lambda _: None)
        cluster = await kept.restart()
        (crd,) = (await cluster.client.list(CRDS)).items
        assert {each["type"]: each["status"] for each in crd["status"]["conditions"]}["Established"] == "True"
        assert await names(cluster, WIDGETS) == []
        services = await names(cluster, API_SERVICES)
        assert ("v1.example.com" in services, "v1.gone.com" in services) == (True, False)


async def test_a_definition_that_a_webhook_holds_up_keeps_no_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Outliving(tmp_path, **BARE) as kept:
        client, store = kept.cluster.client, kept.cluster.store
        await client.create(CRDS, "", definition())
        await client.create(CRDS, "", definition("gadgets", "Gadget", group="gone.com"))
        await client.create(CRDS, "", definition("things", "Thing", group="fine.com"))
        hook = {
            "name": "away.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [rule(["*/*"], ["*"], "*", "*")],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        await client.create(VALIDATING, "", {"metadata": {"name": "away"}, "webhooks": [hook]})
        crds = ("apiextensions.k8s.io", "customresourcedefinitions")
        await store.update(crds, "widgets.example.com", lambda found: without(found, "status"))
        await store.delete(crds, "gadgets.gone.com", lambda _: None)
        cluster = await kept.restart()
        assert await names(cluster, served("things", group="fine.com")) == []
        assert "definition widgets.example.com is left as it is" in caplog.text
        assert "APIServices of gone.com are left as they are" in caplog.text
        await cluster.client.delete(VALIDATING, "", "away")
        cluster = await kept.restart()
        assert await names(cluster, WIDGETS) == []
        assert "v1.gone.com" not in await names(cluster, API_SERVICES)


async def test_webhooks_are_asked_and_policies_obeyed(tmp_path: Path) -> None:
    hook = Hook()
    async with hook.serving(), Outliving(tmp_path, **BARE) as kept:
        client = kept.cluster.client
        await hook.configure(
            kept.cluster, VALIDATING, "maps", rule(["configmaps"], ["CREATE"]), answer=lambda _: {"allowed": False}
        )
        spec = {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["namespaces"]}
                ]
            },
            "validations": [{"expression": "object.metadata.name.startsWith('ok-')", "message": "not ok"}],
        }
        await client.create(POLICIES, "", {"metadata": {"name": "p"}, "spec": spec})
        await client.create(
            BINDINGS, "", {"metadata": {"name": "p"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
        )
        policy = await client.get(POLICIES, "", "p")
        assert policy["status"]["observedGeneration"] == 1
        cluster = await kept.restart()
        with pytest.raises(ApiError, match="denied the request"):
            await cluster.client.create(MAPS, "default", config_map("m"))
        with pytest.raises(ApiError, match="not ok"):
            await cluster.client.create(NAMESPACES, "", {"metadata": {"name": "wrong"}})
        await cluster.client.create(NAMESPACES, "", {"metadata": {"name": "ok-1"}})
        assert await cluster.client.get(POLICIES, "", "p") == policy


async def test_what_follows_from_a_policy_or_role_is_made_up_for(tmp_path: Path) -> None:
    """The process ended between the write of one and what follows from it."""
    async with Outliving(tmp_path, **BARE) as kept:
        client, store = kept.cluster.client, kept.cluster.store
        await client.create(CRDS, "", definition("widgets", "Widget", version(schema=SIZED)))
        constraints = {
            "resourceRules": [
                {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["widgets"]}
            ]
        }
        spec = {"matchConstraints": constraints, "validations": [{"expression": "object.spec.sizes > 1"}]}
        policy = await client.create(POLICIES, "", {"metadata": {"name": "p"}, "spec": spec})
        told = (await client.get(POLICIES, "", "p"))["status"]["typeChecking"]
        assert "undefined field 'sizes'" in told["expressionWarnings"][0]["warning"]
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
        await client.create(ROLES, "", {"metadata": {"name": "part", "labels": {"in": "all"}}, "rules": rules})
        whole = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"in": "all"}}]}, "rules": []}
        await client.create(ROLES, "", {"metadata": {"name": "whole"}, **whole})
        assert (await client.get(ROLES, "", "whole"))["rules"] == rules
        policies = ("admissionregistration.k8s.io", "validatingadmissionpolicies")
        await store.update(policies, "p", lambda found: without(found, "status"))
        await store.update(
            ("rbac.authorization.k8s.io", "clusterroles"), "whole", lambda found: {**found.copy(), "rules": []}
        )
        cluster = await kept.restart()
        assert (await cluster.client.get(POLICIES, "", "p"))["status"]["typeChecking"] == told
        assert (await cluster.client.get(ROLES, "", "whole"))["rules"] == rules
        assert policy["metadata"]["uid"] == (await cluster.client.get(POLICIES, "", "p"))["metadata"]["uid"]


async def test_who_may_do_what_is_as_before(tmp_path: Path) -> None:
    async with Outliving(tmp_path, **BARE, tls_self_signed=True) as kept:
        client = kept.cluster.client
        accounts = Resource("", "v1", "serviceaccounts")
        bindings = Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings")
        for name in ("reader", "nobody"):
            await client.create(accounts, "default", {"metadata": {"name": name}})
        subject = {"kind": "ServiceAccount", "name": "reader", "namespace": "default"}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
        await client.create(bindings, "", {"metadata": {"name": "reader"}, "subjects": [subject], "roleRef": role})
        tokens = {}
        for name in ("reader", "nobody"):
            answer = await client.create(accounts, "default", {"spec": {}}, subresource="token", name=name)
            tokens[name] = answer["status"]["token"]
        cluster = await kept.restart()
        async with HttpClient(Access(cluster.url, tokens["reader"], cluster.access.ca)) as http:
            assert (await http.list(MAPS, "default")).items is not None
        async with HttpClient(Access(cluster.url, tokens["nobody"], cluster.access.ca)) as http:
            with pytest.raises(ApiError, match="forbidden"):
                await http.list(MAPS, "default")
