"""Rules on a pod's spec beyond its containers: claims, placement, operating systems, annotations."""

from __future__ import annotations

from typing import Any

import pytest
from pod_objects import annotated, pod, refused
from strategy_objects import changed, created, texts

JsonObject = dict[str, Any]

NEEDED = "requiredDuringSchedulingIgnoredDuringExecution"
SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/c"
COST = "controller.kubernetes.io/pod-deletion-cost"

CASES: list[tuple[JsonObject, list[str]]] = [
    (
        {"resourceClaims": [{"name": "a"}, {"name": "a", "resourceClaimName": "x", "resourceClaimTemplateName": "y"}]},
        [
            'spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,"ResourceClaimTemplateName":'
            "null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            'spec.resourceClaims[1].name: Duplicate value: "a"',
            'spec.resourceClaims[1]: Invalid value: {"Name":"a","ResourceClaimName":"x","ResourceClaimTemplateName":'
            '"y"}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
        ],
    ),
    ({"os": {"name": ""}}, ["spec.os.name: Required value"]),
    (
        {"os": {"name": "beos"}},
        ['spec.os: Unsupported value: "beos": supported values: "linux", "windows"'],
    ),
    (
        {"os": {"name": "windows"}, "hostPID": True, "hostIPC": False, "securityContext": {"runAsUser": 1}},
        [
            "spec.hostPID: Forbidden: cannot be set for a windows pod",
            "spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod",
        ],
    ),
    (
        {"os": {"name": "linux"}, "securityContext": {"windowsOptions": {"runAsUserName": "u"}}},
        ["spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod"],
    ),
    (
        {"securityContext": {"windowsOptions": {"hostProcess": True}}},
        ["spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers"],
    ),
    (
        {"securityContext": {"seLinuxChangePolicy": "MountOption"}},
        ['spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"'],
    ),
    (
        {"overhead": {"cpu": "-1"}},
        ['spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
    ),
    (
        {"resources": {"limits": {"ephemeral-storage": "1"}}},
        [
            'spec.resources.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: '
            '"cpu", "hugepages-", "memory"'
        ],
    ),
    (
        {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}] * 2},
        ['spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, DoNotSchedule}"'],
    ),
    (
        {"tolerations": [{"key": "k", "operator": "Gt", "value": "1"}]},
        ['spec.tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"'],
    ),
]


@pytest.mark.parametrize(("spec", "expected"), CASES)
def test_specs(spec: JsonObject, expected: list[str]) -> None:
    assert refused(**spec) == expected


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({COST: "-5"}, []),
        ({COST: "+5"}, [f'metadata.annotations[{COST}]: Invalid value: "+5": must be a 32bit integer']),
        ({COST: "007"}, [f'metadata.annotations[{COST}]: Invalid value: "007": must be a 32bit integer']),
        ({SECCOMP: "odd"}, [f'metadata.annotations.{SECCOMP}: Invalid value: "odd": must be a valid seccomp profile']),
        (
            {SECCOMP: "localhost/../x"},
            [f"metadata.annotations.{SECCOMP}: Invalid value: \"../x\": must not contain '..'"],
        ),
        (
            {APP_ARMOR: "odd"},
            [f'metadata.annotations[{APP_ARMOR}]: Invalid value: "odd": invalid AppArmor profile name: "odd"'],
        ),
        (
            {f"{APP_ARMOR}x": "unconfined"},
            [f'metadata.annotations[{APP_ARMOR}x]: Invalid value: "cx": container not found'],
        ),
    ],
)  # fmt: skip
def test_annotations(annotations: dict[str, str], expected: list[str]) -> None:
    assert texts(created(annotated(annotations))[1]) == expected


def test_annotations_and_fields_agree() -> None:
    body = annotated({SECCOMP: "unconfined"}, securityContext={"seccompProfile": {"type": "RuntimeDefault"}})
    assert texts(created(body)[1]) == [
        "spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match"
    ]
    profile = {"type": "Localhost", "localhostProfile": "b"}
    body = annotated({APP_ARMOR: "localhost/a"}, {"securityContext": {"appArmorProfile": profile}})
    assert texts(created(body)[1]) == [
        "spec.containers[0].securityContext.appArmorProfile.localhostProfile: Forbidden: apparmor profile in "
        "annotation and field must match"
    ]


def test_an_annotated_profile_becomes_a_field_with_a_warning() -> None:
    made, failures, warnings = created(annotated({APP_ARMOR: "localhost/a"}))
    assert not failures
    assert made["spec"]["containers"][0]["securityContext"]["appArmorProfile"] == {
        "type": "Localhost",
        "localhostProfile": "a",
    }
    assert warnings == [
        f'metadata.annotations[{APP_ARMOR}]: deprecated since v1.30; use the "appArmorProfile" field instead'
    ]


