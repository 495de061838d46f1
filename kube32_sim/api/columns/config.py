"""Printing columns of config maps, secrets, service accounts, quotas, component statuses and events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.columns.form import AGE, NAME, age_of, name_of, section, text
from kube32_sim.api.tables import Age, Cell, ColumnDefinition, Columns

JsonObject = dict[str, Any]


def _config_map(obj: JsonObject) -> Sequence[Cell]:
    return name_of(obj), len(section(obj, "data")) + len(section(obj, "binaryData")), age_of(obj)


def _secret(obj: JsonObject) -> Sequence[Cell]:
    return name_of(obj), obj.get("type", ""), len(section(obj, "data")), age_of(obj)


def _service_account(obj: JsonObject) -> Sequence[Cell]:
    return name_of(obj), len(obj.get("secrets") or ()), age_of(obj)


def _resource_quota(obj: JsonObject) -> Sequence[Cell]:
    hard, used = section(obj, "status", "hard"), section(obj, "status", "used")
    texts = {resource: f"{resource}: {used.get(resource, '0')}/{hard[resource]}" for resource in sorted(hard)}
    requests = [shown for resource, shown in texts.items() if not resource.startswith("limits.")]
    limits = [shown for resource, shown in texts.items() if resource.startswith("limits.")]
    return name_of(obj), ", ".join(requests), ", ".join(limits), age_of(obj)


def _component_status(obj: JsonObject) -> Sequence[Cell]:
    for condition in obj.get("conditions") or ():
        if condition.get("type") == "Healthy":
            status = "Healthy" if condition.get("status") == "True" else "Unhealthy"
            return name_of(obj), status, condition.get("message", ""), condition.get("error", "")
    return name_of(obj), "Unknown", "", ""


def _joined_source(component: str, instance: str) -> str:
    return f"{component}, {instance}" if instance else component


def _event(obj: JsonObject) -> Sequence[Cell]:
    """An event of the core group, or of events.k8s.io, where the same fields have other names."""
    first = obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime") or ""
    last = obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp") or first
    count = obj.get("count") or obj.get("deprecatedCount") or 1
    if (series := obj.get("series")) is not None:
        last, count = series.get("lastObservedTime") or "", series.get("count") or 0
    about = section(obj, "involvedObject") or section(obj, "regarding")
    kind, name = about.get("kind", "").lower(), about.get("name")
    source = section(obj, "source") or section(obj, "deprecatedSource")
    component = source.get("component") or obj.get("reportingComponent") or obj.get("reportingController") or ""
    return (
        Age(last),
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        about.get("fieldPath", ""),
        _joined_source(component, source.get("host") or obj.get("reportingInstance") or ""),
        (obj.get("message") or obj.get("note") or "").strip(),
        Age(first),
        count,
        name_of(obj),
    )


_EVENTS = Columns(
    (
        text("Last Seen", "Time since it last happened."),
        text("Type", "Normal or Warning."),
        text("Reason", "What happened, in a word."),
        text("Object", "What it happened to."),
        text("Subobject", "Which part of the object it concerns.", wide=True),
        text("Source", "Who reported it.", wide=True),
        text("Message", "What happened, in full."),
        text("First Seen", "Time since it first happened.", wide=True),
        text("Count", "How often it happened.", wide=True),
        ColumnDefinition("Name", NAME.description, format="name", priority=1),
    ),
    _event,
)

COLUMNS = {
    ("", "ConfigMap"): Columns((NAME, text("Data", "How many entries there are."), AGE), _config_map),
    ("", "Secret"): Columns(
        (NAME, text("Type", "What kind of secret it is."), text("Data", "How many entries there are."), AGE), _secret
    ),
    ("", "ServiceAccount"): Columns(
        (NAME, text("Secrets", "How many secrets the account may use."), AGE), _service_account
    ),
    ("", "ResourceQuota"): Columns(
        (
            NAME,
            text("Request", "Used and allowed: counts of objects and sums of requests."),
            text("Limit", "Used and allowed: sums of limits."),
            AGE,
        ),
        _resource_quota,
    ),
    ("", "ComponentStatus"): Columns(
        (
            NAME,
            text("Status", "Whether the component is healthy."),
            text("Message", "What it says."),
            text("Error", "What is wrong."),
        ),
        _component_status,
    ),
    ("", "Event"): _EVENTS,
    ("events.k8s.io", "Event"): _EVENTS,
}
