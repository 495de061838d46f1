"""Jobs: which pods are started, how they count, how it ends (seed: "Job"; conditions as Kubernetes 1.36 has them)."""

import pytest
from kube32_controllers.job import plan_job
from kube32_controllers.job_indexes import format_indexes, indexes_of, parse_indexes
from kube32_controllers.job_pods import INDEX, TRACKING
from kube32_controllers.workload_controller import JobController
from workload_objects import NOW, FakeView, make_pod, template

from kube32_sim.client import JOBS, PODS
from kube32_sim.clock import rfc3339
from kube32_sim.runtime.actions import Create, Delete, Emit, Patch


def make_job(**spec):
    return {
        "metadata": {"name": "sum", "namespace": "default", "uid": "uid-sum", "resourceVersion": "5", "generation": 1},
        "spec": {
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": 6,
            "completionMode": "NonIndexed",
            "template": template(restartPolicy="Never"),
            **spec,
        },
        "status": {},
    }


def job_pod(job, phase="Running", *, index=None, held=True, **how):
    pod = make_pod(job, "Job", phase=phase, nodeName="a", **how)
    if held:
        pod["metadata"]["finalizers"] = [TRACKING]
    if index is not None:
        pod["metadata"]["annotations"] = {INDEX: str(index)}
    return pod


def of(plan, kind):
    return [action for action in plan.actions if isinstance(action, kind)]


def events(plan):
    return [event.reason for event in of(plan, Emit)]


def merge(target, patch):
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            merge(target.setdefault(key, {}), value)
        else:
            target[key] = value


def step(job, pods, now=NOW):
    """A pass whose effects on Job and pods are carried out; answers the plan.  Deleted pods start to terminate."""
    plan = plan_job(job, pods, now)
    by_name = {pod["metadata"]["name"]: pod for pod in pods}
    for action in plan.actions:
        if isinstance(action, Patch) and action.resource == JOBS:
            merge(job, action.patch)
        elif isinstance(action, Patch):
            merge(by_name[action.name], action.patch)
        elif isinstance(action, Delete):
            by_name[action.name]["metadata"]["deletionTimestamp"] = rfc3339(now)
    return plan


def conditions(job):
    return {one["type"]: (one["status"], one["reason"]) for one in job["status"].get("conditions", [])}


def test_a_job_starts_its_pod_and_its_clock():
    job = make_job()
    plan = step(job, [])
    (create,) = of(plan, Create)
    assert create.obj["metadata"]["generateName"] == "sum-"
    assert create.obj["metadata"]["finalizers"] == [TRACKING]
    assert create.obj["metadata"]["ownerReferences"][0]["kind"] == "Job"
    assert create.succeeded.reason == "SuccessfulCreate"
    assert job["status"] == {
        "startTime": rfc3339(NOW),
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }


@pytest.mark.parametrize(
    ("completions", "parallelism", "succeeded", "running", "started"),
    [(1, 1, 0, 0, 1), (5, 2, 0, 0, 2), (5, 2, 0, 1, 1), (5, 2, 4, 0, 1), (5, 9, 3, 1, 1), (5, 0, 0, 0, 0)],
)
def test_active_pods_are_at_most_parallelism_and_what_is_still_to_come(
    completions, parallelism, succeeded, running, started
):
    job = make_job(completions=completions, parallelism=parallelism)
    job["status"]["succeeded"] = succeeded
    assert len(of(plan_job(job, [job_pod(job) for _ in range(running)], NOW), Create)) == started


def test_a_pod_that_succeeds_completes_the_job():
    job = make_job()
    step(job, [])
    pod = job_pod(job, "Succeeded")
    plan = step(job, [pod], NOW + 9)
    assert conditions(job) == {
        "SuccessCriteriaMet": ("True", "CompletionsReached"),
        "Complete": ("True", "CompletionsReached"),
    }
    assert job["status"]["succeeded"] == 1
    assert job["status"]["completionTime"] == rfc3339(NOW + 9)
    assert events(plan) == ["Completed"]
    assert "finalizers" not in pod["metadata"]
    assert plan_job(job, [pod], NOW + 10).actions == ()


def test_a_pod_is_noted_let_go_and_counted_in_this_order():
    job = make_job(completions=2)
    pod = job_pod(job, "Succeeded", name="p")
    first, second, third = of(plan_job(job, [pod], NOW), Patch)
    assert first.patch["status"]["uncountedTerminatedPods"] == {"succeeded": ["uid-p"]}
    assert second.resource == PODS
    assert second.patch["metadata"] == {"resourceVersion": "7", "finalizers": None}
    assert third.patch["status"]["succeeded"] == 1
    assert third.patch["status"]["uncountedTerminatedPods"] == {"succeeded": None}


