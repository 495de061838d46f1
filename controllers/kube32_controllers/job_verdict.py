"""How far a Job has come, and whether its end is decided.  Pure; `job.py` acts on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kube32_controllers.job_indexes import NONE, Indexes, format_indexes, indexes_of, parse_indexes
from kube32_controllers.job_pods import JobPods, completions, index_of, indexed
from kube32_controllers.job_policies import enough_by_policy, failed_indexes, failing_rule, matched_rule
from kube32_sim.clock import parse_time

JsonObject = dict[str, Any]

REACHED = ("CompletionsReached", "Reached expected number of succeeded pods")
BACKOFF = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
DEADLINE = ("DeadlineExceeded", "Job was active longer than specified deadline")
TOO_MANY_INDEXES = ("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes")
FAILED_INDEXES = ("FailedIndexes", "Job has failed indexes")


def true_condition(status: JsonObject, kind: str) -> JsonObject | None:
    conditions = status.get("conditions", [])
    return next((one for one in conditions if one["type"] == kind and one["status"] == "True"), None)


# counting


@dataclass(frozen=True, slots=True)
class Tally:
    """A Job's ended pods.  noted_*: uids of those, among them, that the counters of the status do not include yet."""

    succeeded: int
    failed: int
    noted_succeeded: tuple[str, ...] = ()
    noted_failed: tuple[str, ...] = ()
    completed: Indexes = NONE
    """Indexes done, in an Indexed Job."""
    failed_indexes: Indexes = NONE
    """Indexes that are not tried again."""

    def indexes(self) -> JsonObject:
        """What the status says of them."""
        texts = {
            "completedIndexes": format_indexes(self.completed),
            "failedIndexes": format_indexes(self.failed_indexes),
        }
        return {name: text for name, text in texts.items() if text}

    def notes(self) -> JsonObject:
        """What the status says of pods that have ended before they are let go."""
        held = {"succeeded": list(self.noted_succeeded), "failed": list(self.noted_failed)}
        return {"uncountedTerminatedPods": {key: uids for key, uids in held.items() if uids}} | self.indexes()


def count(job: JsonObject, seen: JobPods, pods: Sequence[JsonObject]) -> Tally:
    """Add up what has ended: counted already, noted in the status, or new.  pods: all of the Job."""
    status = job.get("status", {})
    noted = status.get("uncountedTerminatedPods", {})
    real = [pod for pod in seen.failed if matched_rule(job, pod)[0] != "Ignore"]
    failures = _merged(noted.get("failed", []), real)
    failed = status.get("failed", 0) + len(failures)
    if indexed(job):
        known = parse_indexes(status.get("completedIndexes", ""))
        completed = (known | indexes_of(map(index_of, seen.succeeded))).below(job["spec"]["completions"])
        return Tally(len(completed), failed, (), failures, completed, failed_indexes(job, pods))
    successes = _merged(noted.get("succeeded", []), seen.succeeded)
    return Tally(status.get("succeeded", 0) + len(successes), failed, successes, failures)


def _merged(noted: Sequence[str], pods: Iterable[JsonObject]) -> tuple[str, ...]:
    """uids noted before, and those of pods that have newly ended."""
    return tuple(dict.fromkeys([*noted, *(pod["metadata"]["uid"] for pod in pods)]))


# the verdict


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the Job ends, where that is decided: kind is FailureTarget or SuccessCriteriaMet."""

    kind: str
    reason: str
    message: str


def verdict(job: JsonObject, seen: JobPods, tally: Tally, pods: Sequence[JsonObject], now: float) -> Verdict | None:
    """Once decided it stays, as the conditions tell; failure goes before success."""
    status = job.get("status", {})
    for kind in ("FailureTarget", "SuccessCriteriaMet"):
        decided = true_condition(status, kind)
        if decided is not None:
            return Verdict(kind, decided.get("reason", ""), decided.get("message", ""))
    failure = _failure(job, seen, tally, pods, now)
    if failure is not None:
        return Verdict("FailureTarget", *failure)
    message = enough_by_policy(job, tally.completed)
    if message:
        return Verdict("SuccessCriteriaMet", "SuccessPolicy", message)
    return Verdict("SuccessCriteriaMet", *REACHED) if _enough(job, seen, tally) else None


def _failure(
    job: JsonObject, seen: JobPods, tally: Tally, pods: Sequence[JsonObject], now: float
) -> tuple[str, str] | None:
    """(reason, message) of what fails the Job."""
    spec = job["spec"]
    message = failing_rule(job, pods)
    if message:
        return "PodFailurePolicy", message
    if tally.failed > spec.get("backoffLimit", 6):
        return BACKOFF
    due = deadline(job, job.get("status", {}))
    if due is not None and due <= now:
        return DEADLINE
    most = spec.get("maxFailedIndexes")
    if most is not None and len(tally.failed_indexes) > most:
        return TOO_MANY_INDEXES
    done = len(tally.completed) + len(tally.failed_indexes)
    if tally.failed_indexes and not seen.active and done >= spec["completions"]:
        return FAILED_INDEXES
    return None


def deadline(job: JsonObject, status: JsonObject) -> float | None:
    """When activeDeadlineSeconds are over; None where nothing runs against them."""
    seconds = job["spec"].get("activeDeadlineSeconds")
    if seconds is None or job["spec"].get("suspend") or not status.get("startTime"):
        return None
    return parse_time(status["startTime"]) + float(seconds)


def _enough(job: JsonObject, seen: JobPods, tally: Tally) -> bool:
    return not seen.active and tally.succeeded >= completions(job)
