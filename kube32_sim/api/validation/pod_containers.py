"""Validation of the containers of a pod or template: ordinary, init and ephemeral ones.

Order and wording follow upstream's `validateContainers` and its relatives.  What a container mounts is checked in
`pod_mounts`, its probes and hooks in `pod_probes`, what it asks for in `pod_resources`, its security context in
`pod_security`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kube32_sim.api.errors import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    not_found_field,
    not_supported,
    required,
    too_many,
)
from kube32_sim.api.validation.names import dns1123_label, port_name, port_number
from kube32_sim.api.validation.pod_env import validate_env, validate_env_from
from kube32_sim.api.validation.pod_mounts import validate_devices, validate_mounts
from kube32_sim.api.validation.pod_probes import PROBES, validate_lifecycle, validate_probe
from kube32_sim.api.validation.pod_resources import validate_resources
from kube32_sim.api.validation.pod_security import validate_container_security
from kube32_sim.api.validation.workloads_common import PROTOCOLS

JsonObject = dict[str, Any]

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_NOT_FOR_INIT = "may not be set for init containers without restartPolicy=Always"
_NOT_FOR_EPHEMERAL = "cannot be set for an Ephemeral Container"
_NEVER_EPHEMERAL = (
    "ports resources resizePolicy restartPolicy restartPolicyRules livenessProbe readinessProbe startupProbe lifecycle"
)
"""Fields that an ephemeral container cannot have, in the order of Go's structure."""
_MOST_RULES = 20
_RESTART = "RestartContainer"
_NO_RESTART_OF_INIT = "must not be set to 'RestartContainer' for non-sidecar initContainers"
_MOST_EXIT_CODES = 255


@dataclass(frozen=True, slots=True)
class Scope:
    """What of the pod its containers are checked against.

    volumes: volume by name.  claims: names of its resource claims.  grace: its termination grace period.
    """

    volumes: Mapping[str, JsonObject]
    claims: frozenset[str]
    grace: int | None
    restart_policy: str
    host_users: bool


def choice(value: str | None, supported: Sequence[str], path: str) -> list[FieldError]:
    """Failures of a field that must be one of some words."""
    if value in supported:
        return []
    return [not_supported(path, value, supported)] if value else [required(path)]


def validate_containers(containers: Sequence[JsonObject], scope: Scope, path: str) -> list[FieldError]:
    if not containers:
        return [required(path)]
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, container in enumerate(containers):
        at = f"{path}[{index}]"
        found += validate_container(container, scope, at)
        name = container.get("name", "")
        if name in seen:
            found.append(duplicate(f"{at}.name", name))
        seen.add(name)
        found += _validate_hooks(container, scope, at)
        found += _validate_restart_policy(container, at)
    return found + host_port_conflicts(containers, path)


