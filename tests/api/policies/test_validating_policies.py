"""What ValidatingAdmissionPolicies make of requests, in upstream's words."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.authorization import AlwaysAllow, Attributes, Decision
from kube32_sim.api.errors import ApiError
from kube32_sim.api.policies.validating import LONGEST_MESSAGE
from kube32_sim.api.users import User
from tests.support.policies import (
    Cluster,
    binding,
    config_map,
    deployment,
    namespace,
    params_of,
    policy,
    refused,
    request,
    validate,
)

JsonObject = dict[str, Any]

DENIED = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
SMALL = request(deployment(replicas=2))
LARGE = request(deployment(replicas=9))


def denial(asked: Any, of: JsonObject, bindings: list[JsonObject] | None = None, **more: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        validate(asked, of, bindings, **more)
    return caught.value


def test_a_request_that_breaks_a_rule_is_refused_as_invalid() -> None:
    limit = policy("object.spec.replicas <= 5")
    assert validate(SMALL, limit) == []
    message = f"{DENIED}failed expression: object.spec.replicas <= 5"
    assert denial(LARGE, limit).status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'deployments.apps "web" is forbidden: {message}',
        "reason": "Invalid",
        "details": {"name": "web", "group": "apps", "kind": "deployments", "causes": [{"message": message}]},
        "code": 422,
    }


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        ({"message": " too many \n"}, "too many"),
        ({"messageExpression": "'not ' + string(object.spec.replicas)"}, "not 9"),
        ({"message": "too many", "messageExpression": "'  better  '"}, "better"),
        ({"message": "too many", "messageExpression": "'   '"}, "too many"),
        ({"message": "too many", "messageExpression": "'a\\nb'"}, "too many"),
        ({"message": "too many", "messageExpression": "'a' + object.none"}, "too many"),
        ({"messageExpression": "'a' + object.none"}, "failed expression: object.spec.replicas < 5"),
        ({"message": "long", "messageExpression": f"'{'x' * LONGEST_MESSAGE}' + 'x'"}, "long"),
        ({"message": "long", "messageExpression": f"'{'x' * LONGEST_MESSAGE}'"}, "x" * LONGEST_MESSAGE),
    ],
)
def test_the_message_is_the_best_there_is(validation: JsonObject, message: str) -> None:
    error = denial(LARGE, policy({"expression": "object.spec.replicas < 5 ", **validation}))
    assert refused(error) == DENIED + message


@pytest.mark.parametrize(
    ("reason", "code"), [("Invalid", 422), ("Forbidden", 403), ("RequestEntityTooLarge", 413), ("Unauthorized", 401)]
)
def test_the_reason_decides_the_code(reason: str, code: int) -> None:
    error = denial(LARGE, policy({"expression": "false", "reason": reason}))
    assert (error.reason, error.code) == (reason, code)


@pytest.mark.parametrize("ignore", [False, True])
@pytest.mark.parametrize(
    ("of", "why"),
    [
        (policy("object.spec.none > 1"), "expression 'object.spec.none > 1' resulted in error: no such key: none"),
        (policy("1 / (object.spec.replicas - 9) > 0"), "resulted in error: division by zero"),
        (policy("object.spec.replicas.x"), "compilation error: must evaluate to bool but got dyn"),
        (policy("nothing"), "compilation error: compilation failed: ERROR: <input>:1:1: undeclared reference to"),
    ],
)
def test_an_expression_that_goes_wrong_counts_by_the_failure_policy(of: JsonObject, why: str, ignore: bool) -> None:
    of["spec"]["failurePolicy"] = "Ignore" if ignore else "Fail"
    if ignore:
        assert validate(LARGE, of) == []
    else:
        error = denial(LARGE, of)
        assert why in error.message
        assert (error.reason, error.code) == ("Invalid", 422)


def test_what_is_really_broken_counts_though_failures_are_ignored() -> None:
    of = policy("object.none", "false", failurePolicy="Ignore")
    assert refused(denial(LARGE, of)) == f"{DENIED}failed expression: false"


def test_actions_are_those_of_the_binding() -> None:
    of = policy("object.spec.replicas < 5", {"expression": "false", "message": "never"})
    where = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': "
    warned = [f"{where}failed expression: object.spec.replicas < 5", f"{where}never"]
    assert validate(LARGE, of, [binding(actions=["Warn", "Audit"])]) == warned
    assert validate(LARGE, of, [binding(actions=["Audit"])]) == []
    assert validate(LARGE, of, []) == []
    both = [binding(actions=["Warn"]), binding(name="c", actions=["Deny"])]
    error = denial(LARGE, of, both)
    assert "with binding 'c' denied request: failed" in error.message
    assert list(error.warnings) == warned


def test_the_first_denial_is_told_and_all_policies_are_asked() -> None:
    policies = [policy("true", name="o"), policy("false", name="p"), policy("false", name="q")]
    warning = binding("q", actions=["Warn"])
    with pytest.raises(ApiError) as caught:
        validate(LARGE, policies, [binding("o"), binding("p"), warning])
    assert "'p' with binding 'b'" in caught.value.message
    assert len(caught.value.warnings) == 1


VARIABLES = [
    {"name": "base", "expression": "object.spec.replicas"},
    {"name": "twice", "expression": "variables.base * 2"},
    {"name": "broken", "expression": "object.spec.none + 1"},
    {"name": "onTop", "expression": "variables.broken + 1"},
]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("variables.twice == 18", ""),
        ("variables.base == 9 && variables.twice > variables.base", ""),
        ("true || variables.broken > 1", ""),
        ("has(variables.twice)", ""),
        (
            "variables.broken > 1",
            "expression 'variables.broken > 1' resulted in error: composited variable \"broken\" fails to evaluate: "
            "no such key: none",
        ),
        (
            "variables.onTop > 1",
            "expression 'variables.onTop > 1' resulted in error: composited variable \"onTop\" fails to evaluate: "
            'composited variable "broken" fails to evaluate: no such key: none',
        ),
    ],
)
def test_variables_are_evaluated_when_they_are_wanted(expression: str, message: str) -> None:
    of = policy(expression, variables=VARIABLES)
    if message:
        assert refused(denial(LARGE, of)) == DENIED + message
    else:
        assert validate(LARGE, of) == []


@pytest.mark.parametrize(
    ("value", "expression"),
    [
        ("object.spec.?none", "variables.x.orValue(3) == 3"),
        ("object.spec.?replicas", "variables.x.hasValue() && variables.x.value() == 9"),
        ("quantity('2Gi')", "variables.x.isGreaterThan(quantity('1'))"),
        ("timestamp('2029-01-01T00:00:00Z')", "variables.x < timestamp('2030-01-01T00:00:00Z')"),
        ("duration('2s')", "variables.x > duration('1s')"),
        ("url('https://a')", "variables.x.getHost() == 'a'"),
        ("authorizer.requestResource.check('get')", "variables.x.allowed()"),
        ("{'a': [1]}", "variables.x == {'a': [1]}"),
        ("b'x'", "variables.x == b'x'"),
        ("3u", "variables.x == 3u"),
        ("null", "variables.x == null"),
        ("object.spec.template.spec.containers", "variables.x.all(c, c.name == 'main')"),
    ],
)
def test_variables_are_of_any_type(value: str, expression: str) -> None:
    assert validate(LARGE, policy(expression, variables=[{"name": "x", "expression": value}])) == []


@pytest.mark.parametrize("first", ["'0123456789'", "[1, 2, 3, 4]", "{'a': 1}"])
def test_variables_that_double_each_other_come_to_an_end(first: str) -> None:
    """The last one would be larger than any memory."""
    twice = "[{0}, {0}]" if first.startswith("{") else "{0} + {0}"
    grown = [{"name": f"v{n}", "expression": twice.format(f"variables.v{n - 1}")} for n in range(1, 60)]
    error = denial(
        SMALL, policy("variables.v59 == variables.v59", variables=[{"name": "v0", "expression": first}, *grown])
    )
    assert "fails to evaluate: operation cancelled: actual cost limit exceeded" in refused(error)


def test_a_variable_of_its_own_type_that_goes_wrong_is_told() -> None:
    of = policy(
        "variables.x.isGreaterThan(quantity('1'))", variables=[{"name": "x", "expression": "quantity(object.a)"}]
    )
    assert 'composited variable "x" fails to evaluate: no such key: a' in denial(LARGE, of).message


@pytest.mark.parametrize(
    ("conditions", "failure_policy", "asked"),
    [
        ([("a", "object.spec.replicas > 5")], "Fail", True),
        ([("a", "object.spec.replicas < 5")], "Fail", False),
        ([("a", "object.none"), ("b", "false")], "Fail", False),
        ([("a", "object.none == 1")], "Ignore", False),
        ([("a", "request.userInfo.username != 'system:admin'")], "Fail", False),
    ],
)
def test_conditions_decide_whether_a_policy_is_asked(
    conditions: list[tuple[str, str]], failure_policy: str, asked: bool
) -> None:
    wanted = [{"name": name, "expression": expression} for name, expression in conditions]
    of = policy("false", failurePolicy=failure_policy, matchConditions=wanted)
    if asked:
        assert "failed expression: false" in denial(LARGE, of).message
    else:
        assert validate(LARGE, of) == []


def test_conditions_that_go_wrong_are_told_together() -> None:
    wanted = [{"name": "a", "expression": "object.x == 1"}, {"name": "b", "expression": "object.y == 1"}]
    error = denial(LARGE, policy("true", matchConditions=wanted))
    told = ", ".join(f"expression 'object.{n} == 1' resulted in error: no such key: {n}" for n in "xy")
    assert refused(error) == f"{DENIED}[{told}]"


@pytest.mark.parametrize(
    ("asked", "expression"),
    [
        (request(deployment()), "request.operation == 'CREATE' && oldObject == null"),
        (request(None, deployment()), "object == null && oldObject.metadata.name == 'web'"),
        (request(deployment(replicas=3), deployment()), "object.spec.replicas > oldObject.spec.replicas"),
        (request(deployment()), "object.kind == 'Deployment' && object.apiVersion == 'apps/v1'"),
        (request(deployment()), "request.kind.kind == 'Deployment' && request.resource.resource == 'deployments'"),
        (request(deployment()), "request.name == 'web' && request.namespace == 'default' && !request.dryRun"),
        (request(deployment()), "!has(request.subResource) && !has(request.options)"),
        (request(deployment(), options={"dryRun": ["All"]}), "request.options.dryRun == ['All']"),
        (request(deployment(), deployment(), path="apps/v1/deployments/status"), "request.subResource == 'status'"),
        (request(deployment(), user=User("eve", groups=("dev",))), "'dev' in request.userInfo.groups"),
        (request(deployment(), user=User("eve", extra={"k": ["v"]})), "request.userInfo.extra['k'] == ['v']"),
        (request(deployment(), cluster=Cluster(namespace(team="a"))), "namespaceObject.metadata.labels.team == 'a'"),
        (request(deployment()), "namespaceObject.spec.finalizers == ['kubernetes']"),
        (request({"metadata": {"name": "n"}}, path="/v1/nodes", where=""), "namespaceObject == null"),
        (request({"metadata": {"name": "n"}}, path="/v1/namespaces", where=""), "namespaceObject == null"),
        (request({"metadata": {"name": "n"}}, path="/v1/namespaces", where=""), "request.namespace == 'n'"),
        (request({"metadata": {"name": "n"}}, path="/v1/nodes", where=""), "!has(request.namespace)"),
    ],
)
def test_expressions_see_the_request(asked: Any, expression: str) -> None:
    assert validate(asked, policy(expression)) == []


def test_a_namespace_is_shown_without_what_manages_it() -> None:
    assert validate(SMALL, policy("!('managedFields' in dyn(namespaceObject.metadata))")) == []


def test_an_equivalent_resource_is_seen_as_the_policy_names_it() -> None:
    rule = {"operations": ["*"], "apiGroups": ["autoscaling"], "apiVersions": ["v1"]}
    rules = [rule | {"resources": ["horizontalpodautoscalers"]}]
    target = {"type": "Utilization", "averageUtilization": 50}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    obj = {"metadata": {"name": "h", "namespace": "default"}, "spec": {"maxReplicas": 3, "metrics": metrics}}
    asked = request(obj, path="autoscaling/v2/horizontalpodautoscalers")
    seen = "object.apiVersion == 'autoscaling/v1' && object.spec.targetCPUUtilizationPercentage == 50"
    kinds = "request.kind.version == 'v1' && request.requestKind.version == 'v2' && request.resource.version == 'v1'"
    assert validate(asked, policy(seen, kinds, rules=rules)) == []


class OnlyReads(AlwaysAllow):
    """Everybody may get, nobody anything else."""

    def decide(self, user: User, attributes: Attributes) -> Decision:
        fits = attributes.verb == "get" and attributes.namespace == "default" and attributes.name == "web"
        return Decision(fits and user.name == "eve", "because" if fits else "")


@pytest.mark.parametrize(
    "expression",
    [
        "authorizer.requestResource.check('get').allowed()",
        "authorizer.requestResource.check('get').reason() == 'because'",
        "!authorizer.requestResource.check('delete').allowed()",
        "authorizer.group('apps').resource('deployments').namespace('default').name('web').check('get').allowed()",
        "!authorizer.group('').resource('pods').check('get').allowed()",
        "variables.may",
    ],
)
def test_the_authorizer_can_be_asked(expression: str) -> None:
    variables = [{"name": "may", "expression": "authorizer.requestResource.check('get').allowed()"}]
    asked = request(deployment(), user=User("eve"))
    assert validate(asked, policy(expression, variables=variables), authorizer=OnlyReads()) == []


def test_audit_annotations_refuse_only_where_they_go_wrong() -> None:
    fine = [{"key": "a", "valueExpression": "'replicas: ' + string(object.spec.replicas)"}]
    assert validate(LARGE, policy("true", auditAnnotations=fine)) == []
    wrong = [{"key": "a", "valueExpression": "'x' + object.none"}]
    error = denial(LARGE, policy("true", auditAnnotations=wrong), [binding(actions=["Warn"])])
    assert refused(error) == f"{DENIED}expression ''x' + object.none' resulted in error: no such key: none"
    assert validate(LARGE, policy("true", auditAnnotations=wrong, failurePolicy="Ignore")) == []
    skipped = [{"name": "a", "expression": "false"}]
    assert validate(LARGE, policy("true", auditAnnotations=wrong, matchConditions=skipped)) == []


def test_a_policy_is_for_what_its_binding_is_for_too() -> None:
    match = {"matchPolicy": "Equivalent", "namespaceSelector": {"matchLabels": {"env": "test"}}, "objectSelector": {}}
    bound = [binding(matchResources=match)]
    assert validate(LARGE, policy("false"), bound) == []
    asked = request(deployment(), cluster=Cluster(namespace(env="test")))
    assert "denied request" in denial(asked, policy("false"), bound).message


def test_a_namespace_that_is_missing_is_a_fault_of_the_configuration() -> None:
    selecting = policy("true")
    selecting["spec"]["matchConstraints"]["namespaceSelector"] = {"matchLabels": {"a": "b"}}
    asked = request(deployment(), where="gone")
    why = 'denied request: failed to configure policy: namespaces "gone" not found'
    assert refused(denial(asked, selecting)) == f"ValidatingAdmissionPolicy 'p' {why}"
    selecting["spec"]["failurePolicy"] = "Ignore"
    assert validate(asked, selecting) == []


LIMIT = {"apiVersion": "v1", "kind": "ConfigMap"}
STORED = Cluster(
    namespace(),
    config_map("limit", {"most": "3"}, env="test"),
    config_map("generous", {"most": "10"}, env="test"),
    config_map("elsewhere", {"most": "1"}, "kube-system"),
)


@pytest.mark.parametrize(
    ("reference", "replicas", "why"),
    [
        (params_of("limit"), 3, ""),
        (params_of("limit"), 4, "failed expression"),
        (params_of("elsewhere", namespace="kube-system"), 2, "failed expression"),
        (params_of("generous"), 4, ""),
        (params_of(selector={"matchLabels": {"env": "test"}}), 4, "failed expression"),
        (params_of(selector={"matchLabels": {"env": "test"}}), 3, ""),
        (params_of(selector={}), 4, "failed expression"),
        (params_of("none"), 3, "no params found for policy binding with `Deny` parameterNotFoundAction"),
        (params_of("none", parameterNotFoundAction="Allow"), 30, ""),
        (params_of(selector={"matchLabels": {"env": "none"}}), 3, "no params found"),
        (None, 3, "resulted in error: no such overload"),
    ],
)
def test_parameters_come_from_what_the_binding_refers_to(reference: JsonObject | None, replicas: int, why: str) -> None:
    of = policy("object.spec.replicas <= int(params.data.most)", paramKind=LIMIT)
    asked = request(deployment(replicas=replicas), cluster=STORED)
    bound = [binding(paramRef=reference)]
    if why:
        assert why in denial(asked, of, bound).message
    else:
        assert validate(asked, of, bound) == []


def test_parameters_tell_their_kind() -> None:
    of = policy("params.kind == 'ConfigMap' && params.apiVersion == 'v1'", paramKind=LIMIT)
    assert validate(request(deployment(), cluster=STORED), of, [binding(paramRef=params_of("limit"))]) == []


@pytest.mark.parametrize(
    ("kind", "reference", "where", "why"),
    [
        (
            {"apiVersion": "rules.example.com/v1", "kind": "Limit"},
            params_of("limit"),
            "default",
            "'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: "
            "'rules.example.com/v1, Kind=Limit'",
        ),
        (
            {"apiVersion": "v1", "kind": "Node"},
            params_of("n", namespace="default"),
            "default",
            "'p' with binding 'b' denied request: failed to configure binding: paramRef.namespace must not be provided "
            "for a cluster-scoped `paramKind`",
        ),
        (
            LIMIT,
            params_of("limit"),
            "",
            "'p' with binding 'b' denied request: failed to configure binding: cannot use namespaced paramRef in "
            "policy binding that matches cluster-scoped resources",
        ),
    ],
)
def test_parameters_that_cannot_be_found_refuse_what_fails(
    kind: JsonObject, reference: JsonObject, where: str, why: str
) -> None:
    asked = request({"metadata": {"name": "n"}}, path="/v1/nodes" if not where else "/v1/pods", where=where)
    bound = [binding(paramRef=reference)]
    assert refused(denial(asked, policy("true", paramKind=kind), bound)) == f"ValidatingAdmissionPolicy {why}"
    assert validate(asked, policy("true", paramKind=kind, failurePolicy="Ignore"), bound) == []
