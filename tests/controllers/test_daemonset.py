"""DaemonSets: which pods come and go, and what the status says (seed: "DaemonSet")."""

import pytest
from kube32_controllers.daemonset import plan_daemonset
from kube32_controllers.pod_control import template_hash
from kube32_controllers.workload_controller import DaemonSetController
from workload_objects import NOW, FakeView, make_node, make_pod, template

from kube32_sim.client import DAEMONSETS, NODES, PODS
from kube32_sim.clock import rfc3339
from kube32_sim.runtime.actions import Create, Delete, Emit, Patch


def make_daemonset(*, image="app:1", update="RollingUpdate", max_unavailable=1, **spec):
    return {
        "metadata": {
            "name": "web",
            "namespace": "default",
            "uid": "uid-web",
            "resourceVersion": "5",
            "generation": 3,
            "creationTimestamp": rfc3339(NOW - 10_000),
        },
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "updateStrategy": {"type": update, "rollingUpdate": {"maxUnavailable": max_unavailable}},
            "template": template(image, **spec),
        },
        "status": {},
    }


def daemon_pod(node, image="app:1", *, bound=True, **how):
    labels = {"controller-revision-hash": template_hash(template(image))}
    spec = {"nodeSelector": {"kubernetes.io/hostname": node}} | ({"nodeName": node} if bound else {})
    return make_pod(make_daemonset(), "DaemonSet", labels=labels, name=f"web-{node}", **how, **spec)


def nodes(*names):
    return [make_node(name) for name in names]


def of(plan, kind):
    return [action for action in plan.actions if isinstance(action, kind)]


def created_on(plan):
    return [create.obj["spec"]["nodeSelector"]["kubernetes.io/hostname"] for create in of(plan, Create)]


def deleted(plan):
    return [action.name for action in of(plan, Delete)]


def test_every_node_gets_one_pod_led_there_by_its_hostname():
    daemonset = make_daemonset()
    plan = plan_daemonset(daemonset, [], nodes("b", "a"), NOW)
    assert created_on(plan) == ["a", "b"]
    pod = of(plan, Create)[0].obj
    assert pod["metadata"]["generateName"] == "web-"
    assert pod["metadata"]["labels"] == {
        "app": "web",
        "controller-revision-hash": template_hash(daemonset["spec"]["template"]),
    }
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "DaemonSet"
    assert pod["spec"]["tolerations"] == [
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
        {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"},
    ]
    assert of(plan, Create)[0].succeeded.message == "Created pod: {name}"


def test_the_templates_own_tolerations_stay_but_for_those_with_an_end():
    mine = {"key": "x", "operator": "Exists"}
    short = {
        "key": "node.kubernetes.io/unreachable",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 5,
    }
    plan = plan_daemonset(make_daemonset(tolerations=[mine, short]), [], nodes("a"), NOW)
    tolerations = of(plan, Create)[0].obj["spec"]["tolerations"]
    assert mine in tolerations
    assert len(tolerations) == 3
    assert all("tolerationSeconds" not in toleration for toleration in tolerations)


def test_only_nodes_that_match_the_node_selector_get_one():
    some = [make_node("a", labels={"board": "s3"}), make_node("b", labels={"board": "c3"}), make_node("c")]
    plan = plan_daemonset(make_daemonset(nodeSelector={"board": "s3"}), [], some, NOW)
    assert created_on(plan) == ["a"]
    assert of(plan, Create)[0].obj["spec"]["nodeSelector"]["board"] == "s3"


def test_cordoned_and_unready_nodes_get_one_and_a_node_without_hostname_is_called_by_its_name():
    cordoned, unready, plain = make_node("a"), make_node("b"), make_node("c", hostname=False)
    cordoned["spec"]["unschedulable"] = True
    unready["status"]["conditions"][0]["status"] = "False"
    assert created_on(plan_daemonset(make_daemonset(), [], [cordoned, unready, plain], NOW)) == ["a", "b", "c"]


def test_a_waiting_pod_counts_for_the_node_it_is_meant_for():
    plan = plan_daemonset(make_daemonset(), [daemon_pod("a", bound=False)], nodes("a"), NOW)
    assert created_on(plan) == []
    assert deleted(plan) == []


def test_pods_go_from_nodes_that_left_or_no_longer_match():
    some = [make_node("a", labels={"board": "s3"}), make_node("b")]
    pods = [daemon_pod("a"), daemon_pod("b"), daemon_pod("gone"), daemon_pod("also-gone", bound=False)]
    plan = plan_daemonset(make_daemonset(update="OnDelete", nodeSelector={"board": "s3"}), pods, some, NOW)
    assert deleted(plan) == ["web-b", "web-gone", "web-also-gone"]
    told = [event.message for event in of(plan, Emit) if event.reason == "SuccessfulDelete"]
    assert told[0] == "Deleted pod: web-b"


def test_pods_stay_on_unreachable_nodes():
    node = make_node("a")
    node["status"]["conditions"][0]["status"] = "Unknown"
    node["spec"]["taints"] = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]
    assert deleted(plan_daemonset(make_daemonset(), [daemon_pod("a", ready=True)], [node], NOW)) == []


