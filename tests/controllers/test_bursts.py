"""However many pods an owner asks for, one plan makes and deletes no more than a burst; status and events stay true."""

import pytest
from control_plane import control_plane
from kube32_controllers.daemonset import plan_daemonset
from kube32_controllers.deployment_controller import DeploymentController, plan_deployment
from kube32_controllers.job import plan_job
from kube32_controllers.job_indexes import indexes_of, parse_indexes
from kube32_controllers.pod_control import BURST, MANY_WAITING, PATIENCE, plan_leftover, room
from kube32_controllers.workload_controller import JobController
from test_daemonset import make_daemonset
from test_job import job_pod, make_job
from workload_objects import NOW, FakeView, deployment_pod, make_deployment, make_node, make_pod

from kube32_sim.client import DEPLOYMENTS, EVENTS, PODS
from kube32_sim.clock import rfc3339
from kube32_sim.runtime.actions import Create, Delete, Emit, Patch

MOST = 2**31 - 1


def kinds(plan, kind):
    return [action for action in plan.actions if isinstance(action, kind)]


def pods_of(deployment, number, **how):
    return [deployment_pod(deployment, **how) for _ in range(number)]


def test_a_deployment_of_two_billion_pods_makes_one_burst_and_tells_the_whole():
    plan = plan_deployment(make_deployment(MOST), [], NOW)
    assert len(kinds(plan, Create)) == BURST
    (event,) = kinds(plan, Emit)
    assert event.message == f"Scaled up deployment web from 0 to {MOST}"
    (patch,) = kinds(plan, Patch)
    assert patch.patch["status"]["unavailableReplicas"] == MOST


def test_the_bursts_after_the_first_are_not_told_again():
    for seen, left in ((BURST, BURST), (2 * BURST - 10, 10)):
        deployment = make_deployment(2 * BURST, settled=True)
        deployment["status"]["replicas"] = seen - BURST
        plan = plan_deployment(deployment, pods_of(deployment, seen, ready=True), NOW)
        creates = kinds(plan, Create)
        assert len(creates) == left
        assert all(create.succeeded is None for create in creates)
        assert not kinds(plan, Emit)


def test_a_lost_pod_of_a_big_deployment_is_told_of_when_it_is_replaced():
    deployment = make_deployment(2 * BURST, settled=True)
    deployment["status"]["replicas"] = 2 * BURST
    plan = plan_deployment(deployment, pods_of(deployment, 2 * BURST - 1, ready=True), NOW)
    (create,) = kinds(plan, Create)
    assert create.succeeded is not None


def test_scaling_down_deletes_one_burst_and_tells_the_whole():
    deployment = make_deployment(0, settled=True)
    deployment["metadata"]["generation"] = 2
    plan = plan_deployment(deployment, pods_of(deployment, 3 * BURST), NOW)
    assert len(kinds(plan, Delete)) == BURST
    (event,) = kinds(plan, Emit)
    assert event.message == f"Scaled down deployment web from {3 * BURST} to 0"


def test_the_pods_an_owner_left_go_in_bursts():
    deployment = make_deployment()
    view = FakeView({PODS: pods_of(deployment, 2 * BURST)})
    assert len(plan_leftover(view, "Deployment", "default/web/uid-web").actions) == BURST


def test_while_very_many_pods_wait_for_a_node_more_come_slowly():
    deployment = make_deployment(MOST, settled=True)
    waiting = pods_of(deployment, MANY_WAITING - 1, age=3.0)
    assert room(waiting, NOW) == (BURST, None)
    waiting += pods_of(deployment, 1, age=3.0)
    due = NOW - 3.0 + PATIENCE
    plan = plan_deployment(deployment, waiting, NOW)
    assert not kinds(plan, Create)
    assert plan.again_at == due
    assert len(kinds(plan_deployment(deployment, waiting, due), Create)) == BURST
    assert room(waiting * 2, due + 2.9 * PATIENCE) == (0, NOW - 3.0 + 4 * PATIENCE)
    for pod in waiting:
        pod["spec"]["nodeName"] = "esp32-0"
    assert room(waiting, NOW) == (BURST, None)


