"""What of an Indexed Job's policies is refused, and what of a suspended Job may change."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kube32_sim.api.validation.workloads_batch import job_fixed, validate_job_spec

JsonObject = dict[str, Any]


def spec(**more: Any) -> JsonObject:
    container = {"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}
    pod: JsonObject = {"containers": [container], "restartPolicy": "Never", "dnsPolicy": "ClusterFirst"}
    pod["terminationGracePeriodSeconds"] = 30
    return {"completionMode": "Indexed", "completions": 5, "template": {"spec": pod}, **more}


def failures(body: JsonObject) -> list[str]:
    return [f"{error.field}: {error.message}" for error in validate_job_spec(body, "spec")]


RULE = "spec.successPolicy.rules[0]"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"succeededIndexes": "0-2,4"}, ""),
        ({"succeededIndexes": "0-2,4", "succeededCount": 4}, ""),
        ({}, ": Required value: at least one of succeededCount or succeededIndexes must be specified"),
        (
            {"succeededIndexes": "a"},
            '.succeededIndexes: Invalid value: "a": error parsing succeededIndexes: cannot convert string to integer '
            'for index: "a"',
        ),
        (
            {"succeededIndexes": "3-5"},
            '.succeededIndexes: Invalid value: "3-5": error parsing succeededIndexes: too large index: "5"',
        ),
        (
            {"succeededIndexes": "2-2"},
            '.succeededIndexes: Invalid value: "2-2": error parsing succeededIndexes: non-increasing order, previous: '
            "2, current: 2",
        ),
        (
            {"succeededIndexes": "3,1"},
            '.succeededIndexes: Invalid value: "3,1": error parsing succeededIndexes: non-increasing order, previous: '
            "3, current: 1",
        ),
        (
            {"succeededIndexes": "1-2-3"},
            '.succeededIndexes: Invalid value: "1-2-3": error parsing succeededIndexes: the fragment "1-2-3" violates '
            "the requirement that an index interval can have at most two parts separated by '-'",
        ),
        (
            {"succeededIndexes": "9" * 5000},
            f'.succeededIndexes: Invalid value: "{"9" * 5000}": error parsing succeededIndexes: too large index: '
            f'"{"9" * 5000}"',
        ),
        (
            {"succeededCount": -1},
            ".succeededCount: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            {"succeededCount": 6},
            ".succeededCount: Invalid value: 6: must be less than or equal to 5 (the number of specified completions)",
        ),
        (
            {"succeededIndexes": "0-2", "succeededCount": 4},
            ".succeededCount: Invalid value: 4: must be less than or equal to 3 (the number of indexes in the "
            "specified succeededIndexes field)",
        ),
    ],
)
def test_rules_of_a_success_policy(rule: JsonObject, expected: str) -> None:
    assert failures(spec(successPolicy={"rules": [rule]})) == ([RULE + expected] if expected else [])


def test_success_indexes_that_are_too_long_are_read_all_the_same() -> None:
    assert failures(spec(successPolicy={"rules": [{"succeededIndexes": "0," * 40_000}]})) == [
        f"{RULE}.succeededIndexes: Too long: may not be more than 65536 bytes",
        f'{RULE}.succeededIndexes: Invalid value: "{"0," * 40_000}": error parsing succeededIndexes: non-increasing '
        "order, previous: 0, current: 0",
    ]


MANY = "when completions are above 100000 and used with backoff limit per index"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"maxFailedIndexes": 5, "backoffLimitPerIndex": 1}, []),
        ({"completions": 200_000, "backoffLimitPerIndex": 1, "maxFailedIndexes": 10_000, "parallelism": 10_000}, []),
        (
            {"completions": 200_000, "backoffLimitPerIndex": 1},
            ["spec.maxFailedIndexes: Required value: must be specified when completions is above 100000"],
        ),
        (
            {"completions": 200_000, "backoffLimitPerIndex": 1, "maxFailedIndexes": 10_001, "parallelism": 10_001},
            [
                f"spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 {MANY}",
                f"spec.maxFailedIndexes: Invalid value: 10001: must be less than or equal to 10000 {MANY}",
            ],
        ),
    ],
)
def test_how_many_indexes_may_fail(more: JsonObject, expected: list[str]) -> None:
    assert failures(spec(**more)) == expected


def refused(old: JsonObject, **template: Any) -> list[str]:
    """Fields of the failures when this is changed in a Job's pod template."""
    new = copy.deepcopy(old)
    new["spec"]["template"]["spec"].update(template)
    return [error.field for error in job_fixed(new, old)]


def job(*, suspend: bool = True, **status: Any) -> JsonObject:
    return {"metadata": {"name": "j"}, "spec": spec(suspend=suspend), "status": status}


SUSPENDED = {"conditions": [{"type": "Suspended", "status": "True"}]}
STARTED = {"startTime": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("old", "mutable"),
    [
        (job(), True),
        (job(**STARTED, **SUSPENDED), True),
        (job(**STARTED), False),
        (job(active=1, **SUSPENDED), False),
        (job(suspend=False), False),
    ],
)
def test_where_the_template_of_a_job_may_change(old: JsonObject, mutable: bool) -> None:
    larger = [{**old["spec"]["template"]["spec"]["containers"][0], "resources": {"limits": {"memory": "1Ki"}}}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
    for change in ({"nodeSelector": {"a": "b"}}, {"containers": larger}, {"affinity": affinity}):
        assert refused(old, **change) == ([] if mutable else ["spec.template"])


def test_what_of_a_suspended_jobs_template_never_changes() -> None:
    other = [{**job()["spec"]["template"]["spec"]["containers"][0], "image": "j"}]
    for change in ({"containers": other}, {"hostname": "h"}, {"affinity": {"podAffinity": {"x": []}}}):
        assert refused(job(), **change) == ["spec.template"]
