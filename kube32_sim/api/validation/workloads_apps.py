"""Validation of the controllers that keep pods running: Deployment, ReplicaSet, ReplicationController, DaemonSet,
StatefulSet.  Rules, order and words are upstream's `pkg/apis/apps/validation` and `pkg/apis/core/validation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation import names
from kube32_sim.api.validation.pod import validate_pod_template
from kube32_sim.api.validation.storage_volumes import validate_claim
from kube32_sim.api.validation.workloads_common import (
    as_number,
    at_most_all,
    int_or_percent,
    is_empty,
    map_value,
    non_negative,
    selector_value,
    selects,
    validate_label_selector,
)

JsonObject = dict[str, Any]

MISMATCH = "`selector` does not match template `labels`"


def template_labels(template: JsonObject) -> Mapping[str, str]:
    return (template.get("metadata") or {}).get("labels") or {}


def mismatch(template: JsonObject, path: str) -> FieldError:
    return invalid_value(f"{path}.metadata.labels", map_value(template_labels(template)), MISMATCH)


def always_restarting(template: JsonObject, path: str, kind: str) -> list[FieldError]:
    """Pods that a controller keeps running restart always and have no deadline."""
    spec = template.get("spec") or {}
    found = []
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        found.append(not_supported(f"{path}.spec.restartPolicy", policy, ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        found.append(forbidden_field(f"{path}.spec.activeDeadlineSeconds", why))
    return found


def _selector_and_template(spec: JsonObject, empty: str, unusable: str) -> tuple[list[FieldError], bool]:
    """Failures of a required selector, and whether it can be compared to labels.

    empty: the kind that messages name; unusable: the message for a selector with failures.
    """
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")], True
    broken = validate_label_selector(selector, "spec.selector")
    found = list(broken)
    if is_empty(selector):
        found.append(invalid_value("spec.selector", selector_value(selector), f"empty selector is invalid for {empty}"))
    if broken:
        found.append(invalid_value("spec.selector", selector_value(selector), unusable))
    return found, not broken


def _matching_template(spec: JsonObject, kind: str) -> list[FieldError]:
    template, path, selector = spec["template"], "spec.template", spec.get("selector")
    found = []
    if (selector is None or not is_empty(selector)) and not selects(selector, template_labels(template)):
        found.append(mismatch(template, path))
    return [*found, *validate_pod_template(template, path), *always_restarting(template, path, kind)]


def validate_deployment(spec: JsonObject) -> list[FieldError]:
    found = non_negative(spec, "spec", "replicas")
    selector, usable = _selector_and_template(spec, "deployment", "invalid label selector")
    found += selector
    if usable:
        found += _matching_template(spec, "ReplicaSet")
    found += _deployment_strategy(spec.get("strategy") or {})
    found += non_negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        found.append(invalid_value("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return found


def _deployment_strategy(strategy: JsonObject) -> list[FieldError]:
    kind, rolling, path = strategy.get("type", ""), strategy.get("rollingUpdate"), "spec.strategy"
    if kind == "Recreate":
        why = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden_field(f"{path}.rollingUpdate", why)] if rolling is not None else []
    if kind == "RollingUpdate":
        return _rolling_deployment(rolling or {}, f"{path}.rollingUpdate")
    return [
        not_supported(path, _strategy_value(strategy, ("maxUnavailable", "maxSurge")), ("Recreate", "RollingUpdate"))
    ]


def _strategy_value(strategy: JsonObject, fields: Sequence[str]) -> JsonObject:
    """A strategy as messages show it: Go's struct, whose names begin with a capital."""
    rolling = strategy.get("rollingUpdate")
    shown = None
    if rolling is not None:
        shown = {field[:1].upper() + field[1:]: rolling.get(field, 0) for field in fields}
    return {"Type": strategy.get("type", ""), "RollingUpdate": shown}