def _validate_restart_policy(container: JsonObject, path: str) -> list[FieldError]:
    """A container's own restartPolicy, with rules that say when it applies."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    found: list[FieldError] = []
    if policy is None:
        if rules:
            why = "must specify restartPolicy when restart rules are used"
            found.append(required(f"{path}.restartPolicy", why))
    elif policy not in ("Always", "Never", "OnFailure"):
        found.append(not_supported(f"{path}.restartPolicy", policy, ("Always", "Never", "OnFailure")))
    if len(rules) > _MOST_RULES:
        found.append(too_many(f"{path}.restartPolicyRules", len(rules), _MOST_RULES))
    for index, rule in enumerate(rules):
        found += _validate_restart_rule(rule, f"{path}.restartPolicyRules[{index}]")
    return found


def _validate_restart_rule(rule: JsonObject, path: str) -> list[FieldError]:
    action, codes = rule.get("action", ""), rule.get("exitCodes")
    found: list[FieldError] = []
    if action not in ("Restart", "RestartAllContainers"):
        found.append(not_supported(f"{path}.action", action, ("Restart", "RestartAllContainers")))
    if codes is None:
        return [*found, required(f"{path}.exitCodes", "must be specified")]
    operator, values = codes.get("operator", ""), codes.get("values") or ()
    if operator not in ("In", "NotIn"):
        found.append(not_supported(f"{path}.exitCodes.operator", operator, ("In", "NotIn")))
    if len(values) > _MOST_EXIT_CODES:
        found.append(too_many(f"{path}.exitCodes.values", len(values), _MOST_EXIT_CODES))
    return found


def validate_init_containers(
    containers: Sequence[JsonObject], ordinary: Iterable[JsonObject], scope: Scope, path: str
) -> list[FieldError]:
    found: list[FieldError] = []
    seen = {container.get("name", "") for container in ordinary}
    for index, container in enumerate(containers):
        at = f"{path}[{index}]"
        found += validate_container(container, scope, at)
        found += _validate_restart_policy(container, at)
        name = container.get("name", "")
        if name in seen:
            found.append(duplicate(f"{at}.name", name))
        elif name:
            seen.add(name)
        found += host_port_conflicts([container], path)
        if container.get("restartPolicy") == "Always":
            found += _validate_hooks(container, scope, at)
        else:
            found += [
                forbidden_field(f"{at}.{field}", _NOT_FOR_INIT)
                for field in ("lifecycle", *PROBES)
                if field in container
            ]
            found += [
                invalid_value(f"{at}.resizePolicy[{number}].restartPolicy", _RESTART, _NO_RESTART_OF_INIT)
                for number, policy in enumerate(container.get("resizePolicy") or ())
                if policy.get("restartPolicy") == _RESTART
            ]
    return found


def validate_ephemeral_containers(
    containers: Sequence[JsonObject], others: Iterable[JsonObject], scope: Scope, path: str
) -> list[FieldError]:
    found: list[FieldError] = []
    other_names = {container.get("name", "") for container in others}
    seen = set(other_names)
    for index, container in enumerate(containers):
        at = f"{path}[{index}]"
        found += validate_container(container, scope, at)
        found += validate_image_text(container, at)
        name = container.get("name", "")
        if name in seen:
            found.append(duplicate(f"{at}.name", name))
        seen.add(name)
        target = container.get("targetContainerName")
        if target and target not in other_names:
            found.append(not_found_field(f"{at}.targetContainerName", target))
        found += _validate_ephemeral_fields(container, at)
    return found


def _validate_ephemeral_fields(container: JsonObject, path: str) -> list[FieldError]:
    found = [
        forbidden_field(f"{path}.{field}", _NOT_FOR_EPHEMERAL)
        for field in _NEVER_EPHEMERAL.split()
        if container.get(field) or (field in container and field != "resources")
    ]
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        found += [
            forbidden_field(f"{path}.volumeMounts[{index}].{field}", _NOT_FOR_EPHEMERAL)
            for field in ("subPath", "subPathExpr")
            if mount.get(field)
        ]
    return found


def validate_container(container: JsonObject, scope: Scope, path: str) -> list[FieldError]:
    """What holds for every container, whatever list it is in."""
    found: list[FieldError] = []
    name = container.get("name")
    if not name:
        found.append(required(f"{path}.name"))
    elif reasons := dns1123_label(name):
        found += [invalid_value(f"{path}.name", name, why) for why in reasons]
    if not container.get("image"):
        found.append(required(f"{path}.image"))
    if container.get("terminationMessagePolicy") not in MESSAGE_POLICIES:
        policy = container.get("terminationMessagePolicy")
        found += choice(policy, MESSAGE_POLICIES, f"{path}.terminationMessagePolicy")
    if ports := container.get("ports"):
        found += validate_ports(ports, f"{path}.ports")
    if variables := container.get("env"):
        found += validate_env(variables, f"{path}.env")
    if sources := container.get("envFrom"):
        found += validate_env_from(sources, f"{path}.envFrom")
    if mounts := container.get("volumeMounts"):
        found += validate_mounts(mounts, container, scope.volumes, f"{path}.volumeMounts")
    if devices := container.get("volumeDevices"):
        found += validate_devices(devices, container, scope.volumes, f"{path}.volumeDevices")
    if container.get("imagePullPolicy") not in PULL_POLICIES:
        found += choice(container.get("imagePullPolicy"), PULL_POLICIES, f"{path}.imagePullPolicy")
    if resources := container.get("resources"):
        found += validate_resources(resources, scope.claims, f"{path}.resources")
    if policies := container.get("resizePolicy"):
        found += _validate_resize_policy(policies, scope.restart_policy, f"{path}.resizePolicy")
    if security := container.get("securityContext"):
        found += validate_container_security(security, scope.host_users, f"{path}.securityContext")
    return found


def validate_image_text(container: JsonObject, path: str) -> list[FieldError]:
    """Only pods, not templates, are refused an image with blanks around it."""
    image = container.get("image", "")
    if image == image.strip():
        return []
    return [invalid_value(f"{path}.image", image, "must not have leading or trailing whitespace")]


def _validate_hooks(container: JsonObject, scope: Scope, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if lifecycle := container.get("lifecycle"):
        found += validate_lifecycle(lifecycle, scope.grace, f"{path}.lifecycle")
    for kind in PROBES:
        if kind in container:
            found += validate_probe(kind, container[kind], f"{path}.{kind}")
    return found


def validate_ports(ports: Sequence[JsonObject], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        if name := port.get("name"):
            if reasons := port_name(name):
                found += [invalid_value(f"{at}.name", name, why) for why in reasons]
            elif name in names:
                found.append(duplicate(f"{at}.name", name))
            names.add(name)
        number = port.get("containerPort", 0)
        if number == 0:
            found.append(required(f"{at}.containerPort"))
        else:
            found += [invalid_value(f"{at}.containerPort", number, why) for why in port_number(number)]
        if host := port.get("hostPort"):
            found += [invalid_value(f"{at}.hostPort", host, why) for why in port_number(host)]
        if port.get("protocol") not in PROTOCOLS:
            found += choice(port.get("protocol"), PROTOCOLS, f"{at}.protocol")
    return found


def host_port_conflicts(containers: Iterable[JsonObject], path: str) -> list[FieldError]:
    """A port of the host can be taken once by a protocol and address."""
    found: list[FieldError] = []
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in taken:
                found.append(duplicate(f"{path}[{index}].ports[{number}].hostPort", key))
            taken.add(key)
    return found


def _validate_resize_policy(policies: Sequence[JsonObject], restart_policy: str, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            found.append(duplicate(f"{path}[{index}]", resource))
        seen.add(resource)
        found += choice(resource, ("cpu", "memory"), path)
        found += choice(restart, ("NotRequired", _RESTART), path)
        if restart_policy == "Never" and restart != "NotRequired":
            found.append(invalid_value(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
    return found
