"""PATCH requests: media types, what the patched object must be, refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kube32_sim.api.bodies import expected, patcher
from kube32_sim.api.errors import ApiError
from kube32_sim.api.patch.gomap import go_text
from kube32_sim.api.resources import ResourceType

DEPLOYMENT = expected("apps", "v1", "Deployment")
CONFIG_MAP = expected("", "v1", "ConfigMap")
WIDGET = ResourceType("x.io", "v1", "Widget", "widgets", "widget", namespaced=True, schema="", names_in_list=True)
OBJECT: dict[str, Any] = {
    "metadata": {"name": "d"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"a": "b"}},
        "strategy": {},
        "template": {"metadata": {}, "spec": {}},
    },
    "status": {},
}


def patch(
    kind: str, body: Any, *, row: ResourceType = DEPLOYMENT, validation: str = "Warn", obj: dict[str, Any] = OBJECT
) -> tuple[dict[str, Any], list[str]]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    suffix = "+json" if kind != "apply" else "+yaml"
    return patcher(data, f"application/{kind}-patch{suffix}; charset=utf-8", row).apply(obj, validation)


def refused(kind: str, body: Any, code: int, **options: Any) -> ApiError:
    with pytest.raises(ApiError) as raised:
        patch(kind, body, **options)
    assert raised.value.code == code
    return raised.value


def test_the_result_is_decoded() -> None:
    obj, warnings = patch("merge", {"spec": {"replicas": 3, "paused": False}, "metadata": {"labels": {}}})
    assert obj == {**OBJECT, "spec": {**OBJECT["spec"], "replicas": 3}}
    assert warnings == []


def test_the_patch_sees_version_and_kind() -> None:
    assert patch("json", [{"op": "test", "path": "/kind", "value": "Deployment"}])[0] == OBJECT
    assert patch("merge", {"kind": "Deployment", "apiVersion": "apps/v1"})[0] == OBJECT
    assert patch("merge", {"kind": None})[0] == OBJECT


@pytest.mark.parametrize(
    ("kind", "body"), [("merge", {"spec": {"nope": 1}}), ("strategic-merge", {"spec": {"nope": 1}})]
)
def test_unknown_fields(kind: str, body: Any) -> None:
    assert patch(kind, body) == (OBJECT, ['unknown field "spec.nope"'])
    assert patch(kind, body, validation="Ignore") == (OBJECT, [])
    error = refused(kind, body, 422, validation="Strict")
    assert error.message.startswith(' "" is invalid: patch: Invalid value: "')
    assert error.message.endswith('": strict decoding error: unknown field "spec.nope"')


def test_what_a_refusal_shows() -> None:
    error = refused("strategic-merge", {"spec": {"nope": 1}}, 422, validation="Strict")
    cause = 'Invalid value: "map[spec:map[nope:1]]": strict decoding error: unknown field "spec.nope"'
    assert error.details == {"causes": [{"field": "patch", "message": cause, "reason": "FieldValueInvalid"}]}
    error = refused("merge", {"spec": {"replicas": "5"}}, 422)
    assert '"{\\"apiVersion\\":\\"apps/v1\\",\\"kind\\":\\"Deployment\\"' in error.message
    assert error.message.endswith(
        "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    )


def test_type_errors_of_a_strategic_merge_patch() -> None:
    error = refused("strategic-merge", {"data": {"a": 5}}, 422, row=CONFIG_MAP, obj={"metadata": {"name": "a"}})
    assert error.message == (
        ' "" is invalid: patch: Invalid value: "map[data:map[a:5]]": cannot convert int64 to string'
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"kind": "Pod"}, 'no kind "Pod" is registered for version "apps/v1" in scheme "'),
        ({"apiVersion": "v1"}, 'no kind "Deployment" is registered for version "v1" in scheme "'),
        ({"kind": "ReplicaSet"}, "converting (v1.ReplicaSet) to (apps.Deployment): unknown conversion"),
        ({"kind": 5}, "couldn't get version/kind; json parse error: json: cannot unmarshal number"),
    ],
)
def test_a_patch_does_not_change_the_kind(body: Any, message: str) -> None:
    assert message in refused("merge", body, 422).message


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        ("json", b"", "error decoding patch: unexpected end of JSON input"),
        ("json", b"[{", "error decoding patch: unexpected end of JSON input"),
        ("merge", b"{", "error decoding patch: unexpected end of JSON input"),
        ("merge", b"null", "Invalid JSON Patch"),
        ("strategic-merge", b"{bad", "invalid character 'b' looking for beginning of object key string"),
        ("strategic-merge", b"[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("merge", b'{"a":' * 400 + b"1" + b"}" * 400, "error decoding patch: exceeded max depth"),
    ],
)
def test_what_is_no_patch(kind: str, body: bytes, message: str) -> None:
    assert refused(kind, body, 400).message == message


def test_repeated_keys_in_a_patch_are_reported() -> None:
    body = b'{"spec":{"replicas":1,"replicas":3}}'
    obj, warnings = patch("merge", body)
    assert obj["spec"]["replicas"] == 3
    assert warnings == ['duplicate field "spec.replicas"']
    assert "duplicate field" in refused("merge", body, 422, validation="Strict").message


def test_members_of_operations_are_known() -> None:
    body = b'[{"op":"add","path":"/spec/paused","value":true,"note":1,"op":"add"},{"op":"test","path":"/none","Op":""}]'
    obj, warnings = patch("json", body)
    assert obj["spec"]["paused"] is True
    assert warnings == [
        'json patch unknown field "[0].note"',
        'json patch duplicate field "[0].op"',
        'json patch unknown field "[1].Op"',
    ]
    assert patch("json", body, validation="Ignore")[1] == []
    strict = refused("json", body, 422, validation="Strict").message
    assert strict.endswith(f"strict decoding error: {', '.join(warnings)}")


@pytest.mark.parametrize("member", ["op", "path", "from"])
def test_members_of_operations_are_strings(member: str) -> None:
    body = [{"op": "add", "path": "/spec/paused", "value": True, member: 5}]
    why = (
        f"error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.{member} of type string"
    )
    assert refused("json", body, 400).message == why


@pytest.mark.parametrize("media", ["application/json", "text/plain", "application/yaml", ""])
def test_other_media_types(media: str) -> None:
    with pytest.raises(ApiError) as raised:
        patcher(b"{}", media, DEPLOYMENT)
    assert (raised.value.code, raised.value.message) == (415, "415: Unsupported Media Type")


def test_custom_resources() -> None:
    obj = {"metadata": {"name": "w"}, "spec": {"list": [{"name": "a"}]}}
    made, _ = patch("merge", {"spec": {"list": [{"name": "b"}], "n": 1}}, row=WIDGET, obj=obj)
    assert made == {"metadata": {"name": "w"}, "spec": {"list": [{"name": "b"}], "n": 1}}
    assert "application/merge-patch+json" in refused("strategic-merge", {}, 415, row=WIDGET).message


def test_server_side_apply_is_told_apart() -> None:
    # whether it is served is the server's business
    assert patcher(b"{}", "application/apply-patch+yaml", DEPLOYMENT).kind == "apply"


def test_values_as_go_prints_them() -> None:
    value = {"b": [1, "x", None, True], "a": {"f": 1.5, "g": 1e21, "h": 2.0, "i": 1e-7}}
    assert go_text(value) == "map[a:map[f:1.5 g:1e+21 h:2 i:1e-07] b:[1 x <nil> true]]"


def test_a_result_nested_too_deeply_is_refused() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = {"a": deep}
    add = {"op": "add", "path": "/spec/deep", "value": deep}
    further = {"op": "add", "path": "/spec/deep" + "/a" * 199, "value": deep}
    for row in (WIDGET, DEPLOYMENT):
        assert "exceeded max depth" in refused("json", [add, further], 422, row=row).message
