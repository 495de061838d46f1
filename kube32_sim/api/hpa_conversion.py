"""HorizontalPodAutoscaler between autoscaling/v2 (stored) and autoscaling/v1.

v1 knows one metric, average CPU utilization.  As upstream does it, everything else travels in annotations of the v1
form and comes back from there, so that nothing is lost by a client that reads and writes v1.
"""

from __future__ import annotations

from typing import Any

import orjson

from kube32_sim.api.decode import DecodeError, decode_value

JsonObject = dict[str, Any]

_PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS = f"{_PREFIX}metrics"
CURRENT_METRICS = f"{_PREFIX}current-metrics"
CONDITIONS = f"{_PREFIX}conditions"
BEHAVIOR = f"{_PREFIX}behavior"
_ANNOTATIONS = (METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR)

_TARGETS = {"averageUtilization": "Utilization", "averageValue": "AverageValue", "value": "Value"}
_SOURCES = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}
_FORMS: dict[str, tuple[dict[str, str], dict[str, str], dict[str, str]]] = {
    # by type: fields of the source, of its target, and of its current values: path in v2 -> name in v1
    "Resource": (
        {"name": "name"},
        {"averageUtilization": "targetAverageUtilization", "averageValue": "targetAverageValue"},
        {"averageUtilization": "currentAverageUtilization", "averageValue": "currentAverageValue"},
    ),
    "ContainerResource": (
        {"name": "name", "container": "container"},
        {"averageUtilization": "targetAverageUtilization", "averageValue": "targetAverageValue"},
        {"averageUtilization": "currentAverageUtilization", "averageValue": "currentAverageValue"},
    ),
    "Pods": (
        {"metric.name": "metricName", "metric.selector": "selector"},
        {"averageValue": "targetAverageValue"},
        {"averageValue": "currentAverageValue"},
    ),
    "Object": (
        {"describedObject": "target", "metric.name": "metricName", "metric.selector": "selector"},
        {"value": "targetValue", "averageValue": "averageValue"},
        {"value": "currentValue", "averageValue": "averageValue"},
    ),
    "External": (
        {"metric.name": "metricName", "metric.selector": "metricSelector"},
        {"value": "targetValue", "averageValue": "targetAverageValue"},
        {"value": "currentValue", "averageValue": "currentAverageValue"},
    ),
}


def _cpu_utilization(metric: JsonObject, part: str) -> int | None:
    """The average utilization that v1 has a field for; part: `target` or `current`."""
    source = metric.get("resource") or {}
    if metric.get("type") != "Resource" or source.get("name") != "cpu":
        return None
    value: int | None = (source.get(part) or {}).get("averageUtilization")
    return value


_V1_ORDER = (
    "name",
    "target",
    "metricName",
    "metricSelector",
    "targetAverageUtilization",
    "currentAverageUtilization",
    "targetValue",
    "currentValue",
    "targetAverageValue",
    "currentAverageValue",
    "container",
    "selector",
    "averageValue",
)
"""Fields of v1's metrics in the order of its structs, which the texts of annotations show."""

_ALWAYS = {
    ("Object", "target"): "targetValue",
    ("Object", "current"): "currentValue",
    ("Pods", "target"): "targetAverageValue",
    ("Pods", "current"): "currentAverageValue",
    ("Resource", "current"): "currentAverageValue",
    ("ContainerResource", "current"): "currentAverageValue",
    ("External", "current"): "currentValue",
}
"""Quantities that are no pointers in v1: 0 where there is none."""


def _metric_to_v1(metric: JsonObject, part: str) -> JsonObject:
    kind = metric.get("type", "")
    key = _SOURCES.get(kind, "")
    if not key:
        return metric
    fields, targets, currents = _FORMS[kind]
    source = metric.get(key) or {}
    values = source.get(part) or {}
    flat = {**source, **{f"metric.{name}": value for name, value in (source.get("metric") or {}).items()}}
    form = {new: flat[old] for old, new in fields.items() if old in flat}
    form.update((new, values[old]) for old, new in (targets if part == "target" else currents).items() if old in values)
    if always := _ALWAYS.get((kind, part)):
        form.setdefault(always, "0")
    return {"type": kind, key: {field: form[field] for field in _V1_ORDER if field in form}}


