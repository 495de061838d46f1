"""Validation of pods and pod templates as a whole: which part is checked when, in upstream's order.

`validate_pod` is for Pod objects, `validate_pod_template` for the templates that workloads carry; both check the spec
with `validate_pod_spec`.  Defaults must have been filled in.  Changes of a pod are in `pod_update`.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

import orjson

from kube32_sim.api.errors import FieldError, forbidden_field, invalid_value, required, too_long
from kube32_sim.api.validation.addresses import ip_errors
from kube32_sim.api.validation.meta import validate_labels, validate_template_metadata
from kube32_sim.api.validation.names import dns1123_label, dns1123_subdomain, in_range
from kube32_sim.api.validation.pod_annotations import MIRROR as MIRROR
from kube32_sim.api.validation.pod_annotations import validate_pod_annotations, validate_profiles_agree
from kube32_sim.api.validation.pod_containers import (
    Scope,
    choice,
    validate_containers,
    validate_ephemeral_containers,
    validate_image_text,
    validate_init_containers,
)
from kube32_sim.api.validation.pod_dns import validate_dns_config
from kube32_sim.api.validation.pod_env import validate_file_volumes
from kube32_sim.api.validation.pod_resources import (
    validate_pod_resource_claims,
    validate_pod_resources,
    validate_resources,
)
from kube32_sim.api.validation.pod_scheduling import (
    validate_affinity,
    validate_readiness_gates,
    validate_scheduling_gates,
    validate_spread,
    validate_tolerations,
)
from kube32_sim.api.validation.pod_security import validate_host_users, validate_pod_security
from kube32_sim.api.validation.pod_volumes import validate_volumes
from kube32_sim.api.validation.pod_windows import validate_host_process, validate_operating_system

JsonObject = dict[str, Any]

MAX_INT32 = 2**31 - 1
RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_LONGEST_HOSTNAME = 64
_NO_ACCOUNT = "must not be specified when serviceAccountName is not set"


def validate_pod(pod: JsonObject) -> list[FieldError]:
    """Failures of a new pod, apart from those of its metadata."""
    spec = pod["spec"]
    found = validate_pod_object(pod)
    if spec.get("ephemeralContainers"):
        found.append(forbidden_field("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        why = "cannot be set until all schedulingGates have been cleared"
        found.append(forbidden_field("spec.nodeName", why))
    if annotations := pod["metadata"].get("annotations"):
        found += validate_profiles_agree(annotations, spec, "spec")
    return found


def validate_pod_object(pod: JsonObject, excused: Collection[str] = ()) -> list[FieldError]:
    """What holds for a pod at any time.  excused: annotations that may stay wrong."""
    spec, metadata = pod["spec"], pod["metadata"]
    found: list[FieldError] = []
    if annotations := metadata.get("annotations"):
        found += validate_pod_annotations(annotations, spec, "metadata.annotations", excused)
    named = any("ephemeral" in volume for volume in spec.get("volumes") or ())  # their claims have the pod's name
    if named or not _is_valid(orjson.dumps(spec)):
        found += validate_pod_spec(spec, "spec", pod_name=metadata.get("name", ""), is_pod=True)
    if not spec.get("serviceAccountName") and "volumes" in spec:
        found += _validate_token_volumes(spec)
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            found += validate_image_text(container, f"spec.{field}[{index}]")
    return found


@lru_cache(maxsize=256)
def _is_valid(spec: bytes) -> bool:
    """Whether an encoded spec is valid under any name: the pods of a workload are many, and their specs alike."""
    return not validate_pod_spec(orjson.loads(spec), "spec", is_pod=True)


def _validate_token_volumes(spec: JsonObject) -> list[FieldError]:
    return [
        forbidden_field(f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken", _NO_ACCOUNT)
        for index, volume in enumerate(spec["volumes"] or ())
        for number, source in enumerate((volume.get("projected") or {}).get("sources") or ())
        if "serviceAccountToken" in source
    ]


def validate_pod_template(template: JsonObject, path: str, claims: Collection[str] = ()) -> list[FieldError]:
    """Failures of a PodTemplateSpec.  claims: names of claims that its pods will have as volumes beside their own."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    annotations = metadata.get("annotations")
    found = validate_template_metadata(metadata, path)
    if annotations:
        found += validate_pod_annotations(annotations, spec, f"{path}.annotations")
    found += validate_pod_spec(spec, f"{path}.spec", claims=claims)
    if annotations:
        found += validate_profiles_agree(annotations, spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        found.append(forbidden_field(f"{path}.spec.ephemeralContainers", why))
    return found


def validate_pod_spec(
    spec: JsonObject, path: str, *, pod_name: str = "", is_pod: bool = False, claims: Collection[str] = ()
) -> list[FieldError]:
    """Failures of a PodSpec at `path`.  claims: as in `validate_pod_template`."""
    found: list[FieldError] = []
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is None:
        found.append(required(f"{path}.terminationGracePeriodSeconds"))
    volumes: dict[str, JsonObject] = {}
    if "volumes" in spec:
        volumes, wrong = validate_volumes(spec["volumes"] or (), pod_name, f"{path}.volumes", is_pod=is_pod)
        found += wrong
    volumes |= {name: {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims}
    devices = frozenset(claim["name"] for claim in spec.get("resourceClaims") or () if claim.get("name"))
    if "resourceClaims" in spec:
        found += validate_pod_resource_claims(spec["resourceClaims"] or (), f"{path}.resourceClaims")
    scope = Scope(volumes, devices, grace, spec.get("restartPolicy", ""), spec.get("hostUsers") is not False)
    found += _validate_container_lists(spec, scope, path)
    if spec.get("resources"):
        found += validate_pod_resources(spec, f"{path}.resources")
    if spec.get("hostNetwork"):
        found += _validate_host_ports(spec, f"{path}.containers", is_pod)
    found += choice(spec.get("restartPolicy"), RESTART_POLICIES, f"{path}.restartPolicy")
    found += choice(spec.get("dnsPolicy"), DNS_POLICIES, f"{path}.dnsPolicy")
    if selector := spec.get("nodeSelector"):
        found += validate_labels(selector, f"{path}.nodeSelector")
    found += validate_pod_security(spec, path)
    found += _validate_placement(spec, path)
    found += _validate_names(spec, path)
    return found + _validate_rest(spec, path) + validate_file_volumes(spec, path)


def _validate_container_lists(spec: JsonObject, scope: Scope, path: str) -> list[FieldError]:
    containers = spec.get("containers") or ()
    found = validate_containers(containers, scope, f"{path}.containers")
    initial = spec.get("initContainers") or ()
    if initial:
        found += validate_init_containers(initial, containers, scope, f"{path}.initContainers")
    if ephemeral := spec.get("ephemeralContainers"):
        others = [*containers, *initial]
        found += validate_ephemeral_containers(ephemeral, others, scope, f"{path}.ephemeralContainers")
    return found


def _validate_host_ports(spec: JsonObject, path: str, is_pod: bool) -> list[FieldError]:
    """In the host's network a host port is the container's port; a template may leave it open."""
    why = "must match `containerPort` when `hostNetwork` is true"
    return [
        invalid_value(f"{path}[{index}].ports[{number}].hostPort", port.get("hostPort", 0), why)
        for index, container in enumerate(spec.get("containers") or ())
        for number, port in enumerate(container.get("ports") or ())
        if (is_pod or port.get("hostPort")) and port.get("hostPort", 0) != port.get("containerPort", 0)
    ]


def _validate_placement(spec: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if affinity := spec.get("affinity"):
        found += validate_affinity(affinity, f"{path}.affinity")
    if "dnsConfig" in spec or spec.get("dnsPolicy") == "None":
        found += validate_dns_config(spec.get("dnsConfig"), spec.get("dnsPolicy", ""), f"{path}.dnsConfig")
    if gates := spec.get("readinessGates"):
        found += validate_readiness_gates(gates, f"{path}.readinessGates")
    if gates := spec.get("schedulingGates"):
        found += validate_scheduling_gates(gates, f"{path}.schedulingGates")
    if constraints := spec.get("topologySpreadConstraints"):
        found += validate_spread(constraints, f"{path}.topologySpreadConstraints")
    found += validate_host_process(spec, path) + validate_host_users(spec, path)
    if spec.get("hostnameOverride") is not None:
        found += _validate_hostname_override(spec["hostnameOverride"], spec, f"{path}.hostnameOverride")
    return found


def _validate_names(spec: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for field, rule in (("serviceAccountName", dns1123_subdomain), ("nodeName", dns1123_subdomain)):
        if value := spec.get(field):
            found += [invalid_value(f"{path}.{field}", value, why) for why in rule(value)]
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= MAX_INT32:
        found.append(invalid_value(f"{path}.activeDeadlineSeconds", deadline, in_range(1, MAX_INT32)))
    for field in ("hostname", "subdomain"):
        if value := spec.get(field):
            found += [invalid_value(f"{path}.{field}", value, why) for why in dns1123_label(value)]
    return found


def _validate_hostname_override(name: str, spec: JsonObject, path: str) -> list[FieldError]:
    found = [
        forbidden_field(path, f"may not be specified when {field} is true")
        for field in ("setHostnameAsFQDN", "hostNetwork")
        if spec.get(field)
    ]
    if len(name) > _LONGEST_HOSTNAME:
        found.append(too_long(path, _LONGEST_HOSTNAME))
    return found + [invalid_value(path, name, why) for why in dns1123_subdomain(name)]


def _validate_rest(spec: JsonObject, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if tolerations := spec.get("tolerations"):
        found += validate_tolerations(tolerations, f"{path}.tolerations")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        found += _validate_host_alias(alias, f"{path}.hostAliases[{index}]")
    for field in ("priorityClassName", "runtimeClassName"):
        if value := spec.get(field):
            found += [invalid_value(f"{path}.{field}", value, why) for why in dns1123_subdomain(value)]
    if "preemptionPolicy" in spec:
        words = ("PreemptLowerPriority", "Never")
        found += choice(spec["preemptionPolicy"], words, f"{path}.preemptionPolicy")
    if overhead := spec.get("overhead"):
        found += validate_resources({"limits": overhead}, (), f"{path}.overhead")
    if "os" in spec:
        found += validate_operating_system(spec, path)
    return found


def _validate_host_alias(alias: JsonObject, path: str) -> list[FieldError]:
    found = ip_errors(alias.get("ip", ""), f"{path}.ip")
    for index, hostname in enumerate(alias.get("hostnames") or ()):
        found += [invalid_value(f"{path}.hostnames[{index}]", hostname, why) for why in dns1123_subdomain(hostname)]
    return found
