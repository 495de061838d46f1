"""PodDisruptionBudgets: what their status says, and that evictions go by it."""

import pytest
from kube32_controllers.disruption_controller import (
    BUDGETS,
    REPLICA_SETS,
    DisruptionController,
    Scale,
    plan_budget,
)
from workload_objects import NOW, FakeView, make_deployment, make_pod

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.errors import ApiError
from kube32_sim.client import DEPLOYMENTS, EVENTS, JOBS, PODS
from kube32_sim.clock import rfc3339
from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions
from kube32_sim.runtime.actions import Emit, Update

OWNER = make_deployment(4)
ZEROS = {"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0, "disruptionsAllowed": 0}


def budget(status=None, **spec):
    metadata = {"name": "web", "namespace": "default", "uid": "uid-pdb", "resourceVersion": "9", "generation": 2}
    selector = {"matchLabels": {"app": "web"}}
    return {"metadata": metadata, "spec": {"selector": selector, **spec}, "status": ZEROS if status is None else status}


def pods(healthy, sick=0, owner=OWNER, kind="Deployment"):
    return [make_pod(owner, kind, ready=number < healthy) for number in range(healthy + sick)]


def scales(replicas):
    return {"uid-web": Scale("uid-web", replicas)}


def planned(pdb, selected, found=None, now=NOW):
    plan = plan_budget(pdb, selected, scales(4) if found is None else found, now)
    updates = [action for action in plan.actions if isinstance(action, Update)]
    events = [(action.reason, action.message) for action in plan.actions if isinstance(action, Emit)]
    return (updates[0].obj["status"] if updates else None), events, plan.again_at


def counts(status):
    return tuple(status[name] for name in ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed"))


@pytest.mark.parametrize(
    ("spec", "healthy", "sick", "expected"),
    [
        ({"minAvailable": 2}, 4, 0, (4, 4, 2, 2)),
        ({"minAvailable": 2}, 3, 2, (5, 3, 2, 1)),
        ({"minAvailable": 2}, 1, 0, (1, 1, 2, 0)),
        ({"minAvailable": 0}, 0, 1, (1, 0, 0, 0)),
        ({"minAvailable": "50%"}, 4, 0, (4, 4, 2, 2)),
        ({"minAvailable": "60%"}, 4, 0, (4, 4, 3, 1)),
        ({"minAvailable": "50%"}, 2, 0, (4, 2, 2, 0)),
        ({"maxUnavailable": 1}, 4, 0, (4, 4, 3, 1)),
        ({"maxUnavailable": 1}, 3, 1, (4, 3, 3, 0)),
        ({"maxUnavailable": "30%"}, 4, 0, (4, 4, 2, 2)),
        ({"maxUnavailable": 9}, 4, 0, (4, 4, 0, 4)),
        ({"maxUnavailable": 0}, 4, 0, (4, 4, 4, 0)),
        ({}, 4, 0, (0, 4, 0, 0)),
    ],
)
def test_counts(spec, healthy, sick, expected):
    status, events, again = planned(budget(**spec), pods(healthy, sick))
    assert counts(status) == expected
    assert (events, again) == ([], None)
    allowed = expected[3] > 0
    assert status["conditions"] == [
        {
            "type": "DisruptionAllowed",
            "status": "True" if allowed else "False",
            "reason": "SufficientPods" if allowed else "InsufficientPods",
            "message": "",
            "lastTransitionTime": rfc3339(NOW),
            "observedGeneration": 2,
        }
    ]
    assert status["observedGeneration"] == 2


def test_what_is_said_already_is_not_said_again_and_a_condition_keeps_its_time():
    selected = pods(4)
    first, _, _ = planned(budget(minAvailable=2), selected)
    assert planned(budget(first, minAvailable=2), selected, now=NOW + 60)[0] is None
    less, _, _ = planned(budget(first, minAvailable=3), selected, now=NOW + 60)
    assert counts(less) == (4, 4, 3, 1)
    assert less["conditions"] == first["conditions"]
    none, _, _ = planned(budget(less, minAvailable=4), selected, now=NOW + 90)
    assert none["conditions"][0]["lastTransitionTime"] == rfc3339(NOW + 90)


def test_conditions_that_others_wrote_stay_and_one_without_a_time_gets_one():
    foreign = {"type": "Mine", "status": "True", "reason": "Because", "message": ""}
    bare = {"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods", "message": ""}
    status, _, _ = planned(budget({**ZEROS, "conditions": [bare, foreign]}, minAvailable=2), pods(4))
    allowed, other = status["conditions"]
    assert (allowed["lastTransitionTime"], other) == (rfc3339(NOW), foreign)


def test_a_status_of_another_revision_is_not_overwritten():
    (update,) = plan_budget(budget(minAvailable=2), pods(4), {}, NOW).actions
    assert (update.resource, update.namespace, update.subresource) == (BUDGETS, "default", "status")
    assert update.obj["metadata"]["resourceVersion"] == "9"


def test_evicted_pods_do_not_count_until_they_have_been_there_for_two_minutes():
    first, second, third = selected = pods(3)
    names = [pod["metadata"]["name"] for pod in selected]
    second["metadata"]["deletionTimestamp"] = rfc3339(NOW + 30)
    noted = {names[0]: rfc3339(NOW - 20), names[1]: rfc3339(NOW - 20), "gone": rfc3339(NOW - 5)}
    pdb = budget({**ZEROS, "disruptedPods": noted}, minAvailable=1)
    status, _, again = planned(pdb, selected)
    assert status["disruptedPods"] == {names[0]: rfc3339(NOW - 20)}
    assert counts(status) == (3, 1, 1, 0)
    assert again == NOW + 100
    later, _, again = planned(budget(status, minAvailable=1), [first, third], now=NOW + 100)
    assert "disruptedPods" not in later
    assert counts(later) == (2, 2, 1, 1)
    assert again is None


def test_the_scales_of_all_controllers_are_added_each_once():
    other = {"metadata": {"name": "db", "uid": "uid-db"}}
    selected = (
        pods(4) + pods(2, owner=other, kind="ReplicaSet") + pods(2, owner={"metadata": {"name": "x", "uid": "x"}})
    )
    found = {**scales(4), "uid-db": Scale("uid-db", 3), "x": Scale("uid-db", 3)}
    assert counts(planned(budget(maxUnavailable=1), selected, found)[0]) == (7, 8, 6, 2)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ({}, 'found no controllers for pod "it"'),
        ({"uid-web": "jobs.batch does not implement it"}, "jobs.batch does not implement it"),
    ],
)
def test_where_the_number_of_pods_cannot_be_told_none_may_go(found, why):
    selected = [make_pod(OWNER, "Deployment", ready=True, name="it")]
    status, events, _ = planned(budget({**ZEROS, "disruptionsAllowed": 3}, maxUnavailable=1), selected, found)
    assert status["disruptionsAllowed"] == 0
    assert "observedGeneration" not in status, "evictions are told that it is still being processed"
    condition = status["conditions"][0]
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "SyncFailed", why)
    assert events == [("CalculateExpectedPodCountFailed", f"Failed to calculate the number of expected pods: {why}")]
    assert counts(planned(budget(minAvailable=0), selected, found)[0])[3] == 1, "a number needs no controller"