async def test_burst_by_burst_all_pods_come_and_all_go():
    number = 2 * BURST + 7
    async with control_plane() as plane:
        plane.run(DeploymentController(), 1.0)
        obj = make_deployment(number)
        metadata = {"name": "web", "namespace": "default"}
        await plane.client.create(DEPLOYMENTS, "default", {"metadata": metadata, "spec": obj["spec"]})
        for pods in (2 * BURST, number):  # the first at once, then one every second
            await plane.clock.advance(1.0)
            assert len(plane.view.list(PODS)) == pods
        await plane.clock.advance(1.0)
        status = plane.view.get(DEPLOYMENTS, "default", "web")["status"]
        assert status["replicas"] == status["updatedReplicas"] == status["unavailableReplicas"] == number
        told = [event["message"] for event in plane.view.list(EVENTS) if event["involvedObject"]["kind"] != "Pod"]
        assert told == [f"Scaled up deployment web from 0 to {number}"]
        await plane.client.patch(DEPLOYMENTS, "default", "web", {"spec": {"replicas": 0}})
        await plane.clock.advance(4.0)
        assert not plane.view.list(PODS)
        assert plane.view.get(DEPLOYMENTS, "default", "web")["status"].get("replicas", 0) == 0


def test_a_job_starts_and_stops_one_burst_at_a_time():
    job = make_job(parallelism=MOST, completions=MOST)
    assert len(kinds(plan_job(job, [], NOW), Create)) == BURST
    running = [job_pod(job) for _ in range(2 * BURST)]
    assert len(kinds(plan_job(job, running, NOW), Create)) == BURST
    for change in ({"suspend": True}, {"parallelism": 0}, {"activeDeadlineSeconds": 1}):
        stopped = make_job(**{"parallelism": MOST, "completions": MOST} | change)
        stopped["status"]["startTime"] = rfc3339(NOW - 10)
        plan = plan_job(stopped, running, NOW)
        assert len(kinds(plan, Delete)) == BURST
        assert not kinds(plan, Create)


def test_a_job_comes_back_for_pods_that_are_to_wait():
    job = make_job(parallelism=MOST, completions=MOST)
    waiting = [make_pod(job, "Job", age=3.0) for _ in range(MANY_WAITING)]
    plan = plan_job(job, waiting, NOW)
    assert not kinds(plan, Create)
    assert plan.again_at == NOW - 3.0 + PATIENCE


def test_an_indexed_job_of_a_billion_indexes_starts_the_first_free_ones():
    rules = [{"succeededIndexes": "0-1999999999", "succeededCount": MOST}]
    job = make_job(parallelism=MOST, completions=MOST, completionMode="Indexed", successPolicy={"rules": rules})
    job["status"] = {"completedIndexes": "0-999999999,1000000002", "failedIndexes": "7-1999999999"}
    plan = plan_job(job, [job_pod(job, index=1_000_000_001)], NOW)
    names = [create.obj["metadata"]["generateName"] for create in kinds(plan, Create)]
    assert names[:2] == ["sum-1000000000-", "sum-1000000003-"]
    assert len(names) == BURST
    (patch,) = kinds(plan, Patch)
    assert patch.patch["status"]["succeeded"] == 1_000_000_001
    assert "completedIndexes" not in patch.patch["status"]


def test_the_pods_a_job_left_go_in_bursts():
    job = make_job()
    view = FakeView({PODS: [job_pod(job) for _ in range(2 * BURST)]})
    plan = JobController().plan("default/sum/uid-sum", view, NOW)
    assert len(kinds(plan, Delete)) == len(kinds(plan, Patch)) == BURST


def test_a_daemonset_makes_and_deletes_one_burst_at_a_time():
    daemonset = make_daemonset()
    nodes = [make_node(f"n{number}") for number in range(BURST + 50)]
    assert len(kinds(plan_daemonset(daemonset, [], nodes, NOW), Create)) == BURST
    pods = [make_pod(daemonset, "DaemonSet", nodeName=node["metadata"]["name"], age=1000.0) for node in nodes]
    assert len(kinds(plan_daemonset(daemonset, pods, [], NOW), Delete)) == BURST
    for pod in pods:
        pod["status"]["phase"] = "Failed"
    plan = plan_daemonset(daemonset, pods, nodes, NOW)
    assert len(kinds(plan, Delete)) == BURST
    assert sum(emit.reason == "FailedDaemonPod" for emit in kinds(plan, Emit)) == BURST


SETS = [set(), {0}, {3}, {0, 1, 2}, {1, 2, 5}, {0, 2, 4, 6}, {5, 6}, set(range(8))]


@pytest.mark.parametrize("left", SETS)
@pytest.mark.parametrize("right", SETS)
def test_runs_of_indexes_are_sets_of_indexes(left, right):
    one, other = indexes_of(left), indexes_of(right)
    assert one | other == indexes_of(left | right)
    assert one & other == indexes_of(left & right)
    assert len(one) == len(left)
    assert one.below(4) == indexes_of(index for index in left if index < 4)
    assert list(one.missing(7)) == [index for index in range(7) if index not in left]
    assert {index for index in range(9) if index in one} == left
    assert None not in one


def test_what_is_no_run_of_indexes_is_left_out():
    assert parse_indexes("5-2,x,-,3-,,1-4,2-6,7,99999999999") == indexes_of(range(1, 8))
