"""Jobs: pods are started until enough of them have succeeded, or too many have failed.  Pure.

Conditions come in two steps, as Kubernetes has it: FailureTarget or SuccessCriteriaMet as soon as the end is decided,
Failed or Complete when all pods have ended and are counted.  `job_pods.py` knows the pods; `workload_controller.py`
runs this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kube32_controllers.job_pods import (
    COMPONENT,
    JobPods,
    format_indexes,
    index_of,
    indexed,
    job_pod,
    parse_indexes,
    release,
    removal_order,
    sort_out,
    surplus_indexes,
    tracked,
    waits_for_failure,
    withdrawn,
)
from kube32_controllers.pod_control import controlled, create_pod, merge_patch, reference, told_delete
from kube32_sim.api.pod_state import ready
from kube32_sim.client import JOBS
from kube32_sim.clock import parse_time, rfc3339
from kube32_sim.runtime.actions import Action, Delete, Emit, Patch, Plan

JsonObject = dict[str, Any]
Outcome = tuple[str, str]
"""(reason, message) of a condition."""

OURS = "kubernetes.io/job-controller"
REACHED = ("CompletionsReached", "Reached expected number of succeeded pods")
BACKOFF = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
DEADLINE = ("DeadlineExceeded", "Job was active longer than specified deadline")


@dataclass(frozen=True, slots=True)
class Tally:
    """A Job's ended pods.  noted_*: uids of those, among them, that the counters of the status do not include yet."""

    succeeded: int
    failed: int
    noted_succeeded: tuple[str, ...] = ()
    noted_failed: tuple[str, ...] = ()
    completed: frozenset[int] = frozenset()
    """Indexes done, in an Indexed Job."""


def plan_job(job: JsonObject, pods: Iterable[JsonObject], now: float) -> Plan:
    """Everything to do for one Job.  pods: those that name it as their owner."""
    if job["spec"].get("managedBy", OURS) != OURS:
        return Plan()
    mine = controlled(pods, job["metadata"]["uid"])
    if end_of(job) is not None:
        return _after_the_end(job, mine, now)
    seen = sort_out(job, mine)
    tally = count(job, seen)
    about = reference("batch/v1", "Job", job)
    verdict = _verdict(job, seen, tally, now)
    status, events = _new_status(job, about, seen, tally, verdict, now)
    actions = _count_and_report(job, about, seen, tally, status)
    if "deletionTimestamp" not in job["metadata"]:
        actions += _pod_actions(job, about, seen, tally, verdict)
    due = _deadline(job, status) if verdict is None else None
    return Plan((*actions, *events), due if due is not None and due > now else None)


def _count_and_report(
    job: JsonObject, about: JsonObject, seen: JobPods, tally: Tally, status: JsonObject
) -> list[Action]:
    """Note the ended pods in the status, let them go, then count them: whatever fails in between, each counts once."""
    old = job.get("status", {})
    actions: list[Action] = []
    if seen.ended:
        noted = {**old, **_notes(tally)}
        actions += [*_status_patch(about, old, noted), *(release(pod) for pod in seen.ended)]
        old = noted
    return [*actions, *_status_patch(about, old, status)]


def _status_patch(about: JsonObject, old: JsonObject, new: JsonObject) -> list[Patch]:
    patch = merge_patch(old, new)
    return [Patch(JOBS, about["namespace"], about["name"], {"status": patch}, "status")] if patch else []


# the end


def _condition(status: JsonObject, kind: str) -> JsonObject | None:
    conditions = status.get("conditions", [])
    return next((one for one in conditions if one["type"] == kind and one["status"] == "True"), None)


def end_of(job: JsonObject) -> JsonObject | None:
    """Condition Complete or Failed, once it is True."""
    status = job.get("status", {})
    return _condition(status, "Complete") or _condition(status, "Failed")


