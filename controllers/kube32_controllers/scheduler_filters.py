"""What a pod asks of a node and whether a node has it: the scheduler's filters, in their order, and its messages.

Pure functions over small records (`PodRequest`, `NodeFigures`) that are taken from objects once per revision.  The
score comes from Kestrel; `scheduler_ranking` asks these questions of many nodes, `scheduler_cache` keeps the records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from kube32_sim.api import quantity
from kube32_sim.api.requests import declared, pod_totals
from kube32_sim.kestrel.score import KUBE32, score

JsonObject = dict[str, Any]

PSRAM = "esp32.io/psram"
RESOURCES = (
    "memory",
    PSRAM,
    "esp32.io/gpio",
    "esp32.io/i2c",
    "esp32.io/uart",
    "esp32.io/adc",
    "esp32.io/rmt-tx",
    "esp32.io/rmt-rx",
)
"""What is fitted, in the order of the filters.  Amounts are tuples in this order."""
ALIASES = {"esp.io/psram": PSRAM}

UNSCHEDULABLE = "node(s) were unschedulable"
NOT_READY = "node(s) were not ready"
WRONG_NAME = "node(s) didn't match the requested node name"
MISMATCH = "node(s) didn't match Pod's node affinity/selector"
NO_NODES = "no nodes available to schedule pods"

_INDEX = {name: place for place, name in enumerate(RESOURCES)}
_NAMED_BUS = re.compile(r"(esp32\.io/(?:i2c|uart))-(?:bus-)?\d+")
_FIRST, _SECOND = (_INDEX[name] for name in KUBE32.scored)

Amounts = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PodRequest:
    """What a pod needs.  Equal requests are answered alike, so they share one ranking of the nodes.

    amounts: what it takes of each of RESOURCES.  checks: (place in RESOURCES, least that must be free, reason where it
    is not), in the filters' order.  selector: spec.nodeSelector, sorted.
    """

    amounts: Amounts
    checks: tuple[tuple[int, int, str], ...]
    selector: tuple[tuple[str, str], ...] = ()
    node_name: str = ""


@dataclass(slots=True)
class NodeFigures:
    """What the filters look at.  barred: why nothing may be placed here at all, or "".

    free: allocatable less the requests of the pods that the node's report does not include yet.
    """

    name: str
    revision: int
    barred: str
    labels: Mapping[str, str]
    allocatable: Amounts
    capacity: Amounts
    free: Amounts


def amount(text: object) -> int:
    """A resource quantity in whole units; what is no quantity (an unknown suffix) counts 0."""
    try:
        return quantity.value(str(text))
    except quantity.QuantityError:
        return 0


@lru_cache(maxsize=1024)
def _place(name: str) -> tuple[int, bool] | None:
    """(place in RESOURCES, whether it is one named bus) of a resource; None for what is never filtered on."""
    found = _INDEX.get(ALIASES.get(name, name))
    if found is not None:
        return found, False
    bus = _NAMED_BUS.fullmatch(name)
    return (_INDEX[bus[1]], True) if bus else None


def _declared(container: JsonObject) -> dict[str, int]:
    """A container's fitted resources: its request, or its limit where it has no request."""
    named = declared(container)
    if PSRAM in named:
        named = {name: value for name, value in named.items() if name not in ALIASES}
    return {name: amount(value) for name, value in named.items() if _place(name) is not None}


def _check_order(name: str) -> tuple[int, bool, int, str]:
    """Filter order; after a plain count the named buses, `-2` before `-10`."""
    place, named = _place(name) or (len(RESOURCES), False)
    return place, named, len(name), name


def pod_request(spec: JsonObject, node_name: str = "") -> PodRequest:
    """What a pod's spec asks for.  A named bus takes one of the node's count, whatever its quantity.

    node_name: the only node wanted, if any (spec.nodeName itself is where a pod is, and no wish).
    """
    lists = [[one.get("resources") for one in spec.get(key) or ()] for key in ("containers", "initContainers")]
    return _request(orjson.dumps([*lists, spec.get("nodeSelector")]), node_name)


@lru_cache(maxsize=4096)
def _request(asked: bytes, node_name: str) -> PodRequest:
    """Of the encoded resources and node selector: pods are many, what they ask for is mostly the same."""
    containers, initial, wanted = orjson.loads(asked)
    spec = {
        "containers": [{"resources": resources} for resources in containers],
        "initContainers": [{"resources": resources} for resources in initial],
    }
    totals = pod_totals(spec, _declared)
    taken = [0] * len(RESOURCES)
    checks = []
    for name in sorted(totals, key=_check_order):
        place, named, _, _ = _check_order(name)
        if totals[name] > 0:
            taken[place] += 1 if named else totals[name]
            checks.append((place, taken[place], f"Insufficient {name}"))
    selector = tuple(sorted((wanted or {}).items()))
    return _shared(PodRequest(tuple(taken), tuple(checks), selector, node_name))


@lru_cache(maxsize=4096)
def _shared(request: PodRequest) -> PodRequest:
    """The one object for equal requests, however they were written."""
    return request


def _by_name(amounts: JsonObject) -> JsonObject:
    """The same amounts with aliases under their proper name (which wins where both are given)."""
    return {**{ALIASES[name]: value for name, value in amounts.items() if name in ALIASES}, **amounts}


def _amounts(first: JsonObject, second: JsonObject) -> Amounts:
    """Of each of RESOURCES: what the first map says, or the second where the first does not name it."""
    merged = {**_by_name(second), **_by_name(first)}
    return tuple(amount(merged[name]) if name in merged else 0 for name in RESOURCES)


def _barred(node: JsonObject) -> str:
    if (node.get("spec") or {}).get("unschedulable"):
        return UNSCHEDULABLE
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready" and condition.get("status") == "True":
            return ""
    return NOT_READY


def node_figures(node: JsonObject, revision: int) -> NodeFigures:
    """The record of a Node object, with nothing subtracted yet."""
    metadata, status = node["metadata"], node.get("status") or {}
    allocatable, capacity = status.get("allocatable") or {}, status.get("capacity") or {}
    room = _amounts(allocatable, capacity)
    return NodeFigures(
        metadata["name"],
        revision,
        _barred(node),
        metadata.get("labels") or {},
        room,
        _amounts(capacity, allocatable),
        room,
    )


def evaluate(node: NodeFigures, request: PodRequest) -> int | str:
    """The score of a node for a pod, or the reason of the first filter that it fails."""
    if node.barred:
        return node.barred
    if request.node_name and request.node_name != node.name:
        return WRONG_NAME
    labels = node.labels
    for key, value in request.selector:
        if labels.get(key) != value:
            return MISMATCH
    free = node.free
    for place, least, reason in request.checks:
        if least > free[place]:
            return reason
    taken, capacity = request.amounts, node.capacity
    return score(free[_FIRST] - taken[_FIRST], capacity[_FIRST], free[_SECOND] - taken[_SECOND], capacity[_SECOND])


def no_fit(reasons: Mapping[str, int], nodes: int) -> str:
    """kube-scheduler's message for a pod that fits nowhere; reasons: how many of the nodes failed for which."""
    if not nodes:
        return NO_NODES
    counted = sorted(f"{count} {reason}" for reason, count in reasons.items() if count)
    return f"0/{nodes} nodes are available: {', '.join(counted)}."
