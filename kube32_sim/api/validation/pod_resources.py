"""Validation of requests and limits: which resources there are, and how request and limit relate."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any

from kube32_sim.api.errors import (
    NOT_NEGATIVE,
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    not_found_field,
    not_supported,
    required,
)
from kube32_sim.api.quantity import Quantity, add, parse, parse_all
from kube32_sim.api.validation import pod_shown
from kube32_sim.api.validation.names import dns1123_label, dns1123_subdomain, qualified_name

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
_HUGE_PAGES = "hugepages-"
_NANOS = 1_000_000_000
_CLAIM_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")


def is_huge_page(name: str) -> bool:
    return name.startswith(_HUGE_PAGES)


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


WrongName = Callable[[str, str], list[FieldError]]


def _wrong_name(name: str, path: str) -> list[FieldError]:
    return [invalid_value(path, name, why) for why in _reasons(name)]


@lru_cache(maxsize=1024)
def _reasons(name: str) -> tuple[str, ...]:
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
        found.append(invalid_value(path, amount.text, NOT_NEGATIVE))
    if amount.nanos % _NANOS and (name in _INTEGERS or is_extended(name)):
        found.append(invalid_value(path, amount.text, "must be an integer"))
    return found


def validate_resources(
    resources: JsonObject, claims: Collection[str], path: str, wrong_name: WrongName = _wrong_name
) -> list[FieldError]:
    """Failures of a container's `resources`.  wrong_name: why a resource cannot be asked for here."""
    limits = parse_all(resources.get("limits"))
    requests = parse_all(resources.get("requests"))
    found: list[FieldError] = []
    for name, amount in limits.items():
        found += _validate_entry(name, amount, f"{path}.limits", wrong_name)
        found += _validate_pages(name, amount, f"{path}.limits")
    for name, amount in requests.items():
        found += _validate_entry(name, amount, f"{path}.requests", wrong_name)
        found += _validate_against_limit(name, amount, limits.get(name), path)
        found += _validate_pages(name, amount, f"{path}.requests")
    asked = limits.keys() | requests.keys()
    if any(is_huge_page(name) for name in asked) and not asked & {"cpu", "memory"}:
        found.append(forbidden_field(path, "HugePages require cpu or memory"))
    return found + _validate_claims(resources.get("claims") or (), claims, f"{path}.claims")


def _validate_entry(name: str, amount: Quantity, path: str, wrong_name: WrongName) -> list[FieldError]:
    at = f"{path}[{name}]"
    reasons = wrong_name(name, at)
    if not reasons and amount.nanos >= 0 and name in _CONTAINER_RESOURCES:
        return []
    return [*reasons, *validate_amount(name, amount, at)]


def _validate_pages(name: str, amount: Quantity, path: str) -> list[FieldError]:
    """Huge pages come whole."""
    if not is_huge_page(name):
        return []
    try:
        page = parse(name.removeprefix(_HUGE_PAGES))
    except ValueError:
        page = parse("0")
    if page.nanos > 0 and page.nanos % _NANOS == 0 and amount.value % page.value == 0:
        return []
    why = f"{amount.text} is not positive integer multiple of {name}"
    return [invalid_value(f"{path}[{name}]", amount.text, why)]


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
    """Which of the pod's resource claims a container uses, whole or one request of them, and none twice."""
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at, name = f"{path}[{index}]", claim.get("name", "")
        if not name:
            found.append(required(at))
            continue
        found += _validate_claim(name, claim.get("request", ""), seen, at)
        if name not in known:
            where = f": {', '.join(sorted(known))}" if known else " which is empty"
            why = f"must be one of the names in pod.spec.resourceClaims{where}"
            missing = not_found_field(at, name)
            found.append(FieldError(missing.reason, at, f"{missing.message}: {why}"))
    return found


