"""Printing columns of what makes pods: deployments and their like, jobs, and what bounds or ranks pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.columns.form import (
    AGE,
    CONTAINERS,
    IMAGES,
    NAME,
    SELECTOR,
    age_of,
    boolean,
    condition_status,
    containers_and_images,
    deleting,
    integer,
    labels_text,
    name_of,
    number,
    section,
    selector_or_none,
    selector_text,
    text,
    yes_no,
)
from kube32_sim.api.tables import Age, Cell, Columns, epoch_seconds, human_duration

JsonObject = dict[str, Any]
_JOB_CONDITIONS = ("Complete", "Failed", "Suspended", "FailureTarget")


def _deployment(obj: JsonObject) -> Sequence[Cell]:
    spec, status = section(obj, "spec"), section(obj, "status")
    return (
        name_of(obj),
        f"{number(status.get('readyReplicas'))}/{number(spec.get('replicas'))}",
        number(status.get("updatedReplicas")),
        number(status.get("availableReplicas")),
        age_of(obj),
        *containers_and_images(section(spec, "template")),
        selector_text(spec.get("selector")),
    )


def _replicas(obj: JsonObject) -> tuple[Cell, ...]:
    spec, status = section(obj, "spec"), section(obj, "status")
    return (
        name_of(obj),
        number(spec.get("replicas")),
        number(status.get("replicas")),
        number(status.get("readyReplicas")),
        age_of(obj),
        *containers_and_images(section(spec, "template")),
    )


def _replica_set(obj: JsonObject) -> Sequence[Cell]:
    return *_replicas(obj), selector_or_none(section(obj, "spec").get("selector"))


def _replication_controller(obj: JsonObject) -> Sequence[Cell]:
    return *_replicas(obj), labels_text(section(obj, "spec").get("selector"))


def _stateful_set(obj: JsonObject) -> Sequence[Cell]:
    spec = section(obj, "spec")
    ready = number(section(obj, "status").get("readyReplicas"))
    return (
        name_of(obj),
        f"{ready}/{number(spec.get('replicas'))}",
        age_of(obj),
        *containers_and_images(section(spec, "template")),
    )


def _daemon_set(obj: JsonObject) -> Sequence[Cell]:
    spec, status = section(obj, "spec"), section(obj, "status")
    return (
        name_of(obj),
        number(status.get("desiredNumberScheduled")),
        number(status.get("currentNumberScheduled")),
        number(status.get("numberReady")),
        number(status.get("updatedNumberScheduled")),
        number(status.get("numberAvailable")),
        labels_text(section(spec, "template", "spec").get("nodeSelector")),
        age_of(obj),
        *containers_and_images(section(spec, "template")),
        selector_or_none(spec.get("selector")),
    )


def _job_status(obj: JsonObject) -> str:
    conditions = section(obj, "status").get("conditions") or ()
    true = {kind for kind in _JOB_CONDITIONS if condition_status(conditions, kind) == "True"}
    if deleting(obj) and not true & {"Complete", "Failed"}:
        return "Terminating"
    return next((kind for kind in _JOB_CONDITIONS if kind in true), "Running")


def _completions(spec: JsonObject, status: JsonObject) -> str:
    succeeded, wanted = number(status.get("succeeded")), spec.get("completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = number(spec.get("parallelism"))
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(status: JsonObject) -> Cell:
    started, completed = status.get("startTime"), status.get("completionTime")
    if not started:
        return ""
    if not completed:
        return Age(started)
    start, end = epoch_seconds(started), epoch_seconds(completed)
    return "<unknown>" if start is None or end is None else human_duration(end - start)


def _job(obj: JsonObject) -> Sequence[Cell]:
    spec, status = section(obj, "spec"), section(obj, "status")
    return (
        name_of(obj),
        _job_status(obj),
        _completions(spec, status),
        _duration(status),
        age_of(obj),
        *containers_and_images(section(spec, "template")),
        selector_or_none(spec.get("selector")),
    )


def _cron_job(obj: JsonObject) -> Sequence[Cell]:
    spec, status = section(obj, "spec"), section(obj, "status")
    job = section(spec, "jobTemplate", "spec")
    last = status.get("lastScheduleTime")
    return (
        name_of(obj),
        spec.get("schedule", ""),
        spec.get("timeZone", "<none>"),
        yes_no(spec.get("suspend")),
        len(status.get("active") or ()),
        Age(last) if last else "<none>",
        age_of(obj),
        *containers_and_images(section(job, "template")),
        selector_or_none(job.get("selector")),
    )


def _controller_revision(obj: JsonObject) -> Sequence[Cell]:
    owners = obj["metadata"].get("ownerReferences") or ()
    owner = next((owner for owner in owners if owner.get("controller")), None)
    return name_of(obj), _owner(owner) if owner else "<none>", number(obj.get("revision")), age_of(obj)


def _owner(owner: JsonObject) -> str:
    """`daemonset.apps/name`"""
    group = owner.get("apiVersion", "").rpartition("/")[0]
    kind = owner.get("kind", "").lower()
    return f"{kind}.{group}/{owner.get('name', '')}" if group else f"{kind}/{owner.get('name', '')}"


def _disruption_budget(obj: JsonObject) -> Sequence[Cell]:
    spec = section(obj, "spec")
    return (
        name_of(obj),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        number(section(obj, "status").get("disruptionsAllowed")),
        age_of(obj),
    )


def _priority_class(obj: JsonObject) -> Sequence[Cell]:
    preemption = obj.get("preemptionPolicy", "")
    return name_of(obj), number(obj.get("value")), bool(obj.get("globalDefault")), age_of(obj), preemption


_REPLICAS = Columns(
    (
        NAME,
        integer("Desired", "How many pods there should be."),
        integer("Current", "How many pods there are."),
        integer("Ready", "How many pods are ready."),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ),
    _replica_set,
)

COLUMNS = {
    ("apps", "Deployment"): Columns(
        (
            NAME,
            text("Ready", "Pods that are ready, of those wanted."),
            text("Up-to-date", "How many pods are of the current template."),
            text("Available", "How many pods have been ready for long enough."),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ),
        _deployment,
    ),
    ("apps", "ReplicaSet"): _REPLICAS,
    ("", "ReplicationController"): Columns(_REPLICAS.definitions, _replication_controller),
    ("apps", "StatefulSet"): Columns(
        (NAME, text("Ready", "Pods that are ready, of those wanted."), AGE, CONTAINERS, IMAGES), _stateful_set
    ),
    ("apps", "DaemonSet"): Columns(
        (
            NAME,
            integer("Desired", "How many nodes should run the pod."),
            integer("Current", "How many nodes that should run the pod have it."),
            integer("Ready", "How many nodes have a ready pod."),
            integer("Up-to-date", "How many nodes have a pod of the current template."),
            integer("Available", "How many nodes have a pod that has been ready for long enough."),
            text("Node Selector", "Labels of the nodes that should run the pod."),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ),
        _daemon_set,
    ),
    ("apps", "ControllerRevision"): Columns(
        (NAME, text("Controller", "What the revision belongs to."), text("Revision", "Its number."), AGE),
        _controller_revision,
    ),
    ("batch", "Job"): Columns(
        (
            NAME,
            text("Status", "How far the job is."),
            text("Completions", "Pods that have succeeded, of those wanted."),
            text("Duration", "How long the job took, or has been running."),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ),
        _job,
    ),
    ("batch", "CronJob"): Columns(
        (
            NAME,
            text("Schedule", "When jobs start, in cron format."),
            text("Timezone", "The time zone of the schedule."),
            boolean("Suspend", "Whether new jobs are held back."),
            integer("Active", "How many jobs are running."),
            text("Last Schedule", "Time since the last job was started."),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ),
        _cron_job,
    ),
    ("policy", "PodDisruptionBudget"): Columns(
        (
            NAME,
            text("Min Available", "How many pods must stay available."),
            text("Max Unavailable", "How many pods may be missing."),
            integer("Allowed Disruptions", "How many pods may be evicted now."),
            AGE,
        ),
        _disruption_budget,
    ),
    ("scheduling.k8s.io", "PriorityClass"): Columns(
        (
            NAME,
            integer("Value", "The priority of pods of the class."),
            boolean("Global-Default", "Whether pods without a class get this one."),
            AGE,
            text("PreemptionPolicy", "Whether pods of the class make others leave."),
        ),
        _priority_class,
    ),
}