def test_of_two_pods_on_a_node_the_ready_and_older_one_stays():
    pods = [daemon_pod("a", ready=True, age=50), daemon_pod("a", ready=True, age=90), daemon_pod("a", age=99)]
    for number, pod in enumerate(pods):
        pod["metadata"]["name"] = f"pod-{number}"
    assert deleted(plan_daemonset(make_daemonset(), pods, nodes("a"), NOW)) == ["pod-0", "pod-2"]


def test_a_rolling_update_goes_node_by_node():
    pods = [daemon_pod(name, ready=True) for name in "abc"]
    plan = plan_daemonset(make_daemonset(image="app:2"), pods, nodes(*"abc"), NOW)
    assert deleted(plan) == ["web-a"]
    assert created_on(plan) == []


def test_the_update_waits_for_the_terminating_pod_and_for_its_successor():
    fleet = nodes(*"abc")
    rest = [daemon_pod(name, ready=True) for name in "bc"]
    daemonset = make_daemonset(image="app:2")
    leaving = daemon_pod("a", ready=True, deleting=True)
    plan = plan_daemonset(daemonset, [leaving, *rest], fleet, NOW)
    assert (created_on(plan), deleted(plan)) == ([], [])
    plan = plan_daemonset(daemonset, rest, fleet, NOW)
    assert (created_on(plan), deleted(plan)) == (["a"], [])
    plan = plan_daemonset(daemonset, [daemon_pod("a", "app:2"), *rest], fleet, NOW)
    assert (created_on(plan), deleted(plan)) == ([], [])
    plan = plan_daemonset(daemonset, [daemon_pod("a", "app:2", ready=True), *rest], fleet, NOW)
    assert deleted(plan) == ["web-b"]


def test_not_ready_pods_are_replaced_first():
    pods = [daemon_pod("a", ready=True), daemon_pod("b", ready=True), daemon_pod("c")]
    assert deleted(plan_daemonset(make_daemonset(image="app:2"), pods, nodes(*"abc"), NOW)) == ["web-c"]


@pytest.mark.parametrize(("value", "count"), [(2, 2), ("25%", 2), ("10%", 1), (0, 1), ("100%", 5)])
def test_max_unavailable_is_a_number_or_a_percentage_rounded_up(value, count):
    names = "abcde"
    pods = [daemon_pod(name, ready=True) for name in names]
    daemonset = make_daemonset(image="app:2", max_unavailable=value)
    assert len(deleted(plan_daemonset(daemonset, pods, nodes(*names), NOW))) == count


def test_min_ready_seconds_holds_the_update_back():
    daemonset = make_daemonset(image="app:2")
    daemonset["spec"]["minReadySeconds"] = 30
    pods = [daemon_pod("a", "app:2", ready=True, age=10), daemon_pod("b", ready=True)]
    plan = plan_daemonset(daemonset, pods, nodes("a", "b"), NOW)
    assert deleted(plan) == []
    assert plan.again_at == NOW + 20
    assert deleted(plan_daemonset(daemonset, pods, nodes("a", "b"), NOW + 20)) == ["web-b"]


