"""Validation of Job and CronJob.  A Job's policies are in `workloads_job_policies.py`, its status in
`workloads_job_status.py`.

Rules, order and words are upstream's `pkg/apis/batch/validation`.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError, invalid_value, not_supported, required, too_long
from kube32_sim.api.validation import names
from kube32_sim.api.validation.pod import validate_pod_template
from kube32_sim.api.validation.workloads_apps import mismatch, template_labels
from kube32_sim.api.validation.workloads_common import (
    domain_prefixed_path,
    immutable,
    non_negative,
    one_of,
    selector_value,
    selects,
    validate_label_selector,
)
from kube32_sim.api.validation.workloads_cron import schedule_errors, time_zone_errors
from kube32_sim.api.validation.workloads_job_policies import pod_failure_policy, success_policy

JsonObject = dict[str, Any]

UID_LABEL = "batch.kubernetes.io/controller-uid"
NAME_LABEL = "batch.kubernetes.io/job-name"
OLD_UID_LABEL = "controller-uid"
OLD_NAME_LABEL = "job-name"

_NUMBERS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_MOST_INDEXES = 100_000
_MANY_COMPLETIONS, _MOST_BESIDE_MANY = 100_000, 10_000
"""Beyond so many completions with a backoffLimitPerIndex, parallelism and maxFailedIndexes are limited further."""


def validate_job(job: JsonObject) -> list[FieldError]:
    return _generated_selector(job) + _whole_spec(job["spec"], "spec") + _pod_names(job)


def _whole_spec(spec: JsonObject, path: str) -> list[FieldError]:
    """A Job's spec with its selector, which the template of a CronJob does not have."""
    found = validate_job_spec(spec, path)
    selector = spec.get("selector")
    if selector is None:
        found.append(required(f"{path}.selector"))
    broken = validate_label_selector(selector, f"{path}.selector")
    found += broken
    if not broken and not selects(selector, template_labels(spec["template"])):
        found.append(mismatch(spec["template"], f"{path}.template"))
    return found


def _pod_names(job: JsonObject) -> list[FieldError]:
    """Pods of an indexed Job are named after their index, which must leave a valid host name."""
    spec, name = job["spec"], job["metadata"].get("name", "")
    completions = spec.get("completions") or 0
    if spec.get("completionMode") != "Indexed" or completions <= 0:
        return []
    why = names.dns1123_label(f"{name}-{completions - 1}")
    text = f"will not able to create pod with invalid DNS label: {name}-{completions - 1}"
    return [invalid_value("metadata.name", name, text)] if why else []


def _generated_selector(job: JsonObject) -> list[FieldError]:
    """A selector that was not made for this Job would select the pods of others."""
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    labels = template_labels(spec["template"])
    expected = {OLD_UID_LABEL: uid, OLD_NAME_LABEL: name, UID_LABEL: uid, NAME_LABEL: name}
    found: list[FieldError] = []
    for key, value in expected.items():
        path = "spec.template.metadata.labels"
        if key not in labels:
            found.append(required(f"{path}[{key}]", f"must be '{value}'"))
        elif labels[key] != value:
            found.append(invalid_value(f"{path}[{key}]", labels[key], f"must be '{value}'"))
    selector = spec["selector"]
    if not validate_label_selector(selector, "") and not selects(selector, expected):
        found.append(invalid_value("spec.selector", selector_value(selector), "`selector` not auto-generated"))
    return found


def validate_job_spec(spec: JsonObject, path: str) -> list[FieldError]:
    """What a Job and the template of a CronJob have in common."""
    found = non_negative(spec, path, *_NUMBERS)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        found.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.get("managedBy") is not None:
        found += _managed_by(spec["managedBy"], f"{path}.managedBy")
    found += _completion_mode(spec, path)
    if (policy := spec.get("podFailurePolicy")) is not None:
        found += pod_failure_policy(policy, spec, f"{path}.podFailurePolicy")
    if (success := spec.get("successPolicy")) is not None:
        found += success_policy(success, spec, f"{path}.successPolicy")
    found += _replacement_policy(spec, path)
    found += validate_pod_template(spec["template"], f"{path}.template")
    return found + _restart_policy(spec, f"{path}.template.spec.restartPolicy")