def _after_the_end(job: JsonObject, pods: Sequence[JsonObject], now: float) -> Plan:
    """Nothing is started any more; pods are let go, and the Job itself goes when its time to live is over."""
    actions: list[Action] = [release(pod) for pod in pods if tracked(pod)]
    seconds = job["spec"].get("ttlSecondsAfterFinished")
    end = end_of(job)
    metadata = job["metadata"]
    if seconds is None or end is None or "deletionTimestamp" in metadata:
        return Plan(tuple(actions))
    due = parse_time(end["lastTransitionTime"]) + seconds
    if now < due:
        return Plan(tuple(actions), due)
    deletion = Delete(JOBS, metadata["namespace"], metadata["name"], metadata["uid"], propagation="Foreground")
    return Plan((*actions, deletion))


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the Job ends, where that is decided: kind is FailureTarget or SuccessCriteriaMet."""

    kind: str
    reason: str
    message: str


def _verdict(job: JsonObject, seen: JobPods, tally: Tally, now: float) -> Verdict | None:
    status = job.get("status", {})
    for kind in ("FailureTarget", "SuccessCriteriaMet"):
        decided = _condition(status, kind)
        if decided is not None:
            return Verdict(kind, decided.get("reason", ""), decided.get("message", ""))
    if tally.failed > job["spec"].get("backoffLimit", 6):
        return Verdict("FailureTarget", *BACKOFF)
    due = _deadline(job, status)
    if due is not None and due <= now:
        return Verdict("FailureTarget", *DEADLINE)
    if _enough(job, seen, tally):
        return Verdict("SuccessCriteriaMet", *REACHED)
    return None


def _deadline(job: JsonObject, status: JsonObject) -> float | None:
    seconds = job["spec"].get("activeDeadlineSeconds")
    if seconds is None or job["spec"].get("suspend") or not status.get("startTime"):
        return None
    return parse_time(status["startTime"]) + float(seconds)


def _enough(job: JsonObject, seen: JobPods, tally: Tally) -> bool:
    completions = job["spec"].get("completions")
    if seen.active:
        return False
    return tally.succeeded > 0 if completions is None else tally.succeeded >= completions


# counting


def count(job: JsonObject, seen: JobPods) -> Tally:
    """Add up what has ended: counted already, noted in the status, or new."""
    status = job.get("status", {})
    noted = status.get("uncountedTerminatedPods", {})
    failures = _merged(noted.get("failed", []), seen.failed)
    failed = status.get("failed", 0) + len(failures)
    if indexed(job):
        completions = job["spec"]["completions"]
        indexes = parse_indexes(status.get("completedIndexes", "")) | {index_of(pod) for pod in seen.succeeded}
        completed = frozenset(index for index in indexes if index is not None and index < completions)
        return Tally(len(completed), failed, (), failures, completed)
    successes = _merged(noted.get("succeeded", []), seen.succeeded)
    return Tally(status.get("succeeded", 0) + len(successes), failed, successes, failures)


def _merged(noted: Sequence[str], pods: Iterable[JsonObject]) -> tuple[str, ...]:
    """uids noted before, and those of pods that have newly ended."""
    return tuple(dict.fromkeys([*noted, *(pod["metadata"]["uid"] for pod in pods)]))


def _notes(tally: Tally) -> JsonObject:
    """What the status says of pods that have ended before they are let go."""
    held = {"succeeded": list(tally.noted_succeeded), "failed": list(tally.noted_failed)}
    notes: JsonObject = {"uncountedTerminatedPods": {key: uids for key, uids in held.items() if uids}}
    if tally.completed:
        notes["completedIndexes"] = format_indexes(tally.completed)
    return notes


# pods that come and go


def _pod_actions(
    job: JsonObject, about: JsonObject, seen: JobPods, tally: Tally, verdict: Verdict | None
) -> list[Action]:
    if verdict is not None:
        return [action for pod in seen.active for action in told_delete(pod, about, COMPONENT)]
    if job["spec"].get("suspend"):
        return list(withdrawn(seen.active, about))
    surplus = surplus_indexes(job, seen.active, set(tally.completed)) if indexed(job) else []
    doubled = {id(pod) for pod in surplus}
    running = [pod for pod in seen.active if id(pod) not in doubled]
    wanted = _wanted(job, running, tally)
    if len(running) > wanted:
        surplus += removal_order(running)[: len(running) - wanted]
    taken = running + (seen.terminating if waits_for_failure(job) else [])
    births = [job_pod(job, about, index) for index in _births(job, taken, wanted, tally)]
    creates = [create_pod(pod, about, COMPONENT, tell=True) for pod in births]
    return [*withdrawn(surplus, about), *creates]


def _wanted(job: JsonObject, running: Sequence[JsonObject], tally: Tally) -> int:
    """How many pods may run: parallelism, but no more than completions are still to come."""
    parallelism: int = job["spec"].get("parallelism", 1)
    completions: int | None = job["spec"].get("completions")
    if completions is not None:
        return min(parallelism, max(0, completions - tally.succeeded))
    return min(parallelism, len(running)) if tally.succeeded else parallelism


def _births(job: JsonObject, taken: Sequence[JsonObject], wanted: int, tally: Tally) -> list[int | None]:
    """The completion indexes of the pods to start (None each, where the Job is not Indexed)."""
    missing = max(0, wanted - len(taken))
    if not indexed(job):
        return [None] * missing
    held = {index_of(pod) for pod in taken}
    free = (index for index in range(job["spec"]["completions"]) if index not in tally.completed and index not in held)
    return [index for index, _ in zip(free, range(missing), strict=False)]


# status


def _new_status(
    job: JsonObject, about: JsonObject, seen: JobPods, tally: Tally, verdict: Verdict | None, now: float
) -> tuple[JsonObject, list[Emit]]:
    """The whole status, and events of what has newly been decided."""
    old = job.get("status", {})
    ending = verdict is not None and not seen.active and not seen.terminating
    status: JsonObject = {
        "ready": sum(ready(pod) for pod in seen.active),
        "terminating": len(seen.terminating),
        "uncountedTerminatedPods": {},
    }
    counts = {"active": len(seen.active), "succeeded": tally.succeeded, "failed": tally.failed}
    status |= {name: number for name, number in counts.items() if number}
    if tally.completed:
        status["completedIndexes"] = format_indexes(tally.completed)
    conditions, events = _suspension(job, about, list(old.get("conditions", [])), now)
    if verdict is not None:
        conditions = _add(conditions, verdict.kind, "True", (verdict.reason, verdict.message), now)
    if verdict is not None and ending:
        final = "Failed" if verdict.kind == "FailureTarget" else "Complete"
        conditions = _add(conditions, final, "True", (verdict.reason, verdict.message), now)
        events.append(_ending_event(about, verdict))
        if final == "Complete":
            status["completionTime"] = rfc3339(now)
    if conditions:
        status["conditions"] = conditions
    if not job["spec"].get("suspend"):
        status["startTime"] = old.get("startTime", rfc3339(now))
    return status, events


def _add(conditions: list[JsonObject], kind: str, value: str, why: Outcome, now: float) -> list[JsonObject]:
    """Set a condition; one that has the same status already stays as it is."""
    current = next((one for one in conditions if one["type"] == kind), None)
    if current is not None and current["status"] == value:
        return conditions
    moment = rfc3339(now)
    added = {
        "type": kind,
        "status": value,
        "lastProbeTime": moment,
        "lastTransitionTime": moment,
        "reason": why[0],
        "message": why[1],
    }
    return [added if one["type"] == kind else one for one in conditions] + ([added] if current is None else [])


def _suspension(
    job: JsonObject, about: JsonObject, conditions: list[JsonObject], now: float
) -> tuple[list[JsonObject], list[Emit]]:
    suspended = any(one["type"] == "Suspended" and one["status"] == "True" for one in conditions)
    if bool(job["spec"].get("suspend")) == suspended:
        return conditions, []
    value, word = ("False", "resumed") if suspended else ("True", "suspended")
    why = (f"Job{word.capitalize()}", f"Job {word}")
    event = Emit(about, "Normal", word.capitalize(), why[1], COMPONENT)
    return _add(conditions, "Suspended", value, why, now), [event]


def _ending_event(about: JsonObject, verdict: Verdict) -> Emit:
    if verdict.kind == "FailureTarget":
        return Emit(about, "Warning", verdict.reason, verdict.message, COMPONENT)
    return Emit(about, "Normal", "Completed", "Job completed", COMPONENT)
