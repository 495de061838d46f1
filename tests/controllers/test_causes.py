"""Why loops act, as their plans say: the reason, the object on account of which, and the state of it that was seen."""

import pytest
from kube32_controllers.daemonset import plan_daemonset
from kube32_controllers.deployment_controller import DeploymentController, plan_deployment
from kube32_controllers.job import plan_job
from kube32_controllers.namespace_controller import Content, plan_namespace
from kube32_controllers.node_lifecycle_controller import Observed, reconcile
from kube32_controllers.pod_garbage_collector import plan_finished, plan_orphans, plan_unscheduled
from kube32_controllers.scheduler import bind_actions, refuse_actions
from kube32_controllers.taint_eviction import evict_actions
from scheduling_objects import node
from scheduling_objects import pod as lone_pod
from workload_objects import NOW, deployment_pod, make_deployment, make_node, make_pod

from kube32_sim.api.builtin import builtin_table
from kube32_sim.causes import Cause, Placement, Ref
from kube32_sim.client import PODS
from kube32_sim.runtime.actions import Create, Delete, Patch, Update

WEB = Ref("Deployment", "default", "web", "uid-web", 5)


def causes(plan, kind):
    return [action.cause for action in plan.actions if isinstance(action, kind)]


def reasons(plan, kind):
    return [cause.reason for cause in causes(plan, kind)]


def test_a_cause_does_not_make_it_another_action():
    one, other = (Delete(PODS, "default", "p", "u", cause=cause) for cause in (None, Cause("loop", "Why")))
    assert one == other


# Deployments


def test_a_new_deployment_grows_and_says_on_account_of_which_state_of_it():
    first, *others = causes(plan_deployment(make_deployment(3), [], NOW), Create)
    assert (first.by, first.reason, first.about) == ("deployment-controller", "ScaledUp", WEB)
    assert first.message == "Deployment web wants 3 pods and has 0"
    assert others == [first, first]


def test_a_pod_that_is_missing_is_no_growth():
    deployment = make_deployment(2, settled=True)
    deployment["status"]["replicas"] = 2
    plan = plan_deployment(deployment, [deployment_pod(deployment, ready=True)], NOW)
    assert reasons(plan, Create) == ["Missing"]


def test_a_rollout_deletes_the_old_and_makes_the_new():
    deployment = make_deployment(2, image="app:2", settled=True)
    old = [deployment_pod(deployment, "app:1", ready=True) for _ in range(2)]
    deployment["spec"]["strategy"]["rollingUpdate"] = {"maxUnavailable": 1}
    plan = plan_deployment(deployment, old, NOW)
    assert (reasons(plan, Delete), reasons(plan, Create)) == (["OldTemplate"], ["RolledOut"])


def test_surplus_pods_are_scaled_down():
    deployment = make_deployment(1, settled=True)
    plan = plan_deployment(deployment, [deployment_pod(deployment, ready=True) for _ in range(3)], NOW)
    assert reasons(plan, Delete) == ["ScaledDown"] * 2
    assert causes(plan, Delete)[0].message == "Deployment web wants 1 pod and has 3"


def test_ended_pods_of_older_templates_are_cleared():
    deployment = make_deployment(1, image="app:2", settled=True)
    pods = [deployment_pod(deployment, "app:2", ready=True), deployment_pod(deployment, "app:1", phase="Failed")]
    assert reasons(plan_deployment(deployment, pods, NOW), Delete) == ["Cleared"]


def test_pods_of_a_deployment_that_is_gone_say_which_it_was():
    class View:
        def owned(self, resource, uid):
            return [deployment_pod(make_deployment())]

    (cause,) = causes(DeploymentController().plan("default/web/uid-web", View(), NOW), Delete)
    assert (cause.reason, cause.about) == ("OwnerGone", WEB._replace(revision=0))


# DaemonSets and Jobs


def daemonset():
    made = make_deployment()
    del made["spec"]["replicas"], made["spec"]["strategy"]
    return made


def test_a_daemon_pod_is_for_a_node():
    (cause,) = causes(plan_daemonset(daemonset(), [], [make_node("n0")], NOW), Create)
    assert (cause.reason, cause.also) == ("Missing", (Ref("Node", "", "n0"),))
    assert cause.message == "DaemonSet web wants a pod on node n0 and has none there"


def daemon_pod(owner, image, **how):
    from kube32_controllers.pod_control import template_hash
    from workload_objects import template

    labels = {"controller-revision-hash": template_hash(template(image))}
    return make_pod(owner, "DaemonSet", labels=labels, **how)


