"""podFailurePolicy, backoffLimitPerIndex and successPolicy of a Job."""

import pytest
from kube32_controllers.job_pods import INDEX
from kube32_controllers.job_policies import FAILURES, matched_rule
from test_job import conditions, job_pod, make_job, of, step

from kube32_sim.runtime.actions import Create, Delete


def failed(job, code=1, **how):
    pod = job_pod(job, "Failed", **how)
    pod["status"]["containerStatuses"] = [{"name": "app", "state": {"terminated": {"exitCode": code}}}]
    return pod


def exit_rule(action, operator="In", values=(42,), **more):
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(values), **more}}


def with_rules(*rules, **spec):
    return make_job(podFailurePolicy={"rules": list(rules)}, podReplacementPolicy="Failed", **spec)


@pytest.mark.parametrize(
    ("rule", "code", "action"),
    [
        (exit_rule("FailJob"), 42, "FailJob"),
        (exit_rule("FailJob"), 1, "Count"),
        (exit_rule("FailJob", "NotIn"), 1, "FailJob"),
        (exit_rule("FailJob", "NotIn"), 42, "Count"),
        (exit_rule("Ignore", containerName="app"), 42, "Ignore"),
        (exit_rule("Ignore", containerName="other"), 42, "Count"),
    ],
)
def test_rules_on_exit_codes(rule, code, action):
    job = with_rules(rule)
    assert matched_rule(job, failed(job, code))[0] == action


def test_a_policy_may_have_no_rules():
    job = make_job(podFailurePolicy={"rules": None}, podReplacementPolicy="Failed")
    assert matched_rule(job, failed(job)) == ("Count", "")


def test_the_first_rule_that_matches_decides():
    job = with_rules(exit_rule("Count"), exit_rule("FailJob", values=(42, 43)))
    assert matched_rule(job, failed(job, 42))[0] == "Count"
    assert matched_rule(job, failed(job, 43))[0] == "FailJob"


def test_fail_job_ends_it_at_once():
    job = with_rules(exit_rule("FailJob"), parallelism=2, completions=2)
    running = job_pod(job)
    plan = step(job, [failed(job, 42, name="bad"), running])
    assert [action.name for action in of(plan, Delete)] == [running["metadata"]["name"]]
    (target,) = job["status"]["conditions"]
    assert (target["type"], target["reason"]) == ("FailureTarget", "PodFailurePolicy")
    expected = "Container app for pod default/bad failed with exit code 42 matching FailJob rule at index 0"
    assert target["message"] == expected
    running["metadata"]["deletionGracePeriodSeconds"] = 0
    step(job, [running])
    step(job, [])
    assert conditions(job)["Failed"] == ("True", "PodFailurePolicy")


def test_an_ignored_failure_is_replaced_and_not_counted():
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    job = with_rules(rule, backoffLimit=0)
    pod = failed(job)
    pod["status"]["conditions"] = [{"type": "DisruptionTarget", "status": "True"}]
    assert len(of(step(job, [pod]), Create)) == 1
    assert "finalizers" not in pod["metadata"]
    assert "failed" not in job["status"]


def indexed(**spec):
    return make_job(completionMode="Indexed", backoffLimit=2**31 - 1, **spec)


def test_an_index_is_tried_again_up_to_its_own_limit():
    job = indexed(completions=2, parallelism=2, backoffLimitPerIndex=1)
    fine = job_pod(job, index=1)
    (create,) = of(step(job, [failed(job, index=0), fine]), Create)
    annotations = create.obj["metadata"]["annotations"]
    assert (annotations[INDEX], annotations[FAILURES]) == ("0", "1")
    second = failed(job, index=0)
    second["metadata"]["annotations"][FAILURES] = "1"
    assert of(step(job, [second, fine]), Create) == []
    assert job["status"]["failedIndexes"] == "0"
    assert conditions(job) == {}
    step(job, [second, job_pod(job, "Succeeded", index=1)])
    assert conditions(job)["Failed"] == ("True", "FailedIndexes")
    assert job["status"]["completedIndexes"] == "1"


def test_too_many_failed_indexes_end_the_job():
    job = indexed(completions=5, parallelism=2, backoffLimitPerIndex=0, maxFailedIndexes=1)
    pods = [failed(job, index=0)]
    step(job, pods)
    assert conditions(job) == {}
    step(job, [*pods, failed(job, index=1)])
    assert conditions(job)["Failed"] == ("True", "MaxFailedIndexesExceeded")


def test_fail_index_gives_an_index_up_at_once():
    rules = {"rules": [exit_rule("FailIndex")]}
    job = indexed(completions=2, parallelism=1, backoffLimitPerIndex=5, podFailurePolicy=rules)
    (create,) = of(step(job, [failed(job, 42, index=0)]), Create)
    assert create.obj["metadata"]["annotations"][INDEX] == "1"
    assert job["status"]["failedIndexes"] == "0"


@pytest.mark.parametrize(
    ("rule", "done", "met"),
    [
        ({"succeededIndexes": "0,2"}, [0, 2], True),
        ({"succeededIndexes": "0,2"}, [0, 1], False),
        ({"succeededCount": 2}, [1, 3], True),
        ({"succeededCount": 2}, [1], False),
        ({"succeededIndexes": "0-2", "succeededCount": 1}, [1], True),
        ({"succeededIndexes": "0-2", "succeededCount": 1}, [3], False),
    ],
)
def test_a_success_policy_ends_the_job_early(rule, done, met):
    job = indexed(completions=4, parallelism=4, successPolicy={"rules": [rule]})
    step(job, [job_pod(job, "Succeeded", index=index) for index in done])
    assert (conditions(job).get("Complete") == ("True", "SuccessPolicy")) is met
    if met:
        assert job["status"]["conditions"][0]["message"] == "Matched rules at index 0"
