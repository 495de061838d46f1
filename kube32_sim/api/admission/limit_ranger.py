"""LimitRanger: requests and limits that a namespace gives its pods, and the bounds it keeps them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kube32_sim.api.admission.amounts import pod_totals
from kube32_sim.api.admission.config import AdmissionConfig
from kube32_sim.api.admission.refusal import refuse
from kube32_sim.api.errors import aggregate
from kube32_sim.api.quantity import Quantity, parse_all
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]

LIMIT_RANGES = ("", "limitranges")
ANNOTATION = "kubernetes.io/limit-ranger"
Amounts = Mapping[str, Quantity]


def _limits(limit_range: JsonObject, *kinds: str) -> list[JsonObject]:
    return [limit for limit in (limit_range.get("spec") or {}).get("limits") or () if limit.get("type") in kinds]


def mutate(verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig) -> None:
    """Fill in the default requests and limits of containers, and say so in an annotation."""
    if verb != "create":
        return
    for limit_range in context.cluster.list(LIMIT_RANGES, context.namespace):
        told: list[str] = []
        for limit in _limits(limit_range, "Container"):
            for field, called in (("containers", "container"), ("initContainers", "init container")):
                for container in obj["spec"].get(field) or ():
                    told += _fill(container, limit, called)
        if told:
            obj["metadata"].setdefault("annotations", {})[ANNOTATION] = f"LimitRanger plugin set: {'; '.join(told)}"


def _fill(container: JsonObject, limit: JsonObject, called: str) -> list[str]:
    told: list[str] = []
    resources = container.setdefault("resources", {})
    for kind, word, defaults in (
        ("requests", "request", limit.get("defaultRequest") or {}),
        ("limits", "limit", limit.get("default") or {}),
    ):
        given = resources.get(kind) or {}
        added = {name: amount for name, amount in defaults.items() if name not in given}
        if added:
            resources[kind] = {**given, **added}
            told.append(f"{', '.join(sorted(added))} {word} for {called} {container.get('name', '')}")
    return told


def validate(verb: str, obj: JsonObject, context: Context) -> None:
    """403 where requests or limits are outside of the bounds of the namespace; the first LimitRange that says so."""
    pods = context.row.plural == "pods"
    if "deletionTimestamp" in obj["metadata"] or (pods and verb != "create"):
        return
    for limit_range in context.cluster.list(LIMIT_RANGES, context.namespace):
        found = _pod_outside(limit_range, obj["spec"]) if pods else _claim_outside(limit_range, obj["spec"])
        if found:
            raise refuse(context, obj, aggregate(found))


def _pod_outside(limit_range: JsonObject, spec: JsonObject) -> list[str]:
    found: list[str] = []
    for limit in _limits(limit_range, "Container", "Pod"):
        if limit["type"] == "Pod":
            found += _outside("Pod", limit, *pod_totals(spec))
            continue
        for field in ("containers", "initContainers"):
            for container in spec.get(field) or ():
                resources = container.get("resources") or {}
                requests, limits = parse_all(resources.get("requests")), parse_all(resources.get("limits"))
                found += _outside("Container", limit, requests, limits)
    return found


def _claim_outside(limit_range: JsonObject, spec: JsonObject) -> list[str]:
    requests = parse_all((spec.get("resources") or {}).get("requests"))
    limits = _limits(limit_range, "PersistentVolumeClaim")
    return [why for limit in limits for why in _outside_claim(limit, requests)]


def _outside(kind: str, limit: JsonObject, requests: Amounts, limits: Amounts) -> list[str]:
    found: list[str] = []
    for name, bound in parse_all(limit.get("min")).items():
        found += _below(f"minimum {name} usage per {kind} is {bound.text}", bound, requests.get(name), limits.get(name))
    for name, bound in parse_all(limit.get("max")).items():
        found += _above(f"maximum {name} usage per {kind} is {bound.text}", bound, requests.get(name), limits.get(name))
    for name, bound in parse_all(limit.get("maxLimitRequestRatio")).items():
        head = f"{name} max limit to request ratio per {kind} is {bound.text}, but"
        found += _too_steep(head, bound, requests.get(name), limits.get(name))
    return found


def _below(head: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Sequence[str]:
    if request is None:
        return [f"{head}.  No request is specified"]
    if request.nanos < bound.nanos:
        return [f"{head}, but request is {request.text}"]
    return [f"{head}, but limit is {limit.text}"] if limit is not None and limit.nanos < bound.nanos else []


def _above(head: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Sequence[str]:
    if limit is None:
        return [f"{head}.  No limit is specified"]
    if limit.nanos > bound.nanos:
        return [f"{head}, but limit is {limit.text}"]
    return [f"{head}, but request is {request.text}"] if request is not None and request.nanos > bound.nanos else []


def _too_steep(head: str, bound: Quantity, request: Quantity | None, limit: Quantity | None) -> Sequence[str]:
    if request is None or request.nanos == 0:
        return [f"{head} no request is specified or request is 0"]
    if limit is None or limit.nanos == 0:
        return [f"{head} no limit is specified or limit is 0"]
    if limit.nanos * 1_000_000_000 <= bound.nanos * request.nanos:
        return []
    return [f"{head} provided ratio is {limit.nanos / request.nanos:f}"]


def _outside_claim(limit: JsonObject, requests: Amounts) -> list[str]:
    found: list[str] = []
    for bounds, word, sign in (("min", "minimum", 1), ("max", "maximum", -1)):
        for name, bound in parse_all(limit.get(bounds)).items():
            head = f"{word} {name} usage per PersistentVolumeClaim is {bound.text}"
            request = requests.get(name)
            if request is None:
                found.append(f"{head}.  No request is specified")
            elif sign * request.nanos < sign * bound.nanos:
                found.append(f"{head}, but request is {request.text}")
    return found
