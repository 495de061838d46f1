"""What happens to the pods of a Job: restarts in place (J7), lost nodes, deletions, pods of others (J1, J4, W2)."""

from __future__ import annotations

import pytest

from kube32_sim.client import JOBS, NODES, PODS, Resource
from tests.rules.test_job import BACKOFF, active, conditions, create, ended
from tests.rules.workloads import EXIT_CODE, RUN_SECONDS, get_job, names, of_owner, template
from tests.rules.world import JsonObject, World, condition, events_of, is_ready, pods_of

QUOTAS = Resource("", "v1", "resourcequotas")


async def only_pod(world: World, owner: JsonObject) -> JsonObject:
    (pod,) = await of_owner(world, owner)
    return pod


async def annotate(world: World, pod: JsonObject, annotations: dict[str, str | None]) -> None:
    await world.client.patch(PODS, world.namespace, pod["metadata"]["name"], {"metadata": {"annotations": annotations}})


def restarts(pod: JsonObject) -> int:
    return sum(one["restartCount"] for one in pod["status"].get("containerStatuses") or ())


# J7: restarted in place


@pytest.mark.rule("J7", "J4")
async def test_j7_restarts_in_place_are_no_failures_and_wait_longer_each_time(world: World):
    """Runs of 2 s: again at once, then after 10, 20, 40 … s, up to 5 min."""
    owner = await create(world, seconds=2, code=1, backoffLimit=0, pod={"restartPolicy": "OnFailure"})
    await world.wait(1)
    before = await only_pod(world, owner)
    passed, seen = 0.0, []
    for until in (1.5, 2.5, 4.5, 13.5, 14.5, 35.5, 36.5, 77.5, 78.5, 3600):
        await world.wait(until - passed)
        passed = until
        seen.append(restarts(await only_pod(world, owner)))
    assert seen[:-1] == [0, 1, 1, 1, 2, 2, 3, 3, 4]
    assert 14 <= seen[-1] <= 18  # every 302 s by then
    pod = await only_pod(world, owner)
    assert pod["metadata"]["uid"] == before["metadata"]["uid"]
    status = (await get_job(world))["status"]
    assert (status["active"], status.get("failed", 0), status.get("conditions")) == (1, 0, None)


@pytest.mark.rule("J7", "J3")
async def test_j7_a_pod_that_succeeds_after_restarts_completes_its_job(world: World):
    owner = await create(world, seconds=2, code=1, pod={"restartPolicy": "OnFailure"})
    await world.wait(8)
    pod = await only_pod(world, owner)
    assert pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    await annotate(world, pod, {EXIT_CODE: "0"})
    found = await ended(world, 60)
    assert conditions(found)[-1][0] == "Complete"
    pod = await only_pod(world, owner)
    assert (pod["status"]["phase"], restarts(pod)) == ("Succeeded", 2)


@pytest.mark.rule("J7", "J4")
async def test_j7_with_never_nothing_is_restarted_in_place(world: World):
    owner = await create(world, seconds=2, code=1, backoffLimit=2)
    await ended(world, 30)
    assert [restarts(pod) for pod in await of_owner(world, owner)] == [0, 0, 0]


# lost nodes


async def running(world: World, owner: JsonObject) -> JsonObject:
    async def found() -> JsonObject | None:
        pods = await of_owner(world, owner)
        return pods[0] if len(pods) == 1 and is_ready(pods[0]) else None

    return await world.until(found, "its pod runs", 10)


