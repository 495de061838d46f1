"""Job and CronJob.

Their validation is in `kube32_sim.api.validation.workloads_batch` and its neighbours.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError
from kube32_sim.api.strategies.base import Context, Strategy
from kube32_sim.api.strategies.pod_defaults import default_pod_template
from kube32_sim.api.strategies.spec import SpecStrategy
from kube32_sim.api.strategies.workloads import Workload, same_generation, warn_about_name
from kube32_sim.api.validation import workloads_apps as apps
from kube32_sim.api.validation import workloads_batch as batch
from kube32_sim.api.validation.pod_warnings import pod_template_warnings
from kube32_sim.api.validation.workloads_job_status import validate_job_status

JsonObject = dict[str, Any]


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
        _default_failure_policy(spec)
        unconditional = spec.get("podFailurePolicy") is None
        spec.setdefault("podReplacementPolicy", "TerminatingOrFailed" if unconditional else "Failed")

    def prepare_create(self, obj: JsonObject, context: Context) -> None:
        super().prepare_create(obj, context)
        if not obj["spec"].get("manualSelector"):
            _generate_selector(obj)
            _default_labels(obj)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return batch.validate_job(obj)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return batch.validate_job_update(obj, old)

    def validate_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return validate_job_status(obj, old)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        if same_generation(obj, old):
            return []
        return warn_about_name(obj, old) + _job_warnings(obj["spec"], "spec")


def _job_warnings(spec: JsonObject, path: str) -> list[str]:
    return batch.job_warnings(spec, path) + pod_template_warnings(spec["template"], f"{path}.template")


def _default_failure_policy(spec: JsonObject) -> None:
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for condition in rule.get("onPodConditions") or ():
            if not condition.get("status"):
                condition["status"] = "True"


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
        job = template.setdefault("spec", {})
        default_pod_template(job.setdefault("template", {}))
        _default_failure_policy(job)

    def validate(self, obj: JsonObject, context: Context) -> list[FieldError]:
        return batch.validate_cron_job(obj, None)

    def validate_update(self, obj: JsonObject, old: JsonObject, context: Context) -> list[FieldError]:
        return batch.validate_cron_job(obj, old)

    def warnings(self, obj: JsonObject, old: JsonObject | None, context: Context) -> list[str]:
        if context.subresource == "status":
            return []
        found = warn_about_name(obj, old)
        if not same_generation(obj, old):
            found += _job_warnings(obj["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec")
        if old is not None and "TZ" in obj["spec"].get("schedule", ""):
            found.append(_ZONE_IN_SCHEDULE)
        return found


_ZONE_IN_SCHEDULE = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("batch", "Job"): Job(),
    ("batch", "CronJob"): CronJob(),
}
