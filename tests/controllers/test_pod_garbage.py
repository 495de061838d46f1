"""Pod garbage collection: vanished nodes, terminating pods without a node, too many finished ones."""

from kube32_controllers.pod_garbage_collector import PodGarbageCollector, plan_finished, plan_unscheduled
from workload_objects import NOW, FakeView, make_deployment, make_node, make_pod

from kube32_sim.client import DEPLOYMENTS, NODES, PODS
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


def test_a_pod_that_its_finalizers_hold_is_not_removed_again():
    held = pod(ready=True, nodeName="gone", deleting=True)
    held["metadata"]["deletionGracePeriodSeconds"] = 0
    loop, view = PodGarbageCollector(), FakeView({PODS: [held]})
    loop.plan("node/gone", view, NOW)
    assert [type(action) for action in loop.plan("node/gone", view, NOW + 40).actions] == [Patch]


def test_only_the_pod_that_was_looked_at_fails():
    bound = pod(ready=True, nodeName="gone")
    loop, view = PodGarbageCollector(), FakeView({PODS: [bound]})
    loop.plan("node/gone", view, NOW)
    fail, _ = loop.plan("node/gone", view, NOW + 40).actions
    assert fail.patch["metadata"] == {"uid": bound["metadata"]["uid"]}


def test_finished_pods_of_a_vanished_node_just_go():
    done = pod(phase="Succeeded", nodeName="gone")
    loop, view = PodGarbageCollector(), FakeView({PODS: [done]})
    loop.plan("node/gone", view, NOW)
    assert [type(action) for action in loop.plan("node/gone", view, NOW + 40).actions] == [Delete]


def test_a_node_whose_last_pod_has_gone_is_forgotten():
    """Pods bound to its name later get their 40 seconds, and it is not remembered for ever."""
    objects = {PODS: [pod(phase="Succeeded", nodeName="gone")]}
    view, loop = FakeView(objects), PodGarbageCollector()
    loop.plan("node/gone", view, NOW)
    done = objects[PODS].pop()
    assert list(loop.keys(PODS, done, view)) == ["node/gone"]
    loop.plan("node/gone", view, NOW + 40)
    assert list(loop.keys(PODS, done, view)) == []
    objects[PODS].append(pod(ready=True, nodeName="gone"))
    assert loop.plan("node/gone", view, NOW + 100).again_at == NOW + 140


def test_a_clock_set_back_makes_the_wait_no_longer():
    view, loop = FakeView({PODS: [pod(ready=True, nodeName="gone")]}), PodGarbageCollector()
    loop.plan("node/gone", view, NOW)
    assert loop.plan("node/gone", view, NOW - 3600).again_at == NOW - 3600 + 40


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


# in a cluster


def bare(name, node, **metadata):
    return {
        "metadata": {"name": name, **metadata},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
    }


async def names(cluster):
    return [each["metadata"]["name"] for each in (await cluster.client.list(PODS, "default")).items]


async def test_a_deployment_replaces_the_pods_of_a_node_that_is_deleted(virtual_cluster):
    client = virtual_cluster.client
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    await client.create(DEPLOYMENTS, "default", {"metadata": {"name": "w"}, "spec": spec})
    await virtual_cluster.advance(10)
    before = await names(virtual_cluster)
    await client.delete(NODES, "", "esp32-0")
    await virtual_cluster.advance(39)
    assert await names(virtual_cluster) == before
    await virtual_cluster.advance(50)
    pods = (await client.list(PODS, "default")).items
    assert [each["spec"]["nodeName"] for each in pods] == ["esp32-1", "esp32-1"]
    assert len(set(before) & {each["metadata"]["name"] for each in pods}) == 1


async def test_a_pod_of_a_node_that_never_was_goes_too_and_is_failed_while_a_finalizer_holds_it(virtual_cluster):
    client = virtual_cluster.client
    await client.create(PODS, "default", bare("p", "nowhere"))
    await client.create(PODS, "default", bare("held", "nowhere", finalizers=["example.com/hold"]))
    await virtual_cluster.advance(39)
    assert await names(virtual_cluster) == ["held", "p"]
    await virtual_cluster.advance(50)
    held = await client.get(PODS, "default", "held")
    assert held["status"]["phase"] == "Failed"
    target = next(one for one in held["status"]["conditions"] if one["type"] == "DisruptionTarget")
    assert (target["reason"], target["message"]) == ("DeletionByPodGC", "PodGC: node no longer exists")
    await virtual_cluster.advance(100)
    assert await client.get(PODS, "default", "held") == held
    await client.patch(PODS, "default", "held", {"metadata": {"finalizers": None}})
    assert await names(virtual_cluster) == []


async def test_pods_of_a_node_that_is_made_anew_in_time_run_on(virtual_cluster):
    client = virtual_cluster.client
    await client.create(PODS, "default", bare("p", "esp32-0"))
    await virtual_cluster.advance(30)
    before = await client.get(PODS, "default", "p")
    await client.delete(NODES, "", "esp32-0")
    await virtual_cluster.advance(30)
    await client.create(NODES, "", {"metadata": {"name": "esp32-0"}})
    await virtual_cluster.advance(200)
    after = await client.get(PODS, "default", "p")
    assert (after["metadata"]["uid"], after["status"]["phase"]) == (before["metadata"]["uid"], "Running")
    assert after["status"]["containerStatuses"] == before["status"]["containerStatuses"]