_LONGEST_MANAGER = 63


def _managed_by(value: str, path: str) -> list[FieldError]:
    found = domain_prefixed_path(value, path)
    return [*found, too_long(path, _LONGEST_MANAGER)] if names.byte_length(value) > _LONGEST_MANAGER else found


def _completion_mode(spec: JsonObject, path: str) -> list[FieldError]:
    mode = spec.get("completionMode")
    if mode == "Indexed":
        return _indexed(spec, path)
    found: list[FieldError] = []
    if mode is not None and mode != "NonIndexed":
        found.append(not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    return found + [
        invalid_value(f"{path}.{field}", spec[field], "requires indexed completion mode")
        for field in ("backoffLimitPerIndex", "maxFailedIndexes")
        if spec.get(field) is not None
    ]


def _indexed(spec: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    if completions is None:
        found.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism > _MOST_INDEXES:
        why = f"must be less than or equal to {_MOST_INDEXES} when completion mode is Indexed"
        found.append(invalid_value(f"{path}.parallelism", parallelism, why))
    most = spec.get("maxFailedIndexes")
    if most is not None:
        if completions is not None and most > completions:
            why = "must be less than or equal to completions"
            found.append(invalid_value(f"{path}.maxFailedIndexes", most, why))
        if most > _MOST_INDEXES:
            why = f"must be less than or equal to {_MOST_INDEXES}"
            found.append(invalid_value(f"{path}.maxFailedIndexes", most, why))
    if (completions or 0) > _MANY_COMPLETIONS and spec.get("backoffLimitPerIndex") is not None:
        found += _many_completions(spec, path)
    return found


def _many_completions(spec: JsonObject, path: str) -> list[FieldError]:
    """All failed indexes have to fit into a status."""
    found: list[FieldError] = []
    if spec.get("maxFailedIndexes") is None:
        why = f"must be specified when completions is above {_MANY_COMPLETIONS}"
        found.append(required(f"{path}.maxFailedIndexes", why))
    beyond = f"when completions are above {_MANY_COMPLETIONS} and used with backoff limit per index"
    why = f"must be less than or equal to {_MOST_BESIDE_MANY} {beyond}"
    return found + [
        invalid_value(f"{path}.{field}", spec[field], why)
        for field in ("parallelism", "maxFailedIndexes")
        if (spec.get(field) or 0) > _MOST_BESIDE_MANY
    ]


def _restart_policy(spec: JsonObject, path: str) -> list[FieldError]:
    policy = (spec["template"].get("spec") or {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        return [required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [not_supported(path, policy, ("OnFailure", "Never"))]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        return [invalid_value(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def _replacement_policy(spec: JsonObject, path: str) -> list[FieldError]:
    policy = spec.get("podReplacementPolicy")
    if policy is None:
        return []
    supported = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    return [] if policy in supported else [not_supported(f"{path}.podReplacementPolicy", policy, supported)]


def validate_job_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Failures of a changed Job; upstream looks at the new spec twice, so its failures are told twice."""
    return validate_job(new) + _whole_spec(new["spec"], "spec") + job_fixed(new, old)


def job_fixed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Failures of the change alone."""
    spec, before = new["spec"], old["spec"]
    found = _completions_update(spec, before)
    shown = selector_value(spec.get("selector"))
    found += immutable(spec.get("selector"), before.get("selector"), "spec.selector", shown)
    found += _template_update(spec, old)
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        found += immutable(spec.get(field), before.get(field), f"spec.{field}")
    return found


def _completions_update(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    """An indexed Job may grow and shrink, together with its parallelism."""
    completions, path = spec.get("completions"), "spec.completions"
    if spec.get("completionMode") != "Indexed":
        return immutable(completions, before.get("completions"), path)
    if completions is None or completions in (before.get("completions"), spec.get("parallelism")):
        return []
    return [invalid_value(path, completions, "can only be modified in tandem with spec.parallelism")]


_DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")


def _template_update(spec: JsonObject, old: JsonObject) -> list[FieldError]:
    """The template is fixed, but for where pods may run and what they ask for while the Job is suspended and idle."""
    template, before = spec["template"], old["spec"]["template"]
    if template == before:
        return []
    if _idle(old) and _fixed_part(template) == _fixed_part(before):
        return []
    return immutable(template, before, "spec.template")


def _idle(job: JsonObject) -> bool:
    """Suspended, and without pods of a time before that."""
    status = job.get("status") or {}
    if not job["spec"].get("suspend") or status.get("active"):
        return False
    suspended = ("Suspended", "True")
    told = any((one.get("type"), one.get("status")) == suspended for one in status.get("conditions") or ())
    return told or not status.get("startTime")


def _fixed_part(template: JsonObject) -> JsonObject:
    """A template without what may change in a suspended Job."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    fixed = {key: value for key, value in spec.items() if key not in _DIRECTIVES}
    affinity = {key: value for key, value in (spec.get("affinity") or {}).items() if key != "nodeAffinity"}
    fixed["affinity"] = affinity or None
    for kind in ("containers", "initContainers"):
        fixed[kind] = [
            {key: value for key, value in container.items() if key != "resources"} for container in spec.get(kind) or ()
        ]
    return {
        "metadata": {key: value for key, value in metadata.items() if key not in ("labels", "annotations")},
        "spec": fixed,
    }


_LONGEST_NAME = 52
"""Jobs are named after their CronJob, and eleven characters are added to its name."""


def validate_cron_job(cron_job: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Failures of a CronJob; old is None for a new one."""
    spec, path, before = cron_job["spec"], "spec", (old or {}).get("spec") or {}
    schedule, zone = spec.get("schedule", ""), spec.get("timeZone")
    if schedule:
        reasons = schedule_errors(schedule, zone, zoned_before="TZ" in before.get("schedule", ""))
        found = [invalid_value(f"{path}.schedule", schedule, why) for why in reasons]
    else:
        found = [required(f"{path}.schedule")]
    found += non_negative(spec, path, "startingDeadlineSeconds")
    if zone is not None and (old is None or zone != before.get("timeZone")):
        found += [invalid_value(f"{path}.timeZone", zone, why) for why in time_zone_errors(zone)]
    found += one_of(spec, path, "concurrencyPolicy", ("Allow", "Forbid", "Replace"))
    found += _job_template(spec["jobTemplate"], f"{path}.jobTemplate")
    found += non_negative(spec, path, "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    name = cron_job["metadata"].get("name", "")
    if old is None and len(name) > _LONGEST_NAME:
        found.append(invalid_value("metadata.name", name, f"must be no more than {_LONGEST_NAME} characters"))
    return found


def _job_template(template: JsonObject, path: str) -> list[FieldError]:
    spec = template["spec"]
    found = validate_job_spec(spec, f"{path}.spec")
    if spec.get("selector") is not None:
        why = "`selector` will be auto-generated"
        found.append(invalid_value(f"{path}.spec.selector", selector_value(spec["selector"]), why))
    if spec.get("manualSelector"):
        found.append(not_supported(f"{path}.spec.manualSelector", True, ("nil", "false")))
    return found


_MANY_PARALLEL = 10_000


def job_warnings(spec: JsonObject, path: str) -> list[str]:
    """What a Job's own spec is warned about, apart from its pod template."""
    many = (spec.get("completions") or 0) > _MANY_COMPLETIONS and (spec.get("parallelism") or 0) > _MANY_PARALLEL
    if spec.get("completionMode") != "Indexed" or not many:
        return []
    return [
        f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
        "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
    ]