@pytest.mark.rule("J1", "J4", "N19", "N20")
async def test_j1_a_pod_evicted_from_a_lost_node_runs_again_elsewhere_and_is_no_failure(world: World):
    timings = world.timings
    owner = await create(world, seconds=100_000, backoffLimit=0)
    before = await running(world, owner)
    lost = before["spec"]["nodeName"]
    await world.unplug(lost)

    async def moved() -> JsonObject | None:
        pod = await only_pod(world, owner)
        return pod if pod["spec"].get("nodeName") not in (lost, None) and is_ready(pod) else None

    within = timings.lease + timings.eviction + timings.toleration + 10
    after = await world.until(moved, "its pod runs on the other node", within)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert condition(after, "DisruptionTarget")["status"] == "True"
    assert condition(after, "PodScheduled")["status"] == "True"
    await annotate(world, after, {RUN_SECONDS: "0"})
    found = await ended(world, 10)
    assert conditions(found)[-1][0] == "Complete"
    assert (found["status"]["succeeded"], found["status"].get("failed", 0)) == (1, 0)
    await world.plug_in(lost)


@pytest.mark.rule("J5", "N21")
async def test_j5_a_job_that_fails_waits_for_a_pod_on_a_lost_node(world: World):
    owner = await create(world, seconds=100_000, activeDeadlineSeconds=60)
    before = await running(world, owner)
    begun = await world.now()
    await world.unplug(before["spec"]["nodeName"])
    await world.wait(70)
    found = await get_job(world)
    assert [one["type"] for one in found["status"]["conditions"]] == ["FailureTarget"]
    assert found["status"]["terminating"] == 1
    found = await ended(world, 400)
    assert 320 <= await world.now() - begun <= 335
    assert [one["type"] for one in found["status"]["conditions"]] == ["FailureTarget", "Failed"]
    assert (found["status"]["failed"], found["status"]["terminating"]) == (1, 0)
    assert await of_owner(world, owner) == []


@pytest.mark.rule("J4", "N22")
async def test_j4_finished_pods_stay_counted_and_where_they_are_when_their_node_is_lost(world: World):
    owner = await create(world, seconds=2, completions=2)
    await world.wait(6)
    done = next(pod for pod in await of_owner(world, owner) if pod["status"]["phase"] == "Succeeded")
    await world.unplug(done["spec"]["nodeName"])
    await world.wait(400)
    found = await get_job(world)
    assert (conditions(found)[-1][0], found["status"]["succeeded"]) == ("Complete", 2)
    after = await world.client.get(PODS, world.namespace, done["metadata"]["name"])
    assert after["spec"]["nodeName"] == done["spec"]["nodeName"]


@pytest.mark.rule("J4")
async def test_j4_a_pod_whose_node_is_gone_for_good_is_replaced(world: World):
    owner = await create(world, seconds=100_000)
    before = await running(world, owner)
    await world.unplug(before["spec"]["nodeName"])
    await world.client.delete(NODES, "", before["spec"]["nodeName"])
    await world.wait(90)
    after = await running(world, owner)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert (await get_job(world))["status"]["failed"] == 1


# pods deleted by hand


@pytest.mark.rule("J1")
async def test_j1_finished_pods_deleted_by_hand_stay_counted(world: World):
    owner = await create(world, seconds=4, completions=3)
    await world.wait(7)
    done = [pod for pod in await of_owner(world, owner) if pod["status"]["phase"] == "Succeeded"]
    assert len(done) == 1
    await world.client.delete(PODS, world.namespace, done[0]["metadata"]["name"])
    found = await ended(world, 30)
    assert found["status"]["succeeded"] == 3
    assert len(await of_owner(world, owner)) == 2


@pytest.mark.rule("J1")
async def test_j1_a_pod_deleted_the_moment_it_ends_is_counted_too(world: World):
    """Its finalizer holds it until it has been counted."""
    owner = await create(world, seconds=4, completions=2)
    await world.wait(5.5)
    (pod,) = [pod for pod in await of_owner(world, owner) if pod["status"]["phase"] == "Succeeded"]
    assert "succeeded" not in (await get_job(world))["status"]
    await world.client.delete(PODS, world.namespace, pod["metadata"]["name"], options={"gracePeriodSeconds": 0})
    assert len(await of_owner(world, owner)) == 1
    found = await ended(world, 30)
    assert found["status"]["succeeded"] == 2
    assert len(await of_owner(world, owner)) == 1