def test_pods_without_a_controller_are_left_out_and_told_of():
    alone = make_pod(OWNER, "Deployment", ready=True)
    del alone["metadata"]["ownerReferences"]
    status, events, _ = planned(budget(maxUnavailable=1), [*pods(4), alone])
    assert counts(status) == (4, 5, 3, 2)
    assert [reason for reason, _ in events] == ["UnmanagedPods"]
    assert "(selector: app=web)" in events[0][1]


def test_a_budget_that_selects_nothing_allows_nothing_and_says_so():
    status, events, _ = planned(budget(minAvailable=0), [])
    assert counts(status) == (0, 0, 0, 0)
    assert events == [("NoPods", "No matching pods found")]


# the loop


def scales_of(pod, objects):
    view = FakeView({PODS: [pod], BUDGETS: [budget(maxUnavailable=1)], **objects})
    (action, *_) = DisruptionController(builtin_table()).plan("default/web", view, NOW).actions
    status = action.obj["status"]
    return status["conditions"][0]["message"] or status["expectedPods"]


def test_whose_scale_counts():
    web = make_deployment(4)
    assert scales_of(make_pod(web, "Deployment"), {DEPLOYMENTS: [web]}) == 4
    assert scales_of(make_pod(web, "Deployment"), {DEPLOYMENTS: [make_deployment(0)]}) == 0
    copy = {"metadata": {**web["metadata"], "uid": "another"}, "spec": web["spec"]}
    assert scales_of(make_pod(web, "Deployment", name="p"), {DEPLOYMENTS: [copy]}) == 'found no controllers for pod "p"'
    owned = make_pod(web, "ReplicaSet")["metadata"]["ownerReferences"]
    replicas = {"metadata": {"name": "rs", "namespace": "default", "uid": "rs"}, "spec": {"replicas": 3}}
    pod = make_pod(replicas, "ReplicaSet")
    assert scales_of(pod, {REPLICA_SETS: [replicas], DEPLOYMENTS: [web]}) == 3
    owned[0]["kind"] = "Deployment"
    replicas["metadata"]["ownerReferences"] = owned
    assert scales_of(pod, {REPLICA_SETS: [replicas], DEPLOYMENTS: [web]}) == 4
    job = {"metadata": {"name": "j", "namespace": "default", "uid": "j"}, "spec": {}}
    assert scales_of(make_pod(job, "Job"), {JOBS: [job]}) == "jobs.batch does not implement the scale subresource"
    pod = make_pod(job, "Tale")
    assert scales_of(pod, {}) == 'no matches for kind "Tale" in version "apps/v1"'


