"""Validation of what is reported about a pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, forbidden_field, invalid_value, not_supported, required
from kube32_sim.api.validation import pod_shown
from kube32_sim.api.validation.addresses import ip_errors, ip_warnings
from kube32_sim.api.validation.names import (
    dns1123_label,
    dns1123_subdomain,
    qualified_name,
    user_or_group_id,
)
from kube32_sim.api.validation.pod_update import validate_annotation_changes
from kube32_sim.api.validation.workloads_common import immutable

JsonObject = dict[str, Any]

_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_LISTS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_OWNERS = ("containers", "initContainers")
_HEALTH = ("Healthy", "Unhealthy", "Unknown")


def validate_pod_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Failures of a reported status."""
    found = validate_annotation_changes(new, old)
    status, before, spec = new.get("status", {}), old.get("status", {}), old["spec"]
    for index, condition in enumerate(status.get("conditions") or ()):
        kind, at = condition.get("type", ""), f"status.conditions[{index}]"
        found += _validate_generation(condition, at)
        if kind not in _SYSTEM_CONDITIONS:
            found += [invalid_value(f"{at}.Type", kind, why) for why in qualified_name(kind)]
    nominated = status.get("nominatedNodeName")
    if nominated and nominated != before.get("nominatedNodeName"):
        found += [invalid_value("status.nominatedNodeName", nominated, why) for why in dns1123_subdomain(nominated)]
        if spec.get("nodeName"):
            why = "may not be set on pods that are already bound to a node"
            found.append(forbidden_field("status.nominatedNodeName", why))
    found += _validate_generation(status, "status")
    found += immutable(status.get("qosClass", ""), before.get("qosClass", ""), "status.qosClass")
    for field, owners in zip(_LISTS[:2], _OWNERS, strict=True):
        if not any_restarts_all(spec):
            found += _validate_transitions(status, before, field, spec, owners)
    found += _validate_transitions(status, before, _LISTS[2], spec, "")
    found += _validate_claims(status.get("resourceClaimStatuses") or (), spec)
    if (claim := status.get("extendedResourceClaimStatus")) is not None:
        found += _validate_extended_claim(claim, spec)
    found += _validate_addresses(status.get("podIPs") or (), before.get("podIPs") or (), "status.podIPs")
    found += _validate_host_addresses(status, before)
    for field in _LISTS:
        found += _validate_users(status.get(field) or (), spec, f"status.{field}")
    for field, owners in zip(_LISTS[:2], _OWNERS, strict=True):
        found += _validate_allocated(status.get(field) or (), spec.get(owners) or (), f"status.{field}")
    return found + [
        forbidden_field(f"status.{_LISTS[2]}[{index}].allocatedResourcesStatus", _NO_ALLOCATION)
        for index, each in enumerate(status.get(_LISTS[2]) or ())
        if each.get("allocatedResourcesStatus")
    ]


_NO_ALLOCATION = "must not be specified in container status"


def pod_status_warnings(pod: JsonObject) -> list[str]:
    """Warnings about the addresses that are reported of a pod."""
    return [
        text
        for field in ("podIPs", "hostIPs")
        for index, each in enumerate(pod.get("status", {}).get(field) or ())
        for text in ip_warnings(each.get("ip", ""), f"status.{field}[{index}].ip")
    ]


def _validate_generation(reported: JsonObject, path: str) -> list[FieldError]:
    generation = reported.get("observedGeneration", 0)
    if generation >= 0:
        return []
    return [invalid_value(f"{path}.observedGeneration", generation, "must be a non-negative integer")]


def _validate_transitions(
    new: JsonObject, old: JsonObject, field: str, spec: JsonObject, owners: str
) -> list[FieldError]:
    """A container that ended and is not restarted stays ended; `owners`: the field of the spec that has it."""
    containers: dict[str, JsonObject] = {}
    for each in spec.get(owners) or ():
        containers.setdefault(each.get("name", ""), each)
    running = {each.get("name", "") for each in new.get(field) or () if "terminated" not in (each.get("state") or {})}
    found: list[FieldError] = []
    for index, status in enumerate(old.get(field) or ()):
        ended = (status.get("state") or {}).get("terminated")
        name = status.get("name", "")
        if ended is None or name not in running:
            continue
        container = containers.get(name)
        if container is None or not restarts(container, spec, ended.get("exitCode", 0)):
            why = "may not be transitioned to non-terminated state"
            found.append(forbidden_field(f"status.{field}[{index}].state", why))
    return found


