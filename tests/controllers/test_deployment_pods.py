"""Which pods a Deployment creates and deletes: kube32's rules, and what follows from them."""

import re

import pytest
from kube32_controllers.deployment_controller import DeploymentController, plan_deployment
from kube32_controllers.pod_control import template_hash
from kube32_controllers.workload_controller import DaemonSetController, JobController
from workload_objects import NOW, FakeView, deployment_pod, make_deployment, make_pod, settle, template

from kube32_sim.client import DEPLOYMENTS, NAMESPACES, PODS
from kube32_sim.runtime.actions import Create, Delete, Emit, Patch


def of(plan, kind):
    return [action for action in plan.actions if isinstance(action, kind)]


def deleted(plan):
    return [action.name for action in of(plan, Delete)]


def messages(plan):
    return [(event.reason, event.message) for event in of(plan, Emit)]


def pods_of(deployment, count, **how):
    return [deployment_pod(deployment, **how) for _ in range(count)]


def test_missing_pods_are_created_from_the_template_with_a_pod_template_hash_label():
    deployment = make_deployment(2)
    first, second = of(plan_deployment(deployment, [], NOW), Create)
    value = template_hash(deployment["spec"]["template"])
    assert first.resource == PODS
    assert first.namespace == "default"
    assert first.obj == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"web-{value}-",
            "namespace": "default",
            "labels": {"app": "web", "pod-template-hash": value},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "name": "web",
                    "uid": "uid-web",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": deployment["spec"]["template"]["spec"],
    }
    assert first.obj["spec"] is not second.obj["spec"]
    assert first.obj["spec"] is not deployment["spec"]["template"]["spec"]


def test_annotations_and_finalizers_of_the_template_reach_the_pod():
    deployment = make_deployment(1)
    deployment["spec"]["template"]["metadata"].update(annotations={"a": "b"}, finalizers=["x.example/y"])
    (create,) = of(plan_deployment(deployment, [], NOW), Create)
    assert create.obj["metadata"]["annotations"] == {"a": "b"}
    assert create.obj["metadata"]["finalizers"] == ["x.example/y"]


def test_the_hash_is_a_function_of_the_template_in_the_safe_alphabet():
    one, same, other = template(), template(), template("app:2")
    same["spec"] = dict(reversed(same["spec"].items()))
    assert template_hash(one) == template_hash(same) != template_hash(other)
    assert re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{1,10}", template_hash(one))


def test_the_first_pass_tells_of_the_scaling():
    assert messages(plan_deployment(make_deployment(3), [], NOW)) == [
        ("ScalingReplicaSet", "Scaled up deployment web from 0 to 3")
    ]


def test_a_replacement_is_told_as_a_created_pod_not_as_scaling():
    deployment = make_deployment(2, settled=True)
    plan = plan_deployment(deployment, pods_of(deployment, 1, ready=True), NOW)
    (create,) = of(plan, Create)
    assert messages(plan) == []
    assert (create.succeeded.reason, create.succeeded.message) == ("SuccessfulCreate", "Created pod: {name}")
    assert (create.refused.type, create.refused.reason) == ("Warning", "FailedCreate")


def test_nothing_is_written_when_nothing_changes():
    deployment = make_deployment(1)
    pods = pods_of(deployment, 1, ready=True)
    (report,) = plan_deployment(deployment, pods, NOW).actions
    assert (report.name, report.subresource) == ("web", "status")
    deployment["metadata"]["annotations"] = report.patch["metadata"]["annotations"]
    deployment["status"] = report.patch["status"]
    assert plan_deployment(deployment, pods, NOW + 5).actions == ()


def test_terminating_and_finished_pods_do_not_count():
    deployment = make_deployment(2, settled=True)
    pods = [
        deployment_pod(deployment, ready=True),
        deployment_pod(deployment, ready=True, deleting=True),
        deployment_pod(deployment, phase="Failed"),
    ]
    plan = plan_deployment(deployment, pods, NOW)
    assert len(of(plan, Create)) == 1
    assert deleted(plan) == []


def test_pods_of_another_controller_are_left_alone():
    deployment = make_deployment(0, settled=True)
    other = make_pod({"metadata": {"name": "other", "uid": "uid-other"}}, "Deployment")
    other["metadata"]["ownerReferences"].append(
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-web"}
    )
    assert deleted(plan_deployment(deployment, [other], NOW)) == []


