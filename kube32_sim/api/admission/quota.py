"""ResourceQuota: a namespace's objects and what its pods ask for stay within what its quotas allow.

Usage is counted from the objects that are there when something new comes; nothing is kept up to date in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kube32_sim.api.admission.amounts import pod_totals
from kube32_sim.api.admission.refusal import refuse
from kube32_sim.api.errors import qualified
from kube32_sim.api.quantity import Quantity, add, parse
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]
Amounts = dict[str, Quantity]

QUOTAS = ("", "resourcequotas")
_ONE = parse("1")
_ZERO = parse("0")
_COUNTED = frozenset(
    ("pods", "services", "secrets", "configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas")
)
_PLAIN = ("cpu", "memory", "ephemeral-storage")


def check(obj: JsonObject, context: Context) -> None:
    """403 where a new object exceeds a quota of its namespace."""
    quotas = context.cluster.list(QUOTAS, context.namespace)
    if not quotas:
        return
    wanted = _usage(obj, context)
    for quota in quotas:
        spec = quota.get("spec") or {}
        hard = {name: parse(text) for name, text in (spec.get("hard") or {}).items()}
        names = sorted(hard.keys() & wanted.keys())
        if names and _covers(spec, obj, context):
            _check_quota(quota["metadata"]["name"], spec, {name: hard[name] for name in names}, wanted, obj, context)


def _check_quota(
    name: str, spec: JsonObject, hard: Amounts, wanted: Amounts, obj: JsonObject, context: Context
) -> None:
    used = dict.fromkeys(hard, _ZERO)
    for other in context.cluster.list(context.row.storage, context.namespace):
        if _covers(spec, other, context):
            usage = _usage(other, context)
            used = {key: add(amount, usage[key]) if key in usage else amount for key, amount in used.items()}
    over = [key for key in hard if used[key].nanos + wanted[key].nanos > hard[key].nanos]
    if over:
        why = (
            f"exceeded quota: {name}, requested: {_shown(over, wanted)}, used: {_shown(over, used)}, "
            f"limited: {_shown(over, hard)}"
        )
        raise refuse(context, obj, why)


def _shown(names: Iterable[str], amounts: Amounts) -> str:
    return ",".join(f"{name}={amounts[name].text}" for name in names)


def _usage(obj: JsonObject, context: Context) -> Amounts:
    """What one object counts for, by the names quotas use."""
    group, plural = context.row.storage
    usage: Amounts = {f"count/{qualified(group, plural)}": _ONE}
    if group == "" and plural in _COUNTED:
        usage[plural] = _ONE
    if plural == "pods" and group == "":
        return _pod_usage(obj, usage)
    if plural == "services":
        return _service_usage(obj, usage)
    if plural == "persistentvolumeclaims":
        storage = ((obj["spec"].get("resources") or {}).get("requests") or {}).get("storage")
        if storage is not None:
            usage["requests.storage"] = parse(storage)
    return usage


def _pod_usage(pod: JsonObject, usage: Amounts) -> Amounts:
    if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return {name: amount for name, amount in usage.items() if name.startswith("count/")}
    requests, limits = pod_totals(pod["spec"])
    for name, amount in requests.items():
        usage[f"requests.{name}"] = amount
        if name in _PLAIN:
            usage[name] = amount
    for name, amount in limits.items():
        usage[f"limits.{name}"] = amount
    return usage


def _service_usage(service: JsonObject, usage: Amounts) -> Amounts:
    spec = service.get("spec") or {}
    kind, ports = spec.get("type", "ClusterIP"), len(spec.get("ports") or ())
    if kind == "LoadBalancer":
        usage["services.loadbalancers"] = _ONE
    if kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False):
        usage["services.nodeports"] = parse(str(ports))
    return usage


def _covers(spec: JsonObject, obj: JsonObject, context: Context) -> bool:
    """Whether a quota's scopes include an object; scopes are about pods only."""
    scopes = list(spec.get("scopes") or ())
    selector = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    if not scopes and not selector:
        return True
    if context.row.storage != ("", "pods"):
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
