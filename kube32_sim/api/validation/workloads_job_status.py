"""What a Job's status may say, and how it may change: a Job that has ended has ended.

Rules, order and words are upstream's `validateJobStatus` and `ValidateJobStatusUpdate` of `pkg/apis/batch/validation`.
Most of them look only at what a write changes: a status that was odd before may stay so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kube32_sim.api.errors import FieldError, duplicate, invalid_value, required
from kube32_sim.api.validation.workloads_common import non_negative
from kube32_sim.api.validation.workloads_job_policies import count_indexes, intervals

JsonObject = dict[str, Any]

_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
_CONDITIONS = "status.conditions"


class _Change(NamedTuple):
    """A Job, and its status before and after."""

    spec: JsonObject
    before: JsonObject
    after: JsonObject

    def changed(self, *fields: str) -> bool:
        return any(self.before.get(field) != self.after.get(field) for field in fields)

    def turned(self, *conditions: str) -> bool:
        return any(_true(self.before, each) != _true(self.after, each) for each in conditions)

    @property
    def ended_or_not(self) -> bool:
        return _finished(self.before) != _finished(self.after)


def _true(status: JsonObject, kind: str) -> bool:
    return any(each.get("type") == kind and each.get("status") == "True" for each in status.get("conditions") or ())


def _finished(status: JsonObject) -> bool:
    return _true(status, "Complete") or _true(status, "Failed")


def _condition(why: str) -> FieldError:
    """A failure of the conditions as a whole, whose value is not shown."""
    return FieldError("FieldValueInvalid", _CONDITIONS, f"Invalid value: {why}")


def validate_job_status(job: JsonObject, old: JsonObject) -> list[FieldError]:
    change = _Change(job["spec"], old.get("status") or {}, job.get("status") or {})
    found = non_negative(change.after, "status", *_COUNTS) + _uncounted(change.after)
    for rules in (_ends, _times, _finished_jobs, _indexes, _pods, _success, _ways_back):
        found += rules(change)
    return found


def _uncounted(status: JsonObject) -> list[FieldError]:
    pods = status.get("uncountedTerminatedPods") or {}
    found: list[FieldError] = []
    seen: set[str] = set()
    for field in ("succeeded", "failed"):
        for index, uid in enumerate(pods.get(field) or ()):
            path = f"status.uncountedTerminatedPods.{field}[{index}]"
            if not uid:
                found.append(invalid_value(path, uid, "must not be empty"))
            elif uid in seen:
                found.append(duplicate(path, uid))
            seen.add(uid)
    return found


def _ends(change: _Change) -> Iterator[FieldError]:
    """A Job does not end in two ways."""
    if not _true(change.after, "Complete"):
        return
    if change.turned("Complete", "Failed") and _true(change.after, "Failed"):
        yield _condition("cannot set Complete=True and Failed=true conditions")
    if change.turned("Complete", "FailureTarget") and _true(change.after, "FailureTarget"):
        yield _condition("cannot set Complete=True and FailureTarget=true conditions")


def _times(change: _Change) -> Iterator[FieldError]:
    """The time of completion is there when the Job is complete, and not before its start."""
    complete, path = _true(change.after, "Complete"), "status.completionTime"
    started, ended = change.after.get("startTime"), change.after.get("completionTime")
    if change.turned("Complete") or change.changed("completionTime"):
        if ended and not complete:
            yield invalid_value(path, ended, "cannot set completionTime when there is no Complete=True condition")
        if complete and not ended:
            yield required(path, "completionTime is required for Complete jobs")
    if started and ended and ended < started and change.changed("startTime", "completionTime"):
        yield invalid_value(path, ended, "completionTime cannot be set before startTime")


def _finished_jobs(change: _Change) -> Iterator[FieldError]:
    """What has ended said before that it would, has been started, and has nothing running."""
    status = change.after
    turned = change.turned("Failed", "FailureTarget")
    if turned and _true(status, "Failed") and not _true(status, "FailureTarget"):
        yield _condition("cannot set Failed=True condition without the FailureTarget=true condition")
    turned = change.turned("Complete", "SuccessCriteriaMet")
    if turned and _true(status, "Complete") and not _true(status, "SuccessCriteriaMet"):
        yield _condition("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
    if not _finished(status):
        return
    turned, active, uncounted = change.ended_or_not, status.get("active", 0), status.get("uncountedTerminatedPods")
    nothing_to_do = change.spec.get("suspend") and change.spec.get("completions") == 0
    if active > 0 and (turned or change.changed("active")):
        yield invalid_value("status.active", active, "active>0 is invalid for finished job")
    if not status.get("startTime") and not nothing_to_do and (turned or change.changed("startTime")):
        yield required("status.startTime", "startTime is required for finished job")
    if uncounted and any(uncounted.values()) and (turned or change.changed("uncountedTerminatedPods")):
        shown = {"Succeeded": uncounted.get("succeeded"), "Failed": uncounted.get("failed")}
        why = "uncountedTerminatedPods needs to be empty for finished job"
        yield invalid_value("status.uncountedTerminatedPods", shown, why)


def _indexes(change: _Change) -> Iterator[FieldError]:
    """Completed and failed indexes can be read, belong to Jobs that have such, and are different ones."""
    spec, completed, failed = change.spec, change.after.get("completedIndexes", ""), change.after.get("failedIndexes")
    completions, limit = spec.get("completions"), spec.get("backoffLimitPerIndex")
    if completions is not None and change.changed("completedIndexes"):
        yield from _readable("completedIndexes", completed, completions)
    if completions is not None and limit is not None and failed is not None and change.changed("failedIndexes"):
        yield from _readable("failedIndexes", failed, completions)
    if completed and spec.get("completionMode") != "Indexed" and change.changed("completedIndexes"):
        why = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid_value("status.completedIndexes", completed, why)
    if limit is None and failed is not None and change.changed("failedIndexes"):
        why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        yield invalid_value("status.failedIndexes", failed, why)
    if completions is not None and failed is not None and change.changed("failedIndexes", "completedIndexes"):
        common = _common(intervals(completed, completions), intervals(failed, completions))
        if common is not None:
            why = f"failedIndexes and completedIndexes overlap at index: {common}"
            yield invalid_value("status.failedIndexes", failed, why)


def _readable(field: str, text: str, completions: int) -> list[FieldError]:
    _, problem = count_indexes(text, completions)
    return [invalid_value(f"status.{field}", text, f"error parsing {field}: {problem}")] if problem else []


def _common(left: Sequence[tuple[int, int]], right: Sequence[tuple[int, int]]) -> int | None:
    """The first number that is in an interval of each, both in ascending order."""
    one = other = 0
    while one < len(left) and other < len(right):
        first, last = max(left[one][0], right[other][0]), min(left[one][1], right[other][1])
        if first <= last:
            return first
        if left[one][0] <= right[other][0]:
            one += 1
        else:
            other += 1
    return None


def _pods(change: _Change) -> Iterator[FieldError]:
    terminating, ready = change.after.get("terminating", 0), change.after.get("ready")
    if terminating > 0 and _finished(change.after) and (change.ended_or_not or change.changed("terminating")):
        yield invalid_value("status.terminating", terminating, "terminating>0 is invalid for finished job")
    if ready is not None and ready > change.after.get("active", 0) and change.changed("ready", "active"):
        yield invalid_value("status.ready", ready, "cannot set more ready pods than active")


def _success(change: _Change) -> Iterator[FieldError]:
    """Criteria of success that are met are no failure."""
    met = _true(change.after, "SuccessCriteriaMet")
    if met and _true(change.after, "Failed"):
        yield _condition("cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if met and _true(change.after, "FailureTarget"):
        yield _condition("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if not met and change.spec.get("successPolicy") is not None and _true(change.after, "Complete"):
        yield _condition("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")


def _ways_back(change: _Change) -> Iterator[FieldError]:
    """What was decided, counted or dated stays so."""
    before, after = change.before, change.after
    for kind in ("Failed", "Complete", "FailureTarget"):
        if _true(before, kind) and not _true(after, kind):
            yield _condition(f"cannot disable the terminal {kind}=True condition")
    yield from _fewer(change)
    if before.get("completionTime") and after.get("completionTime") and change.changed("completionTime"):
        yield invalid_value("status.completionTime", after["completionTime"], "completionTime cannot be mutated")
    resumed = _true(before, "Suspended") and not _true(after, "Suspended")
    if before.get("startTime") and change.changed("startTime") and not (change.spec.get("suspend") or resumed):
        yield required("status.startTime", "startTime cannot be removed for unsuspended job")
    met = _true(after, "SuccessCriteriaMet")
    if _true(before, "SuccessCriteriaMet") and not met:
        yield _condition("cannot disable the SuccessCriteriaMet=True condition")
    if met and _true(before, "Complete") and not _true(before, "SuccessCriteriaMet"):
        yield _condition("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")


def _fewer(change: _Change) -> Iterator[FieldError]:
    """Only an elastic Job, which may shrink, can have fewer successes than before."""
    spec, before, after = change.spec, change.before, change.after
    if after.get("failed", 0) < before.get("failed", 0):
        yield invalid_value("status.failed", after.get("failed", 0), "cannot decrease the failed counter")
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    if not elastic and after.get("succeeded", 0) < before.get("succeeded", 0):
        yield invalid_value("status.succeeded", after.get("succeeded", 0), "cannot decrease the succeeded counter")
