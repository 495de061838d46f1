"""`explanations` over HTTP: pods that are there, that wait, that have gone, and what is asked of none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from kube32_sim.client import DEPLOYMENTS, PODS, Resource
from kube32_sim.cluster import Cluster
from tests.support.etcd import Etcd
from tests.support.objects import pod
from tests.support.restarting import Outliving
from tests.support.scenario import template, workload
from tests.support.waiting import eventually
from tests.support.wire import Answer, Wire, connected

PATH = "/apis/sim.kube32.io/v1alpha1/explanations"
ELSEWHERE = {"nodeSelector": {"no": "where"}}


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[Cluster]:
    async with Cluster(nodes=2, clock="virtual") as cluster:
        yield cluster


@pytest_asyncio.fixture
async def wire(cluster: Cluster) -> AsyncIterator[Wire]:
    async with connected(cluster.port) as wire:
        yield wire


async def post(wire: Wire, spec: Any) -> Answer:
    body = {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "Explanation", "spec": spec}
    return await wire("POST", PATH, body)


async def explained(wire: Wire, name: str, **more: str) -> dict[str, Any]:
    answer = await post(wire, {"pod": {"name": name, **more}})
    assert answer.status == 201, answer.json()
    status: dict[str, Any] = answer.json()["status"]
    return status


def reasons(status: dict[str, Any]) -> list[str]:
    return [cause["reason"] for cause in status["causes"]]


async def test_a_pod_that_runs(cluster: Cluster, wire: Wire) -> None:
    made = await cluster.client.create(PODS, "default", pod("p"))
    await cluster.advance("5s")
    status = await explained(wire, "p")
    uid = made["metadata"]["uid"]
    assert status["pod"] == {"namespace": "default", "name": "p", "uid": uid, "phase": "Running", "node": "esp32-0"}
    assert (status["summary"], reasons(status)) == ("Running on esp32-0", ["Created", "Scheduled"])
    first, second = status["causes"]
    assert first["about"] == {"kind": "Pod", "namespace": "default", "name": "p", "uid": uid}
    assert (first["revision"], first["source"]) == (made["metadata"]["resourceVersion"], "Recorded")
    assert (second["node"], second["because"], second["actor"]) == ("esp32-0", [0], "default-scheduler")
    assert status["now"] == "2026-01-01T00:00:05.000000Z"
    assert "notes" not in status


async def test_a_pod_that_waits_hears_of_every_node(cluster: Cluster, wire: Wire) -> None:
    await cluster.client.create(PODS, "default", pod("p", spec=ELSEWHERE))
    status = await explained(wire, "p")
    assert (status["summary"], reasons(status)) == ("Pending without a node", ["Created", "FailedScheduling"])
    mismatch = "node(s) didn't match Pod's node affinity/selector"
    assert status["nodes"] == [{"name": name, "reason": mismatch} for name in ("esp32-0", "esp32-1")]


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        ({"schedulerName": "mine"}, "it is left to the scheduler mine, which spec.schedulerName names"),
        ({"schedulingGates": [{"name": "a"}]}, "it waits for its scheduling gates to be taken away: a"),
    ],
)
async def test_a_pod_that_is_not_the_schedulers(cluster: Cluster, wire: Wire, spec: dict[str, Any], note: str) -> None:
    await cluster.client.create(PODS, "default", pod("p", spec=spec))
    status = await explained(wire, "p")
    assert (status["notes"], "nodes" in status) == ([note], False)


async def test_a_pod_that_is_being_deleted_and_then_has_gone(cluster: Cluster, wire: Wire) -> None:
    held = pod("p")
    held["metadata"]["finalizers"] = ["example.com/held"]
    await cluster.client.create(PODS, "default", held)
    await cluster.advance("5s")
    await cluster.client.delete(PODS, "default", "p")
    status = await explained(wire, "p")
    assert status["summary"] == "it is being deleted, Failed on esp32-0"
    assert reasons(status)[-1] == "Deleted"
    await cluster.client.patch(PODS, "default", "p", {"metadata": {"finalizers": None}})
    await cluster.advance("60s")
    status = await explained(wire, "p")
    assert (status["summary"], status["pod"]["gone"]) == ("it has gone; it was on esp32-0", True)
    assert reasons(status)[-2:] == ["Deleted", "Removed"]


async def test_of_several_of_a_name_the_last_or_the_one_of_the_uid(cluster: Cluster, wire: Wire) -> None:
    uids = []
    for _ in range(2):
        uids.append((await cluster.client.create(PODS, "default", pod("p")))["metadata"]["uid"])
        await cluster.client.delete(PODS, "default", "p", options={"gracePeriodSeconds": 0})
    assert (await explained(wire, "p"))["pod"]["uid"] == uids[1]
    assert (await explained(wire, "p", uid=uids[0]))["pod"]["uid"] == uids[0]
    third = await cluster.client.create(PODS, "default", pod("p"))
    assert (await explained(wire, "p"))["pod"]["uid"] == third["metadata"]["uid"]


# what is wrong


async def test_a_pod_that_nobody_knows_is_told_with_the_nearest(cluster: Cluster, wire: Wire) -> None:
    await cluster.client.create(PODS, "default", pod("sensor-one"))
    await cluster.client.create(PODS, "kube-system", pod("lone"))
    near, elsewhere, unlike = [(await post(wire, {"pod": {"name": name}})) for name in ("sensor", "lone", "zzz")]
    assert (near.status, near.json()["reason"]) == (404, "NotFound")
    nothing = "not found in namespace default, nor is anything recorded of it"
    assert near.json()["message"] == f'pods "sensor" {nothing}; did you mean sensor-one?'
    assert elsewhere.json()["message"] == f'pods "lone" {nothing}; there is one in namespace kube-system'
    assert unlike.json()["message"] == f'pods "zzz" {nothing}'
    other = await post(wire, {"pod": {"name": "sensor-one", "uid": "no"}})
    assert other.json()["message"] == f'pods "sensor-one" {nothing} under uid no'


@pytest.mark.parametrize("spec", [{}, None, {"pod": {}}, {"pod": None}, {"pod": {"name": ""}}])
async def test_no_pod_is_named(wire: Wire, spec: Any) -> None:
    answer = await post(wire, spec)
    assert answer.status == 422
    (cause,) = answer.json()["details"]["causes"]
    assert (cause["field"], cause["reason"]) == ("spec.pod.name", "FieldValueRequired")


@pytest.mark.parametrize("spec", [[], "p", {"pod": []}, {"pod": {"name": 5}}, {"pod": {"name": "p", "uid": {}}}])
async def test_what_has_another_form_is_no_request(wire: Wire, spec: Any) -> None:
    assert (await post(wire, spec)).status == 400


async def test_it_is_only_posted_to(wire: Wire) -> None:
    assert (await wire("GET", PATH)).status == 405
    assert (await wire("GET", f"{PATH}/p")).status in (404, 405)


# after a restart


async def test_after_a_restart_what_is_left_is_told_and_that_it_is_all(tmp_path: Any) -> None:
    async with Outliving(tmp_path, nodes=2) as kept:
        await kept.cluster.client.create(DEPLOYMENTS, "default", workload("web", template("web"), replicas=1))
        await kept.cluster.client.create(PODS, "default", pod("nowhere", spec=ELSEWHERE))
        await kept.cluster.advance("20s")
        (one,) = (await kept.cluster.client.list(PODS, "default", label_selector="app=web")).items
        await kept.restart()
        name = one["metadata"]["name"]
        async with connected(kept.cluster.port) as wire:
            status = await explained(wire, name)
            since = "2026-01-01T00:00:20Z"
            assert status["notes"] == [
                f"causes are recorded since {since} by this process: what was before is told by what is left of it"
            ]
            created, scheduled = status["causes"]
            assert (created["reason"], created["source"], created["actor"]) == (
                "Created",
                "Object",
                "kube-controller-manager",
            )
            assert created["message"] == "created by kube-controller-manager for Deployment web, which owns it"
            assert (scheduled["source"], scheduled["node"]) == ("Event", one["spec"]["nodeName"])
            waiting = await explained(wire, "nowhere")
            assert "FailedScheduling" in reasons(waiting)
            assert len(waiting["nodes"]) == 2
            await kept.cluster.client.delete(PODS, "default", name)
            await kept.cluster.advance("20s")
            gone = await explained(wire, name)
            assert reasons(gone)[:1] == ["Scheduled"]
            assert reasons(gone)[-2:] == ["Deleted", "Removed"]
            assert [cause["source"] for cause in gone["causes"]][-2:] == ["Recorded", "Recorded"]


async def test_without_events_the_pod_itself_tells_where_it_was_bound(tmp_path: Any) -> None:
    async with Outliving(tmp_path, nodes=1) as kept:
        await kept.cluster.client.create(PODS, "default", pod("p"))
        await kept.cluster.advance("2h")
        await kept.restart()
        async with connected(kept.cluster.port) as wire:
            status = await explained(wire, "p")
            assert [(cause["reason"], cause["source"]) for cause in status["causes"]] == [
                ("Created", "Object"),
                ("Bound", "Object"),
            ]


# elsewhere


async def test_on_etcd_causes_are_recorded_all_the_same(etcd: Etcd) -> None:
    async with Cluster(nodes=1, store=f"etcd://127.0.0.1:{etcd.port}/why") as cluster:
        await eventually(lambda: cluster.store.get(("", "nodes"), "esp32-0") is not None, "there is a node")
        await cluster.client.create(DEPLOYMENTS, "default", workload("web", template("web"), replicas=1))

        def bound() -> str:
            found = cluster.store.list(("", "pods"), "default")
            return next((one.name for one in found if one.value("spec.nodeName")), "")

        await eventually(lambda: bool(bound()), "the pod is bound")
        await eventually(lambda: any(noted.node == "esp32-0" for noted in cluster.journal), "that is recorded")
        async with connected(cluster.port) as wire:
            status = await explained(wire, bound())
            assert [(cause["about"]["kind"], cause["reason"]) for cause in status["causes"]][:2] == [
                ("Deployment", "Created"),
                ("Pod", "ScaledUp"),
            ]
            assert [cause["node"] for cause in status["causes"] if "node" in cause] == ["esp32-0"]
            assert status["notes"] == ["each replica records what goes through it: the one that leads knows most"]


GROUP = "rbac.authorization.k8s.io"
MAY_ASK = {"apiGroups": ["sim.kube32.io"], "resources": ["explanations"], "verbs": ["create"]}
Rules = list[dict[str, Any]]


async def allow(cluster: Cluster, rules: Rules, namespace: str = "") -> None:
    """Let mary do something: everywhere, or in a namespace."""
    kind, name = ("Role" if namespace else "ClusterRole"), f"may-{cluster.store.revision}"
    plural = kind.lower() + "s"
    await cluster.client.create(Resource(GROUP, "v1", plural), namespace, {"metadata": {"name": name}, "rules": rules})
    role = {"kind": kind, "name": name, "apiGroup": GROUP}
    made = {
        "metadata": {"name": name},
        "roleRef": role,
        "subjects": [{"kind": "User", "name": "mary", "apiGroup": GROUP}],
    }
    await cluster.client.create(Resource(GROUP, "v1", f"{kind.lower()}bindings"), namespace, made)


async def ask(wire: Wire, name: str, namespace: str = "default") -> Answer:
    body = {"spec": {"pod": {"name": name, "namespace": namespace}}}
    return await wire("POST", PATH, body, Impersonate_User="mary")


def may(verb: str, resource: str) -> dict[str, Any]:
    return {"apiGroups": [""], "resources": [resource], "verbs": [verb]}


@pytest_asyncio.fixture
async def guarded() -> AsyncIterator[Cluster]:
    async with Cluster(nodes=1, clock="virtual", authorization_mode="RBAC") as cluster:
        await cluster.client.create(PODS, "default", pod("p", spec=ELSEWHERE))
        await cluster.client.create(PODS, "kube-system", pod("other"))
        yield cluster


async def test_only_who_may_create_explanations_and_get_the_pod_is_told(guarded: Cluster) -> None:
    async with connected(guarded.port) as wire:
        assert (await ask(wire, "p")).status == 403
        await allow(guarded, [MAY_ASK])
        refused = await ask(wire, "p")
        why = 'cannot get resource "pods" in API group "" in the namespace "default", which an explanation shows'
        assert (refused.status, why in refused.json()["message"]) == (403, True)
        assert (await ask(wire, "none")).status == 403
        await allow(guarded, [may("get", "pods")], "default")
        assert (await ask(wire, "p")).status == 201
        assert (await ask(wire, "other", "kube-system")).status == 403


async def test_what_nodes_say_is_told_to_who_may_list_them(guarded: Cluster) -> None:
    async with connected(guarded.port) as wire:
        await allow(guarded, [MAY_ASK, may("get", "pods")])
        status = (await ask(wire, "p")).json()["status"]
        assert ("nodes" in status, "list nodes" in status["notes"][-1]) == (False, True)
        await allow(guarded, [may("list", "nodes")])
        status = (await ask(wire, "p")).json()["status"]
        assert ([one["name"] for one in status["nodes"]], "notes" in status) == (["esp32-0"], False)


async def test_names_are_suggested_to_who_may_list_pods_only(guarded: Cluster) -> None:
    async with connected(guarded.port) as wire:
        await allow(guarded, [MAY_ASK, may("get", "pods")])
        known = "not found in namespace default, nor is anything recorded of it"
        assert (await ask(wire, "other")).json()["message"] == f'pods "other" {known}'
        assert (await ask(wire, "p1")).json()["message"] == f'pods "p1" {known}'
        await allow(guarded, [may("list", "pods")], "default")
        assert (await ask(wire, "other")).json()["message"] == f'pods "other" {known}'
        assert (await ask(wire, "p1")).json()["message"].endswith("; did you mean p?")
        await allow(guarded, [may("list", "pods")])
        assert (await ask(wire, "other")).json()["message"].endswith("; there is one in namespace kube-system")