@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_a_pod_counts_once_wherever_a_pass_breaks_off(done):
    job = make_job(completions=2)
    pod = job_pod(job, "Succeeded")
    for action in of(plan_job(job, [pod], NOW), Patch)[:done]:
        merge(pod if action.resource == PODS else job, action.patch)
    step(job, [pod])
    step(job, [])
    assert job["status"]["succeeded"] == 1
    assert job["status"]["uncountedTerminatedPods"] == {}


def test_a_pod_that_succeeded_and_was_deleted_stays_counted():
    job = make_job(completions=2)
    step(job, [job_pod(job, "Succeeded")])
    assert len(of(step(job, []), Create)) == 1
    assert job["status"]["succeeded"] == 1


def test_failures_beyond_the_backoff_limit_fail_the_job():
    job = make_job(backoffLimit=1, parallelism=2, completions=2)
    failed = [job_pod(job, "Failed")]
    assert len(of(step(job, failed), Create)) == 2
    assert conditions(job) == {}
    running = job_pod(job, name="still-running")
    plan = step(job, [*failed, job_pod(job, "Failed"), running])
    assert [action.name for action in of(plan, Delete)] == ["still-running"]
    assert of(plan, Create) == []
    assert conditions(job) == {"FailureTarget": ("True", "BackoffLimitExceeded")}
    step(job, [running])
    assert "Failed" not in conditions(job)
    plan = step(job, [])
    assert conditions(job)["Failed"] == ("True", "BackoffLimitExceeded")
    assert events(plan) == ["BackoffLimitExceeded"]
    assert job["status"]["failed"] == 3
    assert "completionTime" not in job["status"]


def test_the_backoff_limit_is_six_by_default():
    job = make_job()
    del job["spec"]["backoffLimit"]
    job["status"]["failed"] = 5
    step(job, [job_pod(job, "Failed")])
    assert conditions(job) == {}
    step(job, [job_pod(job, "Failed")])
    assert conditions(job)["Failed"] == ("True", "BackoffLimitExceeded")


def test_containers_restarted_in_place_are_no_failures():
    job = make_job(backoffLimit=0, template=template(restartPolicy="OnFailure"))
    pod = job_pod(job)
    pod["status"]["containerStatuses"] = [{"name": "app", "restartCount": 9}]
    step(job, [pod])
    assert conditions(job) == {}
    assert "failed" not in job["status"]


def test_a_pod_that_is_being_deleted_counts_as_failed_and_is_replaced():
    job = make_job()
    plan = step(job, [job_pod(job, deleting=True)])
    assert len(of(plan, Create)) == 1
    assert job["status"]["failed"] == 1
    assert job["status"]["terminating"] == 1


def test_with_replacement_policy_failed_it_is_replaced_when_it_has_ended():
    job = make_job(podReplacementPolicy="Failed")
    leaving = job_pod(job, deleting=True)
    assert of(step(job, [leaving]), Create) == []
    assert "failed" not in job["status"]
    leaving["metadata"]["deletionGracePeriodSeconds"] = 0
    step(job, [leaving])
    assert len(of(step(job, []), Create)) == 1
    assert job["status"]["failed"] == 1


def test_the_active_deadline_fails_the_job():
    job = make_job(activeDeadlineSeconds=60)
    pod = job_pod(job)
    assert step(job, [pod]).again_at == NOW + 60
    plan = step(job, [pod], NOW + 60)
    assert len(of(plan, Delete)) == 1
    assert conditions(job) == {"FailureTarget": ("True", "DeadlineExceeded")}
    step(job, [], NOW + 61)
    assert conditions(job)["Failed"] == ("True", "DeadlineExceeded")


def test_suspending_takes_the_pods_away_without_counting_them():
    job = make_job()
    pod = job_pod(job)
    step(job, [pod])
    job["spec"]["suspend"] = True
    plan = step(job, [pod], NOW + 5)
    assert len(of(plan, Delete)) == 1
    assert "Suspended" in events(plan)
    assert conditions(job) == {"Suspended": ("True", "JobSuspended")}
    assert "startTime" not in job["status"]
    step(job, [pod], NOW + 6)
    assert "failed" not in job["status"]
    job["spec"]["suspend"] = False
    plan = step(job, [], NOW + 50)
    assert len(of(plan, Create)) == 1
    assert events(plan) == ["Resumed"]
    assert conditions(job) == {"Suspended": ("False", "JobResumed")}
    assert job["status"]["startTime"] == rfc3339(NOW + 50)