def test_daemon_pods_go_for_four_reasons():
    owner = daemonset()
    pods = [
        daemon_pod(owner, "app:0", ready=True, nodeName="n0"),
        daemon_pod(owner, "app:1", ready=True, nodeName="n1"),
        daemon_pod(owner, "app:1", nodeName="n1"),
        daemon_pod(owner, "app:1", ready=True, nodeName="gone"),
        daemon_pod(owner, "app:1", phase="Failed", age=500, nodeName="n2"),
    ]
    plan = plan_daemonset(owner, pods, [make_node(f"n{number}") for number in range(3)], NOW)
    found = {action.name: action.cause.reason for action in plan.actions if isinstance(action, Delete)}
    names = [pod["metadata"]["name"] for pod in pods]
    assert found == {names[2]: "TooMany", names[3]: "NotWanted", names[4]: "Finished"} | (
        {names[0]: "OldTemplate"} if names[0] in found else {}
    )


def job(**spec):
    made = make_deployment()
    del made["spec"]["replicas"], made["spec"]["strategy"]
    made["spec"] |= {"completions": 3, "parallelism": 2, "backoffLimit": 0, **spec}
    return made


def job_pod(owner, **how):
    made = make_pod(owner, "Job", **how)
    made["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking"]
    return made


def test_job_pods_are_made_for_what_is_missing():
    owner = job()
    first, second = causes(plan_job(owner, [], NOW), Create)
    assert first == second
    assert (first.reason, first.about.kind) == ("Missing", "Job")
    assert first.message == "Job web wants 2 pods to run and has 0 (0 succeeded, 0 failed)"


@pytest.mark.parametrize(
    ("spec", "phases", "reason"),
    [
        ({"suspend": True}, ["Running"], "Suspended"),
        ({"parallelism": 1}, ["Running", "Running"], "ScaledDown"),
        ({}, ["Failed", "Running"], "JobEnded"),
    ],
)
def test_job_pods_go_for_a_reason(spec, phases, reason):
    owner = job(**spec)
    plan = plan_job(owner, [job_pod(owner, phase=phase, ready=phase == "Running") for phase in phases], NOW)
    assert reasons(plan, Delete) == [reason]


# nodes


def test_a_lost_node_says_when_its_lease_ran_out_and_then_is_tainted():
    update, patch, _ = reconcile(Observed(node("n"), NOW - 1, None), 15.0, NOW).actions
    assert (update.cause.reason, patch.cause.reason) == ("LeaseExpired", "Tainted")
    assert update.cause.message == "the lease of node n ran out at 2025-12-31T23:59:59Z and was not renewed"
    assert update.cause.about.uid == "uid-n"


def test_an_evicted_pod_names_its_node():
    update, _ = evict_actions(lone_pod("p", node_name="n"), "n", NOW)
    assert (update.cause.reason, update.cause.about) == ("Evicted", Ref("Node", "", "n"))


def test_pod_garbage_collection_says_what_was_wrong():
    bound = lone_pod("p", node_name="n")
    (gone,) = causes(plan_orphans([bound], NOW - 50, NOW), Delete)
    assert (gone.reason, gone.about.name) == ("NodeGone", "n")
    going = lone_pod("q")
    going["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
    assert reasons(plan_unscheduled(going), Delete) == ["NeverBound"]
    assert reasons(plan_finished([lone_pod("r", phase="Failed")], 0), Delete) == ["TooManyEnded"]


def test_a_namespace_takes_its_content_along():
    metadata = {"name": "shop", "uid": "uid-shop", "resourceVersion": "9", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    namespace = {"metadata": metadata, "spec": {"finalizers": ["kubernetes"]}, "status": {}}
    row = builtin_table().by_storage(("", "pods"))
    (cause,) = causes(plan_namespace(namespace, [Content(row, [lone_pod("p")])], NOW), Delete)
    assert (cause.reason, cause.about) == ("NamespaceDeleted", Ref("Namespace", "", "shop", "uid-shop", 9))


# the scheduler


def test_a_binding_carries_what_spoke_for_the_node():
    placement = Placement("n0", 73, (71, "n1"))
    (bind,) = bind_actions(lone_pod("p"), "n0", placement)
    assert (bind.cause.reason, bind.cause.placement) == ("Scheduled", placement)


def test_only_the_first_refusal_is_told_of():
    pod = lone_pod("p")
    update, _ = refuse_actions(pod, "0/1 nodes are available.", "2026-01-01T00:00:00Z")
    assert isinstance(update, Update)
    assert update.cause.placement == Placement("", message="0/1 nodes are available.")
    again, _ = refuse_actions(update.obj, "0/2 nodes are available.", "2026-01-01T00:00:01Z")
    assert again.cause is None


def test_what_only_reports_has_no_cause():
    plan = plan_deployment(make_deployment(1), [], NOW)
    assert causes(plan, Patch) == [None]
