"""Which policies are refused when they are created, and with which words."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.strategies.base import Context
from tests.support.policies import DEFAULT, TABLE, binding, mutating_policy, policy

JsonObject = dict[str, Any]

GROUP = "admissionregistration.k8s.io"


def faults(obj: JsonObject, plural: str = "validatingadmissionpolicies") -> list[str]:
    row = TABLE.by_path(GROUP, "v1", plural)
    assert row is not None
    context = Context(row, "", obj["metadata"]["name"], "2030-01-01T00:00:00Z", DEFAULT)
    return [str(fault) for fault in row.strategy.validate(obj, context)]


def compilation(path: str, source: str, column: int, why: str) -> str:
    snippet = f"ERROR: <input>:1:{column}: {why}\n | {source}\n | {'.' * (column - 1)}^"
    return f'{path}: Invalid value: "{source}": compilation failed: {snippet}'


PARAM: dict[str, Any] = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}


@pytest.mark.parametrize(
    "of",
    [
        policy("object.spec.replicas > 1"),
        policy("params.data.x == 'y'", **PARAM),
        policy({"expression": "true", "messageExpression": "'a' + object.metadata.name"}),
        policy({"expression": "true", "messageExpression": "'a' + params.x"}, **PARAM),
        policy("variables.a > 1", variables=[{"name": "a", "expression": "object.x + 1"}]),
        policy("true", auditAnnotations=[{"key": "a", "valueExpression": "'x'"}]),
        policy("true", auditAnnotations=[{"key": "a", "valueExpression": "null"}]),
        policy("true", matchConditions=[{"name": "a", "expression": "request.operation == 'UPDATE'"}]),
        policy("true", matchConditions=[{"name": "a", "expression": "params.x == 1"}], **PARAM),
        policy("quantity(object.x).isGreaterThan(quantity('1Gi'))"),
        policy("authorizer.group('').resource('pods').check('get').allowed()"),
    ],
)
def test_what_compiles_is_accepted(of: JsonObject) -> None:
    assert faults(of) == []


UNDECLARED = "undeclared reference to 'params' (in container '')"


@pytest.mark.parametrize(
    ("of", "told"),
    [
        (
            policy("object.x", "1 + 'a'"),
            [
                'spec.validations[0].expression: Invalid value: "object.x": must evaluate to bool but got dyn',
                compilation(
                    "spec.validations[1].expression",
                    "1 + 'a'",
                    3,
                    "found no matching overload for '_+_' applied to '(int, string)'",
                ),
            ],
        ),
        (policy("params.x == 1"), [compilation("spec.validations[0].expression", "params.x == 1", 1, UNDECLARED)]),
        (
            policy({"expression": "true", "messageExpression": "object.x"}),
            ['spec.validations[0].messageExpression: Invalid value: "object.x": must evaluate to string but got dyn'],
        ),
        (
            policy({"expression": "true", "messageExpression": "authorizer.x"}),
            [
                compilation(
                    "spec.validations[0].messageExpression",
                    "authorizer.x",
                    1,
                    "undeclared reference to 'authorizer' (in container '')",
                )
            ],
        ),
        (
            policy("true", auditAnnotations=[{"key": "a", "valueExpression": " 1 "}]),
            [
                'spec.auditAnnotations[0].valueExpression: Invalid value: " 1 ": '
                "must evaluate to one of [string null_type] but got int"
            ],
        ),
        (
            policy("true", matchConditions=[{"name": "a", "expression": " 'x' "}]),
            ["spec.matchConditions[0].expression: Invalid value: \"'x'\": must evaluate to bool but got string"],
        ),
        (
            policy("true", matchConditions=[{"name": "a", "expression": "params.x == 1"}]),
            [compilation("spec.matchConditions[0].expression", "params.x == 1", 1, UNDECLARED)],
        ),
        (
            policy("variables.b", variables=[{"name": "a", "expression": "1"}]),
            [compilation("spec.validations[0].expression", "variables.b", 10, "undefined field 'b'")],
        ),
        (
            policy("true", variables=[{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}]),
            [compilation("spec.variables[0].expression", "variables.b", 10, "undefined field 'b'")],
        ),
        (
            policy("variables.a == 'x'", variables=[{"name": "a", "expression": "1"}]),
            [
                compilation(
                    "spec.validations[0].expression",
                    "variables.a == 'x'",
                    13,
                    "found no matching overload for '_==_' applied to '(int, string)'",
                )
            ],
        ),
        (
            policy("request.nothing == 1"),
            [compilation("spec.validations[0].expression", "request.nothing == 1", 8, "undefined field 'nothing'")],
        ),
        (
            policy("Object{} == null"),
            [
                compilation(
                    "spec.validations[0].expression",
                    "Object{} == null",
                    7,
                    "undeclared reference to 'Object' (in container '')",
                )
            ],
        ),
    ],
)
def test_what_does_not_compile_is_refused(of: JsonObject, told: list[str]) -> None:
    assert faults(of) == told


@pytest.mark.parametrize(
    ("of", "told"),
    [
        (mutating_policy("Object{spec: Object.spec{replicas: 1}}", "[JSONPatch{op: 'remove', path: '/x'}]"), []),
        (
            mutating_policy("{'a': 1}", "[1]"),
            [
                "spec.mutations[0].applyConfiguration.expression: Invalid value: \"{'a': 1}\": "
                "must evaluate to Object but got map(string, int)",
                'spec.mutations[1].jsonPatch.expression: Invalid value: "[1]": '
                "must evaluate to list(JSONPatch) but got list(int)",
            ],
        ),
        (
            mutating_policy("Object.spec{a: nothing}"),
            [
                compilation(
                    "spec.mutations[0].applyConfiguration.expression",
                    "Object.spec{a: nothing}",
                    16,
                    "undeclared reference to 'nothing' (in container '')",
                )
            ],
        ),
        (
            mutating_policy("[JSONPatch{op: 1, path: '/x'}]"),
            [
                compilation(
                    "spec.mutations[0].jsonPatch.expression",
                    "[JSONPatch{op: 1, path: '/x'}]",
                    14,
                    "expected type of field 'op' is 'string' but provided type is 'int'",
                )
            ],
        ),
        (mutating_policy(" "), ["spec.mutations[0].applyConfiguration.expression: Required value"]),
    ],
)
def test_mutations_are_what_they_say(of: JsonObject, told: list[str]) -> None:
    assert faults(of, "mutatingadmissionpolicies") == told


def test_a_mutation_is_of_one_type() -> None:
    of = mutating_policy("Object{}")
    of["spec"]["mutations"][0]["jsonPatch"] = {"expression": "[]"}
    why = "must not be specified when patchType is ApplyConfiguration"
    assert faults(of, "mutatingadmissionpolicies") == [
        f'spec.mutations[0].jsonPatch: Invalid value: "{{jsonPatch}}": {why}'
    ]


def test_nothing_is_mutated_by_a_deletion() -> None:
    rule = {"operations": ["DELETE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    what = 'operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"'
    of = mutating_policy("Object{}", rules=[rule])
    assert faults(of, "mutatingadmissionpolicies") == [f"spec.matchConstraints.resourceRules.{what}"]
    assert faults(policy("true", rules=[rule])) == []
    match = {"matchPolicy": "Exact", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [rule]}
    bound = binding(matchResources=match)
    assert faults(bound, "mutatingadmissionpolicybindings") == [f"spec.matchResources.resourceRules.{what}"]
    assert faults(bound, "validatingadmissionpolicybindings") == []


def test_conditions_of_webhooks_have_to_compile_too() -> None:
    rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    webhook = {
        "name": "a.example.com",
        "clientConfig": {"url": "https://a.example.com"},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "matchConditions": [{"name": "a", "expression": "object.kind == 1"}, {"name": "b", "expression": "params.x"}],
    }
    obj = {"metadata": {"name": "w"}, "webhooks": [webhook]}
    assert faults(obj, "validatingwebhookconfigurations") == [
        compilation("webhooks[0].matchConditions[1].expression", "params.x", 1, UNDECLARED)
    ]
