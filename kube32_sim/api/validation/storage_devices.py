"""Validation of resource.k8s.io: claims on devices, their classes, the slices that offer them.

Rules and words are upstream's `pkg/apis/resource/validation`.  Expressions are not compiled, only taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kube32_sim.api.errors import (
    FieldError,
    duplicate,
    invalid_value,
    not_supported,
    required,
    too_long,
    too_many,
)
from kube32_sim.api.validation import names
from kube32_sim.api.validation.pod_scheduling import validate_node_selector
from kube32_sim.api.validation.storage_sources import driver_name
from kube32_sim.api.validation.workloads_common import immutable

JsonObject = dict[str, Any]
Check = Callable[[Any, str], list[FieldError]]

_MOST = 32
"""Of requests, selectors, constraints, settings each."""

_MOST_ALTERNATIVES = 8
_MOST_DEVICES = 128
_LONGEST_EXPRESSION = 10 * 1024
_LONGEST_POOL = 253
_ONE_OF = "exactly one of `exactly` or `firstAvailable` is required"
_NO_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"


def _each(items: Sequence[Any], most: int, check: Check, path: str) -> list[FieldError]:
    found = [too_many(path, len(items), most)] if len(items) > most else []
    for index, item in enumerate(items):
        found += check(item, f"{path}[{index}]")
    return found


def _set(items: Sequence[Any], most: int, check: Check, key: Callable[[Any], str], path: str) -> list[FieldError]:
    """A list in which no key comes twice."""
    seen: set[str] = set()

    def check_once(item: Any, at: str) -> list[FieldError]:
        found, name = check(item, at), key(item)
        if name in seen:
            found.append(duplicate(at, name))
        seen.add(name)
        return found

    return _each(items, most, check_once, path)


def _name_of(item: JsonObject) -> str:
    return str(item.get("name", ""))


def validate_device_claim(spec: JsonObject, path: str = "spec") -> list[FieldError]:
    devices, at = spec.get("devices") or {}, f"{path}.devices"
    requests = devices.get("requests") or []
    known = {_name_of(each): {_name_of(sub) for sub in each.get("firstAvailable") or ()} for each in requests}
    known_names = {*known, *(f"{name}/{sub}" for name, subs in known.items() for sub in subs)}

    def reference(name: str, where: str) -> list[FieldError]:
        parts = name.split("/")
        if len(parts) > 2:
            return [invalid_value(where, name, _NO_REQUEST)]
        found = [error for part in parts for error in _label(part, where)]
        return found if name in known_names else [*found, invalid_value(where, name, _NO_REQUEST)]

    def constraint(item: JsonObject, where: str) -> list[FieldError]:
        found = _set(item.get("requests") or [], _MOST, reference, str, f"{where}.requests")
        if not item.get("matchAttribute") and not item.get("distinctAttribute"):
            found.append(required(f"{where}.matchAttribute"))
        return found

    def setting(item: JsonObject, where: str) -> list[FieldError]:
        return _set(item.get("requests") or [], _MOST, reference, str, f"{where}.requests") + _opaque(item, where)

    found = _set(requests, _MOST, _request, _name_of, f"{at}.requests")
    found += _each(devices.get("constraints") or [], _MOST, constraint, f"{at}.constraints")
    return found + _each(devices.get("config") or [], _MOST, setting, f"{at}.config")


def _label(name: str, path: str) -> list[FieldError]:
    return [invalid_value(path, name, why) for why in names.dns1123_label(name)]


def _request(request: JsonObject, path: str) -> list[FieldError]:
    found = _label(_name_of(request), f"{path}.name")
    exact, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    if exact is None and not alternatives:
        found.append(required(path, _ONE_OF))
    elif exact is not None and alternatives:
        found.append(invalid_value(path, None, f"{_ONE_OF}, but multiple fields are set"))
    elif exact is not None:
        found += _asked(exact, f"{path}.exactly")
    else:
        found += _set(alternatives, _MOST_ALTERNATIVES, _alternative, _name_of, f"{path}.firstAvailable")
    return found


def _alternative(request: JsonObject, path: str) -> list[FieldError]:
    return _label(_name_of(request), f"{path}.name") + _asked(request, path)


_MODES = ("All", "ExactCount")


def _asked(request: JsonObject, path: str) -> list[FieldError]:
    name, at = request.get("deviceClassName", ""), f"{path}.deviceClassName"
    found = [invalid_value(at, name, why) for why in names.dns1123_subdomain(name)] if name else [required(at)]
    found += _each(request.get("selectors") or [], _MOST, _selector, f"{path}.selectors")
    mode, count = request.get("allocationMode", ""), request.get("count", 0)
    if mode not in _MODES:
        found.append(not_supported(f"{path}.allocationMode", mode, _MODES))
    elif mode == "All" and count:
        found.append(invalid_value(f"{path}.count", count, "must not be specified when allocationMode is 'All'"))
    elif mode == "ExactCount" and count <= 0:
        found.append(invalid_value(f"{path}.count", count, "must be greater than zero"))
    return found


def _selector(selector: JsonObject, path: str) -> list[FieldError]:
    expression = selector.get("cel")
    if expression is None:
        return [required(f"{path}.cel")]
    size = names.byte_length(expression.get("expression", ""))
    return [too_long(f"{path}.cel.expression", _LONGEST_EXPRESSION)] if size > _LONGEST_EXPRESSION else []


def _opaque(setting: JsonObject, path: str) -> list[FieldError]:
    opaque, at = setting.get("opaque"), f"{path}.opaque"
    if opaque is None:
        return [required(at)]
    found = driver_name(opaque.get("driver", ""), f"{at}.driver")
    return found if opaque.get("parameters") is not None else [*found, required(f"{at}.parameters")]


def validate_device_class(spec: JsonObject) -> list[FieldError]:
    found = _each(spec.get("selectors") or [], _MOST, _selector, "spec.selectors")
    found += _each(spec.get("config") or [], _MOST, _opaque, "spec.config")
    name = spec.get("extendedResourceName")
    if name is not None and ("/" not in name or "kubernetes.io/" in name or names.qualified_name(f"requests.{name}")):
        found.append(invalid_value("spec.extendedResourceName", name, "must be a valid extended resource name"))
    return found


_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_PLACE = f"exactly one of {', '.join(f'`{place}`' for place in _PLACES)} is required"


def validate_resource_slice(spec: JsonObject, old: JsonObject | None) -> list[FieldError]:
    pool = spec.get("pool") or {}
    found = driver_name(spec.get("driver", ""), "spec.driver") + _pool(pool)
    if old is not None:
        found += immutable(pool.get("name"), (old.get("pool") or {}).get("name"), "spec.pool.name")
        for field in ("driver", "nodeName"):
            found += immutable(spec.get(field), old.get(field), f"spec.{field}")
    found += _place(spec)

    def device(item: JsonObject, path: str) -> list[FieldError]:
        return _label(_name_of(item), f"{path}.name")

    return found + _set(spec.get("devices") or [], _MOST_DEVICES, device, _name_of, "spec.devices")


def _pool(pool: JsonObject) -> list[FieldError]:
    name, path = _name_of(pool), "spec.pool.name"
    found = [] if name else [required(path)]
    if len(name) > _LONGEST_POOL:
        found.append(too_long(path, _LONGEST_POOL))
    parts: Iterable[str] = name.split("/") if name else ()
    found += [invalid_value(path, part, why) for part in parts for why in names.dns1123_subdomain(part)]
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if count <= 0:
        found.append(invalid_value("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    if generation < 0:
        found.append(invalid_value("spec.pool.generation", generation, "must be greater than or equal to zero"))
    return found


def _place(spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    given = [f"`{place}`" for place in _PLACES if spec.get(place)]
    if "nodeName" in spec:
        node, path = spec["nodeName"], "spec.nodeName"
        found += [invalid_value(path, node, why) for why in names.dns1123_subdomain(node)]
    if spec.get("nodeSelector"):
        found += validate_node_selector(spec["nodeSelector"], "spec.nodeSelector")
    for field in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(field) is False:
            found.append(invalid_value(f"spec.{field}", False, "must be either unset or set to true"))
    if not given:
        found.append(required("spec", _ONE_PLACE))
    elif len(given) > 1:
        found.append(invalid_value("spec", f"{{{', '.join(given)}}}", f"{_ONE_PLACE}, but multiple fields are set"))
    return found
