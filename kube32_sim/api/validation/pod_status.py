"""Validation of what is reported about a pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, forbidden_field, invalid_value, not_supported
from kube32_sim.api.validation import pod_shown
from kube32_sim.api.validation.names import dns1123_subdomain, ip_address, qualified_name, user_or_group_id
from kube32_sim.api.validation.pod_update import validate_annotation_changes
from kube32_sim.api.validation.workloads_common import immutable

JsonObject = dict[str, Any]

_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_LISTS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_HEALTH = ("Healthy", "Unhealthy", "Unknown")


def validate_pod_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Failures of a reported status."""
    found = validate_annotation_changes(new, old)
    status, before, spec = new.get("status", {}), old.get("status", {}), old["spec"]
    for index, condition in enumerate(status.get("conditions") or ()):
        kind = condition.get("type", "")
        if kind not in _SYSTEM_CONDITIONS:
            path = f"metadata.conditions[{index}].Type"
            found += [invalid_value(path, kind, why) for why in qualified_name(kind)]
    nominated = status.get("nominatedNodeName")
    if nominated and nominated != before.get("nominatedNodeName"):
        found += [invalid_value("status.nominatedNodeName", nominated, why) for why in dns1123_subdomain(nominated)]
    found += immutable(status.get("qosClass", ""), before.get("qosClass", ""), "status.qosClass")
    policy = spec.get("restartPolicy", "Always")
    for field in _LISTS[:2]:
        found += _validate_transitions(status, before, field, policy, spec)
    found += _validate_transitions(status, before, _LISTS[2], "Never", spec)
    found += _validate_claims(status.get("resourceClaimStatuses") or (), spec)
    found += _validate_addresses(status.get("podIPs") or (), "status.podIPs") + _validate_host_addresses(status)
    for field in _LISTS:
        found += _validate_users(status.get(field) or (), spec, f"status.{field}")
    for field, owners in zip(_LISTS[:2], ("containers", "initContainers"), strict=True):
        found += _validate_allocated(status.get(field) or (), spec.get(owners) or (), f"status.{field}")
    return found + [
        forbidden_field(f"status.{_LISTS[2]}[{index}].allocatedResourcesStatus", _NO_ALLOCATION)
        for index, each in enumerate(status.get(_LISTS[2]) or ())
        if each.get("allocatedResourcesStatus")
    ]


_NO_ALLOCATION = "must not be specified in container status"


def _validate_transitions(
    new: JsonObject, old: JsonObject, field: str, policy: str, spec: JsonObject
) -> list[FieldError]:
    """A container that ended and is not restarted stays ended."""
    if policy == "Always" or field not in old:
        return []
    sidecars = {each.get("name") for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"}
    own = {each.get("name"): each.get("restartPolicy") for each in spec.get("containers") or ()}
    running = {each.get("name") for each in new.get(field) or () if "terminated" not in (each.get("state") or {})}
    found: list[FieldError] = []
    for index, status in enumerate(old[field] or ()):
        ended = (status.get("state") or {}).get("terminated")
        name = status.get("name")
        rule = own.get(name) or policy
        if ended is None or name in sidecars or rule == "Always":
            continue
        if ended.get("exitCode", 0) != 0 and rule == "OnFailure":
            continue
        if name in running:
            why = "may not be transitioned to non-terminated state"
            found.append(forbidden_field(f"status.{field}[{index}].state", why))
    return found


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
            found += [invalid_value(at, status[claim], why) for why in dns1123_subdomain(status[claim])]
    return found


def _validate_addresses(addresses: Sequence[JsonObject], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    texts = [each.get("ip", "") for each in addresses]
    for index, text in enumerate(texts):
        found += [invalid_value(f"{path}[{index}]", text, why) for why in ip_address(text)]
    if len(texts) > 1 and not found:
        shown = pod_shown.addresses(addresses)
        if len(texts) > 2 or len({":" in text for text in texts}) != 2:
            found.append(invalid_value(path, shown, "may specify no more than one IP for each IP family"))
        found += [
            duplicate(f"{path}[{index}]", shown[index]) for index, text in enumerate(texts) if text in texts[:index]
        ]
    return found


def _validate_host_addresses(status: JsonObject) -> list[FieldError]:
    addresses = status.get("hostIPs")
    if not addresses:
        return []
    first = addresses[0].get("ip", "")
    found: list[FieldError] = []
    if first != status.get("hostIP", ""):
        found.append(invalid_value("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
    return found + _validate_addresses(addresses, "status.hostIPs")


def _validate_users(statuses: Sequence[JsonObject], spec: JsonObject, path: str) -> list[FieldError]:
    windows = (spec.get("os") or {}).get("name") == "windows"
    found: list[FieldError] = []
    for index, status in enumerate(statuses):
        user, at = (status.get("user") or {}).get("linux"), f"{path}[{index}].linux"
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