def _metric_to_v2(metric: Any, part: str) -> JsonObject | None:
    """The way back; None for what is no metric."""
    kind = metric.get("type") if isinstance(metric, dict) else None
    if not isinstance(kind, str) or kind not in _FORMS:
        return None
    key = _SOURCES[kind]
    form = metric.get(key)
    if not isinstance(form, dict):
        return None
    fields, targets, currents = _FORMS[kind]
    source: JsonObject = {}
    for old, new in fields.items():
        if new in form:
            holder = source.setdefault("metric", {}) if old.startswith("metric.") else source
            holder[old.removeprefix("metric.")] = form[new]
    names = {new: old for old, new in (targets if part == "target" else currents).items() if new in form}
    always = _ALWAYS.get((kind, part), "")
    if len(names) > 1 and form.get(always) == "0":
        del names[always]  # it is there only because v1 cannot leave it out
    values = {old: form[new] for new, old in names.items()}
    if part == "target":
        named = next((_TARGETS[name] for name in ("averageUtilization", "averageValue", "value") if name in values), "")
        source[part] = {"type": named, **values}
    else:
        source[part] = values
    return _fitting({"type": kind, key: source}, "MetricSpec" if part == "target" else "MetricStatus")


def _behavior_text(behavior: JsonObject) -> str:
    """As Go writes a struct without field names: keys begin with a capital, and what is not there is null."""
    return _text({"ScaleUp": _rules(behavior.get("scaleUp")), "ScaleDown": _rules(behavior.get("scaleDown"))})


def _rules(rules: JsonObject | None) -> JsonObject | None:
    if rules is None:
        return None
    policies = [
        {"Type": each.get("type", ""), "Value": each.get("value", 0), "PeriodSeconds": each.get("periodSeconds", 0)}
        for each in rules.get("policies") or ()
    ]
    return {
        "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
        "SelectPolicy": rules.get("selectPolicy"),
        "Policies": policies or None,
        "Tolerance": rules.get("tolerance"),
    }


def _uncapitalized(value: Any) -> Any:
    if isinstance(value, dict):
        return {key[:1].lower() + key[1:]: _uncapitalized(part) for key, part in value.items() if part is not None}
    return [_uncapitalized(part) for part in value] if isinstance(value, list) else value


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()


_V2 = "io.k8s.api.autoscaling.v2."


def _fitting(value: Any, kind: str) -> JsonObject | None:
    """The value as a v2 type; None where it does not fit (annotations are whatever a client wrote)."""
    try:
        return decode_value(value, f"{_V2}{kind}")[0] if isinstance(value, dict) else None
    except DecodeError:
        return None


def _parsed(text: Any) -> Any:
    """The JSON of an annotation; None where it is none (upstream ignores it then)."""
    try:
        return orjson.loads(text) if isinstance(text, str) else None
    except orjson.JSONDecodeError:
        return None


def hpa_v2_to_v1(hpa: JsonObject) -> JsonObject:
    annotations: dict[str, str] = {}
    result = {**hpa, "metadata": dict(hpa["metadata"])}
    if "spec" in hpa:
        result["spec"] = _spec_to_v1(hpa["spec"], annotations)
    if "status" in hpa:
        result["status"] = _status_to_v1(hpa["status"], annotations)
    if annotations:
        result["metadata"]["annotations"] = {**(result["metadata"].get("annotations") or {}), **annotations}
    return result