def test_surplus_goes_not_ready_first_then_stale_then_newest():
    deployment = make_deployment(4, settled=True)
    pods = [
        deployment_pod(deployment, name="ready-old", ready=True, age=300),
        deployment_pod(deployment, name="ready-new", ready=True, age=100),
        deployment_pod(deployment, "app:0", name="stale-ready", ready=True, age=900),
        deployment_pod(deployment, name="pending-old", age=200),
        deployment_pod(deployment, name="pending-new", age=50),
        deployment_pod(deployment, "app:0", name="stale-pending", age=900),
    ]
    order = ["stale-pending", "pending-new", "pending-old", "stale-ready", "ready-new", "ready-old"]
    for replicas in range(6):
        deployment["spec"]["replicas"] = replicas
        assert deleted(plan_deployment(deployment, pods, NOW)) == order[: 6 - replicas]


def test_scaling_down_is_told():
    deployment = make_deployment(1, settled=True)
    deployment["metadata"]["generation"] = 2
    plan = plan_deployment(deployment, pods_of(deployment, 3, ready=True), NOW)
    assert messages(plan) == [("ScalingReplicaSet", "Scaled down deployment web from 3 to 1")]


def test_one_stale_pod_per_pass_and_its_successor_in_the_same_pass():
    deployment = make_deployment(4, image="app:2")
    settle(deployment)
    plan = plan_deployment(deployment, pods_of(deployment, 4, ready=True), NOW)
    assert len(deleted(plan)) == 1
    (create,) = of(plan, Create)
    assert create.obj["spec"]["containers"][0]["image"] == "app:2"
    assert messages(plan) == [
        ("ScalingReplicaSet", "Scaled down old pods of deployment web from 4 to 3"),
        ("ScalingReplicaSet", "Scaled up new pods of deployment web from 0 to 1"),
    ]


def test_a_ready_stale_pod_waits_while_availability_cannot_spare_it():
    deployment = make_deployment(4, image="app:2", settled=True)
    pods = [*pods_of(deployment, 3, ready=True), deployment_pod(deployment, "app:2")]
    assert deleted(plan_deployment(deployment, pods, NOW)) == []
    pods[-1] = deployment_pod(deployment, "app:2", ready=True)
    assert len(deleted(plan_deployment(deployment, pods, NOW))) == 1


def test_a_not_ready_stale_pod_goes_always_and_first():
    deployment = make_deployment(4, image="app:2", settled=True)
    pods = [*pods_of(deployment, 2, ready=True), *pods_of(deployment, 2)]
    assert deleted(plan_deployment(deployment, pods, NOW)) == [pods[2]["metadata"]["name"]]


@pytest.mark.parametrize(
    ("replicas", "max_unavailable", "available", "goes"),
    [
        (8, "25%", 7, True),  # 2 may be missing
        (8, "25%", 6, False),
        (7, "25%", 7, True),  # 1.75 is rounded down
        (7, "25%", 6, False),
        (1, "25%", 1, True),  # 0.25 comes to 0, and that to 1
        (3, 0, 3, True),
        (3, 0, 2, False),
        (5, 3, 3, True),
        (5, 3, 2, False),
        (4, "100%", 1, True),
    ],
)
def test_max_unavailable_is_rounded_down_and_at_least_one(replicas, max_unavailable, available, goes):
    deployment = make_deployment(replicas, image="app:2", settled=True)
    deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] = max_unavailable
    fresh = [deployment_pod(deployment, "app:2") for _ in range(replicas - available)]
    plan = plan_deployment(deployment, fresh + pods_of(deployment, available, ready=True), NOW)
    assert bool(deleted(plan)) is goes


def test_min_ready_seconds_delays_availability_and_the_rollout():
    deployment = make_deployment(2, image="app:2", settled=True, minReadySeconds=30)
    pods = [deployment_pod(deployment, ready=True), deployment_pod(deployment, "app:2", ready=True, age=10)]
    plan = plan_deployment(deployment, pods, NOW)
    assert deleted(plan) == []
    assert plan.again_at == NOW + 20
    assert len(deleted(plan_deployment(deployment, pods, NOW + 20))) == 1


def test_recreate_deletes_all_old_pods_and_waits_until_they_are_gone():
    deployment = make_deployment(2, image="app:2", settled=True, strategy={"type": "Recreate"})
    pods = pods_of(deployment, 2, ready=True)
    plan = plan_deployment(deployment, pods, NOW)
    assert deleted(plan) == [pod["metadata"]["name"] for pod in pods]
    assert of(plan, Create) == []
    leaving = pods_of(deployment, 1, ready=True, deleting=True)
    assert of(plan_deployment(deployment, leaving, NOW), Create) == []
    assert len(of(plan_deployment(deployment, [], NOW), Create)) == 2


