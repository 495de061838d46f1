"""Rules DS1 to DS4 and DS9: where the pods of a DaemonSet are, how they are led there, and what stays.

Updates (DS5 to DS8) are in `test_daemonset_updates.py`.
"""

from __future__ import annotations

import pytest
from kube32_controllers.pod_control import template_hash

from kube32_sim.api.errors import ApiError
from kube32_sim.client import DAEMONSETS, DEPLOYMENTS, NODES, PODS
from tests.rules.conftest import MakeWorld
from tests.rules.workloads import HASH, HOSTNAME, by_node, daemonset, get_daemonset, names, of_owner, template
from tests.rules.world import JsonObject, World, condition, events_of, is_ready, pods_of
from tests.support.objects import node

SENSORS = {"nodeSelector": {"role": "sensor"}}


async def create(world: World, body: JsonObject | None = None) -> JsonObject:
    return await world.client.create(DAEMONSETS, world.namespace, body or daemonset())


async def running_on(world: World, owner: JsonObject, *nodes: str) -> dict[str, JsonObject]:
    """Its pods by node, once they are on exactly these nodes and Ready."""

    async def settled() -> dict[str, JsonObject] | None:
        found = await by_node(world, owner)
        return found if found.keys() == set(nodes) and all(map(is_ready, found.values())) else None

    return await world.until(settled, f"its pods run on {nodes}", 10)


async def label(world: World, name: str, **labels: str | None) -> None:
    await world.client.patch(NODES, "", name, {"metadata": {"labels": labels}})


# DS1, DS3: where


@pytest.mark.everywhere
@pytest.mark.rule("DS1", "DS3")
async def test_ds1_one_pod_on_each_node_that_matches_and_they_follow_the_labels(make_world: MakeWorld):
    world = await make_world(nodes=3)
    first, second, third = world.nodes
    await label(world, first, role="sensor")
    await label(world, second, role="sensor")
    owner = await create(world, daemonset(pod=SENSORS))
    before = await running_on(world, owner, first, second)
    await label(world, third, role="sensor")
    await label(world, first, role="gateway")
    after = await running_on(world, owner, second, third)
    assert after[second]["metadata"]["uid"] == before[second]["metadata"]["uid"]


@pytest.mark.rule("DS1")
async def test_ds1_a_new_node_gets_its_pod_in_the_next_pass(world: World):
    owner = await create(world)
    await running_on(world, owner, *world.nodes)
    await world.client.create(NODES, "", node("esp32-9"))
    await world.wait(world.timings.reconcile)
    (pod,) = [pod for pod in await of_owner(world, owner) if pod["spec"]["nodeSelector"][HOSTNAME] == "esp32-9"]
    await world.wait(world.timings.reconcile)
    bound = await world.client.get(PODS, world.namespace, pod["metadata"]["name"])
    assert bound["spec"]["nodeName"] == "esp32-9"


@pytest.mark.rule("DS1")
async def test_ds1_cordoned_and_lost_nodes_get_theirs_too_which_waits(make_world: MakeWorld):
    world = await make_world(nodes=3)
    cordoned, lost, good = world.nodes
    await world.unplug(lost)
    await world.client.patch(NODES, "", cordoned, {"spec": {"unschedulable": True}})
    await world.wait(world.timings.lease + 1)
    owner = await create(world)
    await world.wait(5)
    pods = {pod["spec"]["nodeSelector"][HOSTNAME]: pod for pod in await of_owner(world, owner)}
    assert pods.keys() == set(world.nodes)
    assert [pods[name]["spec"].get("nodeName") for name in world.nodes] == [None, None, good]
    assert condition(pods[cordoned], "PodScheduled")["reason"] == "Unschedulable"
    assert (await get_daemonset(world))["status"] == {
        "desiredNumberScheduled": 3,
        "currentNumberScheduled": 3,
        "numberMisscheduled": 0,
        "numberReady": 1,
        "numberAvailable": 1,
        "numberUnavailable": 2,
        "updatedNumberScheduled": 3,
        "observedGeneration": 1,
    }
    await world.client.patch(NODES, "", cordoned, {"spec": {"unschedulable": None}})
    await world.plug_in(lost)
    after = await running_on(world, owner, *world.nodes)
    assert names(after.values()) == names(pods.values())


