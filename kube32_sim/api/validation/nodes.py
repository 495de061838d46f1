"""Validation of nodes: taints, what they hold, their ranges of addresses, and what never changes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.quantity import parse
from kube32_sim.api.validation import pod_shown
from kube32_sim.api.validation.addresses import cidr_errors, cidr_warnings
from kube32_sim.api.validation.names import label_value, qualified_name
from kube32_sim.api.validation.pod_resources import validate_amount
from kube32_sim.api.validation.pod_scheduling import EFFECTS

JsonObject = dict[str, Any]

_LONGEST_FEATURE = 253
_FEATURE = re.compile(r"[A-Z][A-Za-z0-9]*(/[A-Za-z][A-Za-z0-9]*)*").fullmatch
_FEATURE_TEXT = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
    "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)


def validate_node(node: JsonObject) -> list[FieldError]:
    """Failures of a new node, apart from those of its metadata."""
    spec = node["spec"]
    found = _validate_taints(spec.get("taints") or (), "metadata.taints")
    status = node.get("status", {})
    found += _validate_amounts(status) + _validate_features(status)
    return found + _validate_ranges(spec.get("podCIDRs") or [], "spec.podCIDRs")


def validate_node_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Failures of a changed node, or of a report about it."""
    spec, before, status = new["spec"], old["spec"], new.get("status", {})
    found = _validate_amounts(status) + _validate_features(status)
    seen: set[tuple[str, str]] = set()
    for index, address in enumerate(status.get("addresses") or ()):
        key = (address.get("type", ""), address.get("address", ""))
        if key in seen:
            found.append(duplicate(f"status.addresses[{index}]", pod_shown.node_address(address)))
        seen.add(key)
    found += _validate_fixed_ranges(spec.get("podCIDRs") or [], before.get("podCIDRs") or [])
    if before.get("providerID") and spec.get("providerID", "") != before["providerID"]:
        why = 'node updates may not change providerID except from "" to valid'
        found.append(forbidden_field("spec.providerID", why))
    found += _validate_taints(spec.get("taints") or (), "metadata.taints")
    if spec.get("externalID", "") != before.get("externalID", ""):
        found.append(forbidden_field("spec.externalID", "may not be updated"))
    return found


def _validate_fixed_ranges(new: Sequence[str], old: Sequence[str]) -> list[FieldError]:
    why = 'node updates may not change podCIDR except from "" to valid'
    if not old:
        return []
    if len(new) != len(old):
        return [forbidden_field("spec.podCIDRs", why)]
    return [forbidden_field("spec.podCIDRs", why) for now, then in zip(new, old, strict=True) if now != then]


def _validate_ranges(ranges: list[str], path: str) -> list[FieldError]:
    found = [wrong for index, text in enumerate(ranges) for wrong in cidr_errors(text, f"{path}[{index}]")]
    if len(ranges) < 2:
        return found
    if len(ranges) > 2 or len({":" in text for text in ranges}) != 2:
        found.append(invalid_value(path, ranges, "may specify no more than one CIDR for each IP family"))
    return found


def _validate_amounts(status: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    for field in ("capacity", "allocatable"):
        for name, amount in (status.get(field) or {}).items():
            found += validate_amount(name, parse(amount), f"status.{field}.{name}")
    return found


def _validate_features(status: JsonObject) -> list[FieldError]:
    """The names of what a node declares to have: in order, each of them once."""
    features = status.get("declaredFeatures") or ()
    found: list[FieldError] = []
    for index, feature in enumerate(features):
        at = f"status.declaredFeatures[{index}]"
        if index and features[index - 1] == feature:
            found.append(duplicate(at, feature))
        elif index and features[index - 1] > feature:
            found.append(invalid_value(at, feature, "list must be sorted alphabetically"))
        if why := _not_a_feature(feature):
            found.append(invalid_value(at, feature, f"invalid feature name {json.dumps(feature)}: {why}"))
    return found


def _not_a_feature(name: str) -> str:
    if len(name.encode()) > _LONGEST_FEATURE:
        return f"must be no more than {_LONGEST_FEATURE} characters"
    return "" if _FEATURE(name) else _FEATURE_TEXT


def _validate_taints(taints: Sequence[JsonObject], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        at = f"{path}[{index}]"
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        found += [invalid_value(f"{at}.key", key, why) for why in qualified_name(key)]
        if reasons := label_value(value):
            found.append(invalid_value(f"{at}.value", value, ";".join(reasons)))
        if not effect:
            found.append(required(f"{at}.effect"))
        elif effect not in EFFECTS:
            found.append(not_supported(f"{at}.effect", effect, EFFECTS))
        if (key, effect) in seen:
            wrong = duplicate(at, pod_shown.taint(taint))
            text = f"{wrong.message}: taints must be unique by key and effect pair"
            found.append(FieldError(wrong.reason, at, text))
        seen.add((key, effect))
    return found


def node_warnings(node: JsonObject) -> list[str]:
    """Fields that mean nothing any more, and ranges that are written oddly."""
    spec = node["spec"]
    found: list[str] = []
    if spec.get("configSource") is not None:
        found.append("spec.configSource: the feature is no longer available")
    if spec.get("externalID"):
        found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    for index, text in enumerate(spec.get("podCIDRs") or ()):
        found += cidr_warnings(text, f"spec.podCIDRs[{index}]")
    return found
