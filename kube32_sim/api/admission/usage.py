"""What objects count for in ResourceQuotas, by the names quotas use.  Pure.

Admission refuses by it (`quota`), and a loop tells of it in the status of quotas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kube32_sim.api.admission.amounts import pod_totals
from kube32_sim.api.classes import storage_class_of
from kube32_sim.api.errors import qualified
from kube32_sim.api.quantity import NANO, Quantity, add, from_nanos, parse, parse_all

JsonObject = dict[str, Any]
Storage = tuple[str, str]
Amounts = dict[str, Quantity]

PODS = ("", "pods")
CLAIMS = ("", "persistentvolumeclaims")
SERVICES = ("", "services")
ONE = parse("1")
ZERO = parse("0")
_COUNTED = frozenset(
    ("pods", "services", "secrets", "configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas")
)
_PLAIN = ("cpu", "memory", "ephemeral-storage")
_OF_CLASS = ".storageclass.storage.k8s.io/"


def counted_in(name: str) -> Storage | None:
    """The type whose objects a name counts; None for names that mean nothing."""
    if name.startswith("count/"):
        plural, _, group = name.removeprefix("count/").partition(".")
        return group, plural
    if name in _COUNTED:
        return "", name
    if name.startswith("services."):
        return SERVICES
    if name == "requests.storage" or _OF_CLASS in name:
        return CLAIMS
    return PODS if name in _PLAIN or name.startswith(("requests.", "limits.")) else None


def hard_limits(quota: JsonObject) -> Amounts:
    return parse_all((quota.get("spec") or {}).get("hard"))


def total(spec: JsonObject, names: Iterable[str], storage: Storage, objects: Iterable[JsonObject]) -> Amounts:
    """What objects of a type count for together, by those names; spec: of the quota, whose scopes hold."""
    used = dict.fromkeys(names, ZERO)
    for obj in objects:
        for name, amount in share(spec, used, storage, obj).items():
            used[name] = add(used[name], amount)
    return used


def share(spec: JsonObject, names: Iterable[str], storage: Storage, obj: JsonObject) -> Amounts:
    """What one object counts for in a quota, by those of the names that it counts for at all."""
    if not covers(spec, storage, obj):
        return {}
    amounts = usage(storage, obj)
    return {name: amounts[name] for name in names if name in amounts}


def usage(storage: Storage, obj: JsonObject) -> Amounts:
    """What one object counts for."""
    group, plural = storage
    found: Amounts = {f"count/{qualified(group, plural)}": ONE}
    if group == "" and plural in _COUNTED:
        found[plural] = ONE
    if storage == PODS:
        return _pod_usage(obj, found)
    if storage == SERVICES:
        found.update(_service_usage(obj))
    if storage == CLAIMS:
        found.update(_claim_usage(obj))
    return found


def _pod_usage(pod: JsonObject, found: Amounts) -> Amounts:
    if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return {name: amount for name, amount in found.items() if name.startswith("count/")}
    requests, limits = pod_totals(pod["spec"])
    return found | _shares(requests, limits)


def _shares(requests: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    """Requests and limits by the names quotas have for them: an extended resource is counted by its requests only."""
    found: dict[str, Any] = {}
    for name, amount in requests.items():
        found[f"requests.{name}"] = amount
        if name in _PLAIN or name.startswith("hugepages-"):
            found[name] = amount
    found.update((f"limits.{name}", amount) for name, amount in limits.items() if name in _PLAIN)
    return found


_ASKED_OF_EACH = frozenset(f"{kind}{name}" for kind in ("", "requests.", "limits.") for name in ("cpu", "memory"))


def unspecified(names: Iterable[str], spec: JsonObject) -> dict[str, list[str]]:
    """Which containers do not say what they ask for, by the names a quota limits: cpu and memory need a figure.

    A pod that says what it asks for as a whole need not say it of its containers.
    """
    resources = spec.get("resources") or {}
    if resources.get("requests") or resources.get("limits"):
        return {}
    wanted = _ASKED_OF_EACH.intersection(names)
    found: dict[str, set[str]] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        given = container.get("resources") or {}
        has = _shares(given.get("requests") or {}, given.get("limits") or {})
        for name in wanted - has.keys():
            found.setdefault(name, set()).add(container.get("name", ""))
    return {name: sorted(found[name]) for name in sorted(found)}


def _service_usage(service: JsonObject) -> Iterator[tuple[str, Quantity]]:
    spec = service.get("spec") or {}
    kind, ports = spec.get("type", "ClusterIP"), spec.get("ports") or []
    if kind == "LoadBalancer":
        yield "services.loadbalancers", ONE
        if spec.get("allocateLoadBalancerNodePorts") is False:
            ports = [port for port in ports if port.get("nodePort")]
    if kind in ("NodePort", "LoadBalancer"):
        yield "services.nodeports", parse(str(len(ports)))


def _claim_usage(claim: JsonObject) -> Iterator[tuple[str, Quantity]]:
    """The larger of what a claim asks for and what is being given to it, in whole bytes."""
    spec, name = claim["spec"], storage_class_of(claim)
    of_class = f"{name}{_OF_CLASS}" if name else ""
    if of_class:
        yield f"{of_class}persistentvolumeclaims", ONE
    asked = (spec.get("resources") or {}).get("requests") or {}
    given = (claim.get("status") or {}).get("allocatedResources") or {}
    sizes = [parse(each["storage"]) for each in (asked, given) if "storage" in each]
    if sizes:
        size = max(sizes, key=lambda size: size.nanos)
        size = from_nanos(size.value * NANO, size.format)
        yield "requests.storage", size
        if of_class:
            yield f"{of_class}requests.storage", size


# scopes


def covers(spec: Mapping[str, Any], storage: Storage, obj: JsonObject) -> bool:
    """Whether a quota's scopes include an object; scopes are about pods, and one is about claims."""
    scopes = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    selector = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return all(_selected(each, storage, obj) for each in (*scopes, *selector))