def any_restarts_all(spec: JsonObject) -> bool:
    """Whether the end of some container may restart all of them."""
    return any(
        rule.get("action") == "RestartAllContainers"
        for field in _OWNERS
        for container in spec.get(field) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def restarts(container: JsonObject, spec: JsonObject, code: int) -> bool:
    """Whether a container is started again after that exit code: by its rules, its own policy, or the pod's."""
    policy = container.get("restartPolicy")
    if policy:
        for rule in container.get("restartPolicyRules") or ():
            codes = rule.get("exitCodes") or {}
            if (code in (codes.get("values") or ())) is (codes.get("operator") == "In"):
                return True
    policy = policy or spec.get("restartPolicy", "Always")
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _validate_claims(statuses: Sequence[JsonObject], spec: JsonObject) -> list[FieldError]:
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, status in enumerate(statuses):
        at, name, claim = f"status.resourceClaimStatuses[{index}].name", status.get("name", ""), "resourceClaimName"
        if name not in known:
            found.append(invalid_value(at, name, "must match the name of an entry in `spec.resourceClaims`"))
        if name in seen:
            found.append(duplicate(at, name))
        seen.add(name)
        if status.get(claim) is not None:
            at = f"status.resourceClaimStatuses[{index}].{claim}"
            found += [invalid_value(at, status[claim], why) for why in dns1123_subdomain(status[claim])]
    return found


def _validate_extended_claim(status: JsonObject, spec: JsonObject) -> list[FieldError]:
    """The claim that stands for extended resources: which request of it is whose."""
    path, mappings = "status.extendedResourceClaimStatus", status.get("requestMappings") or ()
    found = [] if mappings else [required(f"{path}.requestMappings", "at least one request mapping is required")]
    containers = {each.get("name", ""): each for field in reversed(_OWNERS) for each in spec.get(field) or ()}
    seen: set[tuple[str, ...]] = set()
    for index, mapping in enumerate(mappings):
        at = f"{path}.requestMappings[{index}]"
        key = tuple(mapping.get(field, "") for field in _MAPPED)
        container = containers.get(key[0])
        if container is None:
            found.append(invalid_value(f"{at}.containerName", key[0], _NO_CONTAINER))
        elif key[1] not in ((container.get("resources") or {}).get("requests") or {}):
            found.append(invalid_value(f"{at}.resourceName", key[1], _NO_REQUEST))
        found += [invalid_value(f"{path}.requestName", key[2], why) for why in dns1123_label(key[2])]
        if key in seen:
            found += [duplicate(f"{at}.{field}", value) for field, value in zip(_MAPPED, key, strict=True)]
        seen.add(key)
    at, name = f"{path}.resourceClaimName", status.get("resourceClaimName", "")
    if not name:
        return [*found, required(at)]
    return found + [invalid_value(at, name, why) for why in dns1123_subdomain(name)]


_MAPPED = ("containerName", "resourceName", "requestName")
_NO_CONTAINER = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
_NO_REQUEST = (
    "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
    "spec.containers.resources.requests"
)


def _validate_addresses(addresses: Sequence[JsonObject], old: Sequence[JsonObject], path: str) -> list[FieldError]:
    """One address of a family; one that is none may stay where it was."""
    found: list[FieldError] = []
    texts, kept = [each.get("ip", "") for each in addresses], {each.get("ip", "") for each in old}
    for index, text in enumerate(texts):
        if text not in kept:
            found += ip_errors(text, f"{path}[{index}]")
    if len(texts) > 2 or (len(texts) > 1 and not found and len({":" in text for text in texts}) != 2):
        why = "may specify no more than one IP for each IP family"
        found.append(invalid_value(path, pod_shown.addresses(addresses), why))
    return found


def _validate_host_addresses(status: JsonObject, old: JsonObject) -> list[FieldError]:
    addresses = status.get("hostIPs")
    if not addresses:
        return []
    first = addresses[0].get("ip", "")
    found: list[FieldError] = []
    if first != status.get("hostIP", ""):
        found.append(invalid_value("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
    return found + _validate_addresses(addresses, old.get("hostIPs") or (), "status.hostIPs")


def _validate_users(statuses: Sequence[JsonObject], spec: JsonObject, path: str) -> list[FieldError]:
    windows = (spec.get("os") or {}).get("name") == "windows"
    found: list[FieldError] = []
    for index, status in enumerate(statuses):
        user, at = (status.get("user") or {}).get("linux"), f"{path}[{index}].user.linux"
        if user is not None and windows:
            found.append(forbidden_field(at, "cannot be set for a windows pod"))
        elif user is not None:
            found += [
                invalid_value(where, number, why)
                for where, number in _ids(user, at)
                for why in user_or_group_id(number)
            ]
    return found


def _ids(user: JsonObject, path: str) -> Iterator[tuple[str, int]]:
    for field in ("uid", "gid"):
        yield f"{path}.{field}", user.get(field, 0)
    for index, group in enumerate(user.get("supplementalGroups") or ()):
        yield f"{path}.supplementalGroups[{index}]", group


def _validate_allocated(
    statuses: Sequence[JsonObject], containers: Sequence[JsonObject], path: str
) -> list[FieldError]:
    """The health of resources that a container has, by the names it asked for them."""
    by_name = {container.get("name", ""): container for container in containers}
    found: list[FieldError] = []
    for index, status in enumerate(statuses):
        container = by_name.get(status.get("name", ""))
        for number, resource in enumerate(status.get("allocatedResourcesStatus") or ()):
            at = f"{path}[{index}].allocatedResourcesStatus[{number}]"
            if container is not None:
                found += _validate_asked_for(resource.get("name", ""), container, f"{at}.name")
            found += _validate_health(resource.get("resources") or (), f"{at}.resources")
    return found


def _validate_asked_for(name: str, container: JsonObject, path: str) -> list[FieldError]:
    resources = container.get("resources") or {}
    if name.startswith("claim:"):
        known = {
            f"claim:{claim.get('name', '')}" + (f"/{claim['request']}" if claim.get("request") else "")
            for claim in resources.get("claims") or ()
        }
        why = (
            "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "
            "'claim:<claimName>' if request is empty"
        )
    else:
        known, why = set(resources.get("requests") or ()), "must match one of the container's resource requests"
    return [] if name in known else [invalid_value(path, name, why)]


def _validate_health(resources: Sequence[JsonObject], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, resource in enumerate(resources):
        health, identifier = resource.get("health", ""), resource.get("resourceID", "")
        if health not in _HEALTH:
            found.append(not_supported(f"{path}[{index}].health", health, _HEALTH))
        if identifier in seen:
            found.append(duplicate(f"{path}[{index}].resourceID", identifier))
        seen.add(identifier)
    return found
