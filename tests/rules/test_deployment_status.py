"""Deployments: generations, status, the conditions through a whole life, and what stops a rollout (D6, D7)."""

from __future__ import annotations

import pytest

from kube32_sim.client import DEPLOYMENTS, PODS, Resource
from kube32_sim.clock import parse_time, rfc3339
from tests.rules.deployments import (
    NEVER,
    READY_AFTER,
    TOO_LARGE,
    create,
    delete_pod,
    deployment,
    get,
    images,
    names,
    new_image,
    patch,
    rolled_out,
)
from tests.rules.world import JsonObject, World, condition, events_of

SLOWLY = {READY_AFTER: "10"}
QUOTAS = Resource("", "v1", "resourcequotas")
AVAILABLE = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
UNAVAILABLE = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
PROGRESSED = ("True", "NewReplicaSetAvailable", 'Deployment "web" has successfully progressed.')
PROGRESSING = ("True", "ReplicaSetUpdated", 'Deployment "web" is progressing.')
TIMED_OUT = ("False", "ProgressDeadlineExceeded", 'Deployment "web" has timed out progressing.')


def told(obj: JsonObject, kind: str) -> tuple[str, str, str]:
    found = condition(obj, kind)
    return found["status"], found["reason"], found["message"]


@pytest.mark.rule("D6")
async def test_d6_generation_counts_changes_of_spec_and_annotations_and_nothing_else(world: World) -> None:
    async def generation() -> tuple[int, int]:
        await world.wait(20)
        found = await get(world)
        return found["metadata"]["generation"], found["status"]["observedGeneration"]

    made = await create(world, deployment(2))
    assert made["metadata"]["generation"] == 1
    assert await generation() == (1, 1), "status and revision are no changes of the spec"
    await patch(world, {"metadata": {"labels": {"a": "b"}}})
    assert await generation() == (1, 1)
    await patch(world, {"spec": {"replicas": 2}})
    assert await generation() == (1, 1), "the same once more"
    await patch(world, {"spec": {"replicas": 3}})
    assert await generation() == (2, 2)
    await patch(world, new_image("i:2"))
    assert await generation() == (3, 3)
    await patch(world, {"metadata": {"annotations": {"a": "b"}}})
    assert await generation() == (4, 4)
    await patch(world, {"spec": {"paused": True}, "metadata": {"generation": 99}})
    assert await generation() == (5, 5)
    scale = {"spec": {"replicas": 1}}
    await world.client.patch(DEPLOYMENTS, "default", "web", scale, subresource="scale")
    assert await generation() == (6, 6)
    status = {"status": {"replicas": 7, "observedGeneration": 1}, "spec": {"replicas": 7}}
    await world.client.patch(DEPLOYMENTS, "default", "web", status, subresource="status")
    assert await generation() == (6, 6)
    assert (await get(world))["status"]["replicas"] == 1, "what others write is put right"


@pytest.mark.rule("D6")
async def test_d6_observed_generation_follows_a_change_in_the_next_pass(world: World) -> None:
    await create(world, deployment(1))
    await rolled_out(world)
    changed = await patch(world, {"spec": {"replicas": 2}})

    async def seen() -> bool:
        return bool((await get(world))["status"]["observedGeneration"] == changed["metadata"]["generation"])

    await world.until(seen, "the change is seen", world.timings.reconcile)


