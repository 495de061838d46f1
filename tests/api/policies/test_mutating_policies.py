"""What MutatingAdmissionPolicies make of objects, and how they fail, in upstream's words."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from tests.support.policies import (
    Cluster,
    binding,
    config_map,
    deployment,
    mutate,
    mutating_policy,
    namespace,
    params_of,
    request,
)

JsonObject = dict[str, Any]

DENIED = "policy 'p' with binding 'b' denied request: "


def mutated(*expressions: str, obj: JsonObject | None = None, **more: Any) -> JsonObject:
    return mutate(request(obj or deployment()), mutating_policy(*expressions, **more))


def fault(*expressions: str, obj: JsonObject | None = None, **more: Any) -> str:
    with pytest.raises(ApiError) as caught:
        mutated(*expressions, obj=obj, **more)
    assert caught.value.message.startswith(DENIED)
    return caught.value.message.removeprefix(DENIED)


def containers(obj: JsonObject) -> list[str]:
    return [one["name"] for one in obj["spec"]["template"]["spec"]["containers"]]


SIDECAR = """
Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
    containers: [Object.spec.template.spec.containers{name: "side", image: "envoy:" + object.metadata.name}]
}}}}
"""


def test_a_configuration_is_merged_as_server_side_apply_does() -> None:
    made = mutated("Object{spec: Object.spec{replicas: 3}}")
    assert made["spec"]["replicas"] == 3
    assert containers(made) == ["main"]
    made = mutated(SIDECAR)
    assert containers(made) == ["main", "side"]
    side = made["spec"]["template"]["spec"]["containers"][1]
    assert side["image"] == "envoy:web"
    assert side["imagePullPolicy"] == "IfNotPresent"


def test_what_comes_out_has_its_defaults_and_what_went_in_is_untouched() -> None:
    obj = deployment()
    before = copy.deepcopy(obj)
    made = mutate(request(obj), mutating_policy(SIDECAR))
    assert obj == before
    assert made["spec"]["template"]["spec"]["containers"][1]["terminationMessagePath"] == "/dev/termination-log"


def test_labels_are_added_to_those_there_are() -> None:
    source = 'Object{metadata: Object.metadata{labels: {"added": "yes", "old": "new"}}}'
    made = mutated(source, obj=deployment(labels={"old": "x", "kept": "y"}))
    assert made["metadata"]["labels"] == {"added": "yes", "old": "new", "kept": "y"}


def test_optional_fields_are_left_out() -> None:
    source = "Object{spec: Object.spec{?replicas: has(object.spec.paused) ? optional.of(7) : optional.none()}}"
    assert mutated(source)["spec"]["replicas"] == 1
    paused = deployment()
    paused["spec"]["paused"] = True
    assert mutated(source, obj=paused)["spec"]["replicas"] == 7


@pytest.mark.parametrize(
    ("operations", "labels"),
    [
        ("[JSONPatch{op: 'add', path: '/metadata/labels/b', value: 'c'}]", {"a": "1", "b": "c"}),
        ("[JSONPatch{op: 'replace', path: '/metadata/labels/a', value: '2'}]", {"a": "2"}),
        ("[JSONPatch{op: 'remove', path: '/metadata/labels/a'}]", {}),
        (
            "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('x/y'), value: 'z'}]",
            {"a": "1", "x/y": "z"},
        ),
        ("[JSONPatch{op: 'copy', from: '/metadata/labels/a', path: '/metadata/labels/b'}]", {"a": "1", "b": "1"}),
        ("[JSONPatch{op: 'move', from: '/metadata/labels/a', path: '/metadata/labels/b'}]", {"b": "1"}),
        (
            "[JSONPatch{op: 'test', path: '/metadata/labels/a', value: '1'}, "
            "JSONPatch{op: 'add', path: '/metadata/labels/b', value: '2'}]",
            {"a": "1", "b": "2"},
        ),
        (
            "[JSONPatch{op: 'add', path: '/metadata/labels/b', value: '2'}, "
            "JSONPatch{op: 'test', path: '/metadata/labels/a', value: 'other'}]",
            {"a": "1"},
        ),
        (
            "[has(object.metadata.labels) ? JSONPatch{op: 'add', path: '/metadata/labels/b', value: 'c'} "
            ": JSONPatch{op: 'add', path: '/metadata/labels', value: {'b': 'c'}}]",
            {"a": "1", "b": "c"},
        ),
        ("[JSONPatch{op: 'add', path: '/metadata/labels', value: Object.metadata.labels{b: 'c'}}]", {"b": "c"}),
    ],
)
def test_a_json_patch_is_applied(operations: str, labels: JsonObject) -> None:
    made = mutated(operations, obj=deployment(labels={"a": "1"}))
    assert made["metadata"].get("labels", {}) == labels


def test_mutations_see_what_those_before_them_made() -> None:
    made = mutated(
        "Object{spec: Object.spec{replicas: object.spec.replicas + 1}}",
        "[JSONPatch{op: 'replace', path: '/spec/replicas', value: variables.doubled}]",
        variables=[{"name": "doubled", "expression": "object.spec.replicas * 2"}],
    )
    assert made["spec"]["replicas"] == 4


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (
            "Object{spec: Object.spec{nothing: 1}}",
            "error applying patch: failed to convert patch object to typed object: .spec.nothing: field not declared "
            "in schema",
        ),
        (
            "Object{spec: Object.spec{replicas: 'x'}}",
            "error applying patch: failed to convert patch object to typed object: .spec.replicas: expected numeric "
            "(int or float), got string",
        ),
        (
            "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}}",
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
            ".spec.selector",
        ),
        (
            SIDECAR.replace('image: "envoy:" + object.metadata.name', 'args: ["a"]').strip(),
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
            ".spec.template.spec.containers[0].args",
        ),
        (
            "Object{spec: Object.metadata{replicas: 1}}",
            'type mismatch: unexpected type name "Object.metadata", expected "Object.spec", which matches field name '
            "path from root Object type",
        ),
        (
            "Object{spec: Object.spec{replicas: object.none}}",
            "expression 'Object{spec: Object.spec{replicas: object.none}}' resulted in error: no such key: none",
        ),
        ("{'a': 1}", "compilation error: must evaluate to Object but got map(string, int)"),
        (
            "[JSONPatch{op: 'remove', path: '/metadata/labels/a'}]",
            'JSONPath: remove operation does not apply: doc is missing path: "/metadata/labels/a": missing value',
        ),
        ("[JSONPatch{op: 'replace', path: '', value: {}}]", "Object 'Kind' is missing in '{}'"),
        (
            "Object{metadata: Object.metadata{labels: {'a': quantity('1')}}}",
            "a value of the patch could not be marshalled to JSON: Type is not JSON serializable: Quantity",
        ),
        ("[JSONPatch{op: 'turn', path: '/spec'}]", "JSONPath: Unexpected kind: turn"),
        ("[JSONPatch{op: 'add', path: '/spec/no', value: 1}]", 'strict decoding error: unknown field "spec.no"'),
        (
            "[JSONPatch{op: 'replace', path: '/spec/replicas', value: 'x'}]",
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
    ],
)
def test_a_mutation_that_goes_wrong_counts_by_the_failure_policy(expression: str, why: str) -> None:
    assert fault(expression) == why
    assert mutated(expression, failurePolicy="Ignore") == deployment()


def test_refusing_is_forbidden_and_told_as_invalid() -> None:
    with pytest.raises(ApiError) as caught:
        mutated("Object{spec: Object.spec{nothing: 1}}", "[JSONPatch{op: 'turn', path: '/spec'}]")
    error = caught.value
    assert (error.code, error.reason) == (403, "Invalid")
    assert error.details is not None
    assert error.details["name"] == "web"
    assert [cause["message"] for cause in error.details["causes"]] == [
        error.message,
        f"{DENIED}JSONPath: Unexpected kind: turn",
    ]


def test_conditions_and_deletions_leave_an_object_alone() -> None:
    condition = [{"name": "many", "expression": "object.spec.replicas > 5"}]
    source = "Object{spec: Object.spec{replicas: 2}}"
    assert mutated(source, matchConditions=condition) == deployment()
    assert mutated(source, matchConditions=condition, obj=deployment(replicas=6))["spec"]["replicas"] == 2
    broken = [{"name": "a", "expression": "object.none == 1"}]
    assert fault(source, matchConditions=broken) == "expression 'object.none == 1' resulted in error: no such key: none"
    assert mutate(request(None, deployment()), mutating_policy(source)) == {}


def test_parameters_decide_what_is_made() -> None:
    cluster = Cluster(namespace(), config_map("p1", {"n": "4"}))
    of = mutating_policy(
        "Object{spec: Object.spec{replicas: int(params.data.n)}}", paramKind={"apiVersion": "v1", "kind": "ConfigMap"}
    )
    asked = request(deployment(), cluster=cluster)
    assert mutate(asked, of, [binding(paramRef=params_of("p1"))])["spec"]["replicas"] == 4
    with pytest.raises(ApiError) as caught:
        mutate(asked, of, [binding(paramRef=params_of("p2"))])
    assert caught.value.reason == "Forbidden"
    why = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    assert caught.value.message == DENIED + why


def test_a_policy_that_cannot_be_used_is_told_without_a_binding() -> None:
    of = mutating_policy("Object{}", paramKind={"apiVersion": "a.example/v1", "kind": "None"})
    with pytest.raises(ApiError, match="failed to find resource referenced by paramKind") as caught:
        mutate(request(deployment()), of, [binding(paramRef=params_of("x"))])
    assert caught.value.message.startswith('policy "p" denied request: failed to configure policy: ')


@pytest.mark.parametrize(("again", "replicas"), [("IfNeeded", 3), ("Never", 2)])
def test_a_policy_is_asked_again_where_it_lets_itself_be(again: str, replicas: int) -> None:
    counting = mutating_policy("Object{spec: Object.spec{replicas: object.spec.replicas + 1}}", again=again)
    asked = request(deployment())
    mutate(asked, counting)
    assert mutate(asked, counting, again=True)["spec"]["replicas"] == replicas


def test_a_policy_that_was_not_asked_is_not_asked_again() -> None:
    condition = [{"name": "big", "expression": "object.spec.replicas > 1"}]
    of = mutating_policy("Object{spec: Object.spec{replicas: 9}}", again="IfNeeded", matchConditions=condition)
    asked = request(deployment())
    mutate(asked, of)
    asked.obj = deployment(replicas=2)
    assert mutate(asked, of, again=True)["spec"]["replicas"] == 2


def test_an_equivalent_resource_is_changed_as_the_policy_names_it() -> None:
    rule = {"operations": ["*"], "apiGroups": ["autoscaling"], "apiVersions": ["v1"]}
    rules = [rule | {"resources": ["horizontalpodautoscalers"]}]
    target = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
    obj = {"metadata": {"name": "h", "namespace": "default"}, "spec": {"maxReplicas": 3, "scaleTargetRef": target}}
    asked = request(obj, path="autoscaling/v2/horizontalpodautoscalers")
    of = mutating_policy("Object{spec: Object.spec{targetCPUUtilizationPercentage: 70}}", rules=rules)
    made = mutate(asked, of)
    assert made["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 70


def test_a_policy_for_nothing_else_is_not_asked() -> None:
    rule = {"operations": ["UPDATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    assert mutated("Object{spec: Object.spec{replicas: 9}}", rules=[rule]) == deployment()
