"""Admission of pods: runtime classes, and security levels beyond the creation of pods."""

from __future__ import annotations

from typing import Any

import pytest
from test_admission import Objects, context, mutated, pod, refusal

from kube32_sim.api import admission
from kube32_sim.api.admission import AdmissionConfig
from kube32_sim.api.admission.pod_security_checks import violated, violations
from kube32_sim.api.errors import ApiError

JsonObject = dict[str, Any]

LEVEL = "pod-security.kubernetes.io/"
SLOW: JsonObject = {
    "metadata": {"name": "slow"},
    "handler": "h",
    "overhead": {"podFixed": {"cpu": "100m"}},
    "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]},
}
CLASSES: Objects = {("node.k8s.io", "runtimeclasses"): [SLOW, {"metadata": {"name": "plain"}, "handler": "h"}]}


def test_a_runtime_class_adds_to_a_pod() -> None:
    obj = pod(runtimeClassName="slow", nodeSelector={"x": "y"}, overhead={"cpu": "0.1"})
    mutated(obj, context("pods", CLASSES))
    spec = obj["spec"]
    assert spec["overhead"] == {"cpu": "100m"}
    assert spec["nodeSelector"] == {"x": "y", "a": "b"}
    assert spec["tolerations"][-1] == {"key": "k", "operator": "Exists"}
    admission.validate("create", obj, None, context("pods", CLASSES), AdmissionConfig())


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"runtimeClassName": "none"}, 'pod rejected: RuntimeClass "none" not found'),
        (
            {"runtimeClassName": "slow", "overhead": {"cpu": "1"}},
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            {"runtimeClassName": "plain", "overhead": {"cpu": "1"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (
            {"overhead": {"cpu": "1"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (
            {"runtimeClassName": "slow", "nodeSelector": {"a": "c"}},
            "conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c",
        ),
    ],
)
def test_runtime_classes_refuse(spec: JsonObject, why: str) -> None:
    error = refusal(pod(**spec), context("pods", CLASSES))
    assert (error.code, error.message) == (403, f'pods "p" is forbidden: {why}')


def enforcing(level: str, *pods: JsonObject) -> Objects:
    namespace = {"metadata": {"name": "ns", "labels": {f"{LEVEL}enforce": level}}, "status": {"phase": "Active"}}
    return {("", "namespaces"): [namespace], ("", "pods"): list(pods)}


def updated(new: JsonObject, old: JsonObject, subresource: str = "") -> str:
    where = context("pods", enforcing("baseline"), subresource=subresource)
    try:
        admission.validate("update", new, old, where, AdmissionConfig())
    except ApiError as error:
        return error.message
    return ""


def test_new_images_are_looked_at_again() -> None:
    """A pod may have been let in before its namespace enforced anything."""
    old = pod(hostPID=True)
    assert updated(pod(hostPID=True, tolerations=[{"operator": "Exists"}]), old) == ""
    changed = pod(hostPID=True)
    changed["spec"]["containers"][0]["image"] = "other"
    refused = 'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)'
    assert updated(changed, old) == refused
    debugged = pod(hostPID=True, ephemeralContainers=[{"name": "d", "image": "i"}])
    assert updated(debugged, old, "ephemeralcontainers") == refused
    assert updated(debugged, old, "status") == ""


def namespace(**labels: str) -> JsonObject:
    return {"metadata": {"name": "ns", "labels": {LEVEL + key.replace("_", "-"): text for key, text in labels.items()}}}


def test_labels_of_namespaces_are_levels_and_versions() -> None:
    where = context("namespaces", name="ns")
    error = refusal(namespace(enforce="odd", warn_version="1.2"), where)
    assert (error.code, error.message) == (
        422,
        'Namespace "ns" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "odd": must '
        "be one of privileged, baseline, restricted, metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid "
        'value: "1.2": must be "latest" or "v1.x"]',
    )
    same = namespace(enforce="odd")
    admission.validate("update", same, same, where, AdmissionConfig())
    admission.validate("create", namespace(enforce="baseline", enforce_version="v1.30"), None, where, AdmissionConfig())


def test_who_raises_a_level_is_told_of_the_pods_below_it() -> None:
    pods = []
    for name, spec in (("b", {"hostPID": True}), ("a", {"hostPID": True}), ("c", {"hostIPC": True}), ("d", {})):
        pods.append({**pod(**spec), "metadata": {"name": name}})
    where = context("namespaces", {("", "pods"): pods}, name="ns")

    def told(new: JsonObject, old: JsonObject) -> list[str]:
        return list(admission.mutate("update", new, old, where, AdmissionConfig()))

    assert told(namespace(enforce="baseline"), namespace()) == [
        'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 2 other pods): host namespaces",
    ]
    assert told(namespace(enforce="baseline"), namespace(enforce="baseline")) == []
    assert told(namespace(enforce="baseline"), namespace(enforce="restricted")) == []
    assert told(namespace(enforce="privileged"), namespace()) == []


def test_windows_has_no_capabilities_to_drop() -> None:
    container = {"name": "app", "image": "i", "securityContext": {"runAsNonRoot": True}}
    spec = {"containers": [container], "os": {"name": "windows"}}
    assert violations(spec, "restricted") == ""
    assert violations({"containers": [container]}, "restricted") != ""


def test_host_ports_are_listed_as_text() -> None:
    ports = [{"containerPort": number, "hostPort": number} for number in (90, 8080)]
    spec = {"containers": [{"name": "app", "image": "i", "ports": ports}]}
    assert violations(spec, "baseline") == 'hostPort (container "app" uses hostPorts 8080, 90)'


def test_pods_with_users_of_their_own_may_be_root_within() -> None:
    container = {
        "name": "app",
        "securityContext": {
            "runAsUser": 0,
            "procMount": "Unmasked",
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    spec = {"hostUsers": False, "containers": [container]}
    unmasked = 'procMount (container "app" must not set securityContext.procMount to "Unmasked")'
    assert violations(spec, "baseline") == ""
    assert violations(spec, "restricted") == unmasked
    assert violations(spec, "baseline", "v1.34") == unmasked
    assert violations(spec, "restricted", "v1.34") == (
        f'{unmasked}, runAsNonRoot != true (pod or container "app" must set securityContext.runAsNonRoot=true), '
        'runAsUser=0 (container "app" must not set runAsUser=0)'
    )


def test_older_standards_forbid_less_or_more() -> None:
    spec = {
        "containers": [{"name": "app", "livenessProbe": {"httpGet": {"host": "h"}}}],
        "securityContext": {
            "runAsNonRoot": True,
            "sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}],
            "seLinuxOptions": {"type": "container_engine_t"},
            "seccompProfile": {"type": "Unconfined"},
        },
    }
    assert violated(spec, "baseline") == ["probe or lifecycle host", "seccompProfile"]
    assert violated(spec, "baseline", "v1.99") == violated(spec, "baseline")
    assert violated(spec, "baseline", "v1.30") == ["seLinuxOptions", "seccompProfile", "forbidden sysctls"]
    assert violated(spec, "restricted", "v1.0") == ["seLinuxOptions", "forbidden sysctls"]


def test_what_is_enforced_is_warned_of_too() -> None:
    workload = {"metadata": {"name": "d"}, "spec": {"template": pod(hostPID=True)}}

    def told(**labels: str) -> list[str]:
        where = context("deployments", {("", "namespaces"): [namespace(**labels)]}, "apps")
        return list(admission.mutate("create", workload, None, where, AdmissionConfig()))

    text = "host namespaces (hostPID=true)"
    assert told(enforce="baseline") == [f'would violate PodSecurity "baseline:latest": {text}']
    assert told(enforce="baseline", enforce_version="v1.30") == [f'would violate PodSecurity "baseline:v1.30": {text}']
    assert told(enforce="baseline", warn="privileged") == []
