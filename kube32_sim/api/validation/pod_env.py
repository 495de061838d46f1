"""Validation of environment variables: names, and the one source each may have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from kube32_sim.api.errors import FieldError, invalid_value, not_found_field, not_supported, required
from kube32_sim.api.quantity import parse
from kube32_sim.api.validation.names import (
    config_map_key,
    dns1123_label,
    dns1123_subdomain,
    environment_name,
    qualified_name,
)
from kube32_sim.api.validation.pod_mounts import validate_no_backsteps
from kube32_sim.api.validation.pod_windows import all_containers

JsonObject = dict[str, Any]

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_LABELS = (
    "spec.restartPolicy",
    "spec.schedulerName",
    "status.phase",
    "metadata.labels",
    "metadata.annotations",
    "spec.host",
)
"""Fields that the API knows as labels of a pod, beyond those a variable may show."""
_RESOURCES = tuple(
    sorted(f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage"))
)
_BYTES = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
_BYTE_DIVISORS = frozenset(_BYTES.split(", "))
_DIVISORS = {
    "cpu": (frozenset(("1m", "1")), "1m and 1", "cpu"),
    "memory": (_BYTE_DIVISORS, _BYTES, "memory"),
    "ephemeral-storage": (_BYTE_DIVISORS, _BYTES, "local ephemeral storage"),
    "hugepages": (_BYTE_DIVISORS, _BYTES, "hugepages"),
}


def validate_env(variables: Sequence[JsonObject], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, variable in enumerate(variables):
        name = variable.get("name")
        if not name:
            found.append(required(f"{path}[{index}].name"))
        elif reasons := environment_name(name):
            found += [invalid_value(f"{path}[{index}].name", name, why) for why in reasons]
        if "valueFrom" in variable:
            found += _validate_source(variable, f"{path}[{index}].valueFrom")
    return found


def _validate_source(variable: JsonObject, path: str) -> list[FieldError]:
    source = variable["valueFrom"] or {}
    found: list[FieldError] = []
    if "fieldRef" in source:
        found += validate_field_reference(source["fieldRef"], ENV_FIELDS, f"{path}.fieldRef")
    if "resourceFieldRef" in source:
        found += validate_resource_reference(source["resourceFieldRef"], False, f"{path}.resourceFieldRef")
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if kind in source:
            found += _validate_key_reference(source[kind], f"{path}.{kind}")
    if "fileKeyRef" in source:
        found += _validate_file_reference(source["fileKeyRef"], f"{path}.fileKeyRef")
    given = sum(1 for kind in _SOURCES if kind in source)
    if given == 0:
        choices = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        )
        found.append(invalid_value(path, "", choices))
    elif variable.get("value"):
        found.append(invalid_value(path, "", "may not be specified when `value` is not empty"))
    elif given > 1:
        found.append(invalid_value(path, "", "may not have more than one field specified at a time"))
    return found


def _validate_key_reference(reference: JsonObject, path: str) -> list[FieldError]:
    name, key = reference.get("name", ""), reference.get("key")
    found = [invalid_value(f"{path}.name", name, why) for why in dns1123_subdomain(name)]
    if not key:
        return [*found, required(f"{path}.key")]
    return found + [invalid_value(f"{path}.key", key, why) for why in config_map_key(key)]


def _validate_file_reference(reference: JsonObject, path: str) -> list[FieldError]:
    """A variable in a file of a volume."""
    found: list[FieldError] = []
    for field, rule in (("key", environment_name), ("volumeName", dns1123_label)):
        value = reference.get(field)
        if not value:
            found.append(required(f"{path}.{field}"))
        else:
            found += [invalid_value(f"{path}.{field}", value, why) for why in rule(value)]
    if not reference.get("path"):
        return [*found, required(f"{path}.path")]
    return found + validate_no_backsteps(reference["path"], f"{path}.path")


def validate_file_volumes(spec: JsonObject, path: str) -> list[FieldError]:
    """Files that variables come from are in empty directories of the pod."""
    found: list[FieldError] = []
    volumes: dict[str, JsonObject] | None = None
    for container, at in all_containers(spec, path):
        for index, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            if volumes is None:
                volumes = {volume.get("name", ""): volume for volume in spec.get("volumes") or ()}
            name, where = reference.get("volumeName", ""), f"{at}.env[{index}].valueFrom.fileKeyRef.volumeName"
            if name not in volumes:
                found.append(not_found_field(where, name))
            elif "emptyDir" not in volumes[name]:
                found.append(invalid_value(where, name, "referenced volume must be of type emptyDir"))
    return found


def validate_field_reference(reference: JsonObject, fields: Collection[str], path: str) -> list[FieldError]:
    """A reference to a field of the pod itself; `fields`: those that may be shown, sorted."""
    version, field = reference.get("apiVersion"), reference.get("fieldPath")
    if not version:
        return [required(f"{path}.apiVersion")]
    if not field:
        return [required(f"{path}.fieldPath")]
    if version != "v1":
        why = f"error converting fieldPath: unsupported pod version: {version}"
        return [invalid_value(f"{path}.fieldPath", field, why)]
    subscripted, bracket, key = field.removesuffix("']").partition("['")
    if subscripted and bracket and field.endswith("']"):
        return _validate_subscript(subscripted, key, field, path)
    if field in fields:
        return []
    if field not in ENV_FIELDS and field not in _LABELS:
        why = f"error converting fieldPath: field label not supported: {field}"
        return [invalid_value(f"{path}.fieldPath", field, why)]
    shown = "spec.nodeName" if field == "spec.host" else field
    return [] if shown in fields else [not_supported(f"{path}.fieldPath", shown, fields)]


def _validate_subscript(field: str, key: str, text: str, path: str) -> list[FieldError]:
    if field == "metadata.annotations":
        return [invalid_value(path, key.lower(), why) for why in qualified_name(key.lower())]
    if field == "metadata.labels":
        return [invalid_value(path, key, why) for why in qualified_name(key)]
    if field in ENV_FIELDS:
        return [invalid_value(path, field, "does not support subscript")]
    why = f"error converting fieldPath: field label does not support subscript: {text}"
    return [invalid_value(f"{path}.fieldPath", text, why)]


def validate_resource_reference(reference: JsonObject, in_volume: bool, path: str) -> list[FieldError]:
    """A reference to a container's request or limit; in a volume it names the container."""
    resource = reference.get("resource", "")
    found: list[FieldError] = []
    hugepages = resource.startswith(("limits.hugepages-", "requests.hugepages-"))
    if in_volume and not reference.get("containerName"):
        found.append(required(f"{path}.containerName"))
    elif not resource:
        found.append(required(f"{path}.resource"))
    elif resource not in _RESOURCES and not hugepages:
        found.append(not_supported(f"{path}.resource", resource, _RESOURCES))
    divisor = parse(reference.get("divisor", "0"))
    kind = "hugepages" if hugepages else resource.partition(".")[2]
    if divisor.nanos and kind in _DIVISORS:
        allowed, shown, name = _DIVISORS[kind]
        if divisor.text not in allowed:
            why = f"only divisor's values {shown} are supported with the {name} resource"
            found.append(invalid_value(f"{path}.divisor", resource, why))
    return found


def validate_env_from(sources: Sequence[JsonObject], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, source in enumerate(sources):
        at = f"{path}[{index}]"
        if prefix := source.get("prefix"):
            found += [invalid_value(f"{at}.prefix", prefix, why) for why in environment_name(prefix)]
        given = [kind for kind in ("configMapRef", "secretRef") if kind in source]
        for kind in given:
            found += _validate_object_name((source[kind] or {}).get("name"), f"{at}.{kind}.name")
        if not given:
            found.append(invalid_value(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            found.append(invalid_value(path, "", "may not have more than one field specified at a time"))
    return found


def _validate_object_name(name: str | None, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    return [invalid_value(path, name, why) for why in dns1123_subdomain(name, prefix=True)]
