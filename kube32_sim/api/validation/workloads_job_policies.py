"""Validation of a Job's podFailurePolicy and successPolicy.  `workloads_batch.py` has the rest of the Job."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, invalid_value, required, too_long, too_many
from kube32_sim.api.validation import names
from kube32_sim.api.validation.workloads_common import non_negative, one_of

JsonObject = dict[str, Any]

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_LONGEST_INDEXES = 64 * 1024


def pod_failure_policy(policy: JsonObject, spec: JsonObject, path: str) -> list[FieldError]:
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


def success_policy(policy: JsonObject, spec: JsonObject, path: str) -> list[FieldError]:
    if spec.get("completionMode") != "Indexed":
        return [invalid_value(path, policy, "requires indexed completion mode")]
    rules = policy.get("rules") or []
    if not rules:
        return [required(f"{path}.rules", "at least one rules must be specified when the successPolicy is specified")]
    if len(rules) > 20:
        return [too_many(f"{path}.rules", len(rules), 20)]
    completions: int = spec.get("completions") or 0
    found: list[FieldError] = []
    for index, rule in enumerate(rules):
        found += _success_rule(rule, completions, f"{path}.rules[{index}]")
    return found


def _success_rule(rule: JsonObject, completions: int, path: str) -> list[FieldError]:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    found: list[FieldError] = []
    if indexes is None and count is None:
        found.append(required(path, "at least one of succeededCount or succeededIndexes must be specified"))
    total = 0
    if indexes is not None:
        if len(indexes) > _LONGEST_INDEXES:
            return [*found, too_long(f"{path}.succeededIndexes", _LONGEST_INDEXES)]
        total, problem = count_indexes(indexes, completions)
        if problem:
            why = f"error parsing succeededIndexes: {problem}"
            found.append(invalid_value(f"{path}.succeededIndexes", indexes, why))
    if count is None:
        return found
    found += non_negative(rule, path, "succeededCount")
    limits = [(completions, "the number of specified completions")]
    if indexes is not None:
        limits.append((total, "the number of indexes in the specified succeededIndexes field"))
    return found + [
        invalid_value(f"{path}.succeededCount", count, f"must be less than or equal to {limit} ({what})")
        for limit, what in limits
        if count > limit
    ]


def count_indexes(text: str, completions: int) -> tuple[int, str]:
    """(how many indexes `0-2,5` names, what is wrong with it): they ascend and are below `completions`."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        ends = part.split("-")
        if len(ends) > 2:
            return 0, (
                f"the fragment {json.dumps(part)} violates the requirement that an index interval can have at most two "
                "parts separated by '-'"
            )
        numbers = []
        for end in ends:
            if not (end.isascii() and end.isdecimal()):
                return 0, f"cannot convert string to integer for index: {json.dumps(end)}"
            if len(end) > 10 or int(end) >= completions:
                return 0, f"too large index: {json.dumps(end)}"
            numbers.append(int(end))
        for number in numbers:
            if number <= last:
                return 0, f"non-increasing order, previous: {last}, current: {number}"
            last = number
        total += numbers[-1] - numbers[0] + 1
    return total, ""
