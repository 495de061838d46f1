"""What expressions get wrong about the types that a policy is for, as its status tells."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.policies.typechecking import MOST_TYPES, type_warnings
from tests.support.policies import TABLE, policy

JsonObject = dict[str, Any]


def rule(group: str, *resources: str, **more: Any) -> JsonObject:
    made = {"operations": ["*"], "apiGroups": [group], "apiVersions": ["v1"], "resources": list(resources)}
    return made | more


DEPLOYMENTS = rule("apps", "deployments")
BOTH = rule("apps", "statefulsets", "deployments", "deployments/scale")


def told(source: str, column: int, why: str, kind: str = "apps/v1, Kind=Deployment") -> str:
    return f"{kind}: ERROR: <input>:1:{column}: {why}\n | {source}\n | {'.' * (column - 1)}^\n"


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.replicas > 1",
        "oldObject == null || oldObject.spec.replicas > 1",
        "object.spec.template.spec.containers.all(c, c.resources.limits.cpu == '1')",
        "object.spec.template.spec.containers.all(c, c.ports.all(p, p.containerPort > 80))",
        "object.metadata.labels['a'] == 'b'",
        "object.metadata.creationTimestamp > timestamp('2020-01-01T00:00:00Z')",
        "object.spec.strategy.rollingUpdate.maxSurge == 1",
        "object.metadata.__namespace__ == 'default' || object.apiVersion == 'apps/v1'",
        "authorizer.requestResource.check('get').allowed() && namespaceObject.spec.finalizers == []",
    ],
)
def test_what_fits_is_not_told_of(expression: str) -> None:
    assert type_warnings(policy(expression, rules=[DEPLOYMENTS]), TABLE) == []


def test_what_does_not_fit_is_told_type_by_type() -> None:
    source = "object.spec.nope > 1"
    found = type_warnings(policy("true", source, rules=[BOTH]), TABLE)
    both = (
        told(source, 12, "undefined field 'nope'", f"apps/v1, Kind={kind}") for kind in ("Deployment", "StatefulSet")
    )
    assert found == [{"fieldRef": "spec.validations[1].expression", "warning": "\n".join(both)}]


def test_a_field_that_only_one_type_has_is_told_of_the_other() -> None:
    found = type_warnings(policy("object.spec.serviceName == 'x'", rules=[BOTH]), TABLE)
    assert [one["warning"].count("ERROR") for one in found] == [1]
    assert found[0]["warning"].startswith("apps/v1, Kind=Deployment: ")


def test_messages_variables_and_parameters_are_checked_too() -> None:
    of = policy(
        {"expression": "variables.n > 'x'", "messageExpression": "object.spec.nope"},
        "params.data.x == 1",
        rules=[DEPLOYMENTS],
        variables=[{"name": "n", "expression": "object.spec.replicas"}],
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    )
    assert [one["fieldRef"] for one in type_warnings(of, TABLE)] == [
        "spec.validations[0].expression",
        "spec.validations[0].messageExpression",
        "spec.validations[1].expression",
    ]
    of["spec"]["paramKind"] = {"apiVersion": "none.example.com/v1", "kind": "None"}
    assert len(type_warnings(of, TABLE)) == 2


@pytest.mark.parametrize(
    "wanted",
    [
        rule("*", "deployments"),
        rule("apps", "*"),
        rule("apps", "*/scale"),
        rule("apps", "deployments", apiVersions=["*"]),
        rule("apps", "nothing"),
        rule("apps", "deployments/scale"),
    ],
)
def test_nothing_is_told_where_the_types_are_not_named(wanted: JsonObject) -> None:
    assert type_warnings(policy("object.nope", rules=[wanted]), TABLE) == []


def test_no_more_than_some_types_are_looked_at() -> None:
    core = [row.plural for row in TABLE.rows("", "v1") if row.stored]
    assert len(core) > MOST_TYPES
    (found,) = type_warnings(policy("object.nope == 1", rules=[rule("", *core)]), TABLE)
    assert found["warning"].count("undefined field") == MOST_TYPES


def test_every_type_can_be_checked() -> None:
    for row in TABLE:
        named = rule(row.group, row.plural, apiVersions=[row.version])
        assert type_warnings(policy("object.kind == 'x'", rules=[named]), TABLE) == [], row.kind
