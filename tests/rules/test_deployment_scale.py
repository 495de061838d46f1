"""Deployments: the subresource scale, and what is refused (D8, D6)."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import DEPLOYMENTS
from tests.rules.deployments import create, deployment, get, live, names, patch, rolled_out
from tests.rules.world import JsonObject, World

UNAVAILABLE = "spec.strategy.rollingUpdate.maxUnavailable"
LOCKED = "field is immutable"
MISMATCH = "`selector` does not match template `labels`"


async def scale(world: World, change: JsonObject) -> JsonObject:
    return await world.client.patch(DEPLOYMENTS, world.namespace, "web", change, subresource="scale")


@pytest.mark.rule("D8")
@pytest.mark.everywhere
async def test_d8_scale_shows_and_sets_the_number_of_pods(world: World) -> None:
    await create(world, deployment(2))
    made = await rolled_out(world)
    shown = await scale(world, {})
    assert (shown["kind"], shown["apiVersion"]) == ("Scale", "autoscaling/v1")
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    assert shown["metadata"] == {key: made["metadata"][key] for key in kept}
    assert shown["spec"] == {"replicas": 2}
    assert shown["status"] == {"replicas": 2, "selector": "app=web"}
    for number in (3, 0, 1):
        shown = await scale(world, {"spec": {"replicas": number}})
        assert shown["spec"].get("replicas", 0) == number
        found = await rolled_out(world)
        assert found["spec"]["replicas"] == number
        assert len(await live(world)) == number


@pytest.mark.rule("D8")
async def test_d8_scale_keeps_to_the_version_and_the_number_it_was_asked_for(world: World) -> None:
    await create(world, deployment(2))
    await rolled_out(world)
    old = await scale(world, {})
    await scale(world, {"spec": {"replicas": 3}})
    for version in (old["metadata"]["resourceVersion"], "1"):
        stale = old | {"metadata": {"name": "web", "namespace": "default", "resourceVersion": version}}
        with pytest.raises(ApiError) as refused:
            await world.client.update(DEPLOYMENTS, "default", stale, subresource="scale")
        assert (refused.value.code, refused.value.reason) == (409, "Conflict")
    with pytest.raises(ApiError) as refused:
        await scale(world, {"spec": {"replicas": -1}})
    assert (refused.value.code, refused.value.message) == (
        422,
        'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    )
    for wrong in ("three", 2**31, 1.5):
        with pytest.raises(ApiError) as refused:
            await scale(world, {"spec": {"replicas": wrong}})
        assert refused.value.code in (400, 422)
    assert (await get(world))["spec"]["replicas"] == 3


@pytest.mark.rule("D8")
async def test_d8_scaling_is_no_rollout(world: World) -> None:
    await create(world, deployment(2))
    await rolled_out(world)
    before = await names(world)
    await scale(world, {"spec": {"replicas": 4}})
    found = await rolled_out(world)
    assert set(before) < set(await names(world))
    assert found["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"


# what is refused


async def refusal(world: World, obj: JsonObject) -> tuple[int, list[tuple[str, str]]]:
    with pytest.raises(ApiError) as refused:
        await create(world, obj)
    return refused.value.code, causes(refused.value)


def causes(error: ApiError) -> list[tuple[str, str]]:
    return [(cause["field"], cause["message"]) for cause in (error.details or {})["causes"]]


@pytest.mark.rule("D2")
async def test_a_selector_must_match_the_template_and_stays_what_it_is(world: World) -> None:
    wrong = deployment(1)
    wrong["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    code, told = await refusal(world, wrong)
    assert (code, told) == (
        422,
        [("spec.template.metadata.labels", f'Invalid value: {{"app":"web"}}: {MISMATCH}')],
    )
    await create(world, deployment(1))
    with pytest.raises(ApiError) as refused:
        await patch(world, {"spec": {"template": {"metadata": {"labels": {"app": "other"}}}}})
    assert [field for field, _ in causes(refused.value)] == ["spec.template.metadata.labels"]
    labels = {"app": "other"}
    change = {"spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}}
    with pytest.raises(ApiError) as refused:
        await patch(world, change)
    assert refused.value.code == 422
    ((field, message),) = causes(refused.value)
    assert (field, message.endswith(LOCKED)) == ("spec.selector", True)


def without(*path: str) -> JsonObject:
    obj = deployment(1)
    place = obj["spec"]
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return obj


def having(**spec: Any) -> JsonObject:
    obj = deployment(1)
    obj["spec"] |= spec
    return obj


def rolling_with(**numbers: Any) -> JsonObject:
    return having(strategy={"rollingUpdate": numbers})


def pods_having(**spec: Any) -> JsonObject:
    obj = deployment(1)
    obj["spec"]["template"]["spec"] |= spec
    return obj


@pytest.mark.rule("D2")
@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        (without("selector"), ["spec.selector", "spec.template.metadata.labels"]),
        (without("template", "metadata"), ["spec.template.metadata.labels"]),
        (without("template"), ["spec.template.metadata.labels", "spec.template.spec.containers"]),
        (having(replicas=-1), ["spec.replicas"]),
        (having(minReadySeconds=-1), ["spec.minReadySeconds"]),
        (having(progressDeadlineSeconds=5, minReadySeconds=5), ["spec.progressDeadlineSeconds"]),
        (having(strategy={"type": "Blue"}), ["spec.strategy"]),
        (having(strategy={"type": "Recreate", "rollingUpdate": {}}), ["spec.strategy.rollingUpdate"]),
        (
            rolling_with(maxUnavailable="110%"),
            [UNAVAILABLE],
        ),
        (rolling_with(maxUnavailable=-1), [UNAVAILABLE]),
        (rolling_with(maxUnavailable="x"), [UNAVAILABLE]),
        (
            rolling_with(maxUnavailable=0, maxSurge=0),
            [UNAVAILABLE],
        ),
        (pods_having(restartPolicy="Never"), ["spec.template.spec.restartPolicy"]),
        (pods_having(containers=[]), ["spec.template.spec.containers"]),
    ],
)
async def test_what_a_deployment_may_not_be_is_refused_and_named(world, obj, fields) -> None:
    code, told = await refusal(world, obj)
    assert code == 422
    assert [field for field, _ in told] == fields