@pytest.mark.rule("DS1")
async def test_ds1_a_pod_stays_on_a_node_that_is_cordoned_later(world: World):
    owner = await create(world)
    before = await running_on(world, owner, *world.nodes)
    await world.client.patch(NODES, "", world.nodes[0], {"spec": {"unschedulable": True}})
    await world.wait(60)
    assert names(await of_owner(world, owner)) == names(before.values())


@pytest.mark.rule("DS1")
async def test_ds1_a_template_that_names_a_node_makes_one_pod_there(world: World):
    owner = await create(world, daemonset(pod={"nodeName": world.nodes[1]}))
    before = await running_on(world, owner, world.nodes[1])
    await world.wait(30)
    assert names(await of_owner(world, owner)) == names(before.values())
    assert (await get_daemonset(world))["status"]["desiredNumberScheduled"] == 1


@pytest.mark.rule("DS3")
async def test_ds3_a_node_that_leaves_takes_its_pod_along_and_gets_another_one_when_it_is_back(world: World):
    owner = await create(world)
    before = await running_on(world, owner, *world.nodes)
    await world.client.delete(NODES, "", world.nodes[0])
    await world.wait(world.timings.reconcile)
    assert (await by_node(world, owner)).keys() == {world.nodes[1]}
    await world.wait(world.timings.reconcile)
    status = (await get_daemonset(world))["status"]
    assert (status["desiredNumberScheduled"], status["numberMisscheduled"]) == (1, 0)
    assert [event["message"] for event in await events_of(world, "agent", "SuccessfulDelete")] == [
        f"Deleted pod: {before[world.nodes[0]]['metadata']['name']}"
    ]
    await world.client.create(NODES, "", {"metadata": {"name": world.nodes[0]}})
    after = await running_on(world, owner, *world.nodes)
    assert after[world.nodes[0]]["metadata"]["uid"] != before[world.nodes[0]]["metadata"]["uid"]
    assert after[world.nodes[1]]["metadata"]["uid"] == before[world.nodes[1]]["metadata"]["uid"]


@pytest.mark.rule("DS3")
async def test_ds3_a_pod_of_a_lost_node_that_leaves_is_removed_though_its_board_cannot_end_it(world: World):
    owner = await create(world)
    await running_on(world, owner, *world.nodes)
    await world.unplug(world.nodes[0])
    await world.client.delete(NODES, "", world.nodes[0])
    await world.wait(90)
    assert (await by_node(world, owner)).keys() == {world.nodes[1]}


@pytest.mark.rule("DS3", "W2")
async def test_ds3_a_pod_made_by_hand_that_names_the_daemonset_is_one_too_many(world: World):
    owner = await create(world)
    before = await running_on(world, owner, *world.nodes)
    reference = before[world.nodes[0]]["metadata"]["ownerReferences"]
    metadata = {"name": "by-hand", "labels": {"app": "it"}, "ownerReferences": reference}
    spec = {**template()["spec"], "nodeName": world.nodes[0]}
    await world.client.create(PODS, world.namespace, {"metadata": metadata, "spec": spec})
    await world.wait(2)
    assert names(await pods_of(world)) == names(before.values())


@pytest.mark.rule("W2")
async def test_w2_pods_that_only_match_the_selector_are_nobodys(world: World):
    await world.client.create(PODS, world.namespace, {"metadata": {"name": "mine", "labels": {"app": "it"}}, **spec()})
    owner = await create(world)
    await running_on(world, owner, *world.nodes)
    await world.client.delete(DAEMONSETS, world.namespace, "agent")
    await world.wait(2)
    assert names(await pods_of(world)) == ["mine"]


def spec() -> JsonObject:
    return {"spec": template()["spec"]}


# DS2: how they are led there


