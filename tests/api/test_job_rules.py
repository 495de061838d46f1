"""Jobs and CronJobs: what upstream refuses of their specs, of their changes and of a Job's status."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from strategy_objects import changed, context_of, created, decoded, row_of, texts

from kube32_sim.api.validation.workloads_job_status import validate_job_status

JsonObject = dict[str, Any]

POD: JsonObject = {"containers": [{"name": "app", "image": "busybox"}], "restartPolicy": "Never"}
NEGATIVE = "must be greater than or equal to 0"
RULE = "spec.podFailurePolicy.rules[0]"


def job(**spec: Any) -> JsonObject:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"template": {"spec": POD}} | spec,
    }


def cron_job(name: str = "c", schedule: str = "0 0 * * *", job: JsonObject | None = None, **spec: Any) -> JsonObject:
    made = {"schedule": schedule, "jobTemplate": {"spec": {"template": {"spec": POD}} | (job or {})}} | spec
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name}, "spec": made}


def refusals(body: JsonObject) -> list[str]:
    return texts(created(body)[1])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"action": "Count", "onExitCodes": {"operator": "In", "values": [1, 2]}}, []),
        (
            {},
            [
                f'{RULE}.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]',
                f"{RULE}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
            ],
        ),
        (
            {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}},
            [f'{RULE}.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set'],
        ),
        (
            {"action": "Count", "onExitCodes": {"values": [0, 3, 3, 1], "containerName": "other"}},
            [
                f'{RULE}.onExitCodes.operator: Required value: valid values: ["In" "NotIn"]',
                f'{RULE}.onExitCodes.containerName: Invalid value: "other": must be one of the container or '
                "initContainer names in the pod template",
                f"{RULE}.onExitCodes.values[2]: Duplicate value: 3",
                f"{RULE}.onExitCodes.values: Invalid value: [0,3,3,1]: must be ordered",
            ],
        ),
        (
            {"action": "Count", "onExitCodes": {"operator": "In", "values": [0, 0]}},
            [
                f"{RULE}.onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator",
                f"{RULE}.onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator",
                f"{RULE}.onExitCodes.values[1]: Duplicate value: 0",
            ],
        ),
        (
            {"action": "Ignore", "onPodConditions": [{"type": "A", "status": "Odd"}]},
            [
                f'{RULE}.onPodConditions[0].status: Unsupported value: "Odd": '
                'supported values: "False", "True", "Unknown"'
            ],
        ),
    ],
)
def test_rules_of_a_failure_policy(rule: JsonObject, expected: list[str]) -> None:
    assert refusals(job(podFailurePolicy={"rules": [rule]})) == expected


@pytest.mark.parametrize("policy", [{}, {"rules": []}, {"rules": None}])
def test_a_failure_policy_without_rules_is_written_with_null(policy: JsonObject) -> None:
    made, failures, _ = created(job(podFailurePolicy=policy))
    assert (failures, made["spec"]["podFailurePolicy"]) == ([], {"rules": None})


def test_conditions_of_a_failure_policy_have_a_qualified_type() -> None:
    found = refusals(job(podFailurePolicy={"rules": [{"action": "Ignore", "onPodConditions": [{}]}]}))
    assert found[0] == f'{RULE}.onPodConditions[0].type: Invalid value: "": name part must be non-empty'


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"managedBy": "acme.io/foo"}, []),
        ({"managedBy": ""}, ["spec.managedBy: Required value"]),
        (
            {"managedBy": "foo"},
            ['spec.managedBy: Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")'],
        ),
        (
            {"managedBy": "acme.io/a b"},
            [
                'spec.managedBy: Invalid value: "a b": Invalid path (regex used for validation is '
                "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"
            ],
        ),
        ({"managedBy": f"a.io/{'x' * 60}"}, ["spec.managedBy: Too long: may not be more than 63 bytes"]),
        (
            {"maxFailedIndexes": 1},
            [
                "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
                "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
            ],
        ),
        (
            {"successPolicy": {"rules": [{"succeededCount": 1}]}},
            [
                'spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: '
                "requires indexed completion mode"
            ],
        ),
        (
            {"successPolicy": {"rules": []}},
            ['spec.successPolicy: Invalid value: {"Rules":[]}: requires indexed completion mode'],
        ),
        (
            {"successPolicy": {}},
            ['spec.successPolicy: Invalid value: {"Rules":null}: requires indexed completion mode'],
        ),
        (
            {"podReplacementPolicy": "Odd"},
            ['spec.podReplacementPolicy: Unsupported value: "Odd": supported values: "Failed", "TerminatingOrFailed"'],
        ),
    ],
)
def test_jobs_are_refused(spec: JsonObject, expected: list[str]) -> None:
    assert refusals(job(**spec)) == expected


def test_causes_of_a_changed_job_are_told_twice_and_those_of_the_change_once() -> None:
    old = created(job(parallelism=2, completions=3))[0]
    body = job(parallelism=-1, completions=4)
    body["spec"]["selector"] = old["spec"]["selector"]
    body["spec"]["template"] = old["spec"]["template"]
    assert texts(changed(old, body)[1]) == [
        f"spec.parallelism: Invalid value: -1: {NEGATIVE}",
        f"spec.parallelism: Invalid value: -1: {NEGATIVE}",
        "spec.completions: Invalid value: 4: field is immutable",
    ]


def test_an_indexed_job_grows_with_its_parallelism() -> None:
    old = created(job(completionMode="Indexed", completions=2, parallelism=2))[0]

    def change(**spec: Any) -> list[str]:
        body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
        return texts(changed(old, body | {"spec": copy.deepcopy(old["spec"]) | spec})[1])

    assert change(completions=3, parallelism=3) == []
    assert change(completions=3) == [
        "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism"
    ]


def test_jobs_of_very_many_indexes_are_warned_about() -> None:
    said = created(job(completionMode="Indexed", completions=100_001, parallelism=10_001))[2]
    assert [each.split(":")[0] for each in said] == ["spec"]
    assert created(job(completionMode="Indexed", completions=100_001, parallelism=10_000))[2] == []


LOCAL = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("Europe/Berlin", []),
        ("Etc/UTC", []),
        ("", ['Invalid value: "": timeZone must be nil or non-empty string']),
        ("Mars/Phobos", ['Invalid value: "Mars/Phobos": unknown time zone Mars/Phobos']),
        ("../etc", ['Invalid value: "../etc": unknown time zone ../etc']),
        ("Local", [f'Invalid value: "Local": {LOCAL}']),
        ("local", [f'Invalid value: "local": {LOCAL}', 'Invalid value: "local": unknown time zone local']),
    ],
)
def test_time_zones(zone: str, expected: list[str]) -> None:
    assert refusals(cron_job(timeZone=zone)) == [f"spec.timeZone: {each}" for each in expected]


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("@every", "unrecognized descriptor: @every"),
        ("@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"'),
        ("@every 5x", 'failed to parse duration @every 5x: time: unknown unit "x" in duration "5x"'),
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("-1 * * * *", 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax'),
        ("70/0 * * * *", "beginning of range (70) beyond end of range (59): 70/0"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
    ],
)
def test_schedules(schedule: str, expected: str) -> None:
    assert refusals(cron_job(schedule=schedule)) == [f'spec.schedule: Invalid value: "{schedule}": {expected}']


def test_a_zone_in_the_schedule_is_refused_after_what_else_is_wrong_with_it() -> None:
    assert [each.partition('": ')[2] for each in refusals(cron_job(schedule="TZ=Mars/Phobos * * * * *"))] == [
        "provided bad location Mars/Phobos: unknown time zone Mars/Phobos",
        "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
    ]


def test_cron_jobs_from_before_the_rules_may_stay() -> None:
    name = "c" * 53
    old = created(cron_job(name, "TZ=UTC * * * * *", timeZone="Mars/Phobos"))[0]
    body = cron_job(name, "TZ=UTC 1 * * * *", timeZone="Mars/Phobos")
    assert [each.partition('": ')[2] for each in texts(changed(old, body)[1])] == [
        "cannot use both timeZone field and TZ or CRON_TZ in schedule"
    ]
    del old["spec"]["timeZone"], body["spec"]["timeZone"]
    assert changed(old, body)[1] == []
    row, obj = row_of(body), decoded(body)
    obj["metadata"]["generation"] = 2
    assert row.strategy.warnings(obj, old, context_of(row, body)) == [
        "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
        "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
    ]
    assert refusals(cron_job(name)) == [f'metadata.name: Invalid value: "{name}": must be no more than 52 characters']


def test_the_template_of_a_cron_job_has_no_selector_of_its_own() -> None:
    found = refusals(
        cron_job(job={"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}}, failedJobsHistoryLimit=-1)
    )
    assert found == [
        'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: `selector` will be auto-generated',
        'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
        f"spec.failedJobsHistoryLimit: Invalid value: -1: {NEGATIVE}",
    ]


def test_conditions_in_the_template_of_a_cron_job_have_a_status() -> None:
    policy = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
    made = created(cron_job(job={"podFailurePolicy": policy}))[0]["spec"]["jobTemplate"]["spec"]["podFailurePolicy"]
    assert made["rules"][0]["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]


START, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def conditions(*kinds: str) -> JsonObject:
    return {"conditions": [{"type": kind, "status": "True"} for kind in kinds]}


COMPLETE = conditions("SuccessCriteriaMet", "Complete") | {"startTime": START, "completionTime": LATER}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, COMPLETE, []),
        ({}, conditions("FailureTarget", "Failed") | {"startTime": START}, []),
        ({}, {"active": -1}, [f"status.active: Invalid value: -1: {NEGATIVE}"]),
        (
            {},
            conditions("Complete"),
            [
                "status.completionTime: Required value: completionTime is required for Complete jobs",
                "status.conditions: Invalid value: cannot set Complete=True condition without the "
                "SuccessCriteriaMet=true condition",
                "status.startTime: Required value: startTime is required for finished job",
            ],
        ),
        (
            {},
            conditions("Failed") | {"startTime": START, "active": 1},
            [
                "status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true "
                "condition",
                "status.active: Invalid value: 1: active>0 is invalid for finished job",
            ],
        ),
        (
            {"startTime": LATER},
            COMPLETE | {"startTime": LATER, "completionTime": START},
            [f'status.completionTime: Invalid value: "{START}": completionTime cannot be set before startTime'],
        ),
        (
            {"startTime": START},
            {"completionTime": LATER},
            [
                f'status.completionTime: Invalid value: "{LATER}": cannot set completionTime when there is no '
                "Complete=True condition",
                "status.startTime: Required value: startTime cannot be removed for unsuspended job",
            ],
        ),
        (
            COMPLETE,
            {"startTime": START},
            [
                "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
                "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
            ],
        ),
        (
            {"failed": 2, "succeeded": 2},
            {"failed": 1, "succeeded": 1},
            [
                "status.failed: Invalid value: 1: cannot decrease the failed counter",
                "status.succeeded: Invalid value: 1: cannot decrease the succeeded counter",
            ],
        ),
        ({}, {"ready": 2, "active": 1}, ["status.ready: Invalid value: 2: cannot set more ready pods than active"]),
        ({"ready": 2, "active": 1}, {"ready": 2, "active": 1, "failed": 1}, []),
        (
            {},
            {"completedIndexes": "0", "failedIndexes": "1"},
            [
                'status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed '
                "completion mode",
                'status.failedIndexes: Invalid value: "1": cannot set non-null failedIndexes when backoffLimitPerIndex '
                "is null",
            ],
        ),
        (
            {},
            {"uncountedTerminatedPods": {"succeeded": ["a", "a"], "failed": [""]}},
            [
                'status.uncountedTerminatedPods.succeeded[1]: Duplicate value: "a"',
                'status.uncountedTerminatedPods.failed[0]: Invalid value: "": must not be empty',
            ],
        ),
        (
            {"startTime": START},
            conditions("SuccessCriteriaMet", "FailureTarget") | {"startTime": START},
            [
                "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true "
                "conditions",
            ],
        ),
    ],
)
def test_statuses_of_a_job(before: JsonObject, after: JsonObject, expected: list[str]) -> None:
    spec = {"completions": 3, "parallelism": 1, "completionMode": "NonIndexed"}
    old = {"metadata": {"name": "j"}, "spec": spec, "status": before}
    assert texts(validate_job_status(old | {"status": after}, old)) == expected


@pytest.mark.parametrize(
    ("completed", "failed", "expected"),
    [
        ("0,2-3", "1", []),
        ("0-2", "2,4", ["failedIndexes and completedIndexes overlap at index: 2"]),
        ("0", "9", ['error parsing failedIndexes: too large index: "9"']),
        ("1,0", "", ["error parsing completedIndexes: non-increasing order, previous: 1, current: 0"]),
    ],
)
def test_indexes_in_the_status_of_a_job(completed: str, failed: str, expected: list[str]) -> None:
    spec = {"completions": 5, "parallelism": 5, "completionMode": "Indexed", "backoffLimitPerIndex": 1}
    job = {"metadata": {"name": "j"}, "spec": spec, "status": {"completedIndexes": completed, "failedIndexes": failed}}
    found = validate_job_status(job, job | {"status": {}})
    assert [each.message.partition('": ')[2] for each in found] == expected
