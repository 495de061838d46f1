"""Status and conditions of a Deployment: what `kubectl rollout status` and `kubectl wait` go by."""

import pytest
from kube32_controllers.deployment_controller import plan_deployment
from workload_objects import NOW, deployment_pod, make_deployment

from kube32_sim.clock import rfc3339
from kube32_sim.runtime.actions import Patch


def step(deployment, pods, now=NOW):
    """Apply what a pass writes to the Deployment itself; answers the status patch, None when it writes none."""
    written = None
    for action in plan_deployment(deployment, pods, now).actions:
        if isinstance(action, Patch):
            written = action.patch.get("status", {})
            status = {**deployment["status"], **written}
            deployment["status"] = {key: value for key, value in status.items() if value is not None}
            annotations = action.patch.get("metadata", {}).get("annotations", {})
            deployment["metadata"].setdefault("annotations", {}).update(annotations)
    return written


def conditions(deployment):
    return {one["type"]: (one["status"], one["reason"]) for one in deployment["status"]["conditions"]}


def progressing(deployment):
    return next(one for one in deployment["status"]["conditions"] if one["type"] == "Progressing")


def test_a_new_deployment_reports_nothing_available_yet():
    deployment = make_deployment(3)
    step(deployment, [])
    moment = rfc3339(NOW)
    assert deployment["status"] == {
        "observedGeneration": 1,
        "unavailableReplicas": 3,
        "terminatingReplicas": 0,
        "conditions": [
            {
                "lastTransitionTime": moment,
                "lastUpdateTime": moment,
                "message": "Deployment does not have minimum availability.",
                "reason": "MinimumReplicasUnavailable",
                "status": "False",
                "type": "Available",
            },
            {
                "lastTransitionTime": moment,
                "lastUpdateTime": moment,
                "message": progressing(deployment)["message"],
                "reason": "NewReplicaSetCreated",
                "status": "True",
                "type": "Progressing",
            },
        ],
    }


def test_a_rollout_goes_from_created_over_updated_to_available():
    deployment = make_deployment(2)
    step(deployment, [])
    pods = [deployment_pod(deployment), deployment_pod(deployment)]
    step(deployment, pods)
    assert conditions(deployment)["Progressing"] == ("True", "ReplicaSetUpdated")
    pods = [deployment_pod(deployment, ready=True), deployment_pod(deployment, ready=True)]
    step(deployment, pods)
    assert conditions(deployment) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }
    assert progressing(deployment)["message"] == 'Deployment "web" has successfully progressed.'
    counts = {key: value for key, value in deployment["status"].items() if key != "conditions"}
    assert counts == {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "terminatingReplicas": 0,
    }
    assert step(deployment, pods, NOW + 100) is None


def test_a_new_template_starts_a_rollout_that_updated_replicas_show():
    deployment = make_deployment(1)
    old = deployment_pod(deployment, ready=True)
    step(deployment, [old])
    deployment["metadata"]["generation"] = 2
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    step(deployment, [old], NOW + 50)
    status = deployment["status"]
    assert (status["observedGeneration"], status["replicas"], "updatedReplicas" in status) == (2, 1, False)
    assert progressing(deployment)["reason"] == "NewReplicaSetCreated"
    assert progressing(deployment)["lastUpdateTime"] == rfc3339(NOW + 50)
    assert progressing(deployment)["lastTransitionTime"] == rfc3339(NOW)


def test_a_rollout_without_progress_times_out_and_says_when_to_look():
    deployment = make_deployment(1, progressDeadlineSeconds=60)
    step(deployment, [])
    pods = [deployment_pod(deployment)]
    step(deployment, pods, NOW + 10)
    assert plan_deployment(deployment, pods, NOW + 20).again_at == NOW + 71
    assert step(deployment, pods, NOW + 70) is None
    step(deployment, pods, NOW + 71)
    assert conditions(deployment)["Progressing"] == ("False", "ProgressDeadlineExceeded")
    assert progressing(deployment)["message"] == 'Deployment "web" has timed out progressing.'
    assert step(deployment, pods, NOW + 200) is None
    step(deployment, [deployment_pod(deployment, ready=True)], NOW + 300)
    assert conditions(deployment)["Progressing"] == ("True", "NewReplicaSetAvailable")


