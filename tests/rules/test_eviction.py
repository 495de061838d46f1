"""Eviction, rules N13 to N22: who has to leave a lost node, when, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import DAEMONSETS, DEPLOYMENTS, JOBS, NODES, PODS
from kube32_sim.clock import parse_time
from tests.rules.conftest import MakeWorld
from tests.rules.test_node_lifecycle import UNREACHABLE, evicted, node_of, unplugged, wait_until
from tests.rules.world import JsonObject, VirtualWorld, World, condition, events_of, is_ready, pods_of, taints
from tests.support.objects import pod, pod_spec

NOT_READY = "node.kubernetes.io/not-ready"
LOST = "esp32-0"
RUNNING = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
"""Conditions of a pod that runs."""


def default(key: str, seconds: int | None = 300) -> JsonObject:
    toleration: JsonObject = {"key": key, "operator": "Exists", "effect": "NoExecute"}
    return toleration if seconds is None else toleration | {"tolerationSeconds": seconds}


async def add(world: World, name: str, *, node: str = LOST, **spec: Any) -> JsonObject:
    return await world.client.create(PODS, world.namespace, pod(name, spec={"nodeName": node, **spec}))


async def get(world: World, name: str) -> JsonObject:
    return await world.client.get(PODS, world.namespace, name)


async def finds_nothing(world: World, name: str) -> bool:
    try:
        await get(world, name)
    except ApiError as error:
        return error.code == 404
    return False


async def no_execute_at(world: World, node: str = LOST) -> float:
    """Lose the node; when it got the taint by which it evicts."""

    async def added() -> str:
        return str(taints(await node_of(world, node)).get("NoExecute", {}).get("timeAdded", ""))

    if not await added():
        await unplugged(world, node)
    return parse_time(await world.until(added, "NoExecute", 40))


# default tolerations


@pytest.mark.rule("N13")
async def test_n13_pods_get_two_default_tolerations(world: World) -> None:
    made = await world.client.create(PODS, "default", pod("p"))
    assert made["spec"]["tolerations"] == [default(NOT_READY), default(UNREACHABLE)]


@pytest.mark.rule("N13")
@pytest.mark.parametrize("seconds", [0, 7])
async def test_n13_how_long_they_last_is_an_option(make_world: MakeWorld, seconds: int) -> None:
    world = await make_world(default_toleration_seconds=seconds)
    made = await add(world, "p")
    assert made["spec"]["tolerations"] == [default(NOT_READY, seconds), default(UNREACHABLE, seconds)]
    added = await no_execute_at(world)
    assert await evicted(world, "p", LOST) is (seconds == 0)
    if seconds:
        await wait_until(world, added + seconds - 0.1)
        assert not await evicted(world, "p", LOST)
        await world.wait(1.1)
        assert await evicted(world, "p", LOST)


@pytest.mark.rule("N13")
async def test_n13_pods_of_deployments_and_jobs_get_them_too(world: World) -> None:
    mine = {"key": "mine", "operator": "Exists"}
    template = {"metadata": {"labels": {"app": "w"}}, "spec": pod_spec(tolerations=[mine])}
    deployment = {"selector": {"matchLabels": {"app": "w"}}, "template": template}
    await world.client.create(DEPLOYMENTS, "default", {"metadata": {"name": "w"}, "spec": deployment})
    job = {"template": {"spec": pod_spec(restartPolicy="Never", tolerations=[mine])}}
    await world.client.create(JOBS, "default", {"metadata": {"name": "j"}, "spec": job})
    await world.wait(3)
    given = [each["spec"]["tolerations"] for each in await pods_of(world)]
    assert given == [[mine, default(NOT_READY), default(UNREACHABLE)]] * 2
    stored = await world.client.get(DEPLOYMENTS, "default", "w")
    assert stored["spec"]["template"]["spec"]["tolerations"] == [mine]


@pytest.mark.rule("N14")
@pytest.mark.parametrize(
    ("given", "keys"),
    [
        ({"operator": "Exists"}, []),
        ({"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}, []),
        ({"key": UNREACHABLE, "operator": "Exists"}, [NOT_READY]),
        ({"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute"}, [NOT_READY]),
        ({"key": UNREACHABLE, "value": "x", "effect": "NoExecute"}, [NOT_READY]),
        ({"key": NOT_READY, "operator": "Equal"}, [UNREACHABLE]),
        ({"key": UNREACHABLE, "operator": "Exists", "effect": "NoSchedule"}, [NOT_READY, UNREACHABLE]),
        ({"operator": "Exists", "effect": "NoSchedule"}, [NOT_READY, UNREACHABLE]),
        ({"key": "other", "operator": "Exists", "effect": "NoExecute"}, [NOT_READY, UNREACHABLE]),
    ],
)
async def test_n14_not_where_a_pod_tolerates_that_taint_already(
    world: World, given: JsonObject, keys: list[str]
) -> None:
    made = await world.client.create(PODS, "default", pod("p", spec={"tolerations": [given]}))
    assert made["spec"]["tolerations"] == [given, *map(default, keys)]


@pytest.mark.rule("N14")
async def test_n14_an_update_leaves_what_is_there(world: World) -> None:
    made = await add(world, "p", tolerations=[default(UNREACHABLE, 5)])
    patch = {"metadata": {"labels": {"a": "b"}}}
    changed = await world.client.patch(PODS, "default", "p", patch)
    assert (
        changed["spec"]["tolerations"]
        == made["spec"]["tolerations"]
        == [
            default(UNREACHABLE, 5),
            default(NOT_READY),
        ]
    )


# who has to leave, and when


NO_SCHEDULE = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoSchedule"}
OTHER_VALUE = {"key": UNREACHABLE, "value": "x", "effect": "NoExecute"}
NO_VALUE = {"key": UNREACHABLE, "operator": "Equal", "effect": "NoExecute", "tolerationSeconds": 20}
EVERYTHING = {"operator": "Exists"}
FOREVER = default(UNREACHABLE, None)


@pytest.mark.rule("N15", "N16", "N17")
@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([OTHER_VALUE], 0),
        ([OTHER_VALUE, NO_SCHEDULE], 0),
        ([OTHER_VALUE, default(UNREACHABLE, 40)], 40),
        ([default(UNREACHABLE, 0)], 0),
        ([default(UNREACHABLE, -1)], 0),
        ([default(UNREACHABLE, -(2**63))], 0),
        ([default(UNREACHABLE, 20)], 20),
        ([NO_VALUE], 20),
        ([default(UNREACHABLE, 20), default(UNREACHABLE, 40)], 20),
        ([default(UNREACHABLE, 40), default(UNREACHABLE, 20)], 40),
        ([default(UNREACHABLE, 20), FOREVER], 20),
        ([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}], 20),
        ([FOREVER], None),
        ([FOREVER, default(UNREACHABLE, 20)], None),
        ([EVERYTHING], None),
        ([{"key": UNREACHABLE, "operator": "Exists"}], None),
        ([default(UNREACHABLE, 2**63 - 1)], None),
    ],
)
async def test_n16_a_toleration_lasts_as_long_as_it_says(
    world: World, tolerations: list[JsonObject], seconds: int | None
) -> None:
    """From timeAdded on; of several that match the first decides, as upstream.  None: for ever."""
    await add(world, "p", tolerations=tolerations)
    added = await no_execute_at(world)
    if seconds is None:
        await world.wait(20_000)
        found = await get(world, "p")
        assert (found["spec"]["nodeName"], found["status"]["phase"]) == (LOST, "Running")
        return
    if seconds:
        await wait_until(world, added + seconds - 0.1)
        assert not await evicted(world, "p", LOST)
        await world.wait(1.1)
    assert await evicted(world, "p", LOST)


@pytest.mark.rule("N15")
async def test_n15_a_pod_bound_by_hand_to_a_lost_node_is_evicted_like_the_others(world: World) -> None:
    added = await no_execute_at(world)
    await add(world, "intolerant", tolerations=[OTHER_VALUE])
    await add(world, "tolerant")
    await world.wait(0.5)
    assert await evicted(world, "intolerant", LOST)
    await wait_until(world, added + 299.9)
    assert not await evicted(world, "tolerant", LOST)
    await world.wait(1.1)
    assert await evicted(world, "tolerant", LOST)
    await add(world, "late")
    await world.wait(0.5)
    assert await evicted(world, "late", LOST)


@pytest.mark.rule("N16")
@pytest.mark.parametrize(("seconds", "leaves"), [(10, 50), (60, 60), (3600, 3600), (None, None)])
async def test_n16_a_toleration_may_be_changed_while_it_counts(
    world: World, seconds: int | None, leaves: int | None
) -> None:
    made = await add(world, "p")
    added = await no_execute_at(world)
    await wait_until(world, added + 49.6)
    others = [each for each in made["spec"]["tolerations"] if each["key"] != UNREACHABLE]
    await world.client.patch(PODS, "default", "p", {"spec": {"tolerations": [*others, default(UNREACHABLE, seconds)]}})
    if leaves is None:
        await world.wait(5000)
        assert not await evicted(world, "p", LOST)
        return
    if leaves > 50:
        await wait_until(world, added + leaves - 0.1)
        assert not await evicted(world, "p", LOST)
    await wait_until(world, added + leaves + 1)
    assert await evicted(world, "p", LOST)


@pytest.mark.rule("N18", "N22")
async def test_n18_pods_of_daemonsets_stay_for_ever(world: World) -> None:
    template = {
        "metadata": {"labels": {"app": "d"}},
        "spec": pod_spec(tolerations=[default(UNREACHABLE, 5), {"key": "mine", "operator": "Exists"}]),
    }
    spec = {"selector": {"matchLabels": {"app": "d"}}, "template": template}
    await world.client.create(DAEMONSETS, "default", {"metadata": {"name": "d"}, "spec": spec})
    await world.wait(5)
    before = {each["spec"]["nodeName"]: each["metadata"]["uid"] for each in await pods_of(world)}
    assert sorted(before) == sorted(world.nodes)
    for each in await pods_of(world):
        given = each["spec"]["tolerations"]
        assert [one for one in given if one["key"] in (NOT_READY, UNREACHABLE) and one["effect"] == "NoExecute"] == [
            default(NOT_READY, None),
            default(UNREACHABLE, None),
        ]
    await no_execute_at(world)
    await world.wait(10_000)
    assert {each["spec"]["nodeName"]: each["metadata"]["uid"] for each in await pods_of(world)} == before
    await world.plug_in(LOST)
    await world.wait(1)
    assert all(map(is_ready, await pods_of(world)))


@pytest.mark.rule("N22")
@pytest.mark.parametrize(("code", "phase"), [("0", "Succeeded"), ("1", "Failed")])
async def test_n22_finished_pods_are_left_where_they_are(world: World, code: str, phase: str) -> None:
    annotations = {"sim.kube32.io/run-seconds": "1", "sim.kube32.io/exit-code": code}
    made = pod("p", spec={"nodeName": LOST, "restartPolicy": "Never"}, annotations=annotations)
    await world.client.create(PODS, "default", made)
    await world.wait(5)
    before = await get(world, "p")
    assert before["status"]["phase"] == phase
    await no_execute_at(world)
    await world.wait(1000)
    assert await get(world, "p") == before


@pytest.mark.rule("N15")
async def test_n15_taints_set_by_hand_evict_nobody(world: World) -> None:
    await add(world, "p", tolerations=[OTHER_VALUE])
    await world.wait(5)
    by_hand = [{"key": key, "effect": "NoExecute"} for key in ("mine", NOT_READY, UNREACHABLE)]
    await world.client.patch(NODES, "", LOST, {"spec": {"taints": by_hand}})
    await world.wait(1000)
    assert not await evicted(world, "p", LOST)
    assert [taint["key"] for taint in (await node_of(world, LOST))["spec"]["taints"]] == ["mine", NOT_READY]
    assert is_ready(await get(world, "p"))


@pytest.mark.rule("N16", "N20")
async def test_n16_200_pods_whose_time_is_over_at_once_leave_in_the_order_of_their_names(make_world: MakeWorld) -> None:
    world = await make_world(nodes=3, board="esp32-s3-psram8")
    assert isinstance(world, VirtualWorld)
    names = [f"p{number:03}" for number in range(200)]
    memory = {"resources": {"requests": {"memory": "0"}}}
    containers = [{"name": "c", "image": "i", **memory}]
    for name in reversed(names):
        await add(world, name, containers=containers)
    await add(world, "sooner", tolerations=[default(UNREACHABLE, 299)], containers=containers)
    added = await no_execute_at(world)
    await world.wait(1)
    async with world.client.watch(PODS, "default", resource_version=str(world.cluster.store.revision)) as events:
        await wait_until(world, added + 301)
        order: dict[str, None] = {}
        async for event in events:
            if "nodeName" not in event.object["spec"]:
                order[event.object["metadata"]["name"]] = None
            if len(order) == 201:
                break
    assert list(order) == ["sooner", *names]
    await world.wait(5)
    assert all(is_ready(each) and each["spec"]["nodeName"] != LOST for each in await pods_of(world))
    assert [len(await events_of(world, name, "Evicted")) for name in names] == [1] * 200


# condition of those that left


@pytest.mark.rule("N19", "N20")
async def test_n19_an_evicted_pod_is_pending_without_a_node(make_world: MakeWorld) -> None:
    """It keeps its name and uid, and whatever it is; nothing is left of its life on the node."""
    world = await make_world(nodes=1)
    await add(world, "p")
    await world.wait(10)
    before = await get(world, "p")
    await no_execute_at(world)
    await world.wait(299)
    assert (await get(world, "p"))["status"]["phase"] == "Running"
    await world.wait(0.5 if await evicted(world, "p", LOST) else 1)
    gone = await get(world, "p")
    spec = {key: value for key, value in before["spec"].items() if key != "nodeName"}
    assert gone["spec"] == spec
    assert gone["metadata"]["uid"] == before["metadata"]["uid"]
    message = f"Node {LOST} is unreachable and the pod does not tolerate {UNREACHABLE}:NoExecute any longer"
    status = gone["status"]
    target = condition(gone, "DisruptionTarget")
    assert {key: value for key, value in status.items() if key not in ("conditions", "observedGeneration")} == {
        "phase": "Pending",
        "reason": "Evicted",
        "message": message,
        "qosClass": "BestEffort",
    }
    assert [one["type"] for one in status["conditions"]] == ["PodScheduled", "DisruptionTarget"]
    assert condition(gone, "PodScheduled")["status"] == "False"
    assert {key: value for key, value in target.items() if key != "lastTransitionTime"} == {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByTaintManager",
        "message": message,
    }
    (event,) = await events_of(world, "p", "Evicted")
    assert (event["type"], event["message"], event["source"]["component"]) == ("Warning", message, "node-controller")
    await world.wait(2)
    waits = condition(await get(world, "p"), "PodScheduled")
    assert (waits["status"], waits["reason"]) == ("False", "Unschedulable")


@pytest.mark.rule("N20")
async def test_n20_a_bare_pod_is_bound_to_another_node_and_runs_there(world: World) -> None:
    made = await add(world, "p", node=world.nodes[0])

    async def runs_on(lost: str) -> JsonObject | None:
        found = await get(world, "p")
        return found if is_ready(found) and found["spec"]["nodeName"] != lost else None

    first = await world.until(lambda: runs_on(""), "the pod runs", 5)
    assert first is not None
    await world.unplug(world.nodes[0])
    timings = world.timings
    within = timings.lease + timings.eviction + timings.toleration + timings.reconcile + 3
    moved = await world.until(lambda: runs_on(world.nodes[0]), "the pod runs elsewhere", within)
    assert moved is not None
    assert moved["metadata"]["uid"] == made["metadata"]["uid"]
    assert "reason" not in moved["status"]
    assert "message" not in moved["status"]
    assert sorted(one["type"] for one in moved["status"]["conditions"]) == sorted((*RUNNING, "DisruptionTarget"))
    assert {one["status"] for one in moved["status"]["conditions"]} == {"True"}
    assert moved["status"]["podIP"] != first["status"]["podIP"]
    assert moved["status"]["startTime"] >= first["status"]["startTime"]
    assert moved["status"]["containerStatuses"][0]["restartCount"] == 0
    reasons = [event["reason"] for event in await events_of(world, "p")]
    assert reasons.index("Evicted") < reasons.index("Scheduled")


@pytest.mark.rule("N19")
async def test_n19_a_pod_evicted_twice_has_been_a_target_since_the_first_time(make_world: MakeWorld) -> None:
    world = await make_world(nodes=3)
    await add(world, "p")
    lost = LOST
    since = []
    for _ in range(2):
        await no_execute_at(world, lost)
        await world.wait(320)
        moved = await get(world, "p")
        assert moved["spec"]["nodeName"] != lost
        target = condition(moved, "DisruptionTarget")
        since.append(target["lastTransitionTime"])
        assert f"Node {lost} " in target["message"]
        lost = moved["spec"]["nodeName"]
    assert since[0] == since[1]
    assert (await events_of(world, "p", "Evicted"))[-1]["count"] == 1


# pods that are being deleted


@pytest.mark.rule("N21")
async def test_n21_a_pod_that_is_being_deleted_goes_when_its_toleration_is_over(world: World) -> None:
    await add(world, "p")
    await add(world, "intolerant", tolerations=[OTHER_VALUE])
    _, renewed = await unplugged(world)
    for name in ("p", "intolerant"):
        await world.client.delete(PODS, "default", name)
    await wait_until(world, renewed + 29.9)
    assert "deletionTimestamp" in (await get(world, "intolerant"))["metadata"]
    await wait_until(world, renewed + 30.5)
    assert await finds_nothing(world, "intolerant")
    await wait_until(world, renewed + 329.9)
    leaving = await get(world, "p")
    assert (leaving["spec"]["nodeName"], leaving["status"]["phase"]) == (LOST, "Running")
    await wait_until(world, renewed + 330.5)
    assert await finds_nothing(world, "p")
    assert await events_of(world, "p", "Evicted") == []


@pytest.mark.rule("N21")
async def test_n21_finalizers_keep_it_and_then_nothing_does(world: World) -> None:
    made = pod("p", spec={"nodeName": LOST, "tolerations": [OTHER_VALUE]}, finalizers=["example.com/hold"])
    await world.client.create(PODS, "default", made)
    await unplugged(world)
    await world.client.delete(PODS, "default", "p")
    await world.wait(100)
    held = await get(world, "p")
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    assert held["spec"]["nodeName"] == LOST
    await world.wait(100)
    assert await get(world, "p") == held
    await world.client.patch(PODS, "default", "p", {"metadata": {"finalizers": None}})
    assert await finds_nothing(world, "p")


@pytest.mark.rule("N21", "N22")
async def test_n21_a_finished_pod_that_is_being_deleted_has_nothing_to_stay_for(world: World) -> None:
    await add(world, "p", tolerations=[OTHER_VALUE])
    await unplugged(world)
    await world.client.delete(PODS, "default", "p")
    await world.client.patch(PODS, "default", "p", {"status": {"phase": "Failed"}}, subresource="status")
    await world.wait(31)
    assert await finds_nothing(world, "p")


@pytest.mark.rule("N21")
async def test_n21_a_pod_that_never_has_to_leave_waits_for_its_board(world: World) -> None:
    await add(world, "p", tolerations=[FOREVER])
    await unplugged(world)
    await world.client.delete(PODS, "default", "p")
    await world.wait(1000)
    assert "deletionTimestamp" in (await get(world, "p"))["metadata"]
    await world.plug_in(LOST)
    await world.wait(1)
    assert await finds_nothing(world, "p")


@pytest.mark.rule("N20")
async def test_n20_a_pod_made_anew_under_its_name_is_another(world: World) -> None:
    await add(world, "p")
    added = await no_execute_at(world)
    await world.client.delete(PODS, "default", "p", options={"gracePeriodSeconds": 0})
    await add(world, "p", node="esp32-1", tolerations=[OTHER_VALUE])
    await wait_until(world, added + 400)
    assert is_ready(await get(world, "p"))
    assert await events_of(world, "p", "Evicted") == []