def test_a_cost_that_was_wrong_may_stay() -> None:
    old = created(pod())[0]
    old["metadata"]["annotations"] = {COST: "high"}
    body = annotated({COST: "high", "a": "b"})
    assert texts(changed(old, body)[1]) == []
    assert len(set(texts(changed(created(pod())[0], body)[1]))) == 1


def test_profiles_in_annotations_stay() -> None:
    old = created(annotated({APP_ARMOR: "unconfined"}))[0]
    found = texts(changed(old, annotated({APP_ARMOR: "runtime/default"}))[1])
    assert f"metadata.annotations[{APP_ARMOR}]: Forbidden: may not remove or update AppArmor annotations" in found


def test_label_keys_are_merged_into_selectors() -> None:
    """So the scheduler needs to know selectors only; keys that the pod does not have say nothing."""
    constraint = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    term = {"topologyKey": "z", "labelSelector": {"matchLabels": {"x": "y"}}, "mismatchLabelKeys": ["app"]}
    body = pod(
        topologySpreadConstraints=[{**constraint, "matchLabelKeys": ["app", "missing"]}],
        affinity={"podAntiAffinity": {NEEDED: [term]}},
    )
    body["metadata"]["labels"] = {"app": "web"}
    made, failures, _ = created(body)
    assert texts(failures) == []
    spread, anti = made["spec"]["topologySpreadConstraints"][0], made["spec"]["affinity"]["podAntiAffinity"][NEEDED][0]
    assert spread["labelSelector"]["matchExpressions"] == [{"key": "app", "operator": "In", "values": ["web"]}]
    assert anti["labelSelector"] == {
        "matchLabels": {"x": "y"},
        "matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}],
    }


def test_a_merged_key_is_in_the_selector_once() -> None:
    term = {"topologyKey": "z", "labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["app"]}
    body = pod(affinity={"podAffinity": {NEEDED: [term]}})
    body["metadata"]["labels"] = {"app": "web"}
    assert texts(created(body)[1]) == [
        f'spec.affinity.podAffinity.{NEEDED}[0][0]: Invalid value: "app": exists in both matchLabelKeys and '
        "labelSelector"
    ]


def test_the_resources_of_a_pod_come_from_its_containers() -> None:
    made, failures, _ = created(
        pod({"resources": {"requests": {"cpu": "100m"}}}, resources={"limits": {"cpu": "1", "memory": "1Gi"}})
    )
    assert texts(failures) == []
    assert made["spec"]["resources"]["requests"] == {"cpu": "100m", "memory": "1Gi"}


def test_init_containers_count_for_the_resources_of_a_pod() -> None:
    initial = [{"name": "a", "image": "i", "resources": {"requests": {"cpu": "2"}}}]
    assert refused(initContainers=initial, resources={"requests": {"cpu": "1"}}) == [
        'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container '
        "requests of 2"
    ]


def test_hostnames_of_pods() -> None:
    assert refused(hostnameOverride="a.b") == []
    assert [text.partition(":")[0] for text in refused(hostnameOverride="a" * 65)] == ["spec.hostnameOverride"]
    assert refused(hostnameOverride="", hostNetwork=True, setHostnameAsFQDN=True)[:2] == [
        "spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
        "spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true",
    ]


def test_pods_with_users_of_their_own() -> None:
    devices = [{"name": "v", "devicePath": "/d"}]
    container = {"name": "c", "image": "i", "volumeDevices": devices}
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]
    assert refused(hostUsers=False, hostNetwork=True, hostIPC=True, containers=[container], volumes=volumes) == [
        "spec.hostNetwork: Forbidden: when `hostUsers` is false",
        "spec.HostIPC: Forbidden: when `hostUsers` is false",
        "spec.containers[0].volumeDevices: Forbidden: when `hostUsers` is false",
    ]


def test_no_restart_for_the_sake_of_a_resize_while_a_pod_starts() -> None:
    policies = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    first = {"name": "first", "image": "i", "resizePolicy": policies}
    assert refused(initContainers=[{**first, "restartPolicy": "Always"}]) == []
    assert refused(initContainers=[first]) == [
        'spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": must not be set to '
        "'RestartContainer' for non-sidecar initContainers"
    ]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("10.0.0.1", ""),
        ("fe80::1", ""),
        ("10.0.0.256", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ("fe80::1%eth0", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ("010.001.001.001", "must not have leading 0s"),
        ("::ffff:10.0.0.1", "must not be an IPv4-mapped IPv6 address"),
    ],
)
def test_addresses_in_pods(address: str, why: str) -> None:
    at = "spec.dnsConfig.nameservers[0]"
    expected = [f'{at}: Invalid value: "{address}": {why}'] if why else []
    assert refused(dnsConfig={"nameservers": [address]}) == expected
