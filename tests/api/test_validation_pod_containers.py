"""Containers of pods: restart rules, variables out of files, resources and claims, security contexts."""

from __future__ import annotations

from typing import Any

import pytest
from pod_objects import AT, pod, refused
from strategy_objects import created, texts

JsonObject = dict[str, Any]

SHOWN = (
    '{{"Capabilities":{capabilities},"Privileged":{privileged},"SELinuxOptions":null,"WindowsOptions":null,'
    '"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,'
    '"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}}'
)
IN = {"operator": "In", "values": [1]}
NO_CLAIMS = "must be one of the names in pod.spec.resourceClaims which is empty"


CASES: list[tuple[JsonObject, list[str]]] = [
    (
        {"restartPolicyRules": [{"action": "Restart", "exitCodes": IN}]},
        [f"{AT}.restartPolicy: Required value: must specify restartPolicy when restart rules are used"],
    ),
    (
        {"restartPolicy": "Sometimes"},
        [f'{AT}.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"'],
    ),
    (
        {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Stop"}, {"action": "Restart", "exitCodes": {}}]},
        [
            f'{AT}.restartPolicyRules[0].action: Unsupported value: "Stop": supported values: "Restart", '
            '"RestartAllContainers"',
            f"{AT}.restartPolicyRules[0].exitCodes: Required value: must be specified",
            f'{AT}.restartPolicyRules[1].exitCodes.operator: Unsupported value: "": supported values: "In", "NotIn"',
        ],
    ),
    (
        {"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart", "exitCodes": IN}] * 21},
        [f"{AT}.restartPolicyRules: Too many: 21: must have at most 20 items"],
    ),
    (
        {"env": [{"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "V", "path": "../f", "key": "a=b"}}}]},
        [
            f'{AT}.env[0].valueFrom.fileKeyRef.key: Invalid value: "a=b": a valid environment variable name must '
            "consist only of printable ASCII characters other than '='",
            f'{AT}.env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "V": a lowercase RFC 1123 label must consist '
            "of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. "
            "'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            f"{AT}.env[0].valueFrom.fileKeyRef.path: Invalid value: \"../f\": must not contain '..'",
            f'{AT}.env[0].valueFrom.fileKeyRef.volumeName: Not found: "V"',
        ],
    ),
    (
        {"resources": {"claims": [{"name": "gpu"}, {}]}},
        [f'{AT}.resources.claims[0]: Not found: "gpu": {NO_CLAIMS}', f"{AT}.resources.claims[1]: Required value"],
    ),
    (
        {"resources": {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}}},
        [
            f'{AT}.resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of '
            "hugepages-2Mi",
            f'{AT}.resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of '
            "hugepages-2Mi",
        ],
    ),
    (
        {"securityContext": {"allowPrivilegeEscalation": False, "privileged": True}},
        [
            f"{AT}.securityContext: Invalid value: {SHOWN.format(capabilities='null', privileged='true')}: cannot set "
            "`allowPrivilegeEscalation` to false and `privileged` to true"
        ],
    ),
    (
        {"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}},
        [
            f"{AT}.securityContext: Invalid value: "
            + SHOWN.format(capabilities='{"Add":["CAP_SYS_ADMIN"],"Drop":null}', privileged="null")
            + ": cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        ],
    ),
    (
        {"securityContext": {"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "x"}, "runAsUser": -1}},
        [
            f"{AT}.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
            f'{AT}.securityContext.seccompProfile.localhostProfile: Invalid value: {{"Type":"RuntimeDefault",'
            '"LocalhostProfile":"x"}: can only be set when seccomp type is Localhost',
        ],
    ),
    (
        {"securityContext": {"appArmorProfile": {"type": "Localhost", "localhostProfile": ""}}},
        [
            f"{AT}.securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is "
            "Localhost"
        ],
    ),
    (
        {"securityContext": {"windowsOptions": {"gmsaCredentialSpec": "", "runAsUserName": "a\\b\\c"}}},
        [
            f'{AT}.securityContext.windowsOptions.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be '
            "an empty string",
            f'{AT}.securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName cannot '
            "contain more than one backslash",
        ],
    ),
]


@pytest.mark.parametrize(("container", "expected"), CASES)
def test_containers(container: JsonObject, expected: list[str]) -> None:
    assert refused(container) == expected


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "runAsUserName cannot be an empty string"),
        ("a\tb", "runAsUserName cannot contain control characters"),
        ("\\user", "runAsUserName's Domain doesn't match the NetBios nor the DNS format"),
        ("DOMAIN\\", "runAsUserName's User cannot be empty"),
        ("u" * 105, "runAsUserName's User length must not be longer than 104 characters"),
        ("..", "runAsUserName's User cannot contain only periods or spaces"),
        ("a@b", "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"),
        ("DOMAIN\\user", ""),
        ("user", ""),
    ],
)
def test_users_of_windows(name: str, reason: str) -> None:
    found = refused({"securityContext": {"windowsOptions": {"runAsUserName": name}}})
    assert [text.partition(": Invalid value: ")[2].partition(": ")[2] for text in found] == ([reason] if reason else [])


def test_variables_come_from_files_of_empty_directories() -> None:
    def found(**source: Any) -> list[str]:
        reference = {"volumeName": "v", "path": "f", "key": "K"}
        variable = {"name": "A", "valueFrom": {"fileKeyRef": reference}}
        return refused({"env": [variable]}, volumes=[{"name": "v", **source}])

    assert found(emptyDir={}) == []
    assert found(configMap={"name": "c"}) == [
        f'{AT}.env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "v": referenced volume must be of type emptyDir'
    ]


def test_a_request_of_a_claim_is_used_once() -> None:
    claims = [{"name": "a", "resourceClaimName": "x"}]

    def found(*used: JsonObject) -> list[str]:
        return refused({"resources": {"claims": list(used)}}, resourceClaims=claims)

    whole, part = {"name": "a"}, {"name": "a", "request": "r"}
    assert found(part, {"name": "a", "request": "s"}) == []
    assert found(part, part) == [f'{AT}.resources.claims[1]: Duplicate value: "a/r"']
    assert found(part, whole) == [f'{AT}.resources.claims[1]: Duplicate value: "a"']
    assert found(whole, part) == [f'{AT}.resources.claims[1]: Duplicate value: "a"']
    assert found({"name": "b"}) == [
        f'{AT}.resources.claims[0]: Not found: "b": must be one of the names in pod.spec.resourceClaims: a'
    ]


def test_ephemeral_containers_have_no_ports_probes_or_resources() -> None:
    """Named in the order of the API's structure, whatever the order of the body."""
    debug = {
        "lifecycle": {"preStop": {"exec": {"command": ["x"]}}},
        "name": "d",
        "image": "i",
        "livenessProbe": {"exec": {"command": ["x"]}},
        "resources": {"requests": {"cpu": "1"}},
        "ports": [{"containerPort": 1}],
    }
    why = "Forbidden: cannot be set for an Ephemeral Container"
    fields = ("ports", "resources", "livenessProbe", "lifecycle")
    assert refused(ephemeralContainers=[debug]) == [
        *(f"spec.ephemeralContainers[0].{field}: {why}" for field in fields),
        "spec.ephemeralContainers: Forbidden: cannot be set on create",
    ]


def test_what_feature_gates_would_allow_is_dropped() -> None:
    body = pod({"lifecycle": {"stopSignal": "SIGHUP"}}, schedulingGroup={"podGroupName": "g"})
    body["spec"]["volumes"] = [{"name": "v", "projected": {"sources": [{"clusterTrustBundle": {"path": "p"}}]}}]
    made, failures, _ = created(body)
    assert texts(failures) == []
    assert "lifecycle" not in made["spec"]["containers"][0]
    assert "schedulingGroup" not in made["spec"]
    assert made["spec"]["volumes"][0]["projected"]["sources"] == [{}]