def test_paused_holds_the_rollout_but_not_the_scaling():
    deployment = make_deployment(3, image="app:2", paused=True)
    settle(deployment)
    pods = pods_of(deployment, 2, ready=True)
    plan = plan_deployment(deployment, pods, NOW)
    assert deleted(plan) == []
    (create,) = of(plan, Create)
    assert create.obj["spec"]["containers"][0]["image"] == "app:1"
    assert create.obj["metadata"]["labels"] == pods[0]["metadata"]["labels"]
    assert not [patch for patch in of(plan, Patch) if "metadata" in patch.patch]
    deployment["spec"]["replicas"] = 1
    assert len(deleted(plan_deployment(deployment, pods, NOW))) == 1


def test_while_paused_pods_that_fail_at_once_are_replaced_ever_more_slowly_too():
    deployment = make_deployment(1, image="app:2", paused=True)
    settle(deployment)
    failed = [deployment_pod(deployment, phase="Failed", age=0), deployment_pod(deployment, phase="Failed", age=60)]
    plan = plan_deployment(deployment, failed, NOW)
    assert (deleted(plan), of(plan, Create), plan.again_at) == ([], [], NOW + 60)
    (create,) = of(plan_deployment(deployment, failed, NOW + 60), Create)
    assert create.obj["metadata"]["labels"] == failed[0]["metadata"]["labels"]


def test_while_paused_a_successor_has_nothing_that_only_a_pod_acquires():
    deployment = make_deployment(2, image="app:2", paused=True)
    settle(deployment)
    acquired = {"nodeName": "n", "priority": 7, "preemptionPolicy": "Never", "ephemeralContainers": [{"name": "d"}]}
    (create,) = of(plan_deployment(deployment, [deployment_pod(deployment, **acquired)], NOW), Create)
    assert create.obj["spec"] == {"containers": [{"name": "app", "image": "app:1"}]}


def test_a_deployment_created_paused_has_no_pods():
    assert of(plan_deployment(make_deployment(3, paused=True), [], NOW), Create) == []


