"""However many pods an owner asks for, one plan makes and deletes no more than a burst; status and events stay true."""

from kube32_controllers.deployment_controller import DeploymentController, plan_deployment
from kube32_controllers.pod_control import BURST, MANY_WAITING, plan_leftover, room

from kube32_sim.client import DEPLOYMENTS, EVENTS, PODS
from kube32_sim.runtime.actions import Create, Delete, Emit, Patch
from tests.controllers.control_plane import control_plane
from tests.controllers.workload_objects import NOW, FakeView, deployment_pod, make_deployment

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
    assert len(plan_leftover(view, "uid-web").actions) == BURST


def test_while_very_many_pods_wait_for_a_node_more_come_slowly():
    deployment = make_deployment(MOST, settled=True)
    waiting = pods_of(deployment, MANY_WAITING - 1, age=3.0)
    assert room(waiting, NOW) == (BURST, None)
    waiting += pods_of(deployment, 1, age=3.0)
    due = NOW - 3.0 + MANY_WAITING / 100
    plan = plan_deployment(deployment, waiting, NOW)
    assert not kinds(plan, Create)
    assert plan.again_at == due
    assert len(kinds(plan_deployment(deployment, waiting, due), Create)) == BURST
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
