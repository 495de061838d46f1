"""Configuration, RBAC, quotas, custom resource definitions: defaults, fixed fields, refusals."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from strategy_objects import NOW, changed, created, texts

JsonObject = dict[str, Any]


def config_map(**fields: Any) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}} | fields


def secret(**fields: Any) -> JsonObject:
    return config_map(**fields) | {"kind": "Secret"}


def of(api_version: str, kind: str, name: str = "x", **fields: Any) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}} | fields


def refusals(body: JsonObject) -> list[str]:
    return texts(created(body)[1])


def test_keys_of_a_config_map() -> None:
    assert refusals(config_map(data={"ok.key_1": ""}, binaryData={"b": "AA=="})) == []
    assert refusals(config_map(data={"a": "x"}, binaryData={"a": "AA=="})) == [
        'data[a]: Invalid value: "a": duplicate of key present in binaryData'
    ]
    assert refusals(config_map(data={"..": "x"})) == ["data[..]: Invalid value: \"..\": must not be '..'"]
    assert refusals(config_map(data={"a": "x" * (1 << 20), "b": "x"})) == [
        "[]: Too long: may not be more than 1048576 bytes"
    ]


def test_an_immutable_config_map_stays_as_it_is() -> None:
    old = created(config_map(immutable=True, data={"a": "1"}))[0]
    assert changed(old, config_map(immutable=True, data={"a": "1"}))[1] == []
    assert texts(changed(old, config_map(data={"a": "2"}))[1]) == [
        "immutable: Forbidden: field is immutable when `immutable` is set",
        "data: Forbidden: field is immutable when `immutable` is set",
    ]


def test_string_data_goes_into_data() -> None:
    obj, failures, _ = created(secret(data={"a": "QQ==", "b": "Qg=="}, stringData={"b": "new", "c": "é"}))
    assert failures == []
    assert obj["type"] == "Opaque"
    assert obj["data"] == {"a": "QQ==", "b": "bmV3", "c": "w6k="}
    assert "stringData" not in obj


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("kubernetes.io/tls", {"tls.crt": "eA=="}, ["data[tls.key]: Required value"]),
        ("kubernetes.io/basic-auth", {}, ["data[username]: Required value", "data[password]: Required value"]),
        ("kubernetes.io/basic-auth", {"password": ""}, []),
        ("kubernetes.io/ssh-auth", {"ssh-privatekey": ""}, ["data[ssh-privatekey]: Required value"]),
        ("kubernetes.io/dockerconfigjson", {}, ["data[.dockerconfigjson]: Required value"]),
        ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "e30="}, []),
        ("example.com/any", {}, []),
    ],
)
def test_types_of_secrets_need_their_keys(kind: str, data: JsonObject, expected: list[str]) -> None:
    assert refusals(secret(type=kind, data=data)) == expected


MAP = "map[string]interface {}"


@pytest.mark.parametrize("key", [".dockercfg", ".dockerconfigjson"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1]", f"json: cannot unmarshal array into Go value of type {MAP}"),
        ("1", f"json: cannot unmarshal number into Go value of type {MAP}"),
        ('"a"', f"json: cannot unmarshal string into Go value of type {MAP}"),
        ("true", f"json: cannot unmarshal bool into Go value of type {MAP}"),
        ("password", "invalid character 'p' looking for beginning of value"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("{", "unexpected end of JSON input"),
        ("", "unexpected end of JSON input"),
        ("null", ""),
        ('{"auths": {}}', ""),
    ],
)
def test_docker_configurations_are_read_as_go_reads_them(key: str, text: str, expected: str) -> None:
    body = secret(type=f"kubernetes.io/{key[1:]}", data={key: base64.b64encode(text.encode()).decode()})
    shown = f'data[{key}]: Invalid value: "<secret contents redacted>": {expected}'
    assert refusals(body) == ([shown] if expected else [])


def test_what_a_secret_holds_is_not_shown() -> None:
    found = refusals(secret(type="kubernetes.io/dockercfg", data={".dockercfg": "cGFzc3dvcmQ="}))
    assert found[0].startswith('data[.dockercfg]: Invalid value: "<secret contents redacted>": ')
    assert "password" not in found[0]


def test_the_type_of_a_secret_is_fixed() -> None:
    old = created(secret(type="example.com/a"))[0]
    assert texts(changed(old, secret())[1]) == ['type: Invalid value: "Opaque": field is immutable']


def test_a_limit_range_completes_its_container_limits() -> None:
    limit = {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "64Mi"}, "default": {"memory": "1Gi"}}
    obj, failures, _ = created(of("v1", "LimitRange", spec={"limits": [limit]}))
    assert failures == []
    done = obj["spec"]["limits"][0]
    assert done["default"] == {"cpu": "2", "memory": "1Gi"}
    assert done["defaultRequest"] == {"cpu": "2", "memory": "1Gi"}


def test_bounds_of_a_limit_range_are_in_order() -> None:
    limit = {"type": "Container", "max": {"memory": "1Gi"}, "min": {"memory": "2Gi"}, "default": {"memory": "1Gi"}}
    found = refusals(of("v1", "LimitRange", spec={"limits": [limit]}))
    assert found[0] == ('spec.limits[0].min[memory]: Invalid value: "2Gi": min value 2Gi is greater than max value 1Gi')


def test_quotas_count_whole_known_things() -> None:
    hard = {"pods": "1500m", "requests.cpu": "1500m", "odd": "1", "example.com/x": "-1"}
    assert refusals(of("v1", "ResourceQuota", spec={"hard": hard})) == [
        'spec.hard[example.com/x]: Invalid value: "-1": must be greater than or equal to 0',
        'spec.hard[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
        'spec.hard[odd]: Invalid value: "odd": must be a standard resource for quotas',
        'spec.hard[pods]: Invalid value: "1500m": must be an integer',
    ]


def test_priority_classes() -> None:
    group = "scheduling.k8s.io/v1"
    old, failures, _ = created(of(group, "PriorityClass", value=7))
    assert (failures, old["preemptionPolicy"]) == ([], "PreemptLowerPriority")
    described = changed(old, of(group, "PriorityClass", value=7, description="d"))
    assert (described[0]["metadata"]["generation"], described[1]) == (1, [])
    assert texts(changed(old, of(group, "PriorityClass", value=8))[1]) == [
        "value: Forbidden: may not be changed in an update."
    ]
    assert refusals(of(group, "PriorityClass", value=1_000_000_001)) == [
        "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"
    ]
    assert refusals(of(group, "PriorityClass", "system-x", value=1))[0].startswith("metadata.name: Forbidden: ")


RBAC = "rbac.authorization.k8s.io/v1"


def test_roles_say_what_may_be_done() -> None:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    assert refusals(of(RBAC, "Role", "a:b", rules=[rule])) == []
    assert refusals(of(RBAC, "Role", rules=[{"nonResourceURLs": ["/x"], "verbs": ["get"]}])) == [
        'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs'
    ]
    assert refusals(of(RBAC, "ClusterRole", rules=[{}])) == [
        "rules[0].verbs: Required value: verbs must contain at least one value",
        "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
        "rules[0].resources: Required value: resource rules must supply at least one resource",
    ]


def test_bindings_fill_in_groups_and_keep_their_role() -> None:
    body = of(RBAC, "RoleBinding", roleRef={"kind": "Role", "name": "r"}, subjects=[{"kind": "User", "name": "u"}])
    old, failures, _ = created(body)
    assert failures == []
    assert old["roleRef"]["apiGroup"] == old["subjects"][0]["apiGroup"] == "rbac.authorization.k8s.io"
    other = body | {"roleRef": {"kind": "ClusterRole", "name": "r"}}
    assert texts(changed(old, other)[1]) == [
        'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"r"}: '
        "cannot change roleRef"
    ]
    cluster = body | {"kind": "ClusterRoleBinding", "subjects": [{"kind": "ServiceAccount", "name": "s"}]}
    assert refusals(cluster) == [
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
        "subjects[0].namespace: Required value",
    ]


def test_webhooks_get_their_defaults() -> None:
    webhook = {
        "name": "a.example.com",
        "clientConfig": {"service": {"name": "s", "namespace": "n"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
    }
    group = "admissionregistration.k8s.io/v1"
    obj, failures, _ = created(of(group, "MutatingWebhookConfiguration", webhooks=[webhook]))
    assert failures == []
    done = obj["webhooks"][0]
    assert (done["failurePolicy"], done["matchPolicy"], done["timeoutSeconds"]) == ("Fail", "Equivalent", 10)
    assert (done["reinvocationPolicy"], done["rules"][0]["scope"]) == ("Never", "*")
    assert done["clientConfig"]["service"]["port"] == 443
    twice = of(group, "ValidatingWebhookConfiguration", webhooks=[webhook, webhook])
    assert refusals(twice) == ['webhooks[1].name: Duplicate value: "a.example.com"']


def test_approval_is_not_the_status_s() -> None:
    group, lines = "certificates.k8s.io/v1", (f"-----{each} CERTIFICATE REQUEST-----" for each in ("BEGIN", "END"))
    pem = base64.b64encode("\nAAAA\n".join(lines).encode()).decode()
    spec = {"request": pem, "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}
    approved = {"type": "Approved", "status": "True", "reason": "Asked"}
    body = of(group, "CertificateSigningRequest", spec=spec, status={"conditions": [approved]})
    old, failures, _ = created(body)
    assert (failures, old["status"], old["spec"]["username"]) == ([], {}, "system:admin")
    assert texts(changed(old, body, "status")[1]) == [
        'status.conditions: Forbidden: updates may not add a condition of type "Approved"'
    ]
    done, failures = changed(old, body, "approval")
    assert failures == []
    times = {"lastTransitionTime": NOW, "lastUpdateTime": NOW}
    assert done["status"]["conditions"] == [approved | times]
    both = body | {"status": {"conditions": [approved, approved | {"type": "Denied"}]}}
    assert texts(changed(old, both, "approval")[1]) == [
        'status.conditions[1].type: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive'
    ]
    assert texts(changed(done, body | {"status": {}}, "approval")[1]) == [
        'status.conditions: Forbidden: updates may not remove a condition of type "Approved"'
    ]


def test_lists_that_are_always_told_are_null_where_nothing_is_in_them() -> None:
    assert created(of("v1", "LimitRange", spec={"limits": []}))[0]["spec"] == {"limits": None}
    assert created(of("storage.k8s.io/v1", "CSINode"))[0]["spec"] == {"drivers": None}
    slices = created(of("discovery.k8s.io/v1", "EndpointSlice", addressType="IPv4"))[0]
    assert (slices["endpoints"], slices["ports"]) == (None, None)
    assert created(of("rbac.authorization.k8s.io/v1", "Role"))[0]["rules"] is None
    hpa = {"maxReplicas": 1, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}
    scaler = created(of("autoscaling/v2", "HorizontalPodAutoscaler", spec=hpa))[0]
    assert scaler["status"] == {"currentMetrics": None, "desiredReplicas": 0}