def test_a_change_concerns_the_budgets_that_select_the_pods():
    other = budget(minAvailable=1)
    other["metadata"] = {**other["metadata"], "name": "other"}
    other["spec"] = {"selector": {"matchLabels": {"app": "other"}}}
    view = FakeView({BUDGETS: [budget(), other]})
    loop = DisruptionController(builtin_table())
    assert loop.keys(PODS, pods(1)[0], view) == ["default/web"]
    assert loop.keys(DEPLOYMENTS, make_deployment(1), view) == ["default/web"]
    assert loop.keys(BUDGETS, other, view) == ("default/other",)
    assert loop.keys(PODS, pods(1)[0], FakeView({})) == ()


# together with the API


def evictions(cluster):
    async def evict(pod):
        name = pod["metadata"]["name"]
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        await cluster.client.create(PODS, "default", body, subresource="eviction", name=name)

    return evict


def deployment(replicas):
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"metadata": {"name": "web"}, "spec": spec}


async def status_of(cluster):
    return (await cluster.client.get(BUDGETS, "default", "web"))["status"]


async def test_evictions_spend_the_budget_and_new_pods_fill_it(virtual_cluster):
    client, clock = virtual_cluster.client, virtual_cluster.clock
    evict = evictions(virtual_cluster)
    await client.create(DEPLOYMENTS, "default", deployment(3))
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    await client.create(BUDGETS, "default", {"metadata": {"name": "web"}, "spec": spec})
    await clock.advance(60)
    assert counts(await status_of(virtual_cluster)) == (3, 3, 2, 1)
    first, second, _ = (await client.list(PODS, "default")).items
    await evict(first)
    with pytest.raises(ApiError) as refused:
        await evict(second)
    assert refused.value.code == 429
    await clock.settle()
    assert counts(await status_of(virtual_cluster)) == (3, 2, 2, 0)
    await clock.advance(60)
    assert counts(await status_of(virtual_cluster)) == (3, 3, 2, 1)
    await evict(second)
    await client.patch(DEPLOYMENTS, "default", "web", {"spec": {"replicas": 5}})
    await clock.settle()
    assert counts(await status_of(virtual_cluster))[0] == 5, "at once"
    await clock.advance(60)
    before = (await client.get(BUDGETS, "default", "web"))["metadata"]["resourceVersion"]
    await clock.advance(600)
    assert (await client.get(BUDGETS, "default", "web"))["metadata"]["resourceVersion"] == before
    assert [event for event in (await client.list(EVENTS)).items if event["reason"] == "UnmanagedPods"] == []


@pytest.mark.parametrize(("controllers", "filled"), [("none", False), ("namespace", True)])
async def test_it_runs_where_any_loop_runs(controllers, filled):
    async with Cluster(ServeOptions(port=0, nodes=0, clock="virtual", controllers=controllers)) as cluster:
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
        await cluster.client.create(BUDGETS, "default", {"metadata": {"name": "web"}, "spec": spec})
        await cluster.clock.advance(60)
        assert ("observedGeneration" in await status_of(cluster)) is filled
