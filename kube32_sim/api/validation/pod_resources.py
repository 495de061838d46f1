"""Validation of requests and limits: which resources there are, and how request and limit relate."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, forbidden_field, invalid_value, not_found_field, required
from kube32_sim.api.quantity import Quantity, add, parse
from kube32_sim.api.validation.names import qualified_name

JsonObject = dict[str, Any]

_CONTAINER_RESOURCES = frozenset(("cpu", "memory", "ephemeral-storage"))
_COUNTED = (
    "pods resourcequotas services replicationcontrollers secrets configmaps persistentvolumeclaims "
    "services.nodeports services.loadbalancers"
)
_QUOTA = (
    "requests.cpu requests.memory requests.ephemeral-storage limits.cpu limits.memory limits.ephemeral-storage storage "
    "requests.storage"
)
_INTEGERS = frozenset(_COUNTED.split())
_STANDARD_RESOURCES = _CONTAINER_RESOURCES | _INTEGERS | frozenset(_QUOTA.split())
_NOT_NEGATIVE = "must be greater than or equal to 0"
_NANOS = 1_000_000_000


def is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")


def is_native(name: str) -> bool:
    """One of Kubernetes' own: without a domain, or in one of its domains."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    return not is_native(name) and not name.startswith("requests.") and not qualified_name(f"requests.{name}")


_BOARD_DOMAINS = ("esp32.io/", "esp.io/", "hardware.kube32.io/")
"""kube32's own resources: pods may ask for them in requests alone, as its scheduler reads them."""


def overcommits(name: str) -> bool:
    """Whether a container may be limited to more than it asks for, or not at all."""
    return (is_native(name) and not is_huge_page(name)) or name.startswith(_BOARD_DOMAINS)


@lru_cache(maxsize=1024)
def _wrong_name(name: str) -> tuple[str, ...]:
    """Why a container cannot ask for a resource of this name."""
    reasons = list(qualified_name(name))
    if not reasons and "/" not in name and name not in _STANDARD_RESOURCES and not is_huge_page(name):
        reasons.append("must be a standard resource type or fully qualified")
    if "/" not in name:
        if name not in _CONTAINER_RESOURCES and not is_huge_page(name):
            reasons.append("must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        reasons.append("doesn't follow extended resource name standard")
    return tuple(reasons)


def validate_amount(name: str, amount: Quantity, path: str) -> list[FieldError]:
    """A quantity of a resource: not negative, and whole where the resource is counted."""
    found: list[FieldError] = []
    if amount.nanos < 0:
        found.append(invalid_value(path, amount.text, _NOT_NEGATIVE))
    if amount.nanos % _NANOS and (name in _INTEGERS or is_extended(name)):
        found.append(invalid_value(path, amount.text, "must be an integer"))
    return found


def validate_resources(resources: JsonObject, claims: Collection[str], path: str) -> list[FieldError]:
    """Failures of a container's `resources`."""
    limits = _parsed(resources.get("limits"))
    requests = _parsed(resources.get("requests"))
    found: list[FieldError] = []
    for name, amount in limits.items():
        found += _validate_entry(name, amount, f"{path}.limits")
    for name, amount in requests.items():
        found += _validate_entry(name, amount, f"{path}.requests")
        found += _validate_against_limit(name, amount, limits.get(name), path)
    asked = limits.keys() | requests.keys()
    if any(is_huge_page(name) for name in asked) and not asked & {"cpu", "memory"}:
        found.append(forbidden_field(path, "HugePages require cpu or memory"))
    return found + _validate_claims(resources.get("claims") or (), claims, f"{path}.claims")


def _parsed(amounts: Mapping[str, str] | None) -> dict[str, Quantity]:
    return {name: parse(amounts[name]) for name in sorted(amounts)} if amounts else {}


def _validate_entry(name: str, amount: Quantity, path: str) -> list[FieldError]:
    reasons = _wrong_name(name)
    if not reasons and amount.nanos >= 0 and name in _CONTAINER_RESOURCES:
        return []
    at = f"{path}[{name}]"
    return [invalid_value(at, name, why) for why in reasons] + validate_amount(name, amount, at)


def _validate_against_limit(name: str, request: Quantity, limit: Quantity | None, path: str) -> list[FieldError]:
    if limit is None:
        if overcommits(name):
            return []
        return [required(f"{path}.limits", "Limit must be set for non overcommitable resources")]
    if request.nanos != limit.nanos and not overcommits(name):
        why = f"must be equal to {name} limit of {limit.text}"
    elif request.nanos > limit.nanos:
        why = f"must be less than or equal to {name} limit of {limit.text}"
    else:
        return []
    return [invalid_value(f"{path}.requests", request.text, why)]


def _validate_claims(claims: Collection[JsonObject], known: Collection[str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, claim in enumerate(claims):
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            found.append(required(f"{path}[{index}].name"))
        elif (name, request) in seen:
            found.append(duplicate(f"{path}[{index}]", f"{name}/{request}" if request else name))
        elif name not in known:
            found.append(not_found_field(f"{path}[{index}].name", name))
        seen.add((name, request))
    return found


def validate_pod_resources(spec: JsonObject, path: str) -> list[FieldError]:
    """Failures of `spec.resources`, which bounds what all containers together ask for."""
    resources = spec["resources"]
    found: list[FieldError] = []
    if resources.get("claims"):
        found.append(forbidden_field(f"{path}.claims", "claims cannot be set for Resources at pod-level"))
    found += validate_resources({key: resources[key] for key in ("limits", "requests") if key in resources}, (), path)
    requests, limits = _parsed(resources.get("requests")), _parsed(resources.get("limits"))
    for name, amount in requests.items():
        total = _asked_for(spec.get("containers") or (), name)
        if total.nanos > amount.nanos:
            why = f"must be greater than or equal to aggregate container requests of {total.text}"
            found.append(invalid_value(f"{path}.requests[{name}]", amount.text, why))
    for index, container in enumerate(spec.get("containers") or ()):
        for name, amount in _parsed((container.get("resources") or {}).get("limits")).items():
            if name in limits and amount.nanos > limits[name].nanos:
                why = f"must be less than or equal to pod limits of {limits[name].text}"
                found.append(invalid_value(f"{path}.containers[{index}][{name}].limits", amount.text, why))
    return found


def _asked_for(containers: Collection[JsonObject], name: str) -> Quantity:
    total = parse("0")
    for container in containers:
        requests = (container.get("resources") or {}).get("requests") or {}
        if name in requests:
            total = add(total, parse(requests[name]))
    return total
