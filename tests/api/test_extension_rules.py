"""Webhooks, admission policies, certificate requests, aggregated APIs: what upstream refuses."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from strategy_objects import NOW, changed, created, texts

JsonObject = dict[str, Any]

ADMISSION = "admissionregistration.k8s.io/v1"
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
WEBHOOK: JsonObject = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://example.com/x"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "rules": [RULE],
}


def of(api_version: str, kind: str, **fields: Any) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "o"}} | fields


def refusals(body: JsonObject) -> list[str]:
    return texts(created(body)[1])


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"name": "short"}, ['.name: Invalid value: "short": should be a domain with at least three segments']),
        ({"sideEffects": None}, [".sideEffects: Required value: must specify one of None, NoneOnDryRun"]),
        (
            {"sideEffects": "Some"},
            ['.sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'],
        ),
        ({"timeoutSeconds": 31}, [".timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30"]),
        (
            {"admissionReviewVersions": []},
            [".admissionReviewVersions: Required value: must specify one of v1, v1beta1"],
        ),
        (
            {"admissionReviewVersions": ["v2", "v2"]},
            [
                '.admissionReviewVersions[1]: Invalid value: "v2": duplicate version',
                '.admissionReviewVersions: Invalid value: ["v2","v2"]: must include at least one of v1, v1beta1',
            ],
        ),
        ({"clientConfig": {}}, [".clientConfig: Required value: exactly one of url or service is required"]),
        (
            {"clientConfig": {"url": "http://u@example.com/?q#f"}},
            [
                ".clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: "
                "https://host[/path]",
                '.clientConfig.url: Invalid value: "u": user information is not permitted in the URL',
                '.clientConfig.url: Invalid value: "f": fragments are not permitted in the URL',
                '.clientConfig.url: Invalid value: "q": query parameters are not permitted in the URL',
            ],
        ),
        (
            {"clientConfig": {"service": {"name": "s", "path": "/a//b", "port": 0}}},
            [
                ".clientConfig.service.name: Required value",
                ".clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535",
                '.clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty',
            ],
        ),
        (
            {
                "rules": [
                    {
                        "operations": ["*", "Odd"],
                        "apiGroups": ["*", "a"],
                        "apiVersions": [""],
                        "resources": ["*/*", "a"],
                    }
                ]
            },
            [
                '.rules[0].operations: Invalid value: ["*","Odd"]: if \'*\' is present, must not specify other',
                '.rules[0].operations[1]: Unsupported value: "Odd": supported values: "*", "CONNECT", "CREATE"',
                '.rules[0].apiGroups: Invalid value: ["*","a"]: if \'*\' is present, must not specify other API groups',
                ".rules[0].apiVersions[0]: Required value",
                '.rules[0].resources: Invalid value: ["*/*","a"]: if \'*/*\' is present, must not specify other',
            ],
        ),
        (
            {"matchConditions": [{"name": "a", "expression": " "}, {"name": "a", "expression": "true"}]},
            [
                ".matchConditions[0].expression: Required value",
                '.matchConditions[1].name: Duplicate value: "a"',
            ],
        ),
    ],
)
def test_webhooks_are_refused(fields: JsonObject, expected: list[str]) -> None:
    found = refusals(of(ADMISSION, "ValidatingWebhookConfiguration", webhooks=[WEBHOOK | fields]))
    assert len(found) == len(expected), found
    assert all(text.startswith(f"webhooks[0]{start}") for text, start in zip(found, expected, strict=True)), found


def policy(**spec: Any) -> JsonObject:
    whole = {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "true"}]}
    return of(ADMISSION, "ValidatingAdmissionPolicy", spec=whole | spec)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        (
            {"matchConstraints": None, "validations": []},
            ["spec.matchConstraints: Required", "spec.validations: Required", "spec.auditAnnotations: Required"],
        ),
        ({"matchConstraints": {}}, ["spec.matchConstraints.resourceRules: Required value"]),
        (
            {"paramKind": {"apiVersion": "a/b/c"}},
            ["spec.paramKind.apiVersion: Invalid", "spec.paramKind.kind: Required"],
        ),
        ({"variables": [{"name": "in", "expression": ""}]}, ["spec.variables[0].name", "spec.variables[0].expression"]),
        (
            {"validations": [{"expression": "", "message": "a\nb", "reason": "Odd"}]},
            [
                "spec.validations[0].expression: Required value: expression is not specified",
                'spec.validations[0].message: Invalid value: "a\\nb": message must not contain line breaks',
                'spec.validations[0].reason: Unsupported value: "Odd"',
            ],
        ),
        (
            {"auditAnnotations": [{"key": "k", "valueExpression": "'a'"}, {"key": "k"}]},
            [
                "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified",
                'spec.auditAnnotations[1].key: Duplicate value: "k"',
            ],
        ),
    ],
)
def test_admission_policies_are_refused(spec: JsonObject, expected: list[str]) -> None:
    found = refusals(policy(**spec))
    assert len(found) == len(expected), found
    assert all(text.startswith(start) for text, start in zip(found, expected, strict=True)), found


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"policyName": "p", "validationActions": ["Deny"]}, []),
        ({}, ["spec.policyName: Required", "spec.validationActions: Required value: at least one validation action"]),
        (
            {"policyName": "p", "validationActions": ["Warn", "Deny", "Deny"]},
            ['spec.validationActions[2]: Duplicate value: "Deny"', 'spec.validationActions: Invalid value: ["Warn"'],
        ),
        (
            {"policyName": "p", "validationActions": ["Deny"], "paramRef": {"name": "n", "selector": {}}},
            [
                "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
                "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
                "spec.paramRef.parameterNotFoundAction: Required value",
            ],
        ),
    ],
)
def test_bindings_of_admission_policies_are_refused(spec: JsonObject, expected: list[str]) -> None:
    found = refusals(of(ADMISSION, "ValidatingAdmissionPolicyBinding", spec=spec))
    assert len(found) == len(expected), found
    assert all(text.startswith(start) for text, start in zip(found, expected, strict=True)), found


def pem(kind: str) -> str:
    return base64.b64encode(f"-----BEGIN {kind}-----\nAAAA\n-----END {kind}-----\n".encode()).decode()


def request(**spec: Any) -> JsonObject:
    whole = {"request": pem("CERTIFICATE REQUEST"), "signerName": "example.com/s", "usages": ["client auth"]}
    return of("certificates.k8s.io/v1", "CertificateSigningRequest", spec=whole | spec)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"request": "eA=="}, ['spec.request: Invalid value: "eA==": PEM block type must be CERTIFICATE REQUEST']),
        ({"usages": []}, ["spec.usages: Required value: usages must be provided"]),
        ({"usages": ["any", "any"]}, ['spec.usages[1]: Duplicate value: "any"']),
        ({"signerName": ""}, ["spec.signerName: Required value: signerName must be provided"]),
        (
            {"signerName": "com/s"},
            ['spec.signerName: Invalid value: "com": should be a domain with at least two segments'],
        ),
        (
            {"signerName": "a.B/s"},
            ['spec.signerName: Invalid value: "a.B": validating label "B": a lowercase RFC 1123'],
        ),
        ({"expirationSeconds": 1}, ["spec.expirationSeconds: Invalid value: 1: may not specify a duration less than"]),
    ],
)
def test_certificate_requests_are_refused(spec: JsonObject, expected: list[str]) -> None:
    found = refusals(request(**spec))
    assert len(found) == len(expected), found
    assert all(text.startswith(start) for text, start in zip(found, expected, strict=True)), found


def test_a_certificate_is_issued_once() -> None:
    old = created(request())[0]
    issued, failures = changed(old, request() | {"status": {"certificate": pem("CERTIFICATE")}}, "status")
    assert failures == []
    again = request() | {"status": {"certificate": base64.b64encode(b"other").decode()}}
    assert texts(changed(issued, again, "status")[1]) == [
        'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
        "status.certificate: Forbidden: updates may not modify existing certificate content",
    ]


def test_a_condition_that_stays_keeps_its_time() -> None:
    failed = {"type": "Failed", "status": "True", "lastTransitionTime": "2025-01-01T00:00:00Z"}
    old = created(request())[0] | {"status": {"conditions": [failed]}}
    body = request() | {"status": {"conditions": [{"type": "Failed", "status": "True", "message": "m"}]}}
    done, failures = changed(old, body, "status")
    assert failures == []
    assert done["status"]["conditions"][0]["lastTransitionTime"] == "2025-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("name", "spec", "expected"),
    [
        ("v1.example.com", {}, []),
        (
            "other",
            {},
            ['metadata.name: Invalid value: "other": must be `spec.version+"."+spec.group`: "v1.example.com"'],
        ),
        (
            "v1.example.com",
            {"versionPriority": 0},
            ["spec.versionPriority: Invalid value: 0: must be positive and less"],
        ),
        (
            "v1.example.com",
            {"service": {"port": 0}},
            ["spec.service.namespace", "spec.service.name", "spec.service.port"],
        ),
        (
            "v1.example.com",
            {"insecureSkipTLSVerify": True, "caBundle": "eHg="},
            ['spec.caBundle: Invalid value: "2 bytes"', "spec.insecureSkipTLSVerify: Invalid value: true: local"],
        ),
    ],
)
def test_aggregated_apis_are_refused(name: str, spec: JsonObject, expected: list[str]) -> None:
    whole = {"group": "example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    body = of("apiregistration.k8s.io/v1", "APIService", spec=whole | spec) | {"metadata": {"name": name}}
    found = refusals(body)
    assert len(found) == len(expected), found
    assert all(text.startswith(start) for text, start in zip(found, expected, strict=True)), found


def test_an_api_is_available_where_no_service_serves_it() -> None:
    spec: JsonObject = {"group": "example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    local = created(of("apiregistration.k8s.io/v1", "APIService", spec=spec))[0]
    (condition,) = local["status"]["conditions"]
    assert condition == {
        "type": "Available",
        "status": "True",
        "reason": "Local",
        "message": "Local APIServices are always available",
        "lastTransitionTime": NOW,
    }
    elsewhere = spec | {"service": {"name": "s", "namespace": "n"}}
    (condition,) = created(of("apiregistration.k8s.io/v1", "APIService", spec=elsewhere))[0]["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "NotForwarded")


def test_the_status_of_an_aggregated_api_leaves_its_metadata() -> None:
    body = of("apiregistration.k8s.io/v1", "APIService", spec={"group": "example.com", "version": "v1"})
    asked = body | {"metadata": {"name": "o", "labels": {"a": "b"}, "finalizers": ["a/b"]}}
    metadata = changed(created(body)[0], asked, "status")[0]["metadata"]
    assert "labels" not in metadata
    assert "finalizers" not in metadata


def test_cluster_roles_say_rules_before_aggregation() -> None:
    wrong = {"clusterRoleSelectors": [{"matchLabels": {"bad key": "x"}}]}
    found = created(of("rbac.authorization.k8s.io/v1", "ClusterRole", rules=[{}], aggregationRule=wrong))[1]
    assert [error.field for error in found] == [
        "rules[0].verbs",
        "rules[0].apiGroups",
        "rules[0].resources",
        "aggregationRule.clusterRoleSelectors[0].matchLabels",
        "aggregationRule.clusterRoleSelectors[0]",
    ]
