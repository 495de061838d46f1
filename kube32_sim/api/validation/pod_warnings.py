"""Warnings about pods and pod templates: what is accepted but will not do what its author meant."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import orjson

from kube32_sim.api.quantity import NANO, parse
from kube32_sim.api.validation.addresses import ip_warnings
from kube32_sim.api.validation.names import dns1123_label
from kube32_sim.api.validation.node_labels import DEPRECATED_NODE_LABELS, term_warnings
from kube32_sim.api.validation.pod_annotations import APP_ARMOR, SECCOMP_CONTAINER, SECCOMP_POD, annotated_profiles
from kube32_sim.api.validation.pod_paths import overlapping_paths
from kube32_sim.api.validation.pod_windows import all_containers
from kube32_sim.api.validation.storage_claims import claim_warnings

JsonObject = dict[str, Any]

_DEPRECATED_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_DEPRECATED_VOLUMES = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
_APP_ARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_NEEDED = "requiredDuringSchedulingIgnoredDuringExecution"
_WISHED = "preferredDuringSchedulingIgnoredDuringExecution"
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_BYTES = ("memory", "ephemeral-storage")


def name_warning(name: str, used_in: str = "the Pod's hostname") -> list[str]:
    """A name that is no DNS label makes odd hostnames."""
    reasons = dns1123_label(name)
    if not reasons:
        return []
    return [
        f"metadata.name: this is used in {used_in}, which can result in surprising behavior; "
        f"a DNS label is recommended: [{' '.join(reasons)}]"
    ]


def pod_warnings(pod: JsonObject) -> list[str]:
    """Warnings about a new Pod."""
    metadata = pod["metadata"]
    annotations = metadata.get("annotations") or {}
    if not any("kubernetes.io" in key for key in annotations):
        return name_warning(metadata.get("name", "")) + list(_spec_warnings(orjson.dumps(pod["spec"])))
    return [
        *(
            f"metadata.annotations[{APP_ARMOR}{container.get('name', '')}]: {_APP_ARMOR}"
            for container, profile in (annotated_profiles(annotations, pod["spec"]) if annotations else ())
            if profile == (container.get("securityContext") or {}).get("appArmorProfile")
        ),
        *name_warning(metadata.get("name", "")),
        *pod_template_warnings(pod, ""),
    ]


@lru_cache(maxsize=256)
def _spec_warnings(spec: bytes) -> tuple[str, ...]:
    """What an encoded spec is warned of without annotations: the pods of a workload are many, and their specs alike."""
    return tuple(pod_template_warnings({"spec": orjson.loads(spec)}, ""))


def pod_template_warnings(template: JsonObject, path: str) -> list[str]:
    """Warnings about anything with `metadata` and a PodSpec `spec` at `path` ("" for a Pod)."""
    at = f"{path}." if path else ""
    spec, metadata = template.get("spec") or {}, template.get("metadata") or {}
    found: list[str] = []
    if "nodeSelector" in spec or "affinity" in spec or "topologySpreadConstraints" in spec:
        found += _placement_warnings(spec, f"{at}spec")
    annotations = metadata.get("annotations") or {}
    if annotations:
        found += [
            f"{at}metadata.annotations[{key}]: {text}"
            for key, text in _DEPRECATED_ANNOTATIONS.items()
            if key in annotations
        ]
    if "volumes" in spec:
        found += _volume_warnings(spec, f"{at}spec.volumes")
        found += overlapping_paths(spec["volumes"] or ())
    found += _duplicate_warnings(spec, f"{at}spec")
    if annotations and SECCOMP_POD in annotations and "seccompProfile" not in (spec.get("securityContext") or {}):
        found.append(f"{at}metadata.annotations[{SECCOMP_POD}]: {_SECCOMP}")
    containers = list(all_containers(spec, f"{at}spec"))
    has_profile = not path or "appArmorProfile" in (spec.get("securityContext") or {})
    for container, where in containers:
        if annotations:
            found += _annotation_warnings(container, annotations, f"{at}metadata.annotations", has_profile)
        found += _container_warnings(container, where)
    found += _port_warnings(containers) + _port_name_warnings(containers)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        why = "must be >= 0; negative values are invalid and will be treated as 1"
        found.append(f"{at}spec.terminationGracePeriodSeconds: {why}")
    if "affinity" in spec:
        found += _pod_affinity_warnings(spec, f"{at}spec.affinity")
    return found + _address_warnings(spec, f"{at}spec")


def _address_warnings(spec: JsonObject, path: str) -> list[str]:
    servers = (spec.get("dnsConfig") or {}).get("nameservers") or ()
    addresses = [(f"dnsConfig.nameservers[{index}]", server) for index, server in enumerate(servers)]
    aliases = spec.get("hostAliases") or ()
    addresses += [(f"hostAliases[{index}].ip", alias.get("ip", "")) for index, alias in enumerate(aliases)]
    return [text for where, address in addresses for text in ip_warnings(address, f"{path}.{where}")]


def _annotation_warnings(container: JsonObject, annotations: JsonObject, path: str, has_profile: bool) -> list[str]:
    """Profiles in annotations; a pod's own of AppArmor are told of when they become fields."""
    name, security = container.get("name", ""), container.get("securityContext") or {}
    found: list[str] = []
    if f"{SECCOMP_CONTAINER}{name}" in annotations and "seccompProfile" not in security:
        found.append(f"{path}[{SECCOMP_CONTAINER}{name}]: {_SECCOMP}")
    if f"{APP_ARMOR}{name}" in annotations and not has_profile and "appArmorProfile" not in security:
        found.append(f"{path}[{APP_ARMOR}{name}]: {_APP_ARMOR}")
    return found