def test_on_delete_leaves_updates_to_the_user():
    daemonset = make_daemonset(image="app:2", update="OnDelete")
    assert deleted(plan_daemonset(daemonset, [daemon_pod("a", ready=True)], nodes("a"), NOW)) == []
    plan = plan_daemonset(daemonset, [], nodes("a"), NOW)
    assert of(plan, Create)[0].obj["spec"]["containers"][0]["image"] == "app:2"


def test_a_failed_pod_makes_room_after_a_wait():
    failed = daemon_pod("a", phase="Failed", age=10)
    plan = plan_daemonset(make_daemonset(), [failed], nodes("a"), NOW)
    assert (created_on(plan), deleted(plan), plan.again_at) == ([], [], NOW + 50)
    plan = plan_daemonset(make_daemonset(), [failed], nodes("a"), NOW + 50)
    assert deleted(plan) == ["web-a"]
    assert "FailedDaemonPod" in [event.reason for event in of(plan, Emit)]


def test_status_counts():
    daemonset = make_daemonset(image="app:2")
    pods = [
        daemon_pod("a", "app:2", ready=True),
        daemon_pod("b", ready=True),
        daemon_pod("c", "app:2"),
        daemon_pod("gone"),
    ]
    (patch,) = of(plan_daemonset(daemonset, pods, nodes(*"abcd"), NOW), Patch)
    assert patch.subresource == "status"
    assert patch.patch["status"] == {
        "observedGeneration": 3,
        "desiredNumberScheduled": 4,
        "currentNumberScheduled": 3,
        "numberMisscheduled": 0,
        "numberReady": 2,
        "updatedNumberScheduled": 2,
        "numberAvailable": 2,
        "numberUnavailable": 2,
    }
    daemonset["status"] = patch.patch["status"]
    assert not of(plan_daemonset(daemonset, pods, nodes(*"abcd"), NOW), Patch)


def test_nodes_that_should_have_no_pod_and_have_one_count_as_misscheduled():
    pods = [daemon_pod("a"), daemon_pod("b", deleting=True), daemon_pod("c", bound=False), daemon_pod("gone")]
    fleet = [make_node("a", labels={"board": "s3"}), *nodes("b", "c", "d")]
    (patch,) = of(plan_daemonset(make_daemonset(nodeSelector={"board": "s3"}), pods, fleet, NOW), Patch)
    status = patch.patch["status"]
    assert (status["numberMisscheduled"], status["desiredNumberScheduled"]) == (2, 1)


def test_a_finished_pod_counts_as_scheduled_until_it_is_replaced():
    (patch,) = of(plan_daemonset(make_daemonset(), [daemon_pod("a", phase="Failed", age=1)], nodes("a"), NOW), Patch)
    assert patch.patch["status"]["currentNumberScheduled"] == 1


def test_a_template_that_names_a_node_is_for_that_one():
    daemonset = make_daemonset(nodeName="b")
    plan = plan_daemonset(daemonset, [], nodes(*"abc"), NOW)
    assert created_on(plan) == ["b"]
    assert of(plan, Patch)[0].patch["status"]["desiredNumberScheduled"] == 1


# the loop around it


def test_a_node_wakes_the_daemonsets_only_when_it_comes_goes_or_changes_its_labels():
    daemonset, node = make_daemonset(), make_node("a")
    objects = {DAEMONSETS: [daemonset], NODES: [node]}
    view, loop = FakeView(objects), DaemonSetController()
    assert list(loop.keys(NODES, node, view)) == ["default/web"]
    assert list(loop.keys(NODES, node, view)) == []
    objects[NODES] = [make_node("a", labels={"board": "s3"})]
    assert list(loop.keys(NODES, objects[NODES][0], view)) == ["default/web"]
    gone = objects.pop(NODES)[0]
    assert list(loop.keys(NODES, gone, view)) == ["default/web"]


def test_pods_of_a_deleted_daemonset_are_deleted():
    pod = daemon_pod("a")
    view = FakeView({PODS: [pod], NODES: nodes("a")})
    (key,) = DaemonSetController().keys(PODS, pod, view)
    assert deleted(DaemonSetController().plan(key, view, NOW)) == ["web-a"]
