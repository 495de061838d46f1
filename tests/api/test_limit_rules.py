"""LimitRanges and ResourceQuotas case by case: what is refused, and in which words."""

from __future__ import annotations

from typing import Any

import pytest
from strategy_objects import changed, created, texts

JsonObject = dict[str, Any]
SCOPES = "spec.scopeSelector.matchExpressions"


def limits(**limit: Any) -> JsonObject:
    spec = {"limits": [{"type": "Container"} | limit]}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": spec}


def quota(*scopes: str, **spec: Any) -> JsonObject:
    spec = ({"scopes": list(scopes)} if scopes else {}) | {"hard": {"pods": "1"}} | spec
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": spec}


def selecting(scope: str, operator: str, *values: str, **hard: str) -> JsonObject:
    expression = {"scopeName": scope, "operator": operator} | ({"values": list(values)} if values else {})
    return quota(scopeSelector={"matchExpressions": [expression]}, hard=hard or {"pods": "1"})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            limits(type="Odd"),
            ['spec.limits[0].type: Invalid value: "Odd": must be a standard limit type or fully qualified'],
        ),
        (
            limits(type="Pod", max={"odd": "1"}),
            [
                'spec.limits[0].max[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
                'spec.limits[0].max[odd]: Invalid value: "odd": must be a standard resource for containers',
            ],
        ),
        (
            limits(type="Pod", default={"cpu": "1"}, defaultRequest={"cpu": "1"}),
            [
                "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
                "spec.limits[0].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
            ],
        ),
        (
            limits(type="PersistentVolumeClaim", max={"cpu": "1"}),
            [
                "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but "
                "neither was provided"
            ],
        ),
        (
            limits(min={"cpu": "3"}, defaultRequest={"cpu": "2"}, default={"cpu": "1"}, max={"cpu": "4"}),
            [
                'spec.limits[0].defaultRequest[cpu]: Invalid value: "2": min value 3 is greater than default request '
                "value 2",
                'spec.limits[0].defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than '
                "default limit value 1",
                'spec.limits[0].default[cpu]: Invalid value: "3": min value 3 is greater than default value 1',
            ],
        ),
        (
            limits(defaultRequest={"cpu": "1"}, default={"cpu": "3"}, max={"cpu": "2"}),
            ['spec.limits[0].default[cpu]: Invalid value: "2": default value 3 is greater than max value 2'],
        ),
        (
            limits(type="Pod", min={"cpu": "1"}, max={"cpu": "2"}, maxLimitRequestRatio={"cpu": "3", "memory": "500m"}),
            [
                'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = '
                "2.000000",
                'spec.limits[0].maxLimitRequestRatio[memory]: Invalid value: "500m": ratio 500m is less than 1',
            ],
        ),
        (
            limits(default={"example.com/x": "2"}, defaultRequest={"example.com/x": "1"}),
            [
                'spec.limits[0].defaultRequest[example.com/x]: Invalid value: "1": default value 2 must equal to '
                "defaultRequest value 1 in example.com/x"
            ],
        ),
        (quota("Odd"), ['spec.scopes: Invalid value: ["Odd"]: unsupported scope']),
        (
            quota("BestEffort", "NotBestEffort", hard={"pods": "1", "requests.cpu": "1"}),
            [
                'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: unsupported scope applied to resource',
                'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes',
            ],
        ),
        (
            selecting("Odd", "Odd"),
            [
                f'{SCOPES}.scopeName: Invalid value: "Odd": unsupported scope',
                f'{SCOPES}.operator: Invalid value: "Odd": not a valid selector operator',
            ],
        ),
        (
            selecting("Terminating", "In"),
            [
                f"{SCOPES}.operator: Invalid value: \"In\": must be 'Exists' when scope is any of "
                "ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
                f"{SCOPES}.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for "
                "scope selector",
            ],
        ),
        (
            selecting("PriorityClass", "Exists", "high", services="1"),
            [
                f'{SCOPES}: Invalid value: {{"MatchExpressions":[{{"ScopeName":"PriorityClass","Operator":"Exists",'
                '"Values":["high"]}]}: unsupported scope applied to resource',
                f"{SCOPES}.values: Invalid value: [\"high\"]: must be no value when `operator` is 'Exist' or "
                "'DoesNotExist' for scope selector",
            ],
        ),
        (
            quota(hard={"count/deployments.apps": "1500m"}),
            ['spec.hard[count/deployments.apps]: Invalid value: "1500m": must be an integer'],
        ),
    ],
)
def test_mistakes(body: JsonObject, expected: list[str]) -> None:
    assert texts(created(body)[1]) == expected


def test_the_scopes_of_a_quota_stay() -> None:
    old = created(quota("Terminating"))[0]
    assert texts(changed(old, quota())[1]) == ["spec.scopes: Invalid value: null: field is immutable"]
    assert changed(old, quota("Terminating", hard={"pods": "2"}))[1] == []