def _spec_to_v1(spec: JsonObject, annotations: dict[str, str]) -> JsonObject:
    others = []
    result = {key: value for key, value in spec.items() if key not in ("metrics", "behavior")}
    for metric in spec.get("metrics") or ():
        utilization = _cpu_utilization(metric, "target")
        if utilization is None:
            others.append(_metric_to_v1(metric, "target"))
        else:
            result["targetCPUUtilizationPercentage"] = utilization
    if others:
        annotations[METRICS] = _text(others)
    if spec.get("behavior"):
        annotations[BEHAVIOR] = _behavior_text(spec["behavior"])
    return result


def _status_to_v1(status: JsonObject, annotations: dict[str, str]) -> JsonObject:
    result = {key: value for key, value in status.items() if key not in ("currentMetrics", "conditions")}
    result.setdefault("currentReplicas", 0)
    metrics = status.get("currentMetrics") or ()
    for metric in metrics:
        utilization = _cpu_utilization(metric, "current")
        if utilization is not None:
            result["currentCPUUtilizationPercentage"] = utilization
    if metrics:
        annotations[CURRENT_METRICS] = _text([_metric_to_v1(metric, "current") for metric in metrics])
    if status.get("conditions"):
        order = ("type", "status", "lastTransitionTime", "reason", "message")
        ordered = [{field: each[field] for field in order if field in each} for each in status["conditions"]]
        annotations[CONDITIONS] = _text(ordered)
    return result


def hpa_v1_to_v2(hpa: JsonObject) -> JsonObject:
    metadata = dict(hpa.get("metadata") or {})
    annotations: JsonObject = metadata.get("annotations") or {}
    kept = {key: value for key, value in annotations.items() if key not in _ANNOTATIONS}
    if len(kept) != len(annotations):
        metadata["annotations"] = kept
        if not kept:
            del metadata["annotations"]
    result = {**hpa, "metadata": metadata}
    if "spec" in hpa:
        result["spec"] = _spec_to_v2(hpa["spec"], annotations)
    if "status" in hpa:
        result["status"] = _status_to_v2(hpa["status"], annotations)
    return result


def _metrics_to_v2(text: Any, part: str) -> list[JsonObject]:
    parsed = _parsed(text)
    converted = [_metric_to_v2(metric, part) for metric in parsed] if isinstance(parsed, list) else []
    return [metric for metric in converted if metric is not None]


def _cpu_metric(part: str, values: JsonObject) -> JsonObject:
    return {"type": "Resource", "resource": {"name": "cpu", part: values}}


def _spec_to_v2(spec: JsonObject, annotations: JsonObject) -> JsonObject:
    result = {key: value for key, value in spec.items() if key != "targetCPUUtilizationPercentage"}
    metrics = _metrics_to_v2(annotations.get(METRICS), "target")
    utilization = spec.get("targetCPUUtilizationPercentage")
    if utilization is not None:
        metrics.append(_cpu_metric("target", {"type": "Utilization", "averageUtilization": utilization}))
    if metrics:
        result["metrics"] = metrics
    behavior = _fitting(_uncapitalized(_parsed(annotations.get(BEHAVIOR))), "HorizontalPodAutoscalerBehavior")
    if behavior:
        result["behavior"] = behavior
    return result


def _status_to_v2(status: JsonObject, annotations: JsonObject) -> JsonObject:
    result = {key: value for key, value in status.items() if key != "currentCPUUtilizationPercentage"}
    metrics = _metrics_to_v2(annotations.get(CURRENT_METRICS), "current")
    utilization = status.get("currentCPUUtilizationPercentage")
    if utilization is not None and not metrics:
        metrics.append(_cpu_metric("current", {"averageUtilization": utilization}))
    result["currentMetrics"] = metrics or None
    parsed = _parsed(annotations.get(CONDITIONS))
    fitting = (
        [_fitting(item, "HorizontalPodAutoscalerCondition") for item in parsed] if isinstance(parsed, list) else []
    )
    conditions = [condition for condition in fitting if condition]
    if conditions:
        result["conditions"] = conditions
    return result