def _selected(expression: JsonObject, storage: Storage, obj: JsonObject) -> bool:
    scope = expression.get("scopeName", "")
    if storage == CLAIMS:
        return scope == "VolumeAttributesClass" and _chosen(expression, _attribute_classes(obj))
    if storage != PODS:
        return False
    if scope == "PriorityClass":
        name = obj["spec"].get("priorityClassName", "")
        return _chosen(expression, {name} if name else set())
    return _in_scope(scope, obj)


def _chosen(expression: JsonObject, names: set[str]) -> bool:
    operator, values = expression.get("operator"), set(expression.get("values") or ())
    if operator == "In":
        return bool(names & values)
    if operator == "NotIn":
        return not names & values
    return bool(names) is (operator == "Exists")


def _attribute_classes(claim: JsonObject) -> set[str]:
    """The classes a claim has, wants, or is on its way to."""
    status = claim.get("status") or {}
    target = (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")
    names = (claim["spec"].get("volumeAttributesClassName"), status.get("currentVolumeAttributesClassName"), target)
    return {name for name in names if name}


def _in_scope(scope: str, pod: JsonObject) -> bool:
    spec = pod["spec"]
    if scope in ("Terminating", "NotTerminating"):
        return (spec.get("activeDeadlineSeconds") is not None) is (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        return (pod.get("status", {}).get("qosClass") == "BestEffort") is (scope == "BestEffort")
    return scope == "CrossNamespacePodAffinity" and _looks_beyond(spec.get("affinity") or {})


def _looks_beyond(affinity: JsonObject) -> bool:
    """Whether a pod's place depends on pods of other namespaces."""
    for kind in ("podAffinity", "podAntiAffinity"):
        given = affinity.get(kind) or {}
        terms = list(given.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        preferred = given.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [each.get("podAffinityTerm") or {} for each in preferred]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False
