"""How long a Job waits before it replaces pods that fail again and again."""

import pytest
from kube32_controllers.job_backoff import AT_ONCE, WHOLE_JOB, resting
from test_job import job_pod, make_job, of, step
from workload_objects import NOW

from kube32_sim.clock import rfc3339
from kube32_sim.runtime.actions import Create


def ended(job, phase, ago, **how):
    pod = job_pod(job, phase, held=False, age=ago + 5, **how)
    terminated = {"exitCode": int(phase == "Failed"), "finishedAt": rfc3339(NOW - ago)}
    pod["status"]["containerStatuses"] = [{"name": "app", "state": {"terminated": terminated}}]
    return pod


@pytest.mark.parametrize(
    ("failures", "wait"), [(0, 0), (1, 0), (AT_ONCE, 0), (7, 10), (8, 20), (12, 320), (13, 600), (500, 600)]
)
def test_the_wait_doubles_once_there_are_many_failures(failures, wait):
    job = make_job()
    pods = [ended(job, "Failed", 0) for _ in range(failures)]
    assert resting(job, pods, NOW) == ({WHOLE_JOB: NOW + wait} if wait else {})


def test_it_counts_from_the_last_failure_and_ends():
    job = make_job()
    pods = [ended(job, "Failed", ago) for ago in (30, 25, 20, 15, 12, 9, 4)]
    assert resting(job, pods, NOW) == {WHOLE_JOB: NOW + 6}
    assert resting(job, pods, NOW + 6) == {}


def test_a_success_makes_an_end_of_the_row():
    job = make_job()
    pods = [*(ended(job, "Failed", 20) for _ in range(20)), ended(job, "Succeeded", 10), ended(job, "Failed", 0)]
    assert resting(job, pods, NOW) == {}


def test_a_pod_that_never_ran_failed_when_it_was_created():
    job = make_job()
    assert resting(job, [job_pod(job, "Failed", age=3) for _ in range(7)], NOW) == {WHOLE_JOB: NOW + 7}


def test_indexes_with_a_limit_of_their_own_wait_alone():
    job = make_job(completionMode="Indexed", completions=3, parallelism=3, backoffLimit=99, backoffLimitPerIndex=9)
    pods = [ended(job, "Failed", 0, index=1) for _ in range(7)] + [ended(job, "Failed", 0, index=2) for _ in range(6)]
    assert resting(job, pods, NOW) == {1: NOW + 10}
    plan = step(job, pods)
    assert sorted(create.obj["metadata"]["generateName"] for create in of(plan, Create)) == ["sum-0-", "sum-2-"]
    assert plan.again_at == NOW + 10


def test_the_job_comes_back_when_the_wait_is_over():
    job = make_job(backoffLimit=99)
    pods = [ended(job, "Failed", 0) for _ in range(7)]
    plan = step(job, pods)
    assert (of(plan, Create), plan.again_at) == ([], NOW + 10)
    assert len(of(step(job, pods, NOW + 10), Create)) == 1
