"""Printing columns of horizontal pod autoscalers and of scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.columns.form import AGE, NAME, age_of, integer, name_of, number, section, text
from kube32_sim.api.tables import Cell, ColumnDefinition, Columns

JsonObject = dict[str, Any]
_SHOWN = 2
_FIELDS = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _metric(spec: JsonObject, status: JsonObject) -> str:
    """One metric as `current/target`."""
    kind = spec.get("type", "")
    if kind not in _FIELDS:
        return "<unknown type>"
    source = section(spec, _FIELDS[kind])
    target, current = section(source, "target"), section(status, _FIELDS[kind], "current")
    average = target.get("averageValue")
    if kind == "Pods":
        return f"{current.get('averageValue', '<unknown>')}/{average or '0'}"
    if kind in ("Resource", "ContainerResource"):
        if average is not None:
            return f"{source.get('name', '')}: {current.get('averageValue', '<unknown>')}/{average}"
        return f"{source.get('name', '')}: {_percent(current, '<unknown>')}/{_percent(target, '<auto>')}"
    if average is not None:
        return f"{current.get('averageValue', '<unknown>')}/{average} (avg)"
    return f"{current.get('value', '<unknown>')}/{target.get('value', '0')}"


def _percent(value: JsonObject, nothing: str) -> str:
    utilization = value.get("averageUtilization")
    return nothing if utilization is None else f"{utilization}%"


def _targets(spec: JsonObject, status: JsonObject) -> str:
    metrics = spec.get("metrics") or ()
    if not metrics:
        return _v1_target(spec, status)
    found = status.get("currentMetrics") or ()
    texts = [_metric(metric, found[i] if i < len(found) else {}) for i, metric in enumerate(metrics)]
    if len(texts) > _SHOWN:
        return f"{', '.join(texts[:_SHOWN])} + {len(texts) - _SHOWN} more..."
    return ", ".join(texts)


def _v1_target(spec: JsonObject, status: JsonObject) -> str:
    """The one metric that autoscaling/v1 knows."""
    target = spec.get("targetCPUUtilizationPercentage")
    if target is None:
        return "<none>"
    current = status.get("currentCPUUtilizationPercentage")
    return f"cpu: {'<unknown>' if current is None else f'{current}%'}/{target}%"


def _autoscaler(obj: JsonObject) -> Sequence[Cell]:
    spec, status = section(obj, "spec"), section(obj, "status")
    reference = section(spec, "scaleTargetRef")
    return (
        name_of(obj),
        f"{reference.get('kind', '')}/{reference.get('name', '')}",
        _targets(spec, status),
        str(spec.get("minReplicas", "<unset>")),
        number(spec.get("maxReplicas")),
        number(status.get("currentReplicas")),
        age_of(obj),
    )


def _scale(obj: JsonObject) -> Sequence[Cell]:
    desired, available = section(obj, "spec").get("replicas"), section(obj, "status").get("replicas")
    return name_of(obj), number(desired), number(available), age_of(obj)


COLUMNS = {
    ("autoscaling", "HorizontalPodAutoscaler"): Columns(
        (
            NAME,
            text("Reference", "What is scaled."),
            text("Targets", "The metrics: as measured, and as wanted."),
            text("MinPods", "The fewest pods there may be."),
            text("MaxPods", "The most pods there may be."),
            text("Replicas", "How many pods there are."),
            AGE,
        ),
        _autoscaler,
    ),
    ("autoscaling", "Scale"): Columns(
        (
            ColumnDefinition("Name", NAME.description),
            integer("Desired", "How many pods there should be."),
            integer("Available", "How many pods there are."),
            AGE,
        ),
        _scale,
    ),
}