def _rolling_deployment(rolling: JsonObject, path: str) -> list[FieldError]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    found = int_or_percent(unavailable, f"{path}.maxUnavailable") + int_or_percent(surge, f"{path}.maxSurge")
    if as_number(unavailable) == 0 and as_number(surge) == 0:
        found.append(invalid_value(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    return found + at_most_all(unavailable, f"{path}.maxUnavailable")


def validate_replica_set(spec: JsonObject) -> list[FieldError]:
    found = non_negative(spec, "spec", "replicas", "minReadySeconds")
    selector, usable = _selector_and_template(spec, "deployment", "invalid label selector")
    return found + selector + (_matching_template(spec, "ReplicaSet") if usable else [])


def validate_replication_controller(spec: JsonObject) -> list[FieldError]:
    found = non_negative(spec, "spec", "minReadySeconds")
    selector = spec.get("selector")
    if not selector:
        found.append(required("spec.selector"))
    found += [required("spec.replicas")] if spec.get("replicas") is None else non_negative(spec, "spec", "replicas")
    template, path = spec.get("template"), "spec.template"
    if template is None:
        return [*found, required(path)]
    if selector and not selects({"matchLabels": selector}, template_labels(template)):
        found.append(mismatch(template, path))
    found += validate_pod_template(template, path)
    return found + always_restarting(template, path, "ReplicationController")


def validate_daemon_set(spec: JsonObject) -> list[FieldError]:
    selector, template, path = spec.get("selector"), spec["template"], "spec.template"
    found = validate_label_selector(selector, "spec.selector")
    if not found and not selects(selector, template_labels(template)):
        found.append(mismatch(template, path))
    if selector is not None and is_empty(selector):
        why = "empty selector is invalid for daemonset"
        found.append(invalid_value("spec.selector", selector_value(selector), why))
    found += validate_pod_template(template, path) + always_restarting(template, path, "DaemonSet")
    found += non_negative(spec, "spec", "minReadySeconds")
    found += _daemon_set_strategy(spec.get("updateStrategy") or {})
    return found + non_negative(spec, "spec", "revisionHistoryLimit")


def _daemon_set_strategy(strategy: JsonObject) -> list[FieldError]:
    path = "spec.updateStrategy"
    if strategy.get("type") == "OnDelete":
        return []
    if strategy.get("type") != "RollingUpdate":
        shown = _strategy_value(strategy, ("maxUnavailable", "maxSurge"))
        return [not_supported(path, shown, ("RollingUpdate", "OnDelete"))]
    path += ".rollingUpdate"
    rolling = strategy.get("rollingUpdate")
    if rolling is None:
        return [required(path)]
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    found = int_or_percent(unavailable, f"{path}.maxUnavailable") + int_or_percent(surge, f"{path}.maxSurge")
    found += at_most_all(unavailable, f"{path}.maxUnavailable") + at_most_all(surge, f"{path}.maxSurge")
    if as_number(unavailable) and as_number(surge):
        found.append(invalid_value(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not as_number(unavailable) and not as_number(surge):
        found.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return found


def validate_stateful_set(spec: JsonObject, *, new: bool) -> list[FieldError]:
    """new: claims and the name of the Service are looked at as well, which an update cannot change anyway."""
    found = _stateful_set_policies(spec)
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or () if new else ()):
        found += validate_claim(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}].spec")
    found += non_negative(spec, "spec", "replicas", "minReadySeconds")
    found += non_negative(spec.get("ordinals") or {}, "spec.ordinals", "start")
    service = spec.get("serviceName", "")
    if new and service:
        found += [invalid_value("spec.serviceName", service, why) for why in names.dns1123_label(service)]
    selector, usable = _selector_and_template(spec, "statefulset", "")
    found += selector
    template, path = spec["template"], "spec.template"
    if usable:
        if (spec.get("selector") is None or not is_empty(spec["selector"])) and not selects(
            spec.get("selector"), template_labels(template)
        ):
            found.append(mismatch(template, path))
        found += validate_pod_template(template, path, _claims(spec))
    return found + always_restarting(template, path, "StatefulSet")


def _claims(spec: JsonObject) -> list[str]:
    """Claims that each pod of a StatefulSet gets: containers mount them by the names of their templates."""
    metadata = ((claim or {}).get("metadata") or {} for claim in spec.get("volumeClaimTemplates") or ())
    return [name for each in metadata if (name := each.get("name"))]


_RETENTION = ("Retain", "Delete")


def _stateful_set_policies(spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    management = spec.get("podManagementPolicy", "")
    if not management:
        found.append(required("spec.podManagementPolicy"))
    elif management not in ("OrderedReady", "Parallel"):
        why = "must be 'OrderedReady' or 'Parallel'"
        found.append(invalid_value("spec.podManagementPolicy", management, why))
    found += _stateful_set_strategy(spec.get("updateStrategy") or {})
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if retention is not None:
        for field in ("whenDeleted", "whenScaled"):
            path = "spec.persistentVolumeClaimRetentionPolicy"
            value = retention.get(field, "")
            if value not in _RETENTION:
                found.append(not_supported(f"{path}.{field}", value, _RETENTION))
    return found


def _stateful_set_strategy(strategy: JsonObject) -> list[FieldError]:
    path, kind, rolling = "spec.updateStrategy", strategy.get("type", ""), strategy.get("rollingUpdate")
    shown = None
    if rolling is not None:
        shown = {"Partition": rolling.get("partition", 0), "MaxUnavailable": rolling.get("maxUnavailable")}
    if not kind:
        return [required(path)]
    if kind == "OnDelete":
        why = "only allowed for updateStrategy 'RollingUpdate'"
        return [] if rolling is None else [invalid_value(f"{path}.rollingUpdate", shown, why)]
    if kind != "RollingUpdate":
        return [invalid_value(path, {"Type": kind, "RollingUpdate": shown}, "must be 'RollingUpdate' or 'OnDelete'")]
    return non_negative(rolling or {}, f"{path}.rollingUpdate", "partition")


_STATEFUL_SET_MUTABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def stateful_set_locked(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Failures of a changed spec: only some fields of a StatefulSet may change."""
    if _without(new, _STATEFUL_SET_MUTABLE) == _without(old, _STATEFUL_SET_MUTABLE):
        return []
    head = ", ".join(f"'{field}'" for field in _STATEFUL_SET_MUTABLE[:-1])
    why = f"updates to statefulset spec for fields other than {head} and '{_STATEFUL_SET_MUTABLE[-1]}' are forbidden"
    return [forbidden_field("spec", why)]


def _without(spec: JsonObject, fields: Sequence[str]) -> JsonObject:
    return {key: value for key, value in spec.items() if key not in fields}