@pytest.mark.rule("D7")
async def test_d7_the_conditions_through_a_whole_life(world: World) -> None:
    await world.wait(0.25)
    await create(world, deployment(4, annotations=SLOWLY))
    await world.wait(0.75)
    began = await world.now()
    found = await get(world)
    value = found["metadata"]["annotations"]["sim.kube32.io/pod-template-hash"]
    assert told(found, "Available") == UNAVAILABLE
    assert told(found, "Progressing") == (
        "True",
        "NewReplicaSetCreated",
        f'Created new pod template "web-{value}"',
    )
    await world.wait(1)
    assert told(await get(world), "Progressing") == PROGRESSING
    found = await rolled_out(world)
    ended = await world.now()
    assert found["status"] == {
        "observedGeneration": 1,
        "replicas": 4,
        "updatedReplicas": 4,
        "readyReplicas": 4,
        "availableReplicas": 4,
        "terminatingReplicas": 0,
        "conditions": [
            {
                "type": "Available",
                "status": "True",
                "reason": "MinimumReplicasAvailable",
                "message": "Deployment has minimum availability.",
                "lastUpdateTime": rfc3339(ended),
                "lastTransitionTime": rfc3339(ended),
            },
            {
                "type": "Progressing",
                "status": "True",
                "reason": "NewReplicaSetAvailable",
                "message": 'Deployment "web" has successfully progressed.',
                "lastUpdateTime": rfc3339(ended),
                "lastTransitionTime": rfc3339(began),
            },
        ],
    }
    await delete_pod(world, (await names(world))[0])
    await world.wait(1)
    found = await get(world)
    assert (told(found, "Available"), told(found, "Progressing")) == (AVAILABLE, PROGRESSED), "3 of 4 are enough"
    await delete_pod(world, (await names(world))[0])
    await delete_pod(world, (await names(world))[1])
    await world.wait(1)
    found = await get(world)
    assert (told(found, "Available"), told(found, "Progressing")) == (UNAVAILABLE, PROGRESSED)
    assert condition(found, "Available")["lastTransitionTime"] == rfc3339(await world.now())
    await rolled_out(world)


@pytest.mark.rule("D7")
async def test_d7_the_counts_while_a_rollout_is_under_way(world: World) -> None:
    await create(world, deployment(4))
    await rolled_out(world)
    held = (await names(world))[0]
    await world.client.patch(PODS, "default", held, {"metadata": {"finalizers": ["example.com/wait"]}})
    await patch(world, {"spec": {"strategy": {"rollingUpdate": {"maxUnavailable": 4}}}})
    await patch(world, new_image("i:2", NEVER))
    await world.wait(10)
    status = {key: value for key, value in (await get(world))["status"].items() if key != "conditions"}
    assert status == {
        "observedGeneration": 3,
        "replicas": 4,
        "updatedReplicas": 4,
        "unavailableReplicas": 4,
        "terminatingReplicas": 1,
    }


@pytest.mark.rule("D7")
async def test_d7_a_rollout_without_progress_is_given_up_after_its_deadline_and_still_completes_later(world) -> None:
    await create(world, deployment(2, resources=TOO_LARGE, progressDeadlineSeconds=30))
    await world.wait(2)
    since = parse_time(condition(await get(world), "Progressing")["lastUpdateTime"])
    await world.wait(since + 30 - await world.now())
    assert told(await get(world), "Progressing") == PROGRESSING
    await world.wait(1)
    found = await get(world)
    assert told(found, "Progressing") == TIMED_OUT
    version = found["metadata"]["resourceVersion"]
    await world.wait(600)
    assert (await get(world))["metadata"]["resourceVersion"] == version
    small = {"containers": [{"name": "c", "image": "i:2", "resources": {}}]}
    await patch(world, {"spec": {"template": {"spec": small}}})
    found = await rolled_out(world)
    assert told(found, "Progressing") == PROGRESSED


@pytest.mark.rule("D7")
async def test_d7_without_a_deadline_nothing_is_said_of_progress(world: World) -> None:
    await create(world, deployment(1, progressDeadlineSeconds=2_147_483_647))
    found = await rolled_out(world)
    assert [one["type"] for one in found["status"]["conditions"]] == ["Available"]
    await patch(world, {"spec": {"progressDeadlineSeconds": 60}})
    await patch(world, new_image("i:2"))
    found = await rolled_out(world)
    assert told(found, "Progressing") == PROGRESSED


@pytest.mark.rule("D7")
async def test_d7_pausing_and_resuming_are_told_and_stop_the_deadline(world: World) -> None:
    await create(world, deployment(1, resources=TOO_LARGE, progressDeadlineSeconds=60))
    await world.wait(5)
    await patch(world, {"spec": {"paused": True}})
    await world.wait(1)
    assert told(await get(world), "Progressing") == ("Unknown", "DeploymentPaused", "Deployment is paused")
    await world.wait(300)
    assert told(await get(world), "Progressing") == ("Unknown", "DeploymentPaused", "Deployment is paused")
    await patch(world, {"spec": {"paused": False}})
    await world.wait(1)
    resumed = await get(world)
    assert told(resumed, "Progressing") == ("Unknown", "DeploymentResumed", "Deployment is resumed")
    await world.wait(60)
    assert told(await get(world), "Progressing")[1] == "DeploymentResumed"
    await world.wait(1)
    assert told(await get(world), "Progressing") == TIMED_OUT


