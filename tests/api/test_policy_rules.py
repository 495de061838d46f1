"""Autoscalers, disruption budgets, runtime classes, priority and fairness: what upstream refuses, in its words."""

from __future__ import annotations

from typing import Any

import pytest
from strategy_objects import changed, created, texts

JsonObject = dict[str, Any]

TARGET = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
CPU = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}


def autoscaler(**spec: Any) -> JsonObject:
    body = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}}
    return body | {"spec": {"maxReplicas": 3, "scaleTargetRef": TARGET} | spec}


def flow(kind: str, name: str = "f", **spec: Any) -> JsonObject:
    return {"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def refusals(body: JsonObject) -> list[str]:
    return texts(created(body)[1])


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"metrics": [{"type": "Resource", "resource": CPU}]}, []),
        (
            {"minReplicas": 0},
            ["spec.minReplicas: Invalid value: 0: must be greater than or equal to 1", "spec.metrics"],
        ),
        (
            {"maxReplicas": 0},
            [
                "spec.maxReplicas: Required value: must be set and greater than 0",
                "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
            ],
        ),
        (
            {"scaleTargetRef": TARGET | {"apiVersion": "v1"}},
            ['spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'],
        ),
        ({"scaleTargetRef": {"kind": "ReplicationController", "name": "r", "apiVersion": "v1"}}, []),
        (
            {"scaleTargetRef": TARGET | {"apiVersion": "a/b/c"}},
            ['spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
        ),
        (
            {"metrics": [{"type": "Odd"}]},
            [
                'spec.metrics[0].type: Unsupported value: "Odd": supported values: "ContainerResource", "External", '
                '"Object", "Pods", "Resource"'
            ]
            * 2,
        ),
        (
            {"metrics": [{"type": "Pods", "resource": CPU}]},
            ["spec.metrics[0].pods: Required value: must populate information for the given metric source"],
        ),
        (
            {"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Odd"}}}]},
            [
                'spec.metrics[0].resource.target.type: Invalid value: "Odd": must be either Utilization, Value, or '
                "AverageValue",
                "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw "
                "value or a target utilization",
            ],
        ),
        (
            {"metrics": [{"type": "External", "external": {"metric": {}, "target": {"type": "Value", "value": "0"}}}]},
            [
                "spec.metrics[0].external.metric.name: Required value: must specify a metric name",
                'spec.metrics[0].external.target.value: Invalid value: "0": must be positive',
            ],
        ),
        (
            {"behavior": {"scaleUp": {"stabilizationWindowSeconds": -1, "tolerance": "-1"}}},
            [
                "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to "
                "zero",
                'spec.behavior.scaleUp.tolerance: Invalid value: "-1": must be greater or equal to zero',
            ],
        ),
        (
            {"behavior": {"scaleDown": {"policies": [{"type": "Odd", "value": 0, "periodSeconds": 1801}]}}},
            [
                'spec.behavior.scaleDown.policies[0].type: Unsupported value: "Odd": supported values: "Percent"',
                "spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero",
                "spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to "
                "1800",
            ],
        ),
        (
            {"behavior": {"scaleUp": {"policies": []}, "scaleDown": {"policies": []}}},
            [
                f"spec.behavior.{way}.policies: Required value: must specify at least one Policy"
                for way in ("scaleUp", "scaleDown")
            ],
        ),
        ({"behavior": {"scaleUp": {"policies": None}, "scaleDown": {}}}, []),
    ],
)
def test_autoscalers_are_refused(spec: JsonObject, expected: list[str]) -> None:
    found = refusals(autoscaler(**spec))
    assert len(found) == len(expected)
    assert all(text.startswith(start) for text, start in zip(found, expected, strict=True)), found


def test_what_an_autoscaler_was_before_the_rules_it_may_stay() -> None:
    old = created(autoscaler())[0]
    old["spec"]["scaleTargetRef"] = TARGET | {"apiVersion": "v1"}
    assert changed(old, autoscaler(scaleTargetRef=TARGET | {"apiVersion": "v1"}))[1] == []
    status = autoscaler() | {"status": {"currentReplicas": -1, "desiredReplicas": -2}}
    assert texts(changed(old, status, "status")[1]) == [
        "status.currentReplicas: Invalid value: -1: must be greater than or equal to 0",
        "status.desiredReplicas: Invalid value: -2: must be greater than or equal to 0",
    ]


