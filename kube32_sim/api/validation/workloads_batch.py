"""Validation of Job and CronJob.  Rules, order and words are upstream's `pkg/apis/batch/validation`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.errors import (
    FieldError,
    duplicate,
    go_value,
    invalid_value,
    not_supported,
    required,
    too_long,
    too_many,
)
from kube32_sim.api.validation import names
from kube32_sim.api.validation.pod import validate_pod_template
from kube32_sim.api.validation.workloads_apps import mismatch, template_labels
from kube32_sim.api.validation.workloads_common import (
    immutable,
    non_negative,
    one_of,
    selector_value,
    selects,
    validate_label_selector,
)

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
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")


def validate_job(job: JsonObject) -> list[FieldError]:
    spec, path = job["spec"], "spec"
    found = _generated_selector(job) + validate_job_spec(spec, path)
    selector = spec.get("selector")
    if selector is None:
        found.append(required(f"{path}.selector"))
    broken = validate_label_selector(selector, f"{path}.selector")
    found += broken
    if not broken and not selects(selector, template_labels(spec["template"])):
        found.append(mismatch(spec["template"], f"{path}.template"))
    return found + _pod_names(job)


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
    expected = {UID_LABEL: uid, NAME_LABEL: name, OLD_UID_LABEL: uid, OLD_NAME_LABEL: name}
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
    found += _managed_by(spec.get("managedBy"), f"{path}.managedBy")
    found += _completion_mode(spec, path)
    if (policy := spec.get("podFailurePolicy")) is not None:
        found += _pod_failure_policy(policy, spec, f"{path}.podFailurePolicy")
    if (success := spec.get("successPolicy")) is not None:
        found += _success_policy(success, spec, f"{path}.successPolicy")
    found += _replacement_policy(spec, path)
    found += validate_pod_template(spec["template"], f"{path}.template")
    return found + _restart_policy(spec, f"{path}.template.spec.restartPolicy")


def _managed_by(value: str | None, path: str) -> list[FieldError]:
    if value is None:
        return []
    prefix, slash, rest = value.partition("/")
    found: list[FieldError] = []
    if not slash or not prefix or not rest:
        found.append(invalid_value(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")'))
    else:
        found += [invalid_value(path, prefix, why) for why in names.dns1123_subdomain(prefix)]
    return [*found, too_long(path, 63)] if len(value) > 63 else found


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
        if spec.get("backoffLimitPerIndex") is None:
            found.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
        if completions is not None and most > completions:
            why = "must be less than or equal to completions"
            found.append(invalid_value(f"{path}.maxFailedIndexes", most, why))
    return found


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


def _pod_failure_policy(policy: JsonObject, spec: JsonObject, path: str) -> list[FieldError]:
    rules = policy.get("rules") or []
    if len(rules) > 20:
        return [too_many(f"{path}.rules", len(rules), 20)]
    pod = spec["template"].get("spec") or {}
    containers = {each.get("name") for key in ("containers", "initContainers") for each in pod.get(key) or ()}
    found: list[FieldError] = []
    for index, rule in enumerate(rules):
        found += _failure_rule(rule, spec, containers, f"{path}.rules[{index}]")
    return found


def _failure_rule(rule: JsonObject, spec: JsonObject, containers: set[Any], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    action = rule.get("action", "")
    if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        why = "requires the backoffLimitPerIndex to be set"
        found.append(invalid_value(f"{path}.action", action, why))
    found += one_of(rule, path, "action", _ACTIONS)
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
    if codes is not None:
        found += _exit_codes(codes, containers, f"{path}.onExitCodes")
    if len(conditions) > 20:
        found.append(too_many(f"{path}.onPodConditions", len(conditions), 20))
    for index, condition in enumerate(conditions):
        found += _pod_condition(condition, f"{path}.onPodConditions[{index}]")
    if codes is not None and conditions:
        why = "Invalid value: specifying both OnExitCodes and OnPodConditions is not supported"
        found.append(FieldError("FieldValueInvalid", path, why))
    if codes is None and not conditions:
        why = "Invalid value: specifying one of OnExitCodes and OnPodConditions is required"
        found.append(FieldError("FieldValueInvalid", path, why))
    return found


def _exit_codes(codes: JsonObject, containers: set[Any], path: str) -> list[FieldError]:
    found = one_of(codes, path, "operator", ("In", "NotIn"))
    name = codes.get("containerName")
    if name is not None and name not in containers:
        why = "must be one of the container or initContainer names in the pod template"
        found.append(invalid_value(f"{path}.containerName", name, why))
    values: Sequence[int] = codes.get("values") or []
    if not values:
        return [*found, invalid_value(f"{path}.values", [], "at least one value is required")]
    if len(values) > 255:
        return [*found, too_many(f"{path}.values", len(values), 255)]
    if codes.get("operator") == "In" and 0 in values:
        found.append(invalid_value(f"{path}.values[{values.index(0)}]", 0, "must not be 0 for the In operator"))
    seen: set[int] = set()
    for index, value in enumerate(values):
        if value in seen:
            found.append(duplicate(f"{path}.values[{index}]", value))
        seen.add(value)
    if list(values) != sorted(values):
        found.append(invalid_value(f"{path}.values", list(values), "must be ordered"))
    return found


def _pod_condition(condition: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    kind = condition.get("type", "")
    found += (
        [invalid_value(f"{path}.type", kind, why) for why in names.qualified_name(kind)]
        if kind
        else [required(f"{path}.type")]
    )
    return found + one_of(condition, path, "status", ("False", "True", "Unknown"))


def _success_policy(policy: JsonObject, spec: JsonObject, path: str) -> list[FieldError]:
    if spec.get("completionMode") != "Indexed":
        return [invalid_value(path, policy, "requires indexed completion mode")]
    rules = policy.get("rules") or []
    if not rules:
        return [required(f"{path}.rules", "at least one rules must be specified when the successPolicy is specified")]
    if len(rules) > 20:
        return [too_many(f"{path}.rules", len(rules), 20)]
    found: list[FieldError] = []
    for index, rule in enumerate(rules):
        at = f"{path}.rules[{index}]"
        if rule.get("succeededIndexes") is None and rule.get("succeededCount") is None:
            found.append(required(at, "at least one of succeededCount or succeededIndexes must be specified"))
        found += non_negative(rule, at, "succeededCount")
    return found


def validate_job_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Failures of the change alone: `validate_job_spec` has looked at the new spec."""
    spec, before = new["spec"], old["spec"]
    found = _completions_update(spec, before)
    shown = selector_value(spec.get("selector"))
    found += immutable(spec.get("selector"), before.get("selector"), "spec.selector", shown)
    found += _template_update(spec, old)
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        found += immutable(spec.get(field), before.get(field), f"spec.{field}")
    return found


