"""Validation of where a pod may run: selectors, affinity, tolerations, topology spread, gates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from kube32_sim.api.errors import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from kube32_sim.api.validation.names import dns1123_label, dns1123_subdomain, label_value, qualified_name
from kube32_sim.api.validation.workloads_common import validate_label_selector

JsonObject = dict[str, Any]

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_OPERATOR = "not a valid selector operator"
_NO_SELECTOR = "must not be specified when labelSelector is not set"
_IN_BOTH = "exists in both matchLabelKeys and labelSelector"


def validate_tolerations(tolerations: Sequence[JsonObject], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, toleration in enumerate(tolerations):
        found += _validate_toleration(toleration, f"{path}[{index}]")
    return found


def _validate_toleration(toleration: JsonObject, path: str) -> list[FieldError]:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    effect, value = toleration.get("effect", ""), toleration.get("value", "")
    found: list[FieldError] = []
    if key:
        found += [invalid_value(f"{path}.key", key, why) for why in qualified_name(key)]
    elif operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        found.append(invalid_value(f"{path}.operator", operator, why))
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        found.append(invalid_value(f"{path}.effect", effect, why))
    if operator == "Exists":
        if value:
            found.append(invalid_value(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'"))
    elif operator in ("", "Equal"):
        if reasons := label_value(value):
            found.append(invalid_value(f"{path}.operator", value, ";".join(reasons)))
    else:
        known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
        found.append(not_supported(f"{path}.operator", operator, known))
    if effect and effect not in EFFECTS:
        found.append(not_supported(f"{path}.effect", effect, EFFECTS))
    return found


def validate_affinity(affinity: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if node := affinity.get("nodeAffinity"):
        found += _validate_node_affinity(node, f"{path}.nodeAffinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        if terms := affinity.get(kind):
            found += _validate_pod_affinity(terms, f"{path}.{kind}")
    return found


def _validate_node_affinity(affinity: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if _REQUIRED in affinity:
        found += validate_node_selector(affinity[_REQUIRED] or {}, f"{path}.{_REQUIRED}")
    for index, term in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{index}]"
        found += _validate_weight(term, at)
        found += _validate_node_term(term.get("preference") or {}, False, f"{at}.preference")
    return found


def validate_node_selector(selector: JsonObject, path: str) -> list[FieldError]:
    terms = selector.get("nodeSelectorTerms")
    if not terms:
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    found: list[FieldError] = []
    for index, term in enumerate(terms):
        found += _validate_node_term(term, True, f"{path}.nodeSelectorTerms[{index}]")
    return found


def _validate_weight(term: JsonObject, path: str) -> list[FieldError]:
    weight = term.get("weight", 0)
    return [] if 1 <= weight <= 100 else [invalid_value(f"{path}.weight", weight, "must be in the range 1-100")]


def _validate_node_term(term: JsonObject, check_values: bool, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        found += _validate_requirement(requirement, check_values, f"{path}.matchExpressions[{index}]")
    for index, requirement in enumerate(term.get("matchFields") or ()):
        found += _validate_field_requirement(requirement, f"{path}.matchFields[{index}]")
    return found


def _validate_requirement(requirement: JsonObject, check_values: bool, path: str) -> list[FieldError]:
    key, operator = requirement.get("key", ""), requirement.get("operator", "")
    values = requirement.get("values") or ()
    found: list[FieldError] = []
    if operator in ("In", "NotIn"):
        if not values:
            found.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(forbidden_field(f"{path}.values", why))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            found.append(required(f"{path}.values", why))
    else:
        found.append(invalid_value(f"{path}.operator", operator, _NO_OPERATOR))
    found += [invalid_value(f"{path}.key", key, why) for why in qualified_name(key)]
    if check_values:
        for index, value in enumerate(values):
            found += [invalid_value(f"{path}.values[{index}]", value, why) for why in label_value(value)]
    return found


def _validate_field_requirement(requirement: JsonObject, path: str) -> list[FieldError]:
    key, operator = requirement.get("key", ""), requirement.get("operator", "")
    values = requirement.get("values") or ()
    found: list[FieldError] = []
    if operator not in ("In", "NotIn"):
        found.append(invalid_value(f"{path}.operator", operator, _NO_OPERATOR))
    elif len(values) != 1:
        why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        found.append(required(f"{path}.values", why))
    if key != "metadata.name":
        found.append(invalid_value(f"{path}.key", key, "not a valid field selector key"))
        return found
    for index, value in enumerate(values):
        found += [invalid_value(f"{path}.values[{index}]", value, why) for why in dns1123_subdomain(value)]
    return found


def _validate_pod_affinity(affinity: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, term in enumerate(affinity.get(_REQUIRED) or ()):
        found += _validate_pod_term(term, f"{path}.{_REQUIRED}[{index}]")
    for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{index}]"
        found += _validate_weight(weighted, at)
        found += _validate_pod_term(weighted.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm")
    return found


def _validate_pod_term(term: JsonObject, path: str) -> list[FieldError]:
    found = validate_label_selector(term.get("labelSelector"), f"{path}.labelSelector")
    found += validate_label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for namespace in term.get("namespaces") or ():
        found += [invalid_value(f"{path}.namespace", namespace, why) for why in dns1123_label(namespace)]
    keys, others = term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or ()
    found += _validate_label_keys(keys, term.get("labelSelector"), f"{path}.matchLabelKeys")
    found += _validate_label_keys(others, term.get("labelSelector"), f"{path}.mismatchLabelKeys")
    found += _validate_merged_keys(keys, term.get("labelSelector"), path)
    why, unwanted = "exists in both matchLabelKeys and mismatchLabelKeys", set(others)
    found += [invalid_value(f"{path}.matchLabelKeys[{i}]", key, why) for i, key in enumerate(keys) if key in unwanted]
    topology = term.get("topologyKey", "")
    if not topology:
        found.append(required(f"{path}.topologyKey", "can not be empty"))
    return found + [invalid_value(f"{path}.topologyKey", topology, why) for why in qualified_name(topology)]


def _validate_merged_keys(keys: Sequence[str], selector: JsonObject | None, path: str) -> list[FieldError]:
    """Keys that the selector of a pod has beside the requirement that was made of them (see `pod_preparation`)."""
    if not keys or selector is None:
        return []
    found: list[FieldError] = []
    indexes = {key: index for index, key in enumerate(keys)}
    seen = set(selector.get("matchLabels") or ())
    for expression in selector.get("matchExpressions") or ():
        key = expression.get("key", "")
        if key in indexes and key in seen:
            found.append(invalid_value(f"{path}[{indexes[key]}]", key, _IN_BOTH))
        seen.add(key)
    return found


def _validate_label_keys(keys: Sequence[str], selector: JsonObject | None, path: str) -> list[FieldError]:
    if keys and selector is None:
        return [forbidden_field(path, _NO_SELECTOR)]
    return [
        invalid_value(f"{path}[{index}]", key, why) for index, key in enumerate(keys) for why in qualified_name(key)
    ]


def validate_spread(constraints: Sequence[JsonObject], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    coming = Counter((each.get("topologyKey", ""), each.get("whenUnsatisfiable", "")) for each in constraints)
    for index, constraint in enumerate(constraints):
        at = f"{path}[{index}]"
        key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        skew = constraint.get("maxSkew", 0)
        if skew <= 0:
            found.append(invalid_value(f"{at}.maxSkew", skew, "must be greater than zero"))
        if not key:
            found.append(required(f"{at}.topologyKey", "can not be empty"))
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            found.append(not_supported(f"{at}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway")))
        coming[key, action] -= 1
        if coming[key, action]:
            found.append(duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        found += _validate_spread_options(constraint, action, at)
    return found


def _validate_spread_options(constraint: JsonObject, action: str, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    minimum = constraint.get("minDomains")
    if minimum is not None:
        if minimum <= 0:
            found.append(invalid_value(f"{path}.minDomains", minimum, "must be greater than zero"))
        if action != "DoNotSchedule":
            why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            found.append(invalid_value(f"{path}.minDomains", minimum, why))
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if field in constraint and constraint[field] not in ("Honor", "Ignore"):
            found.append(not_supported(f"{path}.{field}", constraint[field], ("Honor", "Ignore")))
    keys, selector = constraint.get("matchLabelKeys") or (), constraint.get("labelSelector")
    found += _validate_label_keys(keys, selector, f"{path}.matchLabelKeys")
    found += _validate_merged_keys(keys, selector, path)
    return found + validate_label_selector(constraint.get("labelSelector"), f"{path}.labelSelector")


def validate_readiness_gates(gates: Sequence[JsonObject], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, gate in enumerate(gates):
        kind = gate.get("conditionType", "")
        found += [invalid_value(f"{path}[{index}].conditionType", kind, why) for why in qualified_name(kind)]
    return found


def validate_scheduling_gates(gates: Sequence[JsonObject], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        found += [invalid_value(f"{path}[{index}]", name, why) for why in qualified_name(name)]
        if name in seen:
            found.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)
    return found