def test_names_of_autoscalers_and_flows_are_subdomains() -> None:
    queue = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    for body in (
        autoscaler() | {"metadata": {"name": "Bad_Name"}},
        flow("PriorityLevelConfiguration", "Bad_Name", **queue),
        flow("FlowSchema", "Bad_Name", priorityLevelConfiguration={"name": "p"}),
    ):
        assert [error.field for error in created(body)[1]] == ["metadata.name"]


def test_a_budget_shows_its_whole_spec() -> None:
    spec = {"minAvailable": 1, "maxUnavailable": "50%", "selector": {"matchLabels": {"a": "b"}}}
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": spec}
    assert refusals(body) == [
        'spec: Invalid value: {"MinAvailable":1,"Selector":{"matchLabels":{"a":"b"}},"MaxUnavailable":"50%",'
        '"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set'
    ]
    del spec["maxUnavailable"]
    wrong = {"type": "", "status": "Odd", "reason": "no reason", "observedGeneration": -1}
    status = body | {"status": {"conditions": [wrong], "expectedPods": -1}}
    assert [error.field for error in changed(created(body)[0], status, "status")[1]] == [
        *["status.conditions[0].type"] * 2,
        "status.conditions[0].status",
        "status.conditions[0].observedGeneration",
        "status.conditions[0].lastTransitionTime",
        "status.conditions[0].reason",
        "status.expectedPods",
    ]


def test_runtime_classes_are_refused() -> None:
    body: JsonObject = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "r"}}
    assert refusals(body) == ["handler: Required value"]
    toleration = {"key": "k", "operator": "Exists"}
    scheduling = {"nodeSelector": {"bad key": "x"}, "tolerations": [toleration, toleration]}
    whole = body | {"handler": "H", "overhead": {"podFixed": {"cpu": "-1"}}, "scheduling": scheduling}
    assert [error.field for error in created(whole)[1]] == [
        "handler",
        "overhead.limits[cpu]",
        "scheduling.nodeSelector",
        "scheduling.tolerations[1]",
    ]


ACCOUNT = {"kind": "ServiceAccount", "serviceAccount": {"name": "a", "namespace": "n"}}
RESOURCES = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["*"]}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"subjects": [ACCOUNT], "resourceRules": [RESOURCES]}, []),
        (
            {},
            [
                "spec.rules[0].subjects: Required value: subjects must contain at least one value",
                "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
            ],
        ),
        (
            {"subjects": [ACCOUNT | {"user": {"name": "u"}}], "resourceRules": [RESOURCES | {"verbs": ["*", "get"]}]},
            [
                "spec.rules[0].subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User'",
                'spec.rules[0].resourceRules[0].verbs: Invalid value: ["*","get"]: if \'*\' is present, must not '
                "specify other verbs",
            ],
        ),
        (
            {"subjects": [{"kind": "User"}], "nonResourceRules": [{"verbs": ["odd"], "nonResourceURLs": ["a", "/b*"]}]},
            [
                "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
                'spec.rules[0].nonResourceRules[0].verbs: Unsupported value: ["odd"]: supported values: "create", '
                '"delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"',
                'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "a": must start with slash',
                'spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: "/b*": wildcard can only do '
                "suffix matching",
            ],
        ),
    ],
)
def test_rules_of_flow_schemas(rule: JsonObject, expected: list[str]) -> None:
    assert refusals(flow("FlowSchema", priorityLevelConfiguration={"name": "p"}, rules=[rule])) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}, []),
        (
            {"type": "Exempt"},
            ["spec.type: Invalid value: \"Exempt\": type must be 'Exempt' if and only if name is 'exempt'"],
        ),
        (
            {"type": "Limited", "limited": {"limitResponse": {"type": "Queue"}, "lendablePercent": 101}},
            [
                "spec.limited.limitResponse.queuing: Required value: must not be empty if limited.limitResponse.type "
                "is Limited",
                "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
            ],
        ),
        (
            {
                "type": "Limited",
                "limited": {"limitResponse": {"type": "Queue", "queuing": {"queues": 128, "handSize": 9}}},
            },
            [
                "spec.limited.limitResponse.queuing.handSize: Invalid value: 9: required entropy bits of deckSize 128 "
                "and handSize 9 should not be greater than 60"
            ],
        ),
    ],
)
def test_priority_levels_are_refused(spec: JsonObject, expected: list[str]) -> None:
    assert refusals(flow("PriorityLevelConfiguration", **spec)) == expected
