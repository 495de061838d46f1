"""The policies of a Job: which failures count how (podFailurePolicy), per index (backoffLimitPerIndex), and when a few
successes are enough (successPolicy).  Pure; the messages are Kubernetes'.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kube32_controllers.job_indexes import NONE, Indexes, indexes_of, parse_indexes
from kube32_controllers.job_pods import index_of, indexed, tracked
from kube32_sim.api.pod_state import terminating

JsonObject = dict[str, Any]

FAILURES = "batch.kubernetes.io/job-index-failure-count"
"""Annotation of a pod: how often its index had failed before it."""


# which failures count how


def matched_rule(job: JsonObject, pod: JsonObject) -> tuple[str, str]:
    """(action, message) of the first rule of the podFailurePolicy that a failed pod matches; ("Count", "") by none."""
    if pod.get("status", {}).get("phase") != "Failed":
        return "Count", ""
    for place, rule in enumerate(job["spec"].get("podFailurePolicy", {}).get("rules") or ()):
        what = _exit_code_match(rule, pod) or _condition_match(rule, pod)
        if what:
            return rule["action"], f"{what} matching {rule['action']} rule at index {place}"
    return "Count", ""


def _exit_code_match(rule: JsonObject, pod: JsonObject) -> str:
    wanted = rule.get("onExitCodes")
    if wanted is None:
        return ""
    metadata = pod["metadata"]
    for name, code in _exit_codes(pod):
        listed = code in wanted.get("values", [])
        if wanted.get("containerName", name) == name and listed == (wanted["operator"] == "In"):
            return f"Container {name} for pod {metadata['namespace']}/{metadata['name']} failed with exit code {code}"
    return ""


def _exit_codes(pod: JsonObject) -> Iterator[tuple[str, int]]:
    """Containers that ended with a code other than 0."""
    status = pod.get("status", {})
    for container in (*status.get("containerStatuses", ()), *status.get("initContainerStatuses", ())):
        code = container.get("state", {}).get("terminated", {}).get("exitCode", 0)
        if code:
            yield container["name"], code


def _condition_match(rule: JsonObject, pod: JsonObject) -> str:
    states = {one["type"]: one.get("status") for one in pod.get("status", {}).get("conditions", [])}
    for wanted in rule.get("onPodConditions", []):
        if states.get(wanted["type"]) == wanted.get("status", "True"):
            metadata = pod["metadata"]
            return f"Pod {metadata['namespace']}/{metadata['name']} has condition {wanted['type']}"
    return ""


def failing_rule(job: JsonObject, pods: Iterable[JsonObject]) -> str:
    """The message of the rule by which one of the failed pods fails the whole Job; "" where none does."""
    matches = (matched_rule(job, pod) for pod in pods)
    return next((message for action, message in matches if action == "FailJob"), "")


# indexes that fail


def per_index(job: JsonObject) -> bool:
    return indexed(job) and job["spec"].get("backoffLimitPerIndex") is not None


def index_failures(pods: Iterable[JsonObject], job: JsonObject) -> dict[int, int]:
    """How often each index has failed, as its pods tell; a failure that the policy ignores is none."""
    counts: dict[int, int] = {}
    for pod in pods:
        index = index_of(pod)
        phase = pod.get("status", {}).get("phase")
        # A pod that is let go and still stopping was withdrawn, or told its successor of its failure.
        lost = phase == "Failed" or (phase != "Succeeded" and terminating(pod) and tracked(pod))
        if index is None or not lost:
            continue
        ignored = matched_rule(job, pod)[0] == "Ignore"
        counts[index] = max(counts.get(index, 0), failures_before(pod) + (not ignored))
    return counts


def failures_before(pod: JsonObject) -> int:
    text = pod["metadata"].get("annotations", {}).get(FAILURES, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def failed_indexes(job: JsonObject, pods: Sequence[JsonObject]) -> Indexes:
    """Indexes that have failed for good, before or by these pods."""
    if not per_index(job):
        return NONE
    known = parse_indexes(job.get("status", {}).get("failedIndexes", ""))
    limit = job["spec"]["backoffLimitPerIndex"]
    worn = {index for index, count in index_failures(pods, job).items() if count > limit}
    cut = {index_of(pod) for pod in pods if matched_rule(job, pod)[0] == "FailIndex"}
    return (known | indexes_of(worn | cut)).below(job["spec"]["completions"])


# successes that are enough


def enough_by_policy(job: JsonObject, completed: Indexes) -> str:
    """The message of the first rule of the successPolicy that holds; "" where none does."""
    if not indexed(job):
        return ""
    for place, rule in enumerate(job["spec"].get("successPolicy", {}).get("rules", [])):
        wanted = parse_indexes(rule["succeededIndexes"]) if "succeededIndexes" in rule else None
        reached = completed if wanted is None else completed & wanted
        count = rule.get("succeededCount")
        if len(reached) >= (count if count is not None else len(wanted or NONE)):
            return f"Matched rules at index {place}"
    return ""
