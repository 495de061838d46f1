"""Validation of ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings.

Rules, order and words are upstream's `pkg/apis/admissionregistration/validation`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kube32_sim.api.cel.types import BOOL, NULL, STRING
from kube32_sim.api.errors import FieldError, duplicate, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.policies.expressions import APPLY, FIELDS, JSON_PATCH, RETURNS, Scope
from kube32_sim.api.validation import names
from kube32_sim.api.validation.admission_webhooks import (
    FAILURE_POLICIES,
    OPERATIONS,
    REINVOCATIONS,
    expression_faults,
    optional_choice,
    required_choice,
    validate_match,
    validate_match_conditions,
)
from kube32_sim.api.validation.conditions import validate_conditions
from kube32_sim.api.validation.workloads_common import validate_label_selector

JsonObject = dict[str, Any]

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")
_NOT_FOUND = ("Deny", "Allow")
_PATCHES = (APPLY, JSON_PATCH)
_MUTABLE = ("*", "CONNECT", "CREATE", "UPDATE")
_MOST_ANNOTATIONS, _LONGEST_VALUE = 20, 5 * 1024
_NOTHING_TO_DO = "validations or auditAnnotations must contain at least one item"
_RESERVED = frozenset(
    "true false null in as break const continue else for function if import let loop package "  # noqa: SIM905
    "namespace return var void while".split()
)
_is_identifier = re.compile("[_a-zA-Z][_a-zA-Z0-9]*").fullmatch


def validate_policy(policy: JsonObject) -> list[FieldError]:
    """A ValidatingAdmissionPolicy."""
    spec, path = policy["spec"], "spec"
    scope = Scope(params=spec.get("paramKind") is not None, composed=bool(spec.get("variables")))
    found = _common(spec, path, scope)
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        return [*found, *(required(f"{path}.{field}", _NOTHING_TO_DO) for field in ("validations", "auditAnnotations"))]
    for index, validation in enumerate(validations):
        found += _validation(validation, f"{path}.validations[{index}]", scope)
    return found + _audit_annotations(
        annotations, policy["metadata"].get("name", ""), f"{path}.auditAnnotations", scope
    )


def validate_mutating_policy(policy: JsonObject) -> list[FieldError]:
    """A MutatingAdmissionPolicy."""
    spec, path = policy["spec"], "spec"
    scope = Scope(params=spec.get("paramKind") is not None, composed=True)
    found = _common(spec, path, scope, _MUTABLE)
    if not spec.get("mutations"):
        found.append(required(f"{path}.mutations", "mutations must contain at least one item"))
    for index, mutation in enumerate(spec.get("mutations") or ()):
        found += _mutation(mutation, f"{path}.mutations[{index}]", scope)
    return found + required_choice(spec, path, "reinvocationPolicy", REINVOCATIONS)


def _common(spec: JsonObject, path: str, scope: Scope, operations: Sequence[str] = OPERATIONS) -> list[FieldError]:
    found = required_choice(spec, path, "failurePolicy", FAILURE_POLICIES)
    if spec.get("paramKind") is not None:
        found += _param_kind(spec["paramKind"], f"{path}.paramKind")
    match = spec.get("matchConstraints")
    if match is None:
        found.append(required(f"{path}.matchConstraints"))
    else:
        found += validate_match(match, f"{path}.matchConstraints")
        if not match.get("resourceRules"):
            found.append(required(f"{path}.matchConstraints.resourceRules"))
        found += _operations(match, f"{path}.matchConstraints", operations)
    params = spec.get("paramKind") is not None
    found += validate_match_conditions(spec, f"{path}.matchConditions", params=params)
    for index, variable in enumerate(spec.get("variables") or ()):
        found += _variable(variable, f"{path}.variables[{index}]", scope)
    return found


def _operations(match: JsonObject, path: str, supported: Sequence[str]) -> list[FieldError]:
    """Operations that such a policy cannot be for, wherever they are: upstream does not tell."""
    if supported is OPERATIONS:
        return []
    return [
        not_supported(f"{path}.resourceRules.operations", operation, supported)
        for rule in match.get("resourceRules") or ()
        for operation in rule.get("operations") or ()
        if operation not in supported
    ]


def _param_kind(kind: JsonObject, path: str) -> list[FieldError]:
    version, name, found = kind.get("apiVersion", ""), kind.get("kind", ""), []
    if not version:
        found.append(required(f"{path}.apiVersion"))
    elif version.count("/") > 1:
        why = f"unexpected GroupVersion string: {version}"
        found.append(invalid_value(f"{path}.apiVersion", version, why))
    else:
        found += _group_version(version, f"{path}.apiVersion")
    if not name:
        found.append(required(f"{path}.kind"))
    elif reasons := names.dns1035(name.lower()):
        why = f"may have mixed case, but should otherwise match: {','.join(reasons)}"
        found.append(invalid_value(f"{path}.kind", name, why))
    return found


def _group_version(text: str, path: str) -> list[FieldError]:
    group, _, version = text.rpartition("/")
    found: list[FieldError] = []
    if group and (reasons := names.dns1123_subdomain(group)):
        found.append(invalid_value(path, group, ",".join(reasons)))
    if not version:
        found.append(invalid_value(path, text, "version must be specified"))
    elif reasons := names.dns1035(version):
        found.append(invalid_value(path, version, ",".join(reasons)))
    return found


def _variable(variable: JsonObject, path: str, scope: Scope) -> list[FieldError]:
    name, found = variable.get("name", ""), []
    if not name.strip():
        found.append(required(f"{path}.name", "name is not specified"))
    elif not _is_identifier(name) or name in _RESERVED:
        found.append(invalid_value(f"{path}.name", name, "name is not a valid CEL identifier"))
    found += _expression(variable, path, "expression")
    source = variable.get("expression", "")
    return found + expression_faults(scope.add(name, source), f"{path}.expression") if source.strip() else found


def _expression(owner: JsonObject, path: str, field: str) -> list[FieldError]:
    return [] if owner.get(field, "").strip() else [required(f"{path}.{field}", f"{field} is not specified")]


def _validation(validation: JsonObject, path: str, scope: Scope) -> list[FieldError]:
    found, source = _expression(validation, path, "expression"), validation.get("expression", "")
    if source.strip():
        found += expression_faults(scope.compile(source, returns=(BOOL,)), f"{path}.expression")
    built, message = validation.get("messageExpression", ""), validation.get("message", "")
    if built and not built.strip():
        found.append(invalid_value(f"{path}.messageExpression", built, "must be non-empty if specified"))
    elif built:
        made = scope.compile(built, returns=(STRING,), authorizer=False)
        found += expression_faults(made, f"{path}.messageExpression")
    if message and not message.strip():
        found.append(invalid_value(f"{path}.message", message, "message must be non-empty if specified"))
    elif re.search(r"[\n\r]", message.strip()):
        found.append(invalid_value(f"{path}.message", message, "message must not contain line breaks"))
    return found + optional_choice(validation, path, "reason", _REASONS)


def _audit_annotations(annotations: Sequence[JsonObject], policy: str, path: str, scope: Scope) -> list[FieldError]:
    found: list[FieldError] = []
    if len(annotations) > _MOST_ANNOTATIONS:
        shown = [
            {"Key": each.get("key", ""), "ValueExpression": each.get("valueExpression", "")} for each in annotations
        ]
        found.append(invalid_value(path, shown, f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"))
    seen: set[str] = set()
    for index, annotation in enumerate(annotations):
        at, key = f"{path}[{index}]", annotation.get("key", "")
        whole = f"{policy}/{key}"
        found += [invalid_value(f"{at}.key", whole, why) for why in names.qualified_name(whole)]
        found += _expression(annotation, at, "valueExpression")
        value = annotation.get("valueExpression", "")
        if names.byte_length(value.strip()) > _LONGEST_VALUE:
            found.append(required(f"{at}.valueExpression", f"must not exceed {_LONGEST_VALUE} bytes in length"))
        elif value.strip():
            made = scope.compile(value.strip(), returns=(STRING, NULL))
            found += expression_faults(made, f"{at}.valueExpression", value)
        if key in seen:
            found.append(duplicate(f"{at}.key", key))
        seen.add(key)
    return found


def _mutation(mutation: JsonObject, path: str, scope: Scope) -> list[FieldError]:
    kind = mutation.get("patchType", "")
    if not kind:
        return [required(f"{path}.patchType")]
    if kind not in _PATCHES:
        return [not_supported(f"{path}.patchType", kind, _PATCHES)]
    field, other = (FIELDS[name] for name in (_PATCHES if kind == _PATCHES[0] else _PATCHES[::-1]))
    found: list[FieldError] = []
    if mutation.get(field) is None:
        found.append(required(f"{path}.{field}", f"must be specified when patchType is {kind}"))
    else:
        source, at = mutation[field].get("expression", "").strip(), f"{path}.{field}.expression"
        made = scope.compile(source, returns=(RETURNS[kind],), patch=True) if source else None
        found += [required(at)] if made is None else expression_faults(made, at)
    if mutation.get(other) is not None:
        why = f"must not be specified when patchType is {kind}"
        found.append(invalid_value(f"{path}.{other}", f"{{{other}}}", why))
    return found


def validate_policy_binding(spec: JsonObject, *, validating: bool) -> list[FieldError]:
    name = spec.get("policyName", "")
    found = [] if name else [required("spec.policyName")]
    found += [invalid_value("spec.policyName", name, why) for why in names.dns1123_subdomain(name) if name]
    if spec.get("paramRef") is not None:
        found += _param_ref(spec["paramRef"], "spec.paramRef")
    match = spec.get("matchResources")
    found += validate_match(match, "spec.matchResources")
    if validating:
        return found + _validation_actions(spec.get("validationActions") or [], "spec.validationActions")
    return found + _operations(match or {}, "spec.matchResources", _MUTABLE)


def _param_ref(reference: JsonObject, path: str) -> list[FieldError]:
    name, selector = reference.get("name", ""), reference.get("selector")
    both = "name and selector are mutually exclusive"
    found = [invalid_value(f"{path}.name", name, why) for why in names.path_segment(name)]
    if name and selector is not None:
        found.append(forbidden_field(f"{path}.name", both))
    found += validate_label_selector(selector, f"{path}.selector")
    if name and selector is not None:
        found.append(forbidden_field(f"{path}.selector", both))
    if not name and selector is None:
        found.append(required(path, "one of name or selector must be specified"))
    action = reference.get("parameterNotFoundAction", "")
    if not action:
        found.append(required(f"{path}.parameterNotFoundAction"))
    elif action not in _NOT_FOUND:
        found.append(not_supported(f"{path}.parameterNotFoundAction", action, _NOT_FOUND))
    return found


def _validation_actions(actions: Sequence[str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            found.append(not_supported(f"{path}[{index}]", action, _ACTIONS))
        if action in actions[:index]:
            found.append(duplicate(f"{path}[{index}]", action))
    if "Deny" in actions and "Warn" in actions:
        why = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        found.append(invalid_value(path, list(actions), why))
    return found if actions else [*found, required(path, "at least one validation action is required")]


def validate_policy_status(status: JsonObject) -> list[FieldError]:
    warnings = (status.get("typeChecking") or {}).get("expressionWarnings") or ()
    found = [
        required(f"status.typeChecking.expressionWarnings[{index}].{field}")
        for index, warning in enumerate(warnings)
        for field in ("warning", "fieldRef")
        if not warning.get(field)
    ]
    return found + validate_conditions(status.get("conditions"), "status.conditions")
