"""Rules J1 to J6 and W1, W2 for Jobs: how many pods run, how it ends, what is refused.

More is in `test_job_pods.py` (what happens to its pods) and `test_job_options.py` (what else a Job may ask for).
"""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import JOBS, PODS
from kube32_sim.clock import parse_time, rfc3339
from tests.rules.conftest import MakeWorld
from tests.rules.workloads import get_job, job, names, of_owner
from tests.rules.world import JsonObject, World, condition, events_of, pods_of

REACHED = ("CompletionsReached", "Reached expected number of succeeded pods")
BACKOFF = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")


async def create(world: World, **fields: Any) -> JsonObject:
    return await world.client.create(JOBS, world.namespace, job(**fields))


async def ended(world: World, within: float, name: str = "sum") -> JsonObject:
    """The Job, once it is Complete or Failed."""

    async def over() -> JsonObject | None:
        found = await get_job(world, name)
        states = (condition(found, kind).get("status") for kind in ("Complete", "Failed"))
        return found if "True" in states else None

    return await world.until(over, f"{name} is over", within)


async def active(world: World, owner: JsonObject) -> list[JsonObject]:
    pods = await of_owner(world, owner)
    return [pod for pod in pods if pod["status"]["phase"] in ("Pending", "Running")]


async def phases(world: World, owner: JsonObject) -> list[str]:
    return sorted(pod["status"]["phase"] for pod in await of_owner(world, owner))


def conditions(found: JsonObject) -> list[tuple[str, str, str, str]]:
    return [
        (one["type"], one["status"], one["reason"], one["message"]) for one in found["status"].get("conditions", ())
    ]


# J1, J2, J3: until enough have succeeded


@pytest.mark.everywhere
@pytest.mark.rule("J1", "J2", "J3")
async def test_j1_pods_are_started_until_enough_have_succeeded(world: World):
    owner = await create(world, seconds=1, completions=5, parallelism=2)
    most = 0

    async def complete() -> JsonObject | None:
        nonlocal most
        most = max(most, len(await active(world, owner)))
        found = await get_job(world)
        return found if condition(found, "Complete").get("status") == "True" else None

    found = await world.until(complete, "the Job is complete", 30)
    assert most == 2
    assert found["status"]["succeeded"] == 5
    assert conditions(found) == [("SuccessCriteriaMet", "True", *REACHED), ("Complete", "True", *REACHED)]
    assert await phases(world, owner) == ["Succeeded"] * 5
    assert "failed" not in found["status"]


@pytest.mark.rule("J1", "J2", "J3", "W1")
async def test_j1_a_job_that_says_nothing_more_runs_one_pod_once(world: World):
    begun = await world.now()
    owner = await create(world, seconds=5)
    assert (owner["spec"]["completions"], owner["spec"]["parallelism"], owner["spec"]["backoffLimit"]) == (1, 1, 6)
    found = await ended(world, 20)
    # one pass starts it, the pass after its end notices that
    start, end = rfc3339(begun + 1), rfc3339(begun + 7)
    assert found["status"] == {
        "startTime": start,
        "completionTime": end,
        "succeeded": 1,
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
        "conditions": [
            {
                "type": kind,
                "status": "True",
                "reason": REACHED[0],
                "message": REACHED[1],
                "lastProbeTime": end,
                "lastTransitionTime": end,
            }
            for kind in ("SuccessCriteriaMet", "Complete")
        ],
    }
    (pod,) = await of_owner(world, owner)
    assert [(event["type"], event["reason"], event["message"]) for event in await events_of(world, "sum")] == [
        ("Normal", "SuccessfulCreate", f"Created pod: {pod['metadata']['name']}"),
        ("Normal", "Completed", "Job completed"),
    ]
    await world.wait(600)
    assert await get_job(world) == found
    assert await of_owner(world, owner) == [pod]


@pytest.mark.rule("J1", "W2")
async def test_j1_what_a_pod_looks_like(world: World):
    owner = await create(world, seconds=100)
    await world.wait(2)
    (pod,) = await of_owner(world, owner)
    metadata, uid = pod["metadata"], owner["metadata"]["uid"]
    assert metadata["name"].startswith("sum-")
    assert len(metadata["name"]) == len("sum-") + 5
    assert metadata["labels"] == {
        "app": "it",
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "sum",
        "controller-uid": uid,
        "job-name": "sum",
    }
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "sum",
            "uid": uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert metadata["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    assert {(one["key"], one["tolerationSeconds"]) for one in pod["spec"]["tolerations"]} == {
        ("node.kubernetes.io/not-ready", 300),
        ("node.kubernetes.io/unreachable", 300),
    }


