"""Workloads: Deployment, ReplicaSet, DaemonSet, StatefulSet, ReplicationController, Job, CronJob, and what they are
made of (PodTemplate, ControllerRevision).

Their validation is in `kube32_sim.api.validation.workloads_*`; pod templates are defaulted as pods are.
"""

from __future__ import annotations

import re
from typing import Any

from kube32_sim.api.errors import FieldError, invalid_value, required
from kube32_sim.api.rollouts import keep_notes
from kube32_sim.api.strategies.base import Context, Strategy
from kube32_sim.api.strategies.pod_defaults import default_pod_template
from kube32_sim.api.strategies.spec import SpecStrategy
from kube32_sim.api.validation import workloads_apps as apps
from kube32_sim.api.validation import workloads_batch as batch
from kube32_sim.api.validation.pod import validate_pod_template
from kube32_sim.api.validation.pod_warnings import name_warning, pod_template_warnings
from kube32_sim.api.validation.workloads_common import NOT_NEGATIVE, immutable, non_negative, selector_value

JsonObject = dict[str, Any]

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_NUMBER = re.compile(r"-?[0-9]{1,18}").fullmatch


def warn(template: JsonObject, old: JsonObject | None, path: str) -> list[str]:
    """Warnings about a pod template; none where it is the old one."""
    return [] if template == old else pod_template_warnings(template, path)