def _pod_affinity_warnings(spec: JsonObject, path: str) -> list[str]:
    found: list[str] = []
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = (spec["affinity"] or {}).get(kind) or {}
        terms = [(f"{_NEEDED}[{index}]", term) for index, term in enumerate(affinity.get(_NEEDED) or ())]
        terms += [
            (f"{_WISHED}[{index}].podAffinityTerm", each.get("podAffinityTerm") or {})
            for index, each in enumerate(affinity.get(_WISHED) or ())
        ]
        found += [
            f"{path}.{kind}.{where}.labelSelector: a null labelSelector results in matching no pod"
            for where, term in terms
            if term.get("labelSelector") is None
        ]
    return found


def _placement_warnings(spec: JsonObject, path: str) -> list[str]:
    found = [
        f"{path}.nodeSelector[{key}]: {DEPRECATED_NODE_LABELS[key]}"
        for key in spec.get("nodeSelector") or ()
        if key in DEPRECATED_NODE_LABELS
    ]
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    at = f"{path}.affinity.nodeAffinity"
    for index, term in enumerate((affinity.get(_NEEDED) or {}).get("nodeSelectorTerms") or ()):
        found += term_warnings(term, f"{at}.{_NEEDED}.nodeSelectorTerms[{index}]")
    for index, term in enumerate(affinity.get(_WISHED) or ()):
        found += term_warnings(term.get("preference") or {}, f"{at}.{_WISHED}[{index}].preference", values=True)
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = f"{path}.topologySpreadConstraints[{index}]", constraint.get("topologyKey", "")
        if key in DEPRECATED_NODE_LABELS:
            found.append(f"{where}.topologyKey: {key} is {DEPRECATED_NODE_LABELS[key]}")
        if constraint.get("labelSelector") is None:
            found.append(f"{where}.labelSelector: a null labelSelector results in matching no pod")
    return found