@pytest.mark.rule("D7")
@pytest.mark.parametrize(
    ("replicas", "strategy", "needed"),
    [
        (4, None, 3),  # 25 % unless set
        (9, None, 7),
        (4, {"rollingUpdate": {"maxUnavailable": 3}}, 1),
        (4, {"rollingUpdate": {"maxUnavailable": "50%"}}, 2),
        (1, None, 1),
        (4, {"type": "Recreate"}, 4),
    ],
)
async def test_d7_available_needs_the_replicas_less_max_unavailable(world, replicas, strategy, needed) -> None:
    """Pods past those that fit wait for a board: a quota lets only so many in."""
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": str(needed - 1)}}}
    await world.client.create(QUOTAS, "default", quota)
    await world.wait(1)
    await create(world, deployment(replicas, **({"strategy": strategy} if strategy else {})))
    await world.wait(30)
    found = await get(world)
    assert (found["status"].get("availableReplicas", 0), told(found, "Available")) == (needed - 1, UNAVAILABLE)
    await world.client.patch(QUOTAS, "default", "q", {"spec": {"hard": {"pods": str(needed)}}})
    await world.wait(100)
    found = await get(world)
    assert (found["status"]["availableReplicas"], told(found, "Available")) == (needed, AVAILABLE)


@pytest.mark.rule("D7")
async def test_d7_pods_that_are_refused_are_told_of_and_tried_again_without_haste(world: World) -> None:
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
    await world.client.create(QUOTAS, "default", quota)
    await world.wait(1)
    await create(world, deployment(3))
    await world.wait(120)
    found = await get(world)
    value, reason, message = told(found, "ReplicaFailure")
    assert (value, reason) == ("True", "FailedCreate")
    assert "is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1" in message
    assert [one["type"] for one in found["status"]["conditions"]] == ["Available", "Progressing", "ReplicaFailure"]
    refusals = await events_of(world, "web", "FailedCreate")
    assert 5 < sum(event["count"] for event in refusals) < 20
    assert refusals[0]["message"].startswith('Error creating: pods "web-')
    await world.client.delete(QUOTAS, "default", "q")
    found = await rolled_out(world)
    assert condition(found, "ReplicaFailure") == {}
    assert told(found, "Progressing") == PROGRESSED


@pytest.mark.rule("D7")
async def test_d7_a_deployment_that_wants_no_pods_is_available_and_complete(world: World) -> None:
    await create(world, deployment(0))
    await world.wait(2)
    found = await get(world)
    assert (told(found, "Available"), told(found, "Progressing")) == (AVAILABLE, PROGRESSED)
    assert {key: value for key, value in found["status"].items() if key != "conditions"} == {
        "observedGeneration": 1,
        "terminatingReplicas": 0,
    }


@pytest.mark.rule("D7")
async def test_d7_a_lost_board_makes_it_unavailable_while_its_pods_have_no_other_place(make_world) -> None:
    world = await make_world(nodes=1)
    await create(world, deployment(2))
    await rolled_out(world)
    before = await names(world)
    await world.unplug("esp32-0")
    await world.wait(340)
    found = await get(world)
    assert (told(found, "Available"), told(found, "Progressing")) == (UNAVAILABLE, PROGRESSED)
    assert await names(world) == before
    await world.plug_in("esp32-0")
    await rolled_out(world)
    assert await names(world) == before


@pytest.mark.rule("D7")
async def test_d7_nothing_is_written_while_nothing_changes(world: World) -> None:
    await create(world, deployment(2))
    await rolled_out(world)
    await world.wait(5)
    before = await get(world)
    await world.wait(3600)
    assert await get(world) == before
    assert await images(world) == ["i:1", "i:1"]
