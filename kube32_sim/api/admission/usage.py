"""What objects count for in ResourceQuotas, by the names quotas use.  Pure.

Admission refuses by it (`quota`), and a loop tells of it in the status of quotas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kube32_sim.api.admission.amounts import pod_totals
from kube32_sim.api.errors import qualified
from kube32_sim.api.quantity import Quantity, add, parse

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
    return {name: parse(text) for name, text in ((quota.get("spec") or {}).get("hard") or {}).items()}


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
        found.update(_claim_usage(obj["spec"]))
    return found


def _pod_usage(pod: JsonObject, found: Amounts) -> Amounts:
    if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return {name: amount for name, amount in found.items() if name.startswith("count/")}
    requests, limits = pod_totals(pod["spec"])
    for name, amount in requests.items():
        found[f"requests.{name}"] = amount
        if name in _PLAIN:
            found[name] = amount
    for name, amount in limits.items():
        found[f"limits.{name}"] = amount
    return found


def _service_usage(service: JsonObject) -> Iterator[tuple[str, Quantity]]:
    spec = service.get("spec") or {}
    kind, ports = spec.get("type", "ClusterIP"), len(spec.get("ports") or ())
    if kind == "LoadBalancer":
        yield "services.loadbalancers", ONE
    if kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False):
        yield "services.nodeports", parse(str(ports))


def _claim_usage(spec: JsonObject) -> Iterator[tuple[str, Quantity]]:
    of_class = f"{spec['storageClassName']}{_OF_CLASS}" if spec.get("storageClassName") else ""
    if of_class:
        yield f"{of_class}persistentvolumeclaims", ONE
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is not None:
        yield "requests.storage", parse(storage)
        if of_class:
            yield f"{of_class}requests.storage", parse(storage)


# scopes


def covers(spec: Mapping[str, Any], storage: Storage, obj: JsonObject) -> bool:
    """Whether a quota's scopes include an object; scopes are about pods only."""
    scopes = spec.get("scopes") or ()
    selector = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    if not scopes and not selector:
        return True
    if storage != PODS:
        return False
    return all(_in_scope(scope, obj) for scope in scopes) and all(_selected(each, obj) for each in selector)


def _in_scope(scope: str, pod: JsonObject) -> bool:
    spec = pod["spec"]
    if scope in ("Terminating", "NotTerminating"):
        return (spec.get("activeDeadlineSeconds") is not None) is (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        return (pod.get("status", {}).get("qosClass") == "BestEffort") is (scope == "BestEffort")
    return scope == "PriorityClass" and bool(spec.get("priorityClassName"))


def _selected(expression: JsonObject, pod: JsonObject) -> bool:
    scope, operator = expression.get("scopeName", ""), expression.get("operator")
    if scope != "PriorityClass":
        return _in_scope(scope, pod) is (operator != "DoesNotExist")
    name, values = pod["spec"].get("priorityClassName", ""), expression.get("values") or ()
    if operator == "In":
        return name in values
    if operator == "NotIn":
        return name not in values
    return bool(name) is (operator == "Exists")