def test_a_pod_lost_after_the_rollout_is_no_rollout():
    deployment = make_deployment(1)
    step(deployment, [deployment_pod(deployment, ready=True)])
    step(deployment, [deployment_pod(deployment)], NOW + 10_000)
    assert conditions(deployment) == {
        "Available": ("False", "MinimumReplicasUnavailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }


def test_pause_and_resume_show_in_progressing():
    deployment = make_deployment(1)
    pods = [deployment_pod(deployment)]
    step(deployment, pods)
    deployment["spec"]["paused"] = True
    step(deployment, pods)
    assert conditions(deployment)["Progressing"] == ("Unknown", "DeploymentPaused")
    deployment["spec"]["paused"] = False
    step(deployment, pods)
    assert conditions(deployment)["Progressing"] == ("Unknown", "DeploymentResumed")
    step(deployment, [deployment_pod(deployment, ready=True)])
    assert conditions(deployment)["Progressing"] == ("True", "NewReplicaSetAvailable")


@pytest.mark.parametrize("none", [None, 2**31 - 1])
def test_without_a_deadline_there_is_no_progressing(none):
    deployment = make_deployment(1, progressDeadlineSeconds=none)
    step(deployment, [])
    assert list(conditions(deployment)) == ["Available"]


@pytest.mark.parametrize(
    ("replicas", "ready", "rolling", "available"),
    [
        (1, 0, {}, "False"),
        (1, 1, {}, "True"),
        (4, 3, {}, "True"),
        (4, 2, {}, "False"),
        (2, 1, {"maxUnavailable": 1}, "True"),
        (2, 1, {"maxUnavailable": 0, "maxSurge": 1}, "False"),
        (2, 1, {"maxUnavailable": "25%", "maxSurge": 0}, "True"),
        (0, 0, {}, "True"),
    ],
)
def test_available_needs_replicas_less_max_unavailable(replicas, ready, rolling, available):
    deployment = make_deployment(replicas)
    deployment["spec"]["strategy"]["rollingUpdate"].update(rolling)
    pods = [deployment_pod(deployment, ready=number < ready) for number in range(replicas)]
    step(deployment, pods)
    assert conditions(deployment)["Available"][0] == available


def test_recreate_is_available_only_when_all_pods_are():
    deployment = make_deployment(4, strategy={"type": "Recreate"})
    step(deployment, [deployment_pod(deployment, ready=number < 3) for number in range(4)])
    assert conditions(deployment)["Available"][0] == "False"


def test_terminating_pods_are_counted_apart():
    deployment = make_deployment(1)
    step(deployment, [deployment_pod(deployment, ready=True), deployment_pod(deployment, ready=True, deleting=True)])
    assert deployment["status"]["replicas"] == 1
    assert deployment["status"]["terminatingReplicas"] == 1


def test_counts_that_fall_to_zero_are_taken_away():
    deployment = make_deployment(1)
    step(deployment, [deployment_pod(deployment, ready=True)])
    deployment["spec"]["replicas"] = 0
    written = step(deployment, [])
    assert written["replicas"] is None
    assert written["availableReplicas"] is None
    assert conditions(deployment)["Available"][0] == "True"


def test_a_refusal_is_told_as_a_condition_beside_the_rest():
    deployment = make_deployment(2)
    patch = next(one for one in plan_deployment(deployment, [], NOW).actions if isinstance(one, Patch))
    known, failure = patch.if_refused["status"]["conditions"][:-1], patch.if_refused["status"]["conditions"][-1]
    assert known == patch.patch["status"]["conditions"]
    assert failure == {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": "{error}",
        "lastUpdateTime": rfc3339(NOW),
        "lastTransitionTime": rfc3339(NOW),
    }
    deployment["status"] = patch.if_refused["status"]
    deployment["metadata"]["annotations"] = patch.if_refused["metadata"]["annotations"]
    again = next(one for one in plan_deployment(deployment, [], NOW + 5).actions if isinstance(one, Patch))
    assert again.if_refused == {}, "the same once more is no news"
    assert again.patch == {"status": {"conditions": known}}
