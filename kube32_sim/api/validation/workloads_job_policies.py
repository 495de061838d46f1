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
_MOST_RULES, _MOST_CONDITIONS, _MOST_EXIT_CODES = 20, 20, 255
_LONGEST_INDEXES = 64 * 1024


def pod_failure_policy(policy: JsonObject, spec: JsonObject, path: str) -> list[FieldError]:
    rules = policy.get("rules") or []
    pod = spec["template"].get("spec") or {}
    containers = {each.get("name") for key in ("containers", "initContainers") for each in pod.get(key) or ()}
    found = _not_too_many(rules, f"{path}.rules", _MOST_RULES)
    for index, rule in enumerate(rules):
        found += _failure_rule(rule, spec, containers, f"{path}.rules[{index}]")
    return found


def _not_too_many(items: Sequence[Any], path: str, most: int) -> list[FieldError]:
    return [too_many(path, len(items), most)] if len(items) > most else []


def _choice(owner: JsonObject, path: str, field: str, supported: Sequence[str]) -> list[FieldError]:
    """As `one_of`, but a missing value is told what it may be, as Go prints a list."""
    if owner.get(field):
        return one_of(owner, path, field, supported)
    return [required(f"{path}.{field}", f"valid values: [{' '.join(json.dumps(each) for each in supported)}]")]


def _failure_rule(rule: JsonObject, spec: JsonObject, containers: set[Any], path: str) -> list[FieldError]:
    found = _choice(rule, path, "action", _ACTIONS)
    action = rule.get("action", "")
    if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        found.append(invalid_value(f"{path}.action", action, "requires the backoffLimitPerIndex to be set"))
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
    if codes is not None:
        found += _exit_codes(codes, containers, f"{path}.onExitCodes")
    found += _not_too_many(conditions, f"{path}.onPodConditions", _MOST_CONDITIONS)
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
    found = _choice(codes, path, "operator", ("In", "NotIn"))
    name = codes.get("containerName")
    if name is not None and name not in containers:
        why = "must be one of the container or initContainer names in the pod template"
        found.append(invalid_value(f"{path}.containerName", name, why))
    given: Sequence[int] | None = codes.get("values")
    values = given or []
    if not values:
        found.append(invalid_value(f"{path}.values", given, "at least one value is required"))
    found += _not_too_many(values, f"{path}.values", _MOST_EXIT_CODES)
    seen: set[int] = set()
    for index, value in enumerate(values):
        if value == 0 and codes.get("operator") == "In":
            found.append(invalid_value(f"{path}.values[{index}]", 0, "must not be 0 for the In operator"))
        if value in seen:
            found.append(duplicate(f"{path}.values[{index}]", value))
        seen.add(value)
    if list(values) != sorted(values):
        found.append(invalid_value(f"{path}.values", list(values), "must be ordered"))
    return found


def _pod_condition(condition: JsonObject, path: str) -> list[FieldError]:
    kind = condition.get("type", "")
    found = [invalid_value(f"{path}.type", kind, why) for why in names.qualified_name(kind)]
    return found + _choice(condition, path, "status", ("False", "True", "Unknown"))


def success_policy(policy: JsonObject, spec: JsonObject, path: str) -> list[FieldError]:
    rules = policy.get("rules") or []
    if spec.get("completionMode") != "Indexed":
        shown = [
            {"SucceededIndexes": rule.get("succeededIndexes"), "SucceededCount": rule.get("succeededCount")}
            for rule in rules
        ]
        return [invalid_value(path, {"Rules": shown or policy.get("rules")}, "requires indexed completion mode")]
    found: list[FieldError] = []
    if not rules:
        why = "at least one rules must be specified when the successPolicy is specified"
        found.append(required(f"{path}.rules", why))
    found += _not_too_many(rules, f"{path}.rules", _MOST_RULES)
    completions: int = spec.get("completions") or 0
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
            found.append(too_long(f"{path}.succeededIndexes", _LONGEST_INDEXES))
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
        interval = _interval(part, completions)
        if isinstance(interval, str):
            return 0, interval
        first, end = interval
        if first <= last:
            return 0, f"non-increasing order, previous: {last}, current: {first}"
        total, last = total + end - first + 1, end
    return total, ""


def intervals(text: str, completions: int) -> list[tuple[int, int]]:
    """First and last of those parts of `0-2,5` that can be read."""
    parsed = [_interval(part, completions) for part in text.split(",")] if text else []
    return [each for each in parsed if not isinstance(each, str)]


def _interval(part: str, completions: int) -> tuple[int, int] | str:
    """The ends of `N-M`, or what is wrong with it."""
    ends = part.split("-")
    if len(ends) > 2:
        return (
            f"the fragment {json.dumps(part)} violates the requirement that an index interval can have at most two "
            "parts separated by '-'"
        )
    numbers = []
    for end in ends:
        if not (end.isascii() and end.isdecimal()):
            return f"cannot convert string to integer for index: {json.dumps(end)}"
        if len(end) > 10 or int(end) >= completions:
            return f"too large index: {json.dumps(end)}"
        numbers.append(int(end))
    if len(numbers) > 1 and numbers[0] >= numbers[1]:
        return f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}"
    return numbers[0], numbers[-1]
