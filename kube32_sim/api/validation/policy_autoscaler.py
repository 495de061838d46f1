"""Validation of HorizontalPodAutoscaler, in its autoscaling/v2 form.

Rules, order and words are upstream's `pkg/apis/autoscaling/validation`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.quantity import parse
from kube32_sim.api.validation import names
from kube32_sim.api.validation.workloads_common import non_negative

JsonObject = dict[str, Any]

_LONGEST_WINDOW, _LONGEST_PERIOD = 3600, 1800


def validate_autoscaler(obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Failures of an autoscaler; old is None for a new one."""
    spec, path = obj["spec"], "spec"
    before: JsonObject = (old or {}).get("spec") or {}
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    lowest = 0 if before.get("minReplicas") == 0 else 1
    found: list[FieldError] = []
    if least is not None and least < lowest:
        found.append(invalid_value(f"{path}.minReplicas", least, f"must be greater than or equal to {lowest}"))
    if most == 0:
        found.append(required(f"{path}.maxReplicas", "must be set and greater than 0"))
    elif most < 0:
        found.append(invalid_value(f"{path}.maxReplicas", most, "must be greater than 0"))
    if least is not None and most < least:
        found.append(invalid_value(f"{path}.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    target = spec.get("scaleTargetRef") or {}
    found += _reference(target, f"{path}.scaleTargetRef")
    if old is None or _kind(target) != _kind(before.get("scaleTargetRef") or {}):
        core = target.get("kind") == "ReplicationController"
        found += _api_version(target, f"{path}.scaleTargetRef", core=core)
    found += _metrics(spec, least, f"{path}.metrics")
    behavior = spec.get("behavior") or {}
    for field in ("scaleUp", "scaleDown"):
        if behavior.get(field) is not None:
            found += _scaling_rules(behavior[field], f"{path}.behavior.{field}")
    return found


def _kind(reference: JsonObject) -> tuple[str, str]:
    return reference.get("apiVersion", ""), reference.get("kind", "")


def _reference(reference: JsonObject, path: str) -> list[FieldError]:
    return [failure for field in ("kind", "name") for failure in _segment(reference, path, field, "")]


def _segment(owner: JsonObject, path: str, field: str, missing: str) -> list[FieldError]:
    """A required name that can stand in a path."""
    value = owner.get(field, "")
    if not value:
        return [required(f"{path}.{field}", missing)]
    return [invalid_value(f"{path}.{field}", value, why) for why in names.path_segment(value)]


def _api_version(reference: JsonObject, path: str, *, core: bool) -> list[FieldError]:
    """core: the kind may be one of the group without a name."""
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        why = f"unexpected GroupVersion string: {version}"
    elif not core and not version.rpartition("/")[0]:
        why = "apiVersion must specify API group"
    else:
        return []
    return [invalid_value(f"{path}.apiVersion", version, why)]


def _metrics(spec: JsonObject, least: int | None, path: str) -> list[FieldError]:
    metrics = spec.get("metrics") or ()
    found: list[FieldError] = []
    for index, metric in enumerate(metrics):
        found += _metric(metric, f"{path}[{index}]")
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        found.append(forbidden_field(path, why))
    return found


def _metric(metric: JsonObject, path: str) -> list[FieldError]:
    kind = metric.get("type", "")
    found: list[FieldError] = []
    if not kind:
        found.append(required(f"{path}.type", "must specify a metric source type"))
    if kind not in _SOURCES:
        found.append(not_supported(f"{path}.type", kind, sorted(_SOURCES)))
    given = [field for field, _ in _SOURCE_ORDER if metric.get(field) is not None]
    for field, validate in _SOURCE_ORDER:
        if given[:1] == [field]:
            found += validate(metric[field], f"{path}.{field}")
    if kind in _SOURCES:
        field = _SOURCES[kind]
        if field not in given:
            found.append(required(f"{path}.{field}", "must populate information for the given metric source"))
    else:
        field = ""
        found.append(not_supported(f"{path}.type", kind, sorted(_SOURCES)))
    if len(given) != 1:
        why = "must populate the given metric source only"
        found += [forbidden_field(f"{path}.{other}", why) for other in given if other != field]
    return found


def _object(source: JsonObject, path: str) -> list[FieldError]:
    described, target = source.get("describedObject") or {}, source.get("target") or {}
    found = _reference(described, f"{path}.describedObject")
    found += _api_version(described, f"{path}.describedObject", core=True)
    found += _identifier(source, path) + _target(target, f"{path}.target")
    if "value" not in target and "averageValue" not in target:
        found.append(required(f"{path}.target.averageValue", "must set either a target value or averageValue"))
    return found


def _external(source: JsonObject, path: str) -> list[FieldError]:
    target = source.get("target") or {}
    found = _identifier(source, path) + _target(target, f"{path}.target")
    if "value" not in target and "averageValue" not in target:
        why = "must set either a target value for metric or a per-pod target"
        found.append(required(f"{path}.target.averageValue", why))
    if "value" in target and "averageValue" in target:
        why = "may not set both a target value for metric and a per-pod target"
        found.append(forbidden_field(f"{path}.target.value", why))
    return found


def _pods(source: JsonObject, path: str) -> list[FieldError]:
    target = source.get("target") or {}
    found = _identifier(source, path) + _target(target, f"{path}.target")
    if "averageValue" not in target:
        found.append(required(f"{path}.target.averageValue", "must specify a positive target averageValue"))
    return found


def _container_resource(source: JsonObject, path: str) -> list[FieldError]:
    found = _resource_name(source, path)
    container = source.get("container", "")
    if not container:
        found.append(required(f"{path}.container", "must specify a container"))
    else:
        found += [invalid_value(f"{path}.container", container, why) for why in names.dns1123_label(container)]
    return found + _resource_target(source.get("target") or {}, f"{path}.target")


def _resource(source: JsonObject, path: str) -> list[FieldError]:
    return _resource_name(source, path) + _resource_target(source.get("target") or {}, f"{path}.target")


def _resource_name(source: JsonObject, path: str) -> list[FieldError]:
    return [] if source.get("name") else [required(f"{path}.name", "must specify a resource name")]


def _resource_target(target: JsonObject, path: str) -> list[FieldError]:
    found = _target(target, path)
    share, amount = target.get("averageUtilization"), target.get("averageValue")
    if share is None and amount is None:
        why = "must set either a target raw value or a target utilization"
        found.append(required(f"{path}.averageUtilization", why))
    if share is not None and amount is not None:
        why = "may not set both a target raw value and a target utilization"
        found.append(forbidden_field(f"{path}.averageValue", why))
    return found


def _identifier(source: JsonObject, path: str) -> list[FieldError]:
    return _segment(source.get("metric") or {}, f"{path}.metric", "name", "must specify a metric name")


def _target(target: JsonObject, path: str) -> list[FieldError]:
    kind = target.get("type", "")
    found: list[FieldError] = []
    if not kind:
        found.append(required(f"{path}.type", "must specify a metric target type"))
    if kind not in ("AverageValue", "Utilization", "Value"):
        why = "must be either Utilization, Value, or AverageValue"
        found.append(invalid_value(f"{path}.type", kind, why))
    for field in ("value", "averageValue"):
        if field in target and parse(target[field]).nanos <= 0:
            found.append(invalid_value(f"{path}.{field}", target[field], "must be positive"))
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        found.append(invalid_value(f"{path}.averageUtilization", share, "must be greater than 0"))
    return found


_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_SOURCE_ORDER: tuple[tuple[str, Callable[[JsonObject, str], list[FieldError]]], ...] = (
    ("object", _object),
    ("external", _external),
    ("pods", _pods),
    ("resource", _resource),
    ("containerResource", _container_resource),
)
"""The sources in the order they are looked at; only the first that is there is."""


def _scaling_rules(rules: JsonObject, path: str) -> list[FieldError]:
    seconds, select, found = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy"), []
    at = f"{path}.stabilizationWindowSeconds"
    if seconds is not None and seconds < 0:
        found.append(invalid_value(at, seconds, "must be greater than or equal to zero"))
    if seconds is not None and seconds > _LONGEST_WINDOW:
        found.append(invalid_value(at, seconds, f"must be less than or equal to {_LONGEST_WINDOW}"))
    if select is not None and select not in ("Disabled", "Max", "Min"):
        found.append(not_supported(f"{path}.selectPolicy", select, ("Disabled", "Max", "Min")))
    if not rules.get("policies"):
        found.append(required(f"{path}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(rules.get("policies") or ()):
        found += _scaling_policy(policy, f"{path}.policies[{index}]")
    tolerance = rules.get("tolerance")
    if tolerance is not None and parse(tolerance).nanos < 0:
        found.append(invalid_value(f"{path}.tolerance", tolerance, "must be greater or equal to zero"))
    return found


def _scaling_policy(policy: JsonObject, path: str) -> list[FieldError]:
    kind, value, seconds = policy.get("type", ""), policy.get("value", 0), policy.get("periodSeconds", 0)
    found: list[FieldError] = []
    if kind not in ("Percent", "Pods"):
        found.append(not_supported(f"{path}.type", kind, ("Percent", "Pods")))
    if value <= 0:
        found.append(invalid_value(f"{path}.value", value, "must be greater than zero"))
    if seconds <= 0:
        found.append(invalid_value(f"{path}.periodSeconds", seconds, "must be greater than zero"))
    if seconds > _LONGEST_PERIOD:
        why = f"must be less than or equal to {_LONGEST_PERIOD}"
        found.append(invalid_value(f"{path}.periodSeconds", seconds, why))
    return found


def validate_autoscaler_status(status: JsonObject) -> list[FieldError]:
    return non_negative(status, "status", "currentReplicas", "desiredReplicas")