@pytest.mark.rule("J2")
@pytest.mark.parametrize(
    ("completions", "parallelism", "waves"),
    [(3, 5, [3]), (5, 2, [2, 2, 1]), (4, 1, [1, 1, 1, 1]), (0, 3, []), (None, 3, [1])],
)
async def test_j2_never_more_pods_than_parallelism_nor_than_are_still_to_come(
    make_world: MakeWorld, completions, parallelism, waves
):
    world = await make_world(nodes=3)
    owner = await create(world, seconds=5, completions=completions, parallelism=parallelism)
    await ended(world, 60)
    created: dict[str, int] = {}
    for pod in await of_owner(world, owner):
        at = pod["metadata"]["creationTimestamp"]
        created[at] = created.get(at, 0) + 1
    assert [created[at] for at in sorted(created)] == waves


@pytest.mark.rule("J2")
async def test_j2_parallelism_may_change_while_it_runs(make_world: MakeWorld):
    world = await make_world(nodes=3)
    owner = await create(world, seconds=1000, completions=10, parallelism=2)
    await world.wait(2)
    first = names(await active(world, owner))
    for parallelism in (5, 3, 0, 1):
        await world.client.patch(JOBS, world.namespace, "sum", {"spec": {"parallelism": parallelism}})
        await world.wait(3)
        running = names(await active(world, owner))
        assert len(running) == parallelism
        assert parallelism not in (3, 5) or set(first) <= set(running)  # the newest go first
        status = (await get_job(world))["status"]
        assert (status.get("active", 0), status.get("failed", 0)) == (parallelism, 0)


@pytest.mark.rule("J1", "J2", "J3")
async def test_j1_without_completions_one_pod_is_enough_whatever_the_parallelism(world: World):
    owner = await create(world, seconds=5, completions=None, parallelism=3)
    await world.wait(2)
    assert len(await of_owner(world, owner)) == 1
    found = await ended(world, 20)
    assert "completions" not in found["spec"]
    assert found["status"]["succeeded"] == 1
    assert len(await of_owner(world, owner)) == 1


# J4, J5: until too many have failed


@pytest.mark.rule("J4", "J5")
@pytest.mark.parametrize(("limit", "failures"), [(None, 7), (0, 1), (1, 2), (3, 4)])
async def test_j4_the_limit_is_what_is_forgiven(world: World, limit, failures):
    owner = await create(world, seconds=1, code=1, **({} if limit is None else {"backoffLimit": limit}))
    found = await ended(world, 60)
    assert await phases(world, owner) == ["Failed"] * failures
    assert found["status"]["failed"] == failures
    assert conditions(found) == [("FailureTarget", "True", *BACKOFF), ("Failed", "True", *BACKOFF)]
    assert "completionTime" not in found["status"]
    (told,) = await events_of(world, "sum", BACKOFF[0])
    assert (told["type"], told["message"]) == ("Warning", BACKOFF[1])
    await world.wait(600)
    assert await get_job(world) == found


@pytest.mark.rule("J4")
async def test_j4_failures_in_a_row_are_replaced_in_the_next_pass_up_to_the_default_limit(world: World):
    begun = await world.now()
    await create(world, seconds=1, code=1)
    found = await ended(world, 60)
    # the pass after a pod's end starts the next one: 2 s each
    assert parse_time(condition(found, "Failed")["lastTransitionTime"]) - begun == 1 + 7 * 2


@pytest.mark.rule("J4")
async def test_j4_a_job_that_may_fail_very_often_is_not_in_a_hurry(world: World):
    owner = await create(world, seconds=1, code=1, backoffLimit=1_000_000)
    await world.wait(3600)
    assert 12 <= len(await of_owner(world, owner)) <= 20
    assert condition(await get_job(world), "Failed") == {}


@pytest.mark.rule("J5")
async def test_j5_beyond_the_limit_active_pods_are_deleted_before_the_job_is_failed(make_world: MakeWorld):
    world = await make_world(nodes=3)
    pod = {"containers": [{"name": "c", "image": "i", "lifecycle": {"preStop": {"sleep": {"seconds": 10}}}}]}
    owner = await create(world, seconds=1000, completions=3, parallelism=3, backoffLimit=0, pod=pod)
    await world.wait(2)
    bad, *others = await of_owner(world, owner)
    annotations = {"sim.kube32.io/run-seconds": "3", "sim.kube32.io/exit-code": "1"}
    await world.client.patch(PODS, world.namespace, bad["metadata"]["name"], {"metadata": {"annotations": annotations}})
    await world.wait(3)
    found = await get_job(world)
    assert conditions(found) == [("FailureTarget", "True", *BACKOFF)]
    leaving = [pod for pod in await of_owner(world, owner) if "deletionTimestamp" in pod["metadata"]]
    assert names(leaving) == names(others)
    found = await ended(world, 20)
    assert conditions(found) == [("FailureTarget", "True", *BACKOFF), ("Failed", "True", *BACKOFF)]
    first, last = (parse_time(one["lastTransitionTime"]) for one in found["status"]["conditions"])
    assert 10 <= last - first <= 12
    assert found["status"]["failed"] == 3
    assert names(await of_owner(world, owner)) == names([bad])


