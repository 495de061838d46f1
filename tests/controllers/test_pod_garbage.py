"""Pod garbage collection: vanished nodes, terminating pods without a node, too many finished ones."""

from kube32_controllers.pod_garbage_collector import PodGarbageCollector, plan_finished, plan_unscheduled
from workload_objects import NOW, FakeView, make_deployment, make_node, make_pod

from kube32_sim.client import NODES, PODS
from kube32_sim.runtime.actions import Delete, Patch


def pod(**how):
    return make_pod(make_deployment(), "Deployment", **how)


def test_pods_of_a_vanished_node_fail_and_go_after_forty_seconds():
    bound = pod(ready=True, nodeName="gone")
    view, loop = FakeView({PODS: [bound]}), PodGarbageCollector()
    (key,) = loop.keys(PODS, bound, view)
    plan = loop.plan(key, view, NOW)
    assert (plan.actions, plan.again_at) == ((), NOW + 40)
    fail, delete = loop.plan(key, view, NOW + 40).actions
    assert isinstance(fail, Patch)
    assert fail.patch["status"]["phase"] == "Failed"
    ready, target = fail.patch["status"]["conditions"]
    assert ready["type"] == "Ready"
    assert (target["type"], target["status"], target["reason"]) == ("DisruptionTarget", "True", "DeletionByPodGC")
    assert isinstance(delete, Delete)
    assert delete.grace_period_seconds == 0


def test_a_node_that_comes_back_in_time_keeps_its_pods():
    bound, node = pod(ready=True, nodeName="a"), make_node("a")
    objects = {PODS: [bound]}
    view, loop = FakeView(objects), PodGarbageCollector()
    (key,) = loop.keys(NODES, node, view)
    loop.plan(key, view, NOW)
    objects[NODES] = [node]
    assert loop.plan(key, view, NOW + 39).actions == ()
    del objects[NODES]
    assert loop.plan(key, view, NOW + 60).again_at == NOW + 100


def test_finished_pods_of_a_vanished_node_just_go():
    done = pod(phase="Succeeded", nodeName="gone")
    loop, view = PodGarbageCollector(), FakeView({PODS: [done]})
    loop.plan("node/gone", view, NOW)
    assert [type(action) for action in loop.plan("node/gone", view, NOW + 40).actions] == [Delete]


def test_a_terminating_pod_without_a_node_is_removed():
    leaving = pod(deleting=True)
    view, loop = FakeView({PODS: [leaving]}), PodGarbageCollector()
    (key,) = loop.keys(PODS, leaving, view)
    (delete,) = loop.plan(key, view, NOW).actions
    assert delete.grace_period_seconds == 0
    assert plan_unscheduled(pod()).actions == ()
    assert plan_unscheduled(pod(deleting=True, nodeName="a")).actions == ()


def test_the_oldest_finished_pods_beyond_the_limit_go():
    pods = [pod(phase="Succeeded", age=age, name=f"age-{age}") for age in (10, 40, 30, 20)] + [pod(name="running")]
    assert [action.name for action in plan_finished(pods, most=2).actions] == ["age-40", "age-30"]


def test_the_limit_is_looked_at_only_beyond_it():
    pods = [pod(phase="Succeeded", nodeName="a") for _ in range(3)]
    objects = {PODS: pods, NODES: [make_node("a")]}
    view, loop = FakeView(objects), PodGarbageCollector(most_finished=2)
    keys = [list(loop.keys(PODS, each, view)) for each in pods]
    assert keys == [[], [], ["finished"]]
    gone = objects[PODS].pop()
    assert list(loop.keys(PODS, gone, view)) == []
    assert list(loop.keys(PODS, pods[0], view)) == []