def _validate_claim(name: str, request: str, seen: set[str], path: str) -> list[FieldError]:
    if name in seen:
        return [duplicate(path, name)]
    found: list[FieldError] = []
    key = name
    if request:
        found += [invalid_value(f"{path}.request", request, why) for why in dns1123_label(request)]
        key = f"{name}/{request}"
        found += [duplicate(path, key)] if key in seen else []
    else:
        found += [duplicate(path, name) for other in seen if other.partition("/")[0] == name]
    seen.add(key)
    return found


def validate_pod_resource_claims(claims: Collection[JsonObject], path: str) -> list[FieldError]:
    """Failures of `spec.resourceClaims`: names of their own, and one claim or template each."""
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at, name = f"{path}[{index}]", claim.get("name", "")
        sources = [field for field in _CLAIM_SOURCES if claim.get(field) is not None]
        if not name:
            found.append(required(f"{at}.name"))
        elif name in seen:
            found.append(duplicate(f"{at}.name", name))
        else:
            found += [invalid_value(f"{at}.name", name, why) for why in dns1123_label(name)]
            seen.add(name)
        if len(sources) != 1:
            named = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            unnamed = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            found.append(invalid_value(at, pod_shown.resource_claim(claim), named if sources else unnamed))
        for field in sources:
            found += [invalid_value(f"{at}.{field}", claim[field], why) for why in dns1123_subdomain(claim[field])]
    return found


def validate_pod_resources(spec: JsonObject, path: str) -> list[FieldError]:
    """Failures of `spec.resources`, which bounds what all containers together ask for."""
    resources = spec["resources"]
    found: list[FieldError] = []
    if resources.get("claims") is not None:
        found.append(forbidden_field(f"{path}.claims", "claims cannot be set for Resources at pod-level"))
    found += validate_resources(
        {key: resources[key] for key in ("limits", "requests") if key in resources}, (), path, _not_for_pods
    )
    requests, limits = parse_all(resources.get("requests")), parse_all(resources.get("limits"))
    asked = aggregate(spec, "requests")
    for name, amount in requests.items():
        if name in asked and asked[name].nanos > amount.nanos:
            why = f"must be greater than or equal to aggregate container requests of {asked[name].text}"
            found.append(invalid_value(f"{path}.requests[{name}]", amount.text, why))
    for index, container in enumerate(spec.get("containers") or ()):
        for name, amount in parse_all((container.get("resources") or {}).get("limits")).items():
            if name in limits and amount.nanos > limits[name].nanos:
                why = f"must be less than or equal to pod limits of {limits[name].text}"
                found.append(invalid_value(f"{path}.containers[{index}][{name}].limits", amount.text, why))
    return found


def _not_for_pods(name: str, path: str) -> list[FieldError]:
    reasons = list(qualified_name(name))
    if not reasons and "/" not in name and name not in _STANDARD_RESOURCES and not is_huge_page(name):
        reasons.append("must be a standard resource type or fully qualified")
    if reasons:
        return [invalid_value(path, name, why) for why in reasons]
    return [] if is_pod_level(name) else [not_supported(path, name, ("cpu", _HUGE_PAGES, "memory"))]


def is_pod_level(name: str) -> bool:
    """Whether the pod as a whole can ask for it."""
    return name in ("cpu", "memory") or is_huge_page(name)


def aggregate(spec: JsonObject, kind: str) -> dict[str, Quantity]:
    """What the containers ask for together; an init container counts where it needs more than those beside it."""
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, kind))
    beside: dict[str, Quantity] = {}
    most: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        together = dict(beside)
        _add(together, _amounts(container, kind))
        _raise(most, together)
        if container.get("restartPolicy") == "Always":
            beside = together
    _add(total, beside)
    _raise(total, most)
    return total


def _amounts(container: JsonObject, kind: str) -> dict[str, Quantity]:
    return parse_all((container.get("resources") or {}).get(kind))


def _add(total: dict[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        total[name] = add(total[name], amount) if name in total else amount


def _raise(total: dict[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        if name not in total or total[name].nanos < amount.nanos:
            total[name] = amount