@pytest.mark.rule("DS2", "W2", "N18")
async def test_ds2_what_a_pod_looks_like(world: World):
    for name in world.nodes:
        await label(world, name, role="sensor")
    owner = await create(world, daemonset(pod=SENSORS))
    pods = await running_on(world, owner, *world.nodes)
    pod = pods[world.nodes[0]]
    metadata = pod["metadata"]
    assert pod["spec"]["nodeSelector"] == {"role": "sensor", HOSTNAME: world.nodes[0]}
    assert metadata["labels"] == {"app": "it", HASH: template_hash(owner["spec"]["template"])}
    assert metadata["generateName"] == "agent-"
    assert metadata["name"].startswith("agent-")
    assert len(metadata["name"]) == len("agent-") + 5
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "name": "agent",
            "uid": owner["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert pod["spec"]["tolerations"] == [
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
        {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"},
    ]
    created = await events_of(world, "agent", "SuccessfulCreate")
    assert sorted(event["message"] for event in created) == [f"Created pod: {name}" for name in names(pods.values())]


@pytest.mark.rule("DS2")
@pytest.mark.parametrize(("labels", "value"), [({HOSTNAME: "kitchen"}, "kitchen"), ({}, "esp32-9")])
async def test_ds2_the_hostname_is_the_nodes_label_or_its_name(make_world: MakeWorld, labels, value):
    world = await make_world(nodes=1)
    body = node("esp32-9")
    body["metadata"]["labels"] = labels
    await world.client.create(NODES, "", body)
    owner = await create(world)
    await world.wait(2)
    pod = (await by_node(world, owner))["esp32-9"]
    assert pod["spec"]["nodeSelector"] == {HOSTNAME: value}


@pytest.mark.rule("DS2")
async def test_ds2_a_node_that_is_called_otherwise_gets_a_pod_that_is_led_there_anew(world: World):
    first = world.nodes[0]
    await world.client.patch(NODES, "", first, {"spec": {"unschedulable": True}})
    owner = await create(world)
    await world.wait(2)
    (waiting,) = [pod for pod in await of_owner(world, owner) if not pod["spec"].get("nodeName")]
    await label(world, first, **{HOSTNAME: "kitchen"})
    await world.wait(2)
    (other,) = [pod for pod in await of_owner(world, owner) if not pod["spec"].get("nodeName")]
    assert other["metadata"]["uid"] != waiting["metadata"]["uid"]
    assert other["spec"]["nodeSelector"] == {HOSTNAME: "kitchen"}


# DS4: lost nodes keep theirs


@pytest.mark.everywhere
@pytest.mark.rule("DS4", "N18", "N22", "N10")
async def test_ds4_a_lost_node_keeps_its_pod_while_a_deployments_pod_leaves(world: World):
    lost, other = world.nodes
    owner = await create(world)
    before = await running_on(world, owner, *world.nodes)
    body = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template()}
    body["template"]["metadata"]["labels"] = {"app": "web"}
    deployment = await world.client.create(DEPLOYMENTS, world.namespace, {"metadata": {"name": "web"}, "spec": body})

    async def spread() -> bool:
        pods = await of_owner(world, deployment)
        return {pod["spec"].get("nodeName") for pod in pods} == {lost, other} and all(map(is_ready, pods))

    await world.until(spread, "the Deployment is on both nodes", 10)
    await world.unplug(lost)

    async def moved() -> bool:
        return {pod["spec"].get("nodeName") for pod in await of_owner(world, deployment)} == {other}

    timings = world.timings
    await world.until(moved, "its pods have moved", timings.lease + timings.eviction + timings.toleration + 10)
    await world.wait(timings.lease)
    kept = await by_node(world, owner)
    assert {name: pod["metadata"]["uid"] for name, pod in kept.items()} == {
        name: pod["metadata"]["uid"] for name, pod in before.items()
    }
    assert "deletionTimestamp" not in kept[lost]["metadata"]
    assert await events_of(world, kept[lost]["metadata"]["name"], "Evicted") == []
    await world.plug_in(lost)
    after = await running_on(world, owner, *world.nodes)
    assert names(after.values()) == names(before.values())


@pytest.mark.rule("DS4")
async def test_ds4_an_hour_without_its_board_changes_nothing_about_a_pod(world: World):
    lost = world.nodes[0]
    owner = await create(world)
    before = (await running_on(world, owner, *world.nodes))[lost]
    await world.unplug(lost)
    await world.wait(3600)
    after = (await by_node(world, owner))[lost]
    assert (after["metadata"]["uid"], after["spec"]) == (before["metadata"]["uid"], before["spec"])
    assert after["status"]["phase"] == "Running"
    assert "deletionTimestamp" not in after["metadata"]
    assert await events_of(world, before["metadata"]["name"], "Evicted") == []