def _volume_warnings(spec: JsonObject, path: str) -> list[str]:
    found: list[str] = []
    for index, volume in enumerate(spec["volumes"] or ()):
        for kind, (shown, text) in _DEPRECATED_VOLUMES.items():
            if kind in volume:
                found.append(f"{path}[{index}].{shown}: {text}")
        if claim := (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
            at = f"{path}[{index}].ephemeral.volumeClaimTemplate.spec"
            found += claim_warnings(claim.get("spec") or {}, at)
    return found


def _duplicate_warnings(spec: JsonObject, path: str) -> list[str]:
    found: list[str] = []
    for field, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        if field not in spec:
            continue
        values = [item.get(key, "") for item in spec[field] or ()]
        seen: set[str] = set()
        for index, value in enumerate(values):
            if value in seen:
                found.append(f'{path}.{field}[{index}].{key}: duplicate {key} "{value}"')
            seen.add(value)
        if field == "imagePullSecrets":
            found += [
                f'{path}.{field}[{index}].name: invalid empty name ""' for index, name in enumerate(values) if not name
            ]
    overhead = spec.get("overhead") or {}
    return found + [
        text for name in _BYTES if name in overhead for text in _fraction(overhead, name, f"{path}.overhead")
    ]


def _fraction(amounts: JsonObject, name: str, path: str) -> list[str]:
    amount = parse(amounts[name])
    if amount.nanos % NANO == 0:
        return []
    return [f'{path}[{name}]: fractional byte value "{amount.text}" is invalid, must be an integer']


def _container_warnings(container: JsonObject, path: str) -> list[str]:
    found: list[str] = []
    if resources := container.get("resources"):
        for name in _BYTES:
            for kind in ("limits", "requests"):
                if name in (resources.get(kind) or {}):
                    found += _fraction(resources[kind], name, f"{path}.resources.{kind}")
    variables = container.get("env") or ()
    return found + _env_warnings(variables, path) if len(variables) > 1 else found


def _env_warnings(variables: Sequence[JsonObject], path: str) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        if name in seen:
            reference = f"$({name})"
            if "valueFrom" in variable or value == reference or reference not in value:
                text = f'hides previous definition of "{name}", which may be dropped when using apply'
                found.append(f"{path}.env[{index}]: {text}")
        seen.add(name)
    return found


_MOST_COMPARED = 16
"""Ports of one number that each later one is compared with: warnings about more help nobody."""


def _port_warnings(containers: list[tuple[JsonObject, str]]) -> list[str]:
    found: list[str] = []
    taken: dict[str, list[tuple[str, JsonObject]]] = {}
    for container, path in containers:
        for index, port in enumerate(container.get("ports") or ()):
            at = f"{path}.ports[{index}]"
            if port.get("hostIP") and not port.get("hostPort"):
                found.append(f"{at}: hostIP set without hostPort: {_go_port(port)}")
            others = taken.setdefault(f"{port.get('containerPort', 0)}/{port.get('protocol', '')}", [])
            for where, other in others:
                if text := _overlap(port, other):
                    found.append(f"{at}: {text} port definition with {where}")
            if len(others) < _MOST_COMPARED:
                others.append((at, port))
    return found


def _port_name_warnings(containers: list[tuple[JsonObject, str]]) -> list[str]:
    """Whoever selects a port by its name gets the first of that name."""
    found: list[str] = []
    first: dict[str, str] = {}
    for container, path in containers:
        for index, port in enumerate(container.get("ports") or ()):
            name, at = port.get("name"), f"{path}.ports[{index}]"
            if not name:
                continue
            other = first.setdefault(name, at)
            if other != at:
                why = f"services and probes that select ports by name will use {other}"
                found.append(f'{at}: duplicate port name "{name}" with {other}, {why}')
    return found


def _overlap(port: JsonObject, other: JsonObject) -> str:
    here, there = (port.get("hostIP", ""), port.get("hostPort", 0)), (other.get("hostIP", ""), other.get("hostPort", 0))
    if here == there:
        return "duplicate"
    if here[1] == 0 or there[1] == 0:
        return "overlapping"
    if here[1] == there[1] and bool(here[0]) is not bool(there[0]):
        return "dangerously ambiguous"
    return ""


def _go_port(port: JsonObject) -> str:
    """As Go prints the structure."""
    names = ("name", "hostPort", "containerPort", "protocol", "hostIP")
    values = (port.get(name, 0 if name.endswith("Port") else "") for name in names)
    shown = (f"{name[0].upper()}{name[1:]}:{value}" for name, value in zip(names, values, strict=True))
    return f"{{{' '.join(shown)}}}"
