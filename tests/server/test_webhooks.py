"""Admission webhooks, called over HTTPS: who is asked what, and what becomes of the answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.client import DEPLOYMENTS, LEASES, NODES, PODS, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from tests.support.objects import MAPS, config_map, node, pod
from tests.support.webhook import MUTATING, VALIDATING, Hook, labelled, patched, refused, rule
from tests.support.wire import Wire

CREATE_MAPS = rule(["configmaps"], ["CREATE"])
ALL_MAPS = rule(["configmaps"], ["*"])
Object = dict[str, Any]


@pytest_asyncio.fixture
async def hook() -> AsyncIterator[Hook]:
    async with Hook().serving() as serving:
        yield serving


async def make(cluster: Cluster, name: str = "a", **labels: str) -> Object:
    return await cluster.client.create(
        MAPS, "default", {**config_map(name), "metadata": {"name": name, "labels": labels}}
    )


async def test_what_is_sent(bare: Cluster, wire: Wire, hook: Hook) -> None:
    await hook.configure(bare, VALIDATING, "v", ALL_MAPS)
    answer = await wire(
        "POST", "/api/v1/namespaces/default/configmaps?fieldManager=me&fieldValidation=Strict", config_map("a", k="v")
    )
    assert answer.status == 201
    [review], [body] = hook.reviews, hook.bodies
    assert (body["kind"], body["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    assert review["path"] == "/v?timeout=10s"
    assert review["kind"] == review["requestKind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert review["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (review["name"], review["namespace"], review["operation"]) == ("a", "default", "CREATE")
    assert review["userInfo"]["groups"] == ["system:masters", "system:authenticated"]
    assert (review["oldObject"], review["dryRun"]) == (None, False)
    assert review["options"] == {
        "kind": "CreateOptions",
        "apiVersion": "meta.k8s.io/v1",
        "fieldManager": "me",
        "fieldValidation": "Strict",
    }
    made = review["object"]
    assert (made["kind"], made["apiVersion"], made["data"]) == ("ConfigMap", "v1", {"k": "v"})
    assert made["metadata"]["uid"] == answer.json()["metadata"]["uid"]


async def test_updates_and_deletes_tell_of_both_objects(bare: Cluster, hook: Hook) -> None:
    await make(bare)
    await hook.configure(bare, VALIDATING, "v", ALL_MAPS)
    await bare.client.update(MAPS, "default", config_map("a", k="v"))
    await bare.client.patch(MAPS, "default", "a", {"data": {"k": "w"}})
    await bare.client.delete(MAPS, "default", "a", options={"propagationPolicy": "Background"})
    told = [
        (each["operation"], each["options"]["kind"], (each["object"] or {}).get("data"), each["oldObject"].get("data"))
        for each in hook.reviews
    ]
    assert told == [
        ("UPDATE", "UpdateOptions", {"k": "v"}, None),
        ("UPDATE", "PatchOptions", {"k": "w"}, {"k": "v"}),
        ("DELETE", "DeleteOptions", None, {"k": "w"}),
    ]
    assert hook.reviews[2]["options"]["propagationPolicy"] == "Background"


REFUSALS = {
    "nothing said": ({}, 400, "", "denied the request without explanation"),
    "a message": ({"status": {"message": "no"}}, 400, "", "denied the request: no"),
    "a reason": ({"status": {"reason": "NotNow"}}, 400, "NotNow", "denied the request: NotNow"),
    "a code": (
        {"status": {"code": 403, "reason": "Forbidden", "message": "x"}},
        403,
        "Forbidden",
        "denied the request: x",
    ),
    "no failure": ({"status": {"code": 200, "message": "x"}}, 400, "", "denied the request: x"),
}


@pytest.mark.parametrize("kind", [MUTATING, VALIDATING], ids=["mutating", "validating"])
async def test_refusals(bare: Cluster, hook: Hook, kind: Resource) -> None:
    await hook.configure(bare, kind, "v", CREATE_MAPS)
    for response, code, reason, text in REFUSALS.values():
        hook.answers["v"] = lambda _, said=response: {"allowed": False, **said}
        error = await refused(make(bare))
        assert (error.code, error.reason, error.message) == (code, reason, f'admission webhook "v.example.com" {text}')
    assert bare.store.get(("", "configmaps"), "default/a") is None


async def test_warnings_reach_the_client_with_an_answer_and_with_a_refusal(
    bare: Cluster, wire: Wire, hook: Hook
) -> None:
    await hook.configure(bare, MUTATING, "m", CREATE_MAPS, answer=lambda _: {"allowed": True, "warnings": ["careful"]})
    await hook.configure(
        bare, VALIDATING, "v", CREATE_MAPS, answer=lambda _: {"allowed": True, "warnings": ["hm", "hm"]}
    )
    path = "/api/v1/namespaces/default/configmaps"
    assert (await wire("POST", path, config_map("a"))).headers["warning"] == ['299 - "careful"', '299 - "hm"']
    hook.answers["v"] = lambda _: {"allowed": False, "warnings": ["mind"]}
    answer = await wire("POST", path, config_map("b"))
    assert (answer.status, answer.headers["warning"]) == (400, ['299 - "careful"', '299 - "mind"'])


async def test_warnings_about_one_of_many_that_are_deleted_reach_the_client(
    bare: Cluster, wire: Wire, hook: Hook
) -> None:
    await make(bare, "a")
    await make(bare, "b")
    rules = rule(["configmaps"], ["DELETE"])
    await hook.configure(bare, VALIDATING, "v", rules, answer=lambda _: {"allowed": True, "warnings": ["mind"]})
    answer = await wire("DELETE", "/api/v1/namespaces/default/configmaps")
    assert (answer.status, answer.headers["warning"]) == (200, ['299 - "mind"'])


async def test_a_patch_changes_the_object_before_defaults_and_validation(bare: Cluster, hook: Hook) -> None:
    container = {"name": "sidecar", "image": "i", "unknown": 1}
    await hook.configure(
        bare,
        MUTATING,
        "m",
        rule(["pods"], ["CREATE"]),
        answer=lambda _: patched({"op": "add", "path": "/spec/containers/-", "value": container}),
    )
    made = await bare.client.create(PODS, "default", pod("p"))
    added = made["spec"]["containers"][1]
    assert added["name"] == "sidecar"
    assert added["terminationMessagePath"] == "/dev/termination-log"
    assert "unknown" not in added
    owned = {entry["manager"] for entry in made["metadata"]["managedFields"]}
    assert owned == {"kube32-sim"}
    assert "sidecar" not in str(made["metadata"]["managedFields"])  # what admission adds is nobody's
    container["name"] = "No Name"
    error = await refused(bare.client.create(PODS, "default", pod("q")))
    assert (error.code, "spec.containers[1].name" in error.message) == (422, True)


async def test_order_of_all(bare: Cluster, hook: Hook) -> None:
    """Mutating before validating, by the names of configurations, then as they stand in these."""
    hooks: dict[str, Object] = {path: {"rules": [CREATE_MAPS]} for path in ("z", "c", "d")}
    await hook.configure(bare, VALIDATING, "v", CREATE_MAPS)
    await hook.configure(bare, MUTATING, "y", CREATE_MAPS)
    await hook.configure_all(bare, MUTATING, "x", hooks)
    hook.answers |= dict.fromkeys(hooks, lambda _: {"allowed": True})
    await make(bare)
    assert hook.called == ["z", "c", "d", "y", "v"]


async def test_who_is_asked_again(bare: Cluster, hook: Hook) -> None:
    """Those before the change who want it, once; and they see what has become of the object."""
    again = {"rules": [CREATE_MAPS], "reinvocationPolicy": "IfNeeded"}
    hooks: dict[str, Object] = {"a": again, "b": {"rules": [CREATE_MAPS]}, "c": again, "d": again}
    await hook.configure_all(bare, MUTATING, "m", hooks)
    hook.answers |= dict.fromkeys(hooks, lambda _: {"allowed": True})
    hook.answers["c"] = lambda _: labelled("c")
    made = await make(bare)
    assert hook.called == ["a", "b", "c", "d", "a"]
    assert hook.reviews[-1]["object"]["metadata"]["labels"] == made["metadata"]["labels"] == {"c": "1"}
    hook.reviews.clear()
    hook.answers["c"] = lambda _: {"allowed": True}
    await make(bare, "b")
    assert hook.called == ["a", "b", "c", "d"]


async def test_whom_a_request_concerns(bare: Cluster, hook: Hook) -> None:
    await hook.configure(bare, VALIDATING, "namespaces", CREATE_MAPS, namespaceSelector={"matchLabels": {"x": "y"}})
    await hook.configure(bare, VALIDATING, "objects", ALL_MAPS, objectSelector={"matchLabels": {"app": "a"}})
    await hook.configure(bare, VALIDATING, "others", rule(["secrets", "pods"], ["*"]))
    await hook.configure(
        bare,
        VALIDATING,
        "conditions",
        ALL_MAPS,
        matchConditions=[
            {"name": "one", "expression": "request.operation != 'DELETE'"},
            {"name": "two", "expression": "object.metadata.name == 'm'"},
        ],
    )
    await make(bare)
    await make(bare, "m")
    assert hook.called == ["conditions"]
    await bare.client.patch(Resource("", "v1", "namespaces"), "", "default", {"metadata": {"labels": {"x": "y"}}})
    hook.reviews.clear()
    await make(bare, "b", app="a")
    await bare.client.update(MAPS, "default", config_map("b"))  # the old object had the label
    await bare.client.delete(MAPS, "default", "b")
    assert sorted(hook.called) == ["namespaces", "objects", "objects"]


async def test_a_condition_that_goes_wrong_goes_by_the_failure_policy(bare: Cluster, hook: Hook) -> None:
    wrong = [{"name": "c", "expression": "object.data.missing == 'x'"}]
    await hook.configure(bare, VALIDATING, "v", CREATE_MAPS, matchConditions=wrong, failurePolicy="Ignore")
    await make(bare)
    await hook.configure(bare, VALIDATING, "w", CREATE_MAPS, matchConditions=wrong)
    error = await refused(make(bare, "b"))
    assert (error.code, error.reason) == (403, "Forbidden")
    assert error.message.startswith('configmaps "b" is forbidden: ')
    assert hook.called == []


async def test_an_equivalent_version_is_converted_there_and_back(bare: Cluster, hook: Hook) -> None:
    scalers = rule(["horizontalpodautoscalers"], ["CREATE"], "autoscaling")
    cpu = patched({"op": "replace", "path": "/spec/targetCPUUtilizationPercentage", "value": 70})
    await hook.configure(bare, MUTATING, "m", scalers, answer=lambda _: cpu)
    await hook.configure(bare, VALIDATING, "exact", scalers, matchPolicy="Exact")
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    }
    spec = {"scaleTargetRef": target, "maxReplicas": 3, "metrics": [metric]}
    made = await bare.client.create(
        Resource("autoscaling", "v2", "horizontalpodautoscalers"), "default", {"metadata": {"name": "h"}, "spec": spec}
    )
    assert made["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 70
    [review] = hook.reviews
    assert (review["resource"]["version"], review["requestResource"]["version"]) == ("v1", "v2")
    assert review["object"]["spec"]["targetCPUUtilizationPercentage"] == 50


async def test_status_and_other_subresources_have_rules_of_their_own(bare: Cluster, hook: Hook) -> None:
    await bare.client.create(NODES, "", node("n"))
    await hook.configure(bare, VALIDATING, "status", rule(["nodes/status", "pods/*"], ["*"]))
    await hook.configure(bare, VALIDATING, "whole", rule(["nodes", "pods"], ["*"]))
    await bare.client.patch(NODES, "", "n", {"status": {"phase": "x"}}, subresource="status")
    assert (hook.called, hook.reviews[0]["subResource"]) == (["status"], "status")
    await bare.client.create(PODS, "default", pod("p"))
    hook.reviews.clear()
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    hook.answers["status"] = lambda _: {"allowed": False}
    error = await refused(bare.client.create(PODS, "default", binding, subresource="binding", name="p"))
    assert error.message == 'admission webhook "status.example.com" denied the request without explanation'
    [review] = hook.reviews
    assert (review["kind"]["kind"], review["operation"], review["subResource"]) == ("Binding", "CREATE", "binding")
    assert review["object"]["target"]["name"] == "n"


async def test_a_scale_is_shown_and_changed_as_a_scale(bare: Cluster, hook: Hook) -> None:
    template = {"metadata": {"labels": {"app": "d"}}, "spec": pod()["spec"]}
    spec = {"selector": {"matchLabels": {"app": "d"}}, "template": template}
    await bare.client.create(DEPLOYMENTS, "default", {"metadata": {"name": "d"}, "spec": spec})
    less = patched({"op": "replace", "path": "/spec/replicas", "value": 2})
    await hook.configure(bare, MUTATING, "m", rule(["deployments/scale"], ["UPDATE"], "apps"), answer=lambda _: less)
    await hook.configure(bare, VALIDATING, "v", rule(["deployments"], ["UPDATE"], "apps"))
    answered = await bare.client.patch(DEPLOYMENTS, "default", "d", {"spec": {"replicas": 9}}, subresource="scale")
    assert answered["spec"]["replicas"] == 2
    [review] = hook.reviews
    assert review["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert (review["object"]["spec"]["replicas"], review["oldObject"]["spec"]["replicas"]) == (9, 1)


async def test_evictions_are_asked_about_as_such_and_connections_too(bare: Cluster, wire: Wire, hook: Hook) -> None:
    await bare.client.create(PODS, "default", pod("p"))
    await hook.configure(
        bare, VALIDATING, "v", rule(["pods/eviction", "pods/exec", "pods"], ["CREATE", "CONNECT", "DELETE"])
    )
    hook.answers["v"] = lambda request: {"allowed": request["operation"] == "CREATE"}
    answer = await wire("POST", "/api/v1/namespaces/default/pods/p/exec?command=ls&command=-l&container=c&stdout=true")
    assert (answer.status, hook.reviews[0]["operation"]) == (400, "CONNECT")
    assert hook.reviews[0]["object"] == {
        "kind": "PodExecOptions",
        "apiVersion": "v1",
        "stdout": True,
        "container": "c",
        "command": ["ls", "-l"],
    }
    eviction = {"metadata": {"name": "p"}}
    await bare.client.create(PODS, "default", eviction, subresource="eviction", name="p")
    assert hook.called == ["v", "v"]  # not about the deletion that follows
    assert hook.reviews[1]["kind"]["kind"] == "Eviction"


async def test_in_a_dry_run(bare: Cluster, wire: Wire, hook: Hook) -> None:
    path = "/api/v1/namespaces/default/configmaps?dryRun=All"
    await hook.configure(bare, MUTATING, "m", CREATE_MAPS, answer=lambda _: labelled("m"), sideEffects="NoneOnDryRun")
    answer = await wire("POST", path, config_map("a"))
    assert (answer.status, answer.json()["metadata"]["labels"]) == (201, {"m": "1"})
    assert (hook.reviews[0]["dryRun"], hook.reviews[0]["options"]["dryRun"]) == (True, ["All"])
    assert bare.store.get(("", "configmaps"), "default/a") is None
    hook_row = bare.store.get(("admissionregistration.k8s.io", "mutatingwebhookconfigurations"), "m")
    assert hook_row is not None
    obj = hook_row.copy()
    obj["webhooks"][0]["sideEffects"] = "Some"
    await bare.store.update(hook_row.storage, "m", lambda _: obj)  # as a v1beta1 client could once
    answer = await wire("POST", path, config_map("a"))
    assert answer.status == 400
    assert answer.json()["message"] == 'admission webhook "m.example.com" does not support dry run'


async def test_heartbeats_are_told_of(hook: Hook) -> None:
    async with Cluster(ServeOptions(port=0, nodes=1, clock="virtual")) as cluster:
        await cluster.advance("60s")
        await hook.configure(cluster, VALIDATING, "v", rule(["leases"], ["UPDATE"], "coordination.k8s.io"))
        [before] = (await cluster.client.list(LEASES, "kube-node-lease")).items
        await cluster.advance("60s")
        assert hook.called
        [after] = (await cluster.client.list(LEASES, "kube-node-lease")).items
        assert after["spec"]["renewTime"] > before["spec"]["renewTime"]


async def test_custom_resources_in_the_version_that_a_webhook_knows(bare: Cluster, wire: Wire, hook: Hook) -> None:
    """What it adds is pruned, gets defaults and is validated by the schema of the type."""
    fields = {"size": {"type": "integer", "maximum": 5}, "color": {"type": "string", "default": "red"}}
    spec = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    version = {"served": True, "schema": {"openAPIV3Schema": spec}, "subresources": {"status": {}}}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    definition = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": names,
        "versions": [{"name": "v1", "storage": True, **version}, {"name": "v2", "storage": False, **version}],
    }
    definitions = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    await bare.client.create(definitions, "", {"metadata": {"name": "widgets.example.com"}, "spec": definition})
    await hook.configure(bare, MUTATING, "m", rule(["widgets"], ["CREATE"], "example.com", "v2"))
    value: Object = {"size": 3, "more": 1}
    hook.answers["m"] = lambda _: patched({"op": "add", "path": "/spec", "value": value})
    path = "/apis/example.com/v1/namespaces/default/widgets"
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    made = (await wire("POST", path, widget)).json()
    assert (made["apiVersion"], made["spec"]) == ("example.com/v1", {"size": 3, "color": "red"})
    [review] = hook.reviews
    assert (review["object"]["apiVersion"], review["kind"]["version"]) == ("example.com/v2", "v2")
    assert review["requestKind"] == {"group": "example.com", "version": "v1", "kind": "Widget"}
    value["size"] = 9
    answer = await wire("POST", path, {**widget, "metadata": {"name": "x"}})
    assert (answer.status, "spec.size" in answer.json()["message"]) == (422, True)
    await wire("DELETE", f"{path}/w")
    assert bare.store.list(("example.com", "widgets")) == []


async def test_a_name_that_is_yet_to_be_made(bare: Cluster, hook: Hook) -> None:
    """Mutating webhooks do not know it, validating ones do; and the first may give it."""
    await hook.configure(bare, MUTATING, "m", CREATE_MAPS)
    await hook.configure(bare, VALIDATING, "v", CREATE_MAPS)
    made = await bare.client.create(MAPS, "default", {"metadata": {"generateName": "a-"}})
    assert [review.get("name") for review in hook.reviews] == [None, made["metadata"]["name"]]
    hook.answers["m"] = lambda _: patched({"op": "add", "path": "/metadata/name", "value": "mine"})
    made = await bare.client.create(MAPS, "default", {"metadata": {"generateName": "a-"}})
    assert made["metadata"]["name"] == "mine"


async def test_configurations_count_from_the_next_write_on(bare: Cluster, hook: Hook) -> None:
    await hook.configure(bare, VALIDATING, "v", CREATE_MAPS)
    await make(bare)
    await bare.client.patch(VALIDATING, "", "v", {"webhooks": None})
    await make(bare, "b")
    assert len(hook.reviews) == 1


async def test_who_asks_is_told(bare: Cluster, wire: Wire, hook: Hook) -> None:
    await hook.configure(bare, VALIDATING, "v", CREATE_MAPS)
    await wire(
        "POST",
        "/api/v1/namespaces/default/configmaps",
        config_map("a"),
        Impersonate_User="jane",
        Impersonate_Group="system:masters",
    )
    assert hook.reviews[0]["userInfo"] == {"username": "jane", "groups": ["system:masters", "system:authenticated"]}


async def test_a_connection_serves_many_calls_of_webhooks_with_the_same_certificates(bare: Cluster) -> None:
    async with Hook().serving() as hook:
        for name in ("v", "w"):
            await hook.configure(bare, MUTATING, name, CREATE_MAPS)
        for name in ("a", "b", "c"):
            await make(bare, name)
    assert (len(hook.reviews), hook.connections) == (6, 1)


async def test_the_namespace_of_a_namespace_is_itself(bare: Cluster, hook: Hook) -> None:
    await hook.configure(bare, VALIDATING, "v", rule(["namespaces"], ["*"]))
    namespaces = Resource("", "v1", "namespaces")
    await bare.client.create(namespaces, "", {"metadata": {"name": "n"}})
    await bare.client.patch(namespaces, "", "n", {"metadata": {"labels": {"a": "b"}}})
    assert [(each["namespace"], each["name"]) for each in hook.reviews] == [("n", "n"), ("n", "n")]


async def test_loops_and_boards_write_as_who_they_are_in_kubernetes(hook: Hook) -> None:
    options = ServeOptions(port=0, nodes=1, clock="virtual")
    async with Cluster(options) as cluster:
        named = [("pods", ["CREATE", "DELETE"]), ("pods/status", ["*"]), ("serviceaccounts", ["CREATE"])]
        rules = [rule([resource], verbs) for resource, verbs in named]
        roles = Resource("rbac.authorization.k8s.io", "v1", "clusterroles")
        await hook.configure(cluster, VALIDATING, "v", *rules, rule([roles.plural], ["UPDATE"], roles.group))
        labels = {"rbac.authorization.k8s.io/aggregate-to-admin": "true"}
        role = {"metadata": {"name": "r", "labels": labels}}
        await cluster.client.create(
            roles, "", {**role, "rules": [{"apiGroups": ["x"], "resources": ["y"], "verbs": ["get"]}]}
        )
        template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"selector": {"matchLabels": {"app": "d"}}, "template": template}
        await cluster.client.create(DEPLOYMENTS, "default", {"metadata": {"name": "d"}, "spec": spec})
        await cluster.client.create(Resource("", "v1", "namespaces"), "", {"metadata": {"name": "n"}})
        await cluster.advance("10s")
        await cluster.client.delete(DEPLOYMENTS, "default", "d")
        await cluster.advance("60s")
    found = {(each["operation"], each["resource"]["resource"], each.get("subResource")): each for each in hook.reviews}
    accounts = ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"]
    assert {what: (each["userInfo"]["username"], each["userInfo"]["groups"]) for what, each in found.items()} == {
        ("CREATE", "pods", None): ("system:serviceaccount:kube-system:deployment-controller", accounts),
        ("UPDATE", "pods", "status"): ("system:node:esp32-0", ["system:nodes", "system:authenticated"]),
        ("DELETE", "pods", None): ("system:node:esp32-0", ["system:nodes", "system:authenticated"]),
        ("CREATE", "serviceaccounts", None): (
            "system:serviceaccount:kube-system:service-account-controller",
            accounts,
        ),
        ("UPDATE", "clusterroles", None): (
            "system:serviceaccount:kube-system:clusterrole-aggregation-controller",
            accounts,
        ),
    }
    first = next(each for each in hook.reviews if each["operation"] == "DELETE")
    assert first["userInfo"]["username"] == "system:serviceaccount:kube-system:generic-garbage-collector"
