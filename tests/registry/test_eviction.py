"""The subresource `eviction`: what budgets allow and refuse, what is written into pods and budgets, odd requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import NODES, PODS
from kube32_sim.cluster import Cluster
from kube32_sim.registry import eviction
from kube32_sim.registry.asked import Asked
from tests.support.objects import BUDGETS, node, pod

JsonObject = dict[str, Any]


async def refused(work: Awaitable[Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await work
    return caught.value


async def guarded_pods(cluster: Cluster, allowed: int, count: int = 3) -> None:
    client = cluster.client
    await client.create(NODES, "", node("n1"))
    for number in range(count):
        await client.create(PODS, "default", pod(f"p{number}", labels={"app": "x"}, spec={"nodeName": "n1"}))
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await client.patch(PODS, "default", f"p{number}", {"status": ready}, subresource="status")
    budget = {"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"app": "x"}}, "minAvailable": 1}}
    await client.create(BUDGETS, "default", budget)
    status = {"disruptionsAllowed": allowed, "observedGeneration": 1, "currentHealthy": count, "desiredHealthy": 1}
    await client.patch(BUDGETS, "default", "b", {"status": status}, subresource="status")


async def evict(cluster: Cluster, name: str, **options: Any) -> JsonObject:
    body = {"metadata": {"name": name}, **({"deleteOptions": options} if options else {})}
    return await cluster.client.create(PODS, "default", body, subresource="eviction", name=name)


async def test_evictions_race_for_the_budget(cluster: Cluster) -> None:
    await guarded_pods(cluster, allowed=1)

    async def attempt(name: str) -> int:
        try:
            await evict(cluster, name)
        except ApiError as error:
            return error.code
        return 201

    assert sorted(await asyncio.gather(*(attempt(f"p{number}") for number in range(3)))) == [201, 429, 429]
    budget = await cluster.client.get(BUDGETS, "default", "b")
    assert budget["status"]["disruptionsAllowed"] == 0
    assert len(budget["status"]["disruptedPods"]) == 1


async def test_an_eviction_says_why_the_pod_goes(cluster: Cluster) -> None:
    await guarded_pods(cluster, allowed=3)
    await evict(cluster, "p0", gracePeriodSeconds=5)
    going = await cluster.client.get(PODS, "default", "p0")
    assert going["metadata"]["deletionGracePeriodSeconds"] == 5
    target = next(c for c in going["status"]["conditions"] if c["type"] == "DisruptionTarget")
    assert (target["status"], target["reason"]) == ("True", "EvictionByEvictionAPI")


async def test_an_eviction_may_insist_on_what_it_saw(cluster: Cluster) -> None:
    await guarded_pods(cluster, allowed=3)
    seen = (await cluster.client.get(PODS, "default", "p0"))["metadata"]
    before = cluster.store.get(("", "pods"), "default/p0")
    for wrong in ({"uid": "other"}, {"resourceVersion": "1"}, {"uid": seen["uid"], "resourceVersion": "1"}):
        error = await refused(evict(cluster, "p0", preconditions=wrong))
        assert (error.code, error.reason) == (409, "Conflict")
        assert cluster.store.get(("", "pods"), "default/p0") is before
    right = {"uid": seen["uid"], "resourceVersion": seen["resourceVersion"]}
    await evict(cluster, "p0", preconditions=right)
    assert "deletionTimestamp" in (await cluster.client.get(PODS, "default", "p0"))["metadata"]


async def test_evictions_that_need_no_budget(cluster: Cluster) -> None:
    """Pods that have not begun, have ended, or are going already disrupt nothing."""
    await guarded_pods(cluster, allowed=0)
    await cluster.client.create(PODS, "default", pod("pending", labels={"app": "x"}))
    await cluster.client.patch(PODS, "default", "p1", {"status": {"phase": "Failed"}}, subresource="status")
    await cluster.client.delete(PODS, "default", "p2")
    for name in ("pending", "p1", "p2"):
        await evict(cluster, name)
    assert (await refused(evict(cluster, "p0"))).code == 429
    assert (await refused(evict(cluster, "nobody"))).code == 404


# what a budget says


async def budget_status(cluster: Cluster, **status: Any) -> None:
    await cluster.client.patch(BUDGETS, "default", "b", {"status": status}, subresource="status")


async def unready(cluster: Cluster, name: str) -> None:
    status = {"conditions": [{"type": "Ready", "status": "False"}]}
    await cluster.client.patch(PODS, "default", name, {"status": status}, subresource="status")


@pytest.mark.parametrize(
    ("healthy", "reason", "message", "why"),
    [
        (1, "InsufficientPods", "", "needs 2 healthy pods and has 1 currently"),
        (2, "InsufficientPods", "", "needs 2 healthy pods and has 2 currently"),
        (3, "SufficientPods", "", "does not allow evicting pods currently"),
        (3, "Mine", "not today", "does not allow evicting pods currently (Mine): not today"),
        (3, "SyncFailed", "no scale", "does not allow evicting pods currently because it failed sync: no scale"),
        (1, "SyncFailed", "no scale", "does not allow evicting pods currently because it failed sync: no scale"),
    ],
)
async def test_a_budget_without_room_says_why(cluster: Cluster, healthy, reason, message, why) -> None:
    await guarded_pods(cluster, allowed=0)
    moment = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
    told = {"type": "DisruptionAllowed", "status": "False", "reason": reason, "message": message, **moment}
    await budget_status(cluster, currentHealthy=healthy, desiredHealthy=2, conditions=[told])
    error = await refused(evict(cluster, "p0"))
    assert (error.code, error.reason) == (429, "TooManyRequests")
    assert error.message == "Cannot evict pod as it would violate the pod's disruption budget."
    assert error.details == {"causes": [{"reason": "DisruptionBudget", "message": f"The disruption budget b {why}"}]}
    assert error.headers == ()


async def test_a_budget_that_is_not_counted_yet_says_when_to_come_again(cluster: Cluster) -> None:
    await guarded_pods(cluster, allowed=3)
    await cluster.client.patch(BUDGETS, "default", "b", {"spec": {"minAvailable": 2}})
    error = await refused(evict(cluster, "p0"))
    assert error.code == 429
    why = "The disruption budget b is still being processed by the server."
    assert error.details == {"causes": [{"reason": "DisruptionBudget", "message": why}], "retryAfterSeconds": 10}
    assert error.headers == (("Retry-After", "10"),)


async def test_an_eviction_is_written_into_its_budget(cluster: Cluster) -> None:
    await guarded_pods(cluster, allowed=2)
    allowed = {"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods", "message": ""}
    others = {"type": "Mine", "status": "True", "reason": "R", "message": "m"}
    moments = {"lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}
    await budget_status(cluster, conditions=[{**allowed, **moments}, {**others, **moments}])

    await evict(cluster, "p0")
    status = (await cluster.client.get(BUDGETS, "default", "b"))["status"]
    now = cluster.clock.timestamp()
    assert (status["disruptionsAllowed"], status["disruptedPods"]) == (1, {"p0": now})
    assert [one["status"] for one in status["conditions"]] == ["True", "True"]

    await evict(cluster, "p1")
    status = (await cluster.client.get(BUDGETS, "default", "b"))["status"]
    assert (status["disruptionsAllowed"], status["disruptedPods"]) == (0, {"p0": now, "p1": now})
    first, second = status["conditions"]
    assert first == {**allowed, "status": "False", "reason": "InsufficientPods", **moments, "lastTransitionTime": now}
    assert second == {**others, **moments}


async def test_pods_that_are_not_ready_cost_nothing_while_enough_others_are(cluster: Cluster) -> None:
    await guarded_pods(cluster, allowed=0)
    for name in ("p0", "p1", "p2"):
        await unready(cluster, name)
    await budget_status(cluster, currentHealthy=1, desiredHealthy=1)
    await evict(cluster, "p0")
    status = (await cluster.client.get(BUDGETS, "default", "b"))["status"]
    assert "disruptedPods" not in status

    await budget_status(cluster, currentHealthy=0)
    assert (await refused(evict(cluster, "p1"))).code == 429
    await budget_status(cluster, currentHealthy=0, desiredHealthy=0)
    assert (await refused(evict(cluster, "p1"))).code == 429
    await cluster.client.patch(BUDGETS, "default", "b", {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}})
    await evict(cluster, "p1")  # though the change has not been counted yet


async def test_a_budget_that_nobody_counts_does_not_grow_without_end(cluster: Cluster) -> None:
    await guarded_pods(cluster, allowed=3)
    now = cluster.clock.timestamp()
    await budget_status(cluster, disruptedPods={f"gone-{number}": now for number in range(2000)})
    await evict(cluster, "p0")
    error = await refused(evict(cluster, "p1"))
    assert (error.code, error.reason) == (403, "Forbidden")
    assert "DisruptedPods map too big" in error.message


async def test_a_pod_of_two_budgets_is_nobodys_500(cluster: Cluster) -> None:
    await guarded_pods(cluster, allowed=3)
    everything: JsonObject = {"metadata": {"name": "all"}, "spec": {"selector": {}, "minAvailable": 0}}
    await cluster.client.create(BUDGETS, "default", everything)
    error = await refused(evict(cluster, "p0"))
    assert (error.code, error.reason) == (400, "BadRequest")
    assert "more than one PodDisruptionBudget" in error.message
    await cluster.client.delete(BUDGETS, "default", "all")
    await cluster.client.create(BUDGETS, "default", {**everything, "spec": {"minAvailable": 0}})  # selects nothing
    await evict(cluster, "p0")


# what is asked


async def test_a_dry_run_asks_the_budget_and_changes_nothing(cluster: Cluster) -> None:
    await guarded_pods(cluster, allowed=1)
    before = cluster.store.revision
    await evict(cluster, "p0", dryRun=["All"])
    await evict(cluster, "p1", dryRun=["All"])
    row = cluster.registry.table.by_path("", "v1", "pods")
    assert row is not None
    in_query = Asked(row, "default", "p2", "eviction", dry_run=True)
    await eviction.evict(cluster.registry, in_query, {"metadata": {"name": "p2"}})
    assert cluster.store.revision == before
    await evict(cluster, "p0")
    assert (await refused(evict(cluster, "p1", dryRun=["All"]))).code == 429


@pytest.mark.parametrize(
    ("options", "code", "what"),
    [
        ({"dryRun": ["Some"]}, 422, "dryRun"),
        ({"propagationPolicy": "Sometimes"}, 422, "propagationPolicy"),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, 422, "orphanDependents"),
        ({"kind": "Pod", "apiVersion": "v1"}, 400, '"Pod"'),
    ],
)
async def test_options_that_mean_nothing_are_refused_as_those_of_a_deletion(
    cluster: Cluster, options: JsonObject, code: int, what: str
) -> None:
    await guarded_pods(cluster, allowed=3)
    before = cluster.store.revision
    error = await refused(evict(cluster, "p0", **options))
    assert error.code == code
    assert what in error.message
    assert cluster.store.revision == before


async def test_a_pod_that_nobody_has_is_gone_at_once(cluster: Cluster) -> None:
    await cluster.client.create(PODS, "default", pod("waits"))
    await evict(cluster, "waits")
    assert (await refused(cluster.client.get(PODS, "default", "waits"))).code == 404


async def test_a_pod_that_is_going_is_told_why_once_and_keeps_its_time(cluster: Cluster) -> None:
    await guarded_pods(cluster, allowed=0)
    await cluster.client.delete(PODS, "default", "p0")
    before = await cluster.client.get(PODS, "default", "p0")
    await evict(cluster, "p0")
    after = await cluster.client.get(PODS, "default", "p0")
    assert after["metadata"]["deletionTimestamp"] == before["metadata"]["deletionTimestamp"]
    assert [c["type"] for c in after["status"]["conditions"]] == ["Ready", "DisruptionTarget"]
    await cluster.clock.advance(5)
    await evict(cluster, "p0")
    assert await cluster.client.get(PODS, "default", "p0") == after
