"""What else a Job may ask for: to be suspended, deadlines, a time to live, indexes, policies of failure and success."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import JOBS, PODS
from kube32_sim.clock import parse_time, rfc3339
from tests.rules.conftest import MakeWorld
from tests.rules.test_job import REACHED, active, conditions, create, ended
from tests.rules.workloads import EXIT_CODE, RUN_SECONDS, get_job, names, of_owner
from tests.rules.world import JsonObject, World, condition, events_of, pods_of

INDEX = "batch.kubernetes.io/job-completion-index"


async def patch(world: World, **spec: Any) -> JsonObject:
    return await world.client.patch(JOBS, world.namespace, "sum", {"spec": spec})


async def end(world: World, pod: JsonObject, code: int = 0) -> None:
    """Its containers end now, with that code."""
    annotations = {RUN_SECONDS: "0", EXIT_CODE: str(code)}
    await world.client.patch(PODS, world.namespace, pod["metadata"]["name"], {"metadata": {"annotations": annotations}})


async def by_index(world: World, owner: JsonObject) -> dict[int, JsonObject]:
    """Its pods that run, by their completion indexes."""
    pods = await active(world, owner)
    found = {int(pod["metadata"]["annotations"][INDEX]): pod for pod in pods}
    assert len(found) == len(pods)
    return found


# suspend


@pytest.mark.rule("J1", "J4")
async def test_a_job_is_suspended_and_goes_on_from_the_beginning(world: World):
    begun = await world.now()
    owner = await create(world, seconds=20, completions=2, parallelism=2)
    await world.wait(10)
    await patch(world, suspend=True)
    await world.wait(2)
    assert await pods_of(world) == []
    found = await get_job(world)
    assert conditions(found) == [("Suspended", "True", "JobSuspended", "Job suspended")]
    assert found["status"] == {
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
        "conditions": found["status"]["conditions"],
    }
    await world.wait(600)
    assert await pods_of(world) == []
    await patch(world, suspend=False)
    await world.wait(2)
    assert len(await active(world, owner)) == 2
    found = await ended(world, 30)
    assert found["status"]["startTime"] == rfc3339(begun + 10 + 2 + 600 + 1)
    assert conditions(found) == [
        ("Suspended", "False", "JobResumed", "Job resumed"),
        ("SuccessCriteriaMet", "True", *REACHED),
        ("Complete", "True", *REACHED),
    ]
    told = [event["reason"] for event in await events_of(world, "sum") if "Successful" not in event["reason"]]
    assert told == ["Suspended", "Resumed", "Completed"]


async def test_a_job_may_begin_suspended_and_be_led_elsewhere_before_it_starts(world: World):
    owner = await create(world, seconds=5, suspend=True)
    await world.wait(5)
    assert await pods_of(world) == []
    found = await get_job(world)
    assert conditions(found) == [("Suspended", "True", "JobSuspended", "Job suspended")]
    assert "startTime" not in found["status"]
    place = {"kubernetes.io/hostname": world.nodes[1]}
    await patch(world, template={"spec": {"nodeSelector": place}})
    await patch(world, suspend=False)
    await ended(world, 20)
    assert [pod["spec"]["nodeName"] for pod in await of_owner(world, owner)] == [world.nodes[1]]
    with pytest.raises(ApiError) as caught:
        await patch(world, template={"spec": {"nodeSelector": {"other": "place"}}})
    assert caught.value.code == 422
    assert "spec.template" in caught.value.message


# activeDeadlineSeconds, ttlSecondsAfterFinished


@pytest.mark.rule("J5")
async def test_a_job_that_is_active_too_long_fails(world: World):
    owner = await create(world, seconds=1000, completions=2, parallelism=2, activeDeadlineSeconds=60)
    found = await ended(world, 80)
    late = ("DeadlineExceeded", "Job was active longer than specified deadline")
    assert conditions(found) == [("FailureTarget", "True", *late), ("Failed", "True", *late)]
    start = parse_time(found["status"]["startTime"])
    moments = [parse_time(one["lastTransitionTime"]) - start for one in found["status"]["conditions"]]
    assert moments == [60, 61]
    assert found["status"]["failed"] == 2
    assert await of_owner(world, owner) == []
    assert [event["message"] for event in await events_of(world, "sum", late[0])] == [late[1]]


async def test_a_deadline_does_not_run_while_a_job_is_suspended(world: World):
    await create(world, seconds=50, activeDeadlineSeconds=60)
    await world.wait(40)
    await patch(world, suspend=True)
    await world.wait(600)
    await patch(world, suspend=False)
    assert conditions(await ended(world, 70))[-1] == ("Complete", "True", *REACHED)


@pytest.mark.parametrize(("code", "kind"), [(0, "Complete"), (1, "Failed")])
async def test_a_finished_job_goes_when_its_time_to_live_is_over(world: World, code: int, kind: str):
    await create(world, seconds=2, code=code, backoffLimit=0, ttlSecondsAfterFinished=100)
    found = await ended(world, 20)
    over = parse_time(condition(found, kind)["lastTransitionTime"])
    await world.wait(over + 99.5 - await world.now())
    assert len(await pods_of(world)) == 1
    await world.wait(3)
    assert await pods_of(world) == []
    assert (await world.client.list(JOBS, world.namespace)).items == []


async def test_a_time_to_live_may_be_set_afterwards_and_be_none(world: World):
    await create(world, seconds=2)
    await ended(world, 20)
    await world.wait(3600)
    await patch(world, ttlSecondsAfterFinished=0)
    await world.wait(3)
    assert (await world.client.list(JOBS, world.namespace)).items == []


# Indexed


@pytest.mark.rule("J1", "J2", "J3")
async def test_each_index_of_an_indexed_job_succeeds_once(make_world: MakeWorld):
    world = await make_world(nodes=3)
    owner = await create(world, seconds=1000, completionMode="Indexed", completions=5, parallelism=3)
    await world.wait(2)
    pods = await by_index(world, owner)
    assert pods.keys() == {0, 1, 2}
    first = pods[0]
    assert first["metadata"]["name"].startswith("sum-0-")
    assert first["metadata"]["labels"][INDEX] == "0"
    assert first["spec"]["hostname"] == "sum-0"
    assert first["spec"]["containers"][0]["env"] == [
        {
            "name": "JOB_COMPLETION_INDEX",
            "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}},
        }
    ]
    await end(world, pods[1])
    await end(world, pods[2], code=1)
    await world.wait(3)
    pods = await by_index(world, owner)
    assert pods.keys() == {0, 2, 3}  # 2 anew
    status = (await get_job(world))["status"]
    assert (status["completedIndexes"], status["succeeded"], status["failed"]) == ("1", 1, 1)
    for index in (0, 3, 2, 4):
        await world.wait(3)
        await end(world, (await by_index(world, owner))[index])
    found = await ended(world, 10)
    assert (found["status"]["completedIndexes"], found["status"]["succeeded"]) == ("0-4", 5)
    assert conditions(found)[-1] == ("Complete", "True", *REACHED)


async def test_an_indexed_job_grows_and_shrinks_with_its_parallelism(make_world: MakeWorld):
    world = await make_world(nodes=3)
    owner = await create(world, seconds=1000, completionMode="Indexed", completions=2, parallelism=2)
    await world.wait(2)
    await patch(world, completions=4, parallelism=4)
    await world.wait(2)
    assert (await by_index(world, owner)).keys() == {0, 1, 2, 3}
    await patch(world, completions=1, parallelism=1)
    await world.wait(2)
    pods = await by_index(world, owner)
    assert pods.keys() == {0}
    await end(world, pods[0])
    found = await ended(world, 10)
    assert (found["status"]["completedIndexes"], found["status"].get("failed", 0)) == ("0", 0)


@pytest.mark.rule("J4")
async def test_an_index_fails_by_itself_where_it_has_a_limit_of_its_own(make_world: MakeWorld):
    world = await make_world(nodes=3)
    indexed = {"completionMode": "Indexed", "completions": 3, "parallelism": 3, "backoffLimitPerIndex": 1}
    owner = await create(world, seconds=1000, **indexed)
    for _ in range(2):
        await world.wait(3)
        await end(world, (await by_index(world, owner))[1], code=1)
    await world.wait(3)
    pods = await by_index(world, owner)
    assert pods.keys() == {0, 2}
    found = await get_job(world)
    assert (found["status"]["failedIndexes"], found["status"]["failed"], conditions(found)) == ("1", 2, [])
    await end(world, pods[0])
    await end(world, pods[2])
    found = await ended(world, 10)
    failed = ("FailedIndexes", "Job has failed indexes")
    assert conditions(found) == [("FailureTarget", "True", *failed), ("Failed", "True", *failed)]
    assert (found["status"]["completedIndexes"], found["status"]["failedIndexes"]) == ("0,2", "1")


@pytest.mark.rule("J3")
async def test_a_success_policy_ends_a_job_early_and_what_still_runs_is_no_failure(make_world: MakeWorld):
    world = await make_world(nodes=3)
    policy = {"rules": [{"succeededIndexes": "3"}, {"succeededIndexes": "0-1", "succeededCount": 1}]}
    indexed = {"completionMode": "Indexed", "completions": 4, "parallelism": 4, "successPolicy": policy}
    slow = {"containers": [{"name": "c", "image": "i", "lifecycle": {"preStop": {"sleep": {"seconds": 10}}}}]}
    owner = await create(world, seconds=1000, pod=slow, **indexed)
    await world.wait(2)
    await end(world, (await by_index(world, owner))[2])
    await world.wait(3)
    assert conditions(await get_job(world)) == []
    await end(world, (await by_index(world, owner))[1])
    await world.wait(2)
    found = await get_job(world)
    met = ("SuccessPolicy", "Matched rules at index 1")
    assert conditions(found) == [("SuccessCriteriaMet", "True", *met)]
    found = await ended(world, 20)
    assert conditions(found) == [("SuccessCriteriaMet", "True", *met), ("Complete", "True", *met)]
    assert (found["status"]["succeeded"], found["status"].get("failed", 0)) == (2, 0)
    assert sorted(pod["status"]["phase"] for pod in await of_owner(world, owner)) == ["Succeeded", "Succeeded"]


# podFailurePolicy


def on_code(action: str, code: int) -> JsonObject:
    return {"action": action, "onExitCodes": {"operator": "In", "values": [code]}}


@pytest.mark.rule("J4", "J5")
async def test_a_failure_policy_fails_a_job_at_once_or_forgives(make_world: MakeWorld):
    world = await make_world(nodes=3)
    policy = {"rules": [on_code("FailJob", 42), on_code("Ignore", 7)]}
    owner = await create(world, seconds=1000, backoffLimit=0, podFailurePolicy=policy)
    for _ in range(3):
        await world.wait(3)
        (pod,) = await active(world, owner)
        await end(world, pod, code=7)
    await world.wait(3)
    assert (await get_job(world))["status"].get("failed", 0) == 0
    (pod,) = await active(world, owner)
    await end(world, pod, code=42)
    found = await ended(world, 10)
    name = pod["metadata"]["name"]
    why = f"Container c for pod default/{name} failed with exit code 42 matching FailJob rule at index 0"
    assert conditions(found) == [
        ("FailureTarget", "True", "PodFailurePolicy", why),
        ("Failed", "True", "PodFailurePolicy", why),
    ]
    assert found["status"]["failed"] == 1


@pytest.mark.rule("J4")
async def test_failures_that_are_forgiven_for_ever_are_not_repeated_in_a_hurry(world: World):
    owner = await create(world, seconds=0, code=7, podFailurePolicy={"rules": [on_code("Ignore", 7)]})
    await world.wait(1800)
    assert 10 <= len(await of_owner(world, owner)) <= 18
    assert conditions(await get_job(world)) == []


# other controllers


async def test_a_job_of_another_controller_is_left_alone(world: World):
    owner = await create(world, seconds=1, managedBy="example.com/batch")
    await world.wait(10)
    assert names(await of_owner(world, owner)) == []
    assert (await get_job(world))["status"] == {}