def _completions_update(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    completions, path = spec.get("completions"), "spec.completions"
    if completions == before.get("completions"):
        return []
    if spec.get("completionMode") != "Indexed" or completions is None or before.get("completions") is None:
        return immutable(completions, before.get("completions"), path)
    if completions != spec.get("parallelism"):
        return [invalid_value(path, completions, "can only be modified in tandem with spec.parallelism")]
    return []


_SCHEDULING = ("nodeSelector", "tolerations", "affinity", "schedulingGates")


def _template_update(spec: JsonObject, old: JsonObject) -> list[FieldError]:
    """The template is fixed, but for where pods may run while the Job is suspended and has not started."""
    template, before = spec["template"], old["spec"]["template"]
    if template == before:
        return []
    waiting = old["spec"].get("suspend") and not (old.get("status") or {}).get("startTime")
    if waiting and _without_directives(template) == _without_directives(before):
        return []
    return immutable(template, before, "spec.template")


def _without_directives(template: JsonObject) -> tuple[JsonObject, JsonObject]:
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    return (
        {key: value for key, value in metadata.items() if key not in ("labels", "annotations")},
        {key: value for key, value in spec.items() if key not in _SCHEDULING},
    )


def validate_cron_job(cron_job: JsonObject) -> list[FieldError]:
    from kube32_sim.api.validation.workloads_cron import schedule_error, time_zone_error

    spec, path = cron_job["spec"], "spec"
    found: list[FieldError] = []
    schedule, zone = spec.get("schedule", ""), spec.get("timeZone")
    if not schedule:
        found.append(required(f"{path}.schedule"))
    elif why := schedule_error(schedule):
        found.append(invalid_value(f"{path}.schedule", schedule, why))
    if zone is not None and (why := time_zone_error(zone)):
        found.append(invalid_value(f"{path}.timeZone", zone, why))
    found += non_negative(spec, path, "startingDeadlineSeconds")
    found += one_of(spec, path, "concurrencyPolicy", ("Allow", "Forbid", "Replace"))
    found += _job_template(spec["jobTemplate"], f"{path}.jobTemplate")
    found += non_negative(spec, path, "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    name = cron_job["metadata"].get("name", "")
    if len(name) > 52:
        found.append(invalid_value("metadata.name", name, "must be no more than 52 characters"))
    return found


def _job_template(template: JsonObject, path: str) -> list[FieldError]:
    spec = template["spec"]
    found = validate_job_spec(spec, f"{path}.spec")
    if spec.get("manualSelector"):
        found.append(not_supported(f"{path}.spec.manualSelector", True, ("nil", "false")))
    if spec.get("selector") is not None:
        why = f"Invalid value: {go_value(selector_value(spec['selector']))}: `selector` will be auto-generated"
        found.append(FieldError("FieldValueInvalid", f"{path}.spec.selector", why))
    return found


def validate_job_status(job: JsonObject) -> list[FieldError]:
    """A Job's counters are never negative."""
    return non_negative(job.get("status") or {}, "status", "active", "succeeded", "failed", "ready", "terminating")