def test_lowering_parallelism_withdraws_pods_without_counting_them():
    job = make_job(parallelism=1, completions=5)
    pods = [job_pod(job, age=age) for age in (30, 20)]
    plan = step(job, pods)
    assert [action.name for action in of(plan, Delete)] == [pods[1]["metadata"]["name"]]
    step(job, pods)
    assert "failed" not in job["status"]


def test_without_completions_one_is_enough():
    job = make_job(parallelism=3)
    del job["spec"]["completions"]
    assert len(of(step(job, []), Create)) == 1
    assert of(step(job, [job_pod(job)]), Create) == []
    step(job, [job_pod(job, "Succeeded")])
    assert conditions(job)["Complete"] == ("True", "CompletionsReached")


def test_time_to_live_deletes_the_finished_job():
    job = make_job(ttlSecondsAfterFinished=30)
    step(job, [job_pod(job, "Succeeded")])
    plan = plan_job(job, [], NOW + 10)
    assert (plan.actions, plan.again_at) == ((), NOW + 30)
    (deletion,) = plan_job(job, [], NOW + 30).actions
    assert (deletion.resource, deletion.name, deletion.propagation) == (JOBS, "sum", "Foreground")


def test_a_job_that_ended_nobody_knows_when_stays():
    job = make_job(ttlSecondsAfterFinished=30)
    step(job, [job_pod(job, "Succeeded")])
    for condition in job["status"]["conditions"]:
        condition["lastTransitionTime"] = None
    assert plan_job(job, [], NOW + 3600).actions == ()


def test_a_job_managed_by_another_controller_is_left_alone():
    assert plan_job(make_job(managedBy="example.com/other"), [], NOW).actions == ()


# Indexed


def test_indexed_pods_are_named_and_told_their_index():
    job = make_job(completionMode="Indexed", completions=3, parallelism=2)
    first, second = (create.obj for create in of(plan_job(job, [], NOW), Create))
    assert [first["metadata"]["generateName"], second["metadata"]["generateName"]] == ["sum-0-", "sum-1-"]
    assert first["metadata"]["annotations"][INDEX] == first["metadata"]["labels"][INDEX] == "0"
    assert second["spec"]["hostname"] == "sum-1"
    assert first["spec"]["containers"][0]["env"] == [
        {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}}
    ]


def test_indexes_complete_one_by_one():
    job = make_job(completionMode="Indexed", completions=4, parallelism=2)
    plan = step(job, [job_pod(job, "Succeeded", index=1), job_pod(job, "Failed", index=0), job_pod(job, index=2)])
    assert [create.obj["metadata"]["labels"][INDEX] for create in of(plan, Create)] == ["0"]
    assert job["status"]["completedIndexes"] == "1"
    assert (job["status"]["succeeded"], job["status"]["failed"]) == (1, 1)
    step(job, [job_pod(job, "Succeeded", index=index) for index in (0, 2, 3)])
    assert job["status"]["completedIndexes"] == "0-3"
    assert conditions(job)["Complete"] == ("True", "CompletionsReached")


def test_a_second_pod_of_an_index_is_withdrawn():
    job = make_job(completionMode="Indexed", completions=2, parallelism=2)
    pods = [job_pod(job, index=0, age=50), job_pod(job, index=0, age=20), job_pod(job, index=7)]
    plan = plan_job(job, pods, NOW)
    assert {action.name for action in of(plan, Delete)} == {pod["metadata"]["name"] for pod in pods[1:]}
    assert [create.obj["metadata"]["labels"][INDEX] for create in of(plan, Create)] == ["1"]


@pytest.mark.parametrize(
    ("indexes", "text"), [([], ""), ([4], "4"), ([1, 2], "1,2"), ([0, 1, 2, 5, 7, 8, 9], "0-2,5,7-9")]
)
def test_indexes_are_written_as_ranges(indexes, text):
    assert format_indexes(indexes_of(indexes)) == text
    assert parse_indexes(text) == indexes_of(indexes)


# the loop around it


def test_pods_of_a_deleted_job_are_let_go_and_deleted():
    job = make_job()
    pod = job_pod(job)
    view, loop = FakeView({PODS: [pod]}), JobController()
    (key,) = loop.keys(PODS, pod, view)
    assert list(loop.keys(JOBS, job, view)) == [key]
    release, deletion = loop.plan(key, view, NOW).actions
    assert release.patch["metadata"]["finalizers"] is None
    assert deletion.name == pod["metadata"]["name"]


def test_a_tracked_pod_whose_job_let_it_go_is_released():
    pod = job_pod(make_job())
    del pod["metadata"]["ownerReferences"]
    view, loop = FakeView({PODS: [pod]}), JobController()
    (key,) = loop.keys(PODS, pod, view)
    (release,) = loop.plan(key, view, NOW).actions
    assert release.patch["metadata"]["finalizers"] is None
