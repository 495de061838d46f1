"""How long a Job waits before it replaces pods that fail again and again.  Pure; `job.py` acts on it.

The first failures in a row are replaced in the next pass, as many as the default backoffLimit forgives.  After that
the wait doubles from 10 s to 10 min, which in Kubernetes it does from the first failure on: a Job that may fail very
often, or whose failures a policy ignores, must not keep everybody busy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kube32_controllers.job_pods import index_of
from kube32_controllers.job_policies import per_index
from kube32_controllers.pod_control import created
from kube32_sim.clock import parse_time

JsonObject = dict[str, Any]

AT_ONCE = 6
"""Failures in a row that are replaced without a wait."""
FIRST_WAIT, LONGEST_WAIT = 10.0, 600.0
WHOLE_JOB = -1


def resting(job: JsonObject, pods: Sequence[JsonObject], now: float) -> dict[int, float]:
    """Completion indexes that wait, and until when (seconds since 1970).

    Without backoffLimitPerIndex all pods of a Job wait together, as index `WHOLE_JOB`.  pods: all of the Job.
    """
    failed = [pod for pod in pods if _phase(pod) == "Failed"]
    if len(failed) <= AT_ONCE:
        return {}
    succeeded = [pod for pod in pods if _phase(pod) == "Succeeded"]
    alone = per_index(job)
    last_success = _latest(succeeded, alone)
    failures: dict[int, list[float]] = {}
    for pod in failed:
        index, at = _index(pod, alone), finished_at(pod)
        if at > last_success.get(index, 0.0):
            failures.setdefault(index, []).append(at)
    until = {index: max(moments) + _wait(len(moments)) for index, moments in failures.items()}
    return {index: at for index, at in until.items() if at > now}


def _wait(failures: int) -> float:
    if failures <= AT_ONCE:
        return 0.0
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(failures - AT_ONCE - 1, 10))


def _latest(pods: Iterable[JsonObject], alone: bool) -> dict[int, float]:
    latest: dict[int, float] = {}
    for pod in pods:
        index = _index(pod, alone)
        latest[index] = max(latest.get(index, 0.0), finished_at(pod))
    return latest


def _index(pod: JsonObject, alone: bool) -> int:
    index = index_of(pod) if alone else None
    return WHOLE_JOB if index is None else index


def _phase(pod: JsonObject) -> str:
    return str(pod.get("status", {}).get("phase", ""))


def finished_at(pod: JsonObject) -> float:
    """When the last container of a finished pod ended; of one that never ran, when it was created."""
    return max(_endings(pod), default=created(pod))


def _endings(pod: JsonObject) -> Iterator[float]:
    for container in pod.get("status", {}).get("containerStatuses", ()):
        ended = container.get("state", {}).get("terminated", {}).get("finishedAt")
        if ended:
            yield parse_time(ended)