def warn_about_name(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Pods take the names of Jobs, and hosts the names of pods: a name that is no DNS label earns a warning."""
    return name_warning(obj["metadata"].get("name", ""), "Pod names and hostnames") if old is None else []


class Workload(SpecStrategy):
    """A kind whose spec has a pod template at `spec.template`."""

    #: the selector may not change.
    fixed_selector = True

    def default(self, obj: JsonObject) -> None:
        spec = obj.setdefault("spec", {})
        default_pod_template(spec.setdefault("template", {}))
        self.default_spec(obj, spec)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        found = self.validate(obj, context)
        if self.fixed_selector:
            new = obj["spec"].get("selector")
            if new != old["spec"].get("selector"):
                shown = selector_value(new)
                found += immutable(new, old["spec"].get("selector"), "spec.selector", shown)
        return found

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        return warn(obj["spec"]["template"], old and old["spec"].get("template"), "spec.template")

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return non_negative(obj.get("status") or {}, "status", *_COUNTERS)


_COUNTERS = (
    "observedGeneration",
    "replicas",
    "fullyLabeledReplicas",
    "updatedReplicas",
    "currentReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "collisionCount",
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
)


class Deployment(Workload):
    status_locks = ("labels",)
    annotations_count = True

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        keep_notes(obj["metadata"], old["metadata"])
        super().prepare_update(obj, old, context)

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        spec.setdefault("replicas", 1)
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)
        strategy = spec.setdefault("strategy", {})
        if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", "25%")
            rolling.setdefault("maxSurge", "25%")

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return apps.validate_deployment(obj["spec"])


class ReplicaSet(Workload):
    counters = ("replicas",)

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        spec.setdefault("replicas", 1)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return apps.validate_replica_set(obj["spec"])


class ReplicationController(Workload):
    """The first of its kind: its selector is a plain map, and its pods are orphaned unless the deletion says else."""

    counters = ("replicas",)
    fixed_selector = False
    orphans_by_default = True

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        labels = apps.template_labels(spec["template"])
        if labels:
            if not spec.get("selector"):
                spec["selector"] = dict(labels)
            if not obj["metadata"].get("labels"):
                obj["metadata"]["labels"] = dict(labels)
        spec.setdefault("replicas", 1)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return apps.validate_replication_controller(obj["spec"])


class DaemonSet(Workload):
    """Besides `metadata.generation` it counts the changes of its template, in an annotation kept for old clients."""

    counters = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        spec.setdefault("revisionHistoryLimit", 10)
        strategy = spec.setdefault("updateStrategy", {})
        if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        super().prepare_create(obj, context)
        _set_template_generation(obj, max(_template_generation(obj), 1))

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_update(obj, old, context)
        changed = obj["spec"]["template"] != old["spec"]["template"]
        _set_template_generation(obj, _template_generation(old) + changed)

    def prepare_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_status_update(obj, old, context)
        _set_template_generation(obj, _template_generation(old))

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return apps.validate_daemon_set(obj["spec"])


def _template_generation(obj: JsonObject) -> int:
    value = (obj["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "")
    return int(value) if _NUMBER(value) else 0


def _set_template_generation(obj: JsonObject, generation: int) -> None:
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {**annotations, _TEMPLATE_GENERATION: str(generation)}


class StatefulSet(Workload):
    counters = ("replicas", "availableReplicas")

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        spec.setdefault("replicas", 1)
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("podManagementPolicy", "OrderedReady")
        retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
        retention.setdefault("whenDeleted", "Retain")
        retention.setdefault("whenScaled", "Retain")
        strategy = spec.setdefault("updateStrategy", {})
        if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
            strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
        for claim in spec.get("volumeClaimTemplates") or ():
            _default_claim(claim)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return apps.validate_stateful_set(obj["spec"])

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate(obj, context) + apps.stateful_set_locked(obj["spec"], old["spec"])


def _default_claim(claim: JsonObject) -> None:
    claim.setdefault("apiVersion", "v1")
    claim.setdefault("kind", "PersistentVolumeClaim")
    claim.setdefault("metadata", {})
    claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    claim.setdefault("status", {}).setdefault("phase", "Pending")


class Job(Workload):
    """Selector and labels are made from the Job's own uid and name (which must be set before `prepare_create`)."""

    fixed_selector = False
    orphans_by_default = True
    orphan_warning = (
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or "
        "set propagationPolicy=Orphan to suppress this warning"
    )

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        if spec.get("completions") is None and spec.get("parallelism") is None:
            spec["completions"] = spec["parallelism"] = 1
        spec.setdefault("parallelism", 1)
        unlimited = spec.get("backoffLimitPerIndex") is not None
        spec.setdefault("backoffLimit", 2147483647 if unlimited else 6)
        _default_labels(obj)
        spec.setdefault("completionMode", "NonIndexed")
        spec.setdefault("suspend", False)
        spec.setdefault("manualSelector", False)
        policy = spec.get("podFailurePolicy")
        for rule in (policy or {}).get("rules") or ():
            for condition in rule.get("onPodConditions") or ():
                condition.setdefault("status", "True")
        spec.setdefault("podReplacementPolicy", "TerminatingOrFailed" if policy is None else "Failed")

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        super().prepare_create(obj, context)
        if not obj["spec"].get("manualSelector"):
            _generate_selector(obj)
            _default_labels(obj)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return batch.validate_job(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return batch.validate_job_spec(obj["spec"], "spec") + batch.validate_job_update(obj, old)

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return batch.validate_job_status(obj)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        return warn_about_name(obj, old) + super().warnings(obj, old, context)


def _default_labels(obj: JsonObject) -> None:
    labels = apps.template_labels(obj["spec"]["template"])
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def _generate_selector(job: JsonObject) -> None:
    """Label the template with the Job's name and uid, and select by the uid; labels a user gave stay as they are."""
    spec, metadata = job["spec"], job["metadata"]
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    template = spec["template"]["metadata"]
    made = {batch.OLD_NAME_LABEL: name, batch.NAME_LABEL: name, batch.OLD_UID_LABEL: uid, batch.UID_LABEL: uid}
    template["labels"] = made | (template.get("labels") or {})
    selector = spec.setdefault("selector", {})
    selector["matchLabels"] = {batch.UID_LABEL: uid} | (selector.get("matchLabels") or {})


class CronJob(SpecStrategy):
    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        spec.setdefault("concurrencyPolicy", "Allow")
        spec.setdefault("suspend", False)
        spec.setdefault("successfulJobsHistoryLimit", 3)
        spec.setdefault("failedJobsHistoryLimit", 1)
        template = spec.setdefault("jobTemplate", {})
        template.setdefault("metadata", {})
        default_pod_template(template.setdefault("spec", {}).setdefault("template", {}))

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return batch.validate_cron_job(obj)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        template = obj["spec"]["jobTemplate"]["spec"]["template"]
        before = old["spec"]["jobTemplate"]["spec"].get("template") if old else None
        return warn_about_name(obj, old) + warn(template, before, "spec.jobTemplate.spec.template")


class PodTemplate(Strategy):
    returns_deleted = True

    def default(self, obj: JsonObject) -> None:
        default_pod_template(obj.setdefault("template", {}))

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return validate_pod_template(obj["template"], "template")

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        return warn(obj["template"], old and old.get("template"), "template")


class ControllerRevision(Strategy):
    """A snapshot: its data never changes."""

    def default(self, obj: JsonObject) -> None:
        obj.setdefault("revision", 0)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        found = [required("data", "data is mandatory")] if obj.get("data") is None else []
        if obj["revision"] < 0:
            found.append(invalid_value("revision", obj["revision"], NOT_NEGATIVE))
        return found

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return self.validate(obj, context) + immutable(obj.get("data"), old.get("data"), "data")


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("apps", "Deployment"): Deployment(),
    ("apps", "ReplicaSet"): ReplicaSet(),
    ("apps", "DaemonSet"): DaemonSet(),
    ("apps", "StatefulSet"): StatefulSet(),
    ("apps", "ControllerRevision"): ControllerRevision(),
    ("batch", "Job"): Job(),
    ("batch", "CronJob"): CronJob(),
    ("", "ReplicationController"): ReplicationController(),
    ("", "PodTemplate"): PodTemplate(),
}