@pytest.mark.rule("DS4", "DS7")
async def test_ds4_a_pod_deleted_on_a_lost_node_has_its_successor_when_the_board_is_back(world: World):
    lost = world.nodes[0]
    owner = await create(world)
    before = (await running_on(world, owner, *world.nodes))[lost]
    await world.unplug(lost)
    await world.wait(60)
    await world.client.delete(PODS, world.namespace, before["metadata"]["name"])
    await world.wait(600)
    still = (await by_node(world, owner))[lost]
    assert still["metadata"]["uid"] == before["metadata"]["uid"]
    assert "deletionTimestamp" in still["metadata"]
    await world.plug_in(lost)
    after = await running_on(world, owner, *world.nodes)
    assert after[lost]["metadata"]["uid"] != before["metadata"]["uid"]


# DS9: what is refused


async def refused(world: World, body: JsonObject) -> list[tuple[str, str]]:
    with pytest.raises(ApiError) as caught:
        await create(world, body)
    assert (caught.value.code, caught.value.reason) == (422, "Invalid")
    return [(cause["field"], cause["message"]) for cause in (caught.value.details or {})["causes"]]


@pytest.mark.rule("DS9")
@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
async def test_ds9_pods_that_are_not_always_restarted_are_refused(world: World, policy: str):
    assert await refused(world, daemonset(pod={"restartPolicy": policy})) == [
        ("spec.template.spec.restartPolicy", f'Unsupported value: "{policy}": supported values: "Always"')
    ]


@pytest.mark.rule("DS9")
async def test_ds9_always_is_what_a_template_gets_and_it_cannot_be_changed_later(world: World):
    made = await create(world)
    assert made["spec"]["template"]["spec"]["restartPolicy"] == "Always"
    patch = {"spec": {"template": {"spec": {"restartPolicy": "Never"}}}}
    with pytest.raises(ApiError) as caught:
        await world.client.patch(DAEMONSETS, world.namespace, "agent", patch)
    assert caught.value.code == 422
    # A change is checked twice, as upstream does it, and every check tells its causes.
    assert {cause["field"] for cause in (caught.value.details or {})["causes"]} == {"spec.template.spec.restartPolicy"}


async def test_a_selector_matches_its_template_and_never_changes(world: World):
    other = {"matchLabels": {"app": "other"}}
    mismatch = "`selector` does not match template `labels`"
    assert await refused(world, daemonset(selector=other)) == [
        ("spec.template.metadata.labels", f'Invalid value: {{"app":"it"}}: {mismatch}')
    ]
    await create(world)
    labels = {"app": "it", "tier": "edge"}
    patch = {"spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}}
    with pytest.raises(ApiError) as caught:
        await world.client.patch(DAEMONSETS, world.namespace, "agent", patch)
    assert [cause["field"] for cause in (caught.value.details or {})["causes"]] == ["spec.selector"]
    assert "field is immutable" in caught.value.message


# pods that cannot run


async def test_pods_that_their_board_refuses_are_replaced_ever_more_slowly(make_world: MakeWorld):
    world = await make_world(nodes=1, board="esp32-c3")
    needs = {"resources": {"limits": {"hardware.kube32.io/camera": "1"}}}
    body = daemonset(pod={"containers": [{"name": "c", "image": "i", **needs}]})
    owner = await create(world, body)
    await world.wait(600)
    (pod,) = await of_owner(world, owner)
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", "OutOfhardware.kube32.io/camera")
    created = len(await events_of(world, "agent", "SuccessfulCreate"))
    assert 10 <= created <= 20
    told = (await events_of(world, "agent", "FailedDaemonPod"))[-1]
    assert told["type"] == "Warning"
    assert told["message"].startswith("Found failed daemon pod default/agent-")
    assert told["message"].endswith(f" on node {world.nodes[0]}, will try to kill it")
    status = (await get_daemonset(world))["status"]
    assert (status["currentNumberScheduled"], status["numberReady"], status["numberUnavailable"]) == (1, 0, 1)