@pytest.mark.rule("J4")
async def test_j4_a_running_pod_deleted_by_hand_is_a_failure_and_is_replaced_at_once(world: World):
    owner = await create(world, seconds=100_000, backoffLimit=1)
    for failed in (1, 2):
        pod = await running(world, owner)
        await world.client.delete(PODS, world.namespace, pod["metadata"]["name"])
        await world.wait(2)
        assert (await get_job(world))["status"]["failed"] == failed
    assert conditions(await get_job(world))[-1] == ("Failed", "True", *BACKOFF)
    assert await pods_of(world) == []


@pytest.mark.rule("J2")
async def test_j2_replacement_policy_failed_waits_until_a_deleted_pod_has_ended(world: World):
    slow = {"containers": [{"name": "c", "image": "i", "lifecycle": {"preStop": {"sleep": {"seconds": 20}}}}]}
    owner = await create(world, seconds=100_000, podReplacementPolicy="Failed", pod=slow)
    before = await running(world, owner)
    await world.client.delete(PODS, world.namespace, before["metadata"]["name"])
    await world.wait(15)
    assert names(await of_owner(world, owner)) == names([before])
    status = (await get_job(world))["status"]
    assert (status["terminating"], status.get("active", 0), status.get("failed", 0)) == (1, 0, 0)
    await world.wait(10)
    assert (await running(world, owner))["metadata"]["uid"] != before["metadata"]["uid"]
    assert (await get_job(world))["status"]["failed"] == 1


# pods that are refused, and pods of others


@pytest.mark.rule("J1", "S22")
async def test_j1_pods_that_fit_nowhere_wait_and_are_no_failures(world: World):
    large = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"memory": "1Gi"}}}]}
    owner = await create(world, seconds=1, pod=large)
    await world.wait(900)
    pod = await only_pod(world, owner)
    assert condition(pod, "PodScheduled")["reason"] == "Unschedulable"
    status = (await get_job(world))["status"]
    assert (status["active"], status["ready"], status.get("failed", 0)) == (1, 0, 0)


@pytest.mark.rule("J1")
async def test_j1_a_refusal_to_create_its_pods_is_told_and_is_not_for_ever(world: World):
    quota: JsonObject = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    await world.client.create(QUOTAS, world.namespace, quota)
    owner = await create(world, seconds=1)
    await world.wait(10)
    assert await of_owner(world, owner) == []
    told = await events_of(world, "sum", "FailedCreate")
    assert told
    assert "exceeded quota: none" in told[0]["message"]
    await world.client.delete(QUOTAS, world.namespace, "none")
    assert conditions(await ended(world, 120))[-1][0] == "Complete"


@pytest.mark.rule("W2", "J2")
async def test_w2_pods_with_a_jobs_labels_but_another_owner_are_not_its_own(world: World):
    owner = await create(world, seconds=100_000)
    await world.wait(2)
    mine = await only_pod(world, owner)
    body = {"metadata": {"name": "mine", "labels": mine["metadata"]["labels"]}, "spec": template()["spec"]}
    await world.client.create(PODS, world.namespace, body)
    await world.wait(5)
    assert (await get_job(world))["status"]["active"] == 1
    await world.client.delete(JOBS, world.namespace, "sum")
    await world.wait(5)
    assert names(await pods_of(world)) == ["mine"]


@pytest.mark.rule("W2", "J2")
async def test_w2_a_pod_made_by_hand_that_names_the_job_counts_as_one_of_its_pods(world: World):
    owner = await create(world, seconds=100_000, parallelism=1, completions=3)
    before = await running(world, owner)
    reference = before["metadata"]["ownerReferences"]
    body = {"metadata": {"name": "by-hand", "ownerReferences": reference}, "spec": template()["spec"]}
    await world.client.create(PODS, world.namespace, body)
    await world.wait(3)
    assert len(await active(world, owner)) == 1
    assert (await get_job(world))["status"].get("failed", 0) == 0