def test_revision_counts_templates_not_scalings():
    deployment = make_deployment(3)
    (first,) = of(plan_deployment(deployment, [], NOW), Patch)
    assert first.patch["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"
    deployment["metadata"]["annotations"] = first.patch["metadata"]["annotations"]
    deployment["status"] = first.patch["status"]
    deployment["spec"]["replicas"] = 5
    assert not [patch for patch in of(plan_deployment(deployment, [], NOW), Patch) if "metadata" in patch.patch]
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    (second,) = of(plan_deployment(deployment, [], NOW), Patch)
    assert second.patch["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"


def test_annotations_that_a_new_deployment_was_copied_with_are_no_rollout():
    deployment = make_deployment(1, settled=True)
    deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "7"
    deployment["status"] = {}
    (patch,) = of(plan_deployment(deployment, [], NOW), Patch)
    assert patch.patch["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"
    assert patch.patch["metadata"]["uid"] == "uid-web", "for another of that name it is refused"


@pytest.mark.parametrize("revision", ["", "x", "²", "-1", "12345678901"])
def test_a_revision_that_is_no_number_counts_as_none(revision):
    deployment = make_deployment(1, image="app:2", settled=True)
    deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = revision
    (patch,) = of(plan_deployment(deployment, [], NOW), Patch)
    assert patch.patch["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"


def test_pods_that_fail_at_once_are_replaced_ever_more_slowly():
    deployment = make_deployment(1, settled=True)
    failed = [deployment_pod(deployment, phase="Failed", age=0)]
    plan = plan_deployment(deployment, failed, NOW)
    assert of(plan, Create) == []
    assert plan.again_at == NOW + 1
    assert len(of(plan_deployment(deployment, failed, NOW + 1), Create)) == 1
    failed.append(deployment_pod(deployment, phase="Failed", age=60))
    assert plan_deployment(deployment, failed, NOW).again_at == NOW + 60
    failed.append(deployment_pod(deployment, phase="Failed", age=590))
    assert plan_deployment(deployment, failed, NOW).again_at == NOW + 300


def test_a_failing_pod_does_not_hold_up_the_replacement_of_another():
    deployment = make_deployment(3, settled=True)
    pods = [deployment_pod(deployment, ready=True), deployment_pod(deployment, phase="Failed", age=0)]
    assert len(of(plan_deployment(deployment, pods, NOW), Create)) == 1


def test_finished_pods_of_older_templates_and_beyond_ten_are_cleared_away():
    deployment = make_deployment(0, settled=True)
    old = deployment_pod(deployment, "app:0", phase="Failed")
    ended = [deployment_pod(deployment, phase="Failed", age=age) for age in range(100, 112)]
    names = [pod["metadata"]["name"] for pod in (old, *ended[10:])]
    assert deleted(plan_deployment(deployment, [*ended, old], NOW)) == names


def test_a_deployment_that_is_being_deleted_only_reports():
    deployment = make_deployment(3, image="app:2", settled=True)
    deployment["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    (patch,) = plan_deployment(deployment, [], NOW).actions
    assert list(patch.patch) == ["status"], "no new revision either"


# the loop around it


def test_pods_whose_owner_deployment_is_deleted_are_deleted():
    deployment = make_deployment(2)
    pods = pods_of(deployment, 2)
    view = FakeView({PODS: [*pods, deployment_pod(deployment, deleting=True)]})
    loop = DeploymentController()
    keys = set(loop.keys(DEPLOYMENTS, deployment, view)) | set(loop.keys(PODS, pods[0], view))
    assert keys == {"default/web/uid-web"}
    plan = loop.plan("default/web/uid-web", view, NOW)
    assert deleted(plan) == [pod["metadata"]["name"] for pod in pods]


def test_pods_of_an_earlier_deployment_of_the_same_name_go():
    earlier, later = make_deployment(1), make_deployment(1)
    later["metadata"]["uid"] = "uid-later"
    pod = deployment_pod(earlier)
    view = FakeView({PODS: [pod], DEPLOYMENTS: [later]})
    loop = DeploymentController()
    assert list(loop.keys(PODS, pod, view)) == ["default/web/uid-web"]
    assert list(loop.keys(DEPLOYMENTS, later, view)) == ["default/web"]


@pytest.mark.parametrize(
    "wrong", [{"name": "wbe"}, {"kind": "DaemonSet"}, {"uid": "another"}], ids=["name", "kind", "uid"]
)
def test_a_reference_that_is_wrong_in_part_costs_nobody_else_a_pod(wrong):
    deployment = make_deployment(1, settled=True)
    mine, stray = deployment_pod(deployment, ready=True), deployment_pod(deployment, ready=True)
    stray["metadata"]["ownerReferences"][0].update(wrong)
    view = FakeView({DEPLOYMENTS: [deployment], PODS: [mine, stray]})
    assert deleted(DeploymentController().plan("default/web", view, NOW)) == []
    for loop in (DeploymentController(), DaemonSetController(), JobController()):
        for key in loop.keys(PODS, stray, view):
            assert deleted(loop.plan(key, view, NOW)) == [stray["metadata"]["name"]]


def test_a_pod_of_another_namespace_is_not_the_deployments():
    deployment = make_deployment(1, settled=True)
    mine, stray = deployment_pod(deployment, ready=True), deployment_pod(deployment, ready=True)
    stray["metadata"]["namespace"] = "other"
    view = FakeView({DEPLOYMENTS: [deployment], PODS: [mine, stray]})
    assert deleted(DeploymentController().plan("default/web", view, NOW)) == []
    (key,) = DeploymentController().keys(PODS, stray, view)
    assert deleted(DeploymentController().plan(key, view, NOW)) == [stray["metadata"]["name"]]


def test_a_pod_leads_to_its_deployment_and_others_to_nothing():
    deployment = make_deployment(1)
    view = FakeView({DEPLOYMENTS: [deployment]})
    loop = DeploymentController()
    assert list(loop.keys(PODS, deployment_pod(deployment), view)) == ["default/web"]
    assert list(loop.keys(PODS, make_pod(deployment, "DaemonSet"), view)) == []
    assert list(loop.keys(PODS, {"metadata": {"name": "lone", "namespace": "default"}}, view)) == []


def test_nothing_is_done_in_a_namespace_that_is_being_deleted():
    namespace = {"metadata": {"name": "default", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    view = FakeView({DEPLOYMENTS: [make_deployment(1)], NAMESPACES: [namespace]})
    assert DeploymentController().plan("default/web", view, NOW).actions == ()
