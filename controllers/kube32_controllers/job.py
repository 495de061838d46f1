"""Jobs: pods are started until enough of them have succeeded, or too many have failed.  Pure.

Conditions come in two steps, as Kubernetes has it: FailureTarget or SuccessCriteriaMet as soon as the end is decided,
Failed or Complete when all pods have ended and are counted.  `job_pods.py` knows the pods, `job_verdict.py` how far
things have come; `workload_controller.py` runs this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from kube32_controllers.job_backoff import WHOLE_JOB, resting
from kube32_controllers.job_indexes import Indexes, indexes_of
from kube32_controllers.job_pods import (
    COMPONENT,
    JobPods,
    completions,
    index_of,
    indexed,
    job_pod,
    release,
    removal_order,
    sort_out,
    surplus_indexes,
    tracked,
    waits_for_failure,
    withdrawn,
)
from kube32_controllers.job_policies import FAILURES, index_failures, per_index
from kube32_controllers.job_verdict import Tally, Verdict, count, deadline, true_condition, verdict
from kube32_controllers.pod_control import BURST, controlled, create_pod, merge_patch, room, told_delete
from kube32_sim.api.pod_state import ready
from kube32_sim.causes import Cause, ref
from kube32_sim.client import JOBS
from kube32_sim.clock import parse_time, rfc3339
from kube32_sim.runtime.actions import Action, Delete, Emit, Patch, Plan, reference

JsonObject = dict[str, Any]
Outcome = tuple[str, str]
"""(reason, message) of a condition."""

OURS = "kubernetes.io/job-controller"


def plan_job(job: JsonObject, pods: Iterable[JsonObject], now: float) -> Plan:
    """Everything to do for one Job.  pods: those that name it as their owner."""
    if job["spec"].get("managedBy", OURS) != OURS:
        return Plan()
    mine = controlled(pods, "Job", job["metadata"])
    if end_of(job) is not None:
        return _after_the_end(job, mine, now)
    seen = sort_out(job, mine)
    tally = count(job, seen, mine)
    about = reference("batch/v1", "Job", job)
    decided = verdict(job, seen, tally, mine, now)
    status, events = _new_status(job, about, seen, tally, decided, now)
    actions = _count_and_report(job, about, seen, tally, status)
    moments: list[float | None] = []
    if decided is not None:
        actions += _stopped(job, about, seen, decided)
    else:
        moments.append(deadline(job, status))
        if "deletionTimestamp" not in job["metadata"]:
            started, later = _pod_actions(job, about, seen, tally, mine, now)
            actions += started
            moments += later
    return Plan((*actions, *events), min((at for at in moments if at is not None and at > now), default=None))


def _count_and_report(
    job: JsonObject, about: JsonObject, seen: JobPods, tally: Tally, status: JsonObject
) -> list[Action]:
    """Note the ended pods in the status, let them go, then count them: whatever fails in between, each counts once."""
    old = job.get("status", {})
    actions: list[Action] = []
    if seen.ended:
        noted = {**old, **tally.notes()}
        actions += [*_status_patch(about, old, noted), *(release(pod) for pod in seen.ended)]
        old = noted
    return [*actions, *_status_patch(about, old, status)]


def _status_patch(about: JsonObject, old: JsonObject, new: JsonObject) -> list[Patch]:
    patch = merge_patch(old, new)
    return [Patch(JOBS, about["namespace"], about["name"], {"status": patch}, "status")] if patch else []


# the end


def end_of(job: JsonObject) -> JsonObject | None:
    """Condition Complete or Failed, once it is True."""
    status = job.get("status", {})
    return true_condition(status, "Complete") or true_condition(status, "Failed")


def _after_the_end(job: JsonObject, pods: Sequence[JsonObject], now: float) -> Plan:
    """Nothing is started any more; pods are let go, and the Job itself goes when its time to live is over."""
    actions: list[Action] = [release(pod) for pod in pods if tracked(pod)]
    seconds = job["spec"].get("ttlSecondsAfterFinished")
    end = end_of(job)
    metadata = job["metadata"]
    if seconds is None or end is None or "deletionTimestamp" in metadata:
        return Plan(tuple(actions))
    if not end.get("lastTransitionTime"):
        return Plan(tuple(actions))  # somebody else has set the condition: nobody knows since when
    due = parse_time(end["lastTransitionTime"]) + seconds
    if now < due:
        return Plan(tuple(actions), due)
    cause = _because(job, "TTLAfterFinished", f"it has ended, and its ttlSecondsAfterFinished of {seconds} s is over")
    name, uid = metadata["name"], metadata["uid"]
    deletion = Delete(JOBS, metadata["namespace"], name, uid, propagation="Foreground", cause=cause)
    return Plan((*actions, deletion))


# pods that come and go


def _stopped(job: JsonObject, about: JsonObject, seen: JobPods, decided: Verdict) -> Iterator[Action]:
    """The end is decided: what still runs goes, and counts as failed unless the Job has succeeded without it."""
    if "deletionTimestamp" in job["metadata"]:
        return
    end = "has succeeded without it" if decided.kind == "SuccessCriteriaMet" else f"has failed ({decided.reason})"
    cause = _because(job, "JobEnded", f"Job {about['name']} {end}")
    if decided.kind == "SuccessCriteriaMet":
        yield from withdrawn(seen.active, about, cause)
        return
    for pod in seen.active[:BURST]:
        yield from told_delete(pod, about, COMPONENT, cause)


def _pod_actions(
    job: JsonObject, about: JsonObject, seen: JobPods, tally: Tally, pods: Sequence[JsonObject], now: float
) -> tuple[list[Action], list[float | None]]:
    """Bring the number of active pods to what it should be, or nearer, and when to look again for more."""
    if job["spec"].get("suspend"):
        cause = _because(job, "Suspended", f"Job {about['name']} is suspended")
        return list(withdrawn(seen.active, about, cause)), []
    done = tally.completed | tally.failed_indexes
    surplus = surplus_indexes(job, seen.active, done) if indexed(job) else []
    doubled = {id(pod) for pod in surplus}
    running = [pod for pod in seen.active if id(pod) not in doubled]
    wanted = _wanted(job, tally)
    if len(running) > wanted:
        surplus += removal_order(running)[: len(running) - wanted]
    taken = running + (seen.terminating if waits_for_failure(job) else [])
    missing = max(0, wanted - len(taken))
    most, later = room(seen.active, now)
    waiting = resting(job, pods, now) if missing else {}
    if WHOLE_JOB in waiting:
        missing = 0
    births = _births(job, taken, min(most, missing), done | indexes_of(waiting))
    wants = f"Job {about['name']} wants {wanted} pod{'s' if wanted != 1 else ''} to run and has {len(running)}"
    counted = f"{wants} ({tally.succeeded} succeeded, {tally.failed} failed)"
    arriving = _because(job, "Missing", counted)
    creates = [create_pod(pod, about, COMPONENT, tell=True, cause=arriving) for pod in _born(job, about, births, pods)]
    return [*withdrawn(surplus, about, _because(job, "ScaledDown", wants)), *creates], [later, *waiting.values()]


def _because(job: JsonObject, reason: str, message: str) -> Cause:
    return Cause(COMPONENT, reason, message, ref("Job", job))


def _born(
    job: JsonObject, about: JsonObject, births: Iterable[int], pods: Sequence[JsonObject]
) -> Iterator[JsonObject]:
    if not per_index(job):
        yield from (job_pod(job, about, index, {}) for index in births)
        return
    failures = index_failures(pods, job)
    yield from (job_pod(job, about, index, {FAILURES: str(failures.get(index, 0))}) for index in births)


def _wanted(job: JsonObject, tally: Tally) -> int:
    """How many pods may run: parallelism, but no more than completions are still to come."""
    parallelism: int = job["spec"].get("parallelism", 1)
    return min(parallelism, max(0, completions(job) - tally.succeeded - len(tally.failed_indexes)))


def _births(job: JsonObject, taken: Sequence[JsonObject], number: int, done: Indexes) -> list[int]:
    """The completion indexes of the pods to start (-1 each, where the Job is not Indexed)."""
    if not indexed(job):
        return [-1] * number
    unavailable = done | indexes_of(map(index_of, taken))
    return list(islice(unavailable.missing(completions(job)), number))


# status


def _new_status(
    job: JsonObject, about: JsonObject, seen: JobPods, tally: Tally, decided: Verdict | None, now: float
) -> tuple[JsonObject, list[Emit]]:
    """The whole status, and events of what has newly been decided."""
    old = job.get("status", {})
    status: JsonObject = {
        "ready": sum(ready(pod) for pod in seen.active),
        "terminating": len(seen.terminating),
        "uncountedTerminatedPods": {},
    }
    counts = {"active": len(seen.active), "succeeded": tally.succeeded, "failed": tally.failed}
    status |= {name: number for name, number in counts.items() if number} | tally.indexes()
    conditions, events = list(old.get("conditions", [])), list[Emit]()
    if decided is None:
        conditions, events = _suspension(job, about, conditions, now)
    else:
        conditions = _add(conditions, decided.kind, "True", decided.reason, decided.message, now)
    if decided is not None and not seen.active and not seen.terminating:
        final = "Failed" if decided.kind == "FailureTarget" else "Complete"
        conditions = _add(conditions, final, "True", decided.reason, decided.message, now)
        events.append(_ending_event(about, decided))
        if final == "Complete":
            status["completionTime"] = rfc3339(now)
    if conditions:
        status["conditions"] = conditions
    if decided is not None or not job["spec"].get("suspend"):
        status["startTime"] = old.get("startTime", rfc3339(now))
    return status, events


def _add(
    conditions: list[JsonObject], kind: str, value: str, reason: str, message: str, now: float
) -> list[JsonObject]:
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
        "reason": reason,
        "message": message,
    }
    return [added if one["type"] == kind else one for one in conditions] + ([added] if current is None else [])


def _suspension(
    job: JsonObject, about: JsonObject, conditions: list[JsonObject], now: float
) -> tuple[list[JsonObject], list[Emit]]:
    suspended = any(one["type"] == "Suspended" and one["status"] == "True" for one in conditions)
    if bool(job["spec"].get("suspend")) == suspended:
        return conditions, []
    value, word = ("False", "resumed") if suspended else ("True", "suspended")
    event = Emit(about, "Normal", word.capitalize(), f"Job {word}", COMPONENT)
    return _add(conditions, "Suspended", value, f"Job{word.capitalize()}", f"Job {word}", now), [event]


def _ending_event(about: JsonObject, decided: Verdict) -> Emit:
    if decided.kind == "FailureTarget":
        return Emit(about, "Warning", decided.reason, decided.message, COMPONENT)
    return Emit(about, "Normal", "Completed", "Job completed", COMPONENT)