@pytest.mark.everywhere
@pytest.mark.rule("J4", "J5")
async def test_j5_a_job_fails_when_its_pods_fail(world: World):
    owner = await create(world, seconds=0, code=3, backoffLimit=2)
    found = await ended(world, 20)
    assert conditions(found) == [("FailureTarget", "True", *BACKOFF), ("Failed", "True", *BACKOFF)]
    assert await phases(world, owner) == ["Failed"] * 3


@pytest.mark.rule("J4", "S18")
async def test_j4_pods_that_a_board_refuses_are_failures(make_world: MakeWorld):
    world = await make_world(nodes=1, board="esp32-c3")
    needs = {"resources": {"limits": {"hardware.kube32.io/camera": "1"}}}
    owner = await create(world, pod={"containers": [{"name": "c", "image": "i", **needs}]})
    found = await ended(world, 30)
    assert conditions(found)[-1] == ("Failed", "True", *BACKOFF)
    reasons = [pod["status"]["reason"] for pod in await of_owner(world, owner)]
    assert reasons == ["OutOfhardware.kube32.io/camera"] * 7


# J6: what is refused


@pytest.mark.rule("J6")
@pytest.mark.parametrize("policy", ["Always", None])
async def test_j6_pods_that_are_always_restarted_are_refused(world: World, policy):
    body = job()
    body["spec"]["template"]["spec"].pop("restartPolicy")
    if policy:
        body["spec"]["template"]["spec"]["restartPolicy"] = policy
    with pytest.raises(ApiError) as caught:
        await world.client.create(JOBS, world.namespace, body)
    assert (caught.value.code, caught.value.reason) == (422, "Invalid")
    causes = [(cause["field"], cause["message"]) for cause in (caught.value.details or {})["causes"]]
    assert causes == [
        ("spec.template.spec.restartPolicy", 'Required value: valid values: "OnFailure", "Never"'),
    ]
    assert await pods_of(world) == []


# W2: pods go with their owner


@pytest.mark.rule("W2")
@pytest.mark.parametrize("policy", [None, "Background", "Foreground"])
async def test_w2_a_deleted_job_takes_its_pods_along(world: World, policy):
    await create(world, seconds=10, completions=4, parallelism=2)
    await world.wait(13)  # two are done, two run
    assert len(await pods_of(world)) == 4
    options = {"propagationPolicy": policy} if policy else {}
    await world.client.delete(JOBS, world.namespace, "sum", options=options)
    await world.wait(5)
    assert await pods_of(world) == []
    assert (await world.client.list(JOBS, world.namespace)).items == []


@pytest.mark.rule("W2")
async def test_w2_orphans_stay_and_are_let_go(world: World):
    owner = await create(world, seconds=100, parallelism=2, completions=2)
    await world.wait(3)
    before = names(await pods_of(world))
    await world.client.delete(JOBS, world.namespace, "sum", options={"propagationPolicy": "Orphan"})
    await world.wait(200)
    pods = await pods_of(world)
    assert (names(pods), [pod["status"]["phase"] for pod in pods]) == (before, ["Succeeded"] * 2)
    for pod in pods:
        assert "ownerReferences" not in pod["metadata"]
        assert "finalizers" not in pod["metadata"]
    other = await create(world, seconds=5)
    assert other["metadata"]["uid"] != owner["metadata"]["uid"]
    found = await ended(world, 20)
    assert found["status"]["succeeded"] == 1
    assert len(await pods_of(world)) == 3


@pytest.mark.rule("W2", "J1")
async def test_w2_a_job_made_anew_under_its_name_has_nothing_to_do_with_the_old_pods(world: World):
    slow = {"containers": [{"name": "c", "image": "i", "lifecycle": {"preStop": {"sleep": {"seconds": 25}}}}]}
    old = await create(world, seconds=1000, pod=slow)
    await world.wait(2)
    await world.client.delete(JOBS, world.namespace, "sum")
    new = await create(world, seconds=5)
    await world.wait(2)
    assert len(await of_owner(world, old)) == 1
    assert len(await of_owner(world, new)) == 1
    found = await ended(world, 20)
    assert (found["status"]["succeeded"], found["status"].get("failed", 0)) == (1, 0)
    await world.wait(30)
    assert await of_owner(world, old) == []
