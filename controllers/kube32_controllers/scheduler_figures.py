"""Pods and nodes in Kestrel's terms: what a pod asks for and what a node has, by the profile `kube32`.

Pure functions from objects to small records (`Request`, `Node`), made once per revision and kept by `scheduler_cache`.
Filters, score and choice are Kestrel's; the words for them are kube-scheduler's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from kube32_sim.api import quantity
from kube32_sim.api.requests import declared, pod_totals
from kube32_sim.kestrel.models import Amounts, Check, Node, Request
from kube32_sim.kestrel.profiles import KUBE32

JsonObject = dict[str, Any]

PSRAM = "esp32.io/psram"
ALIASES = {"esp.io/psram": PSRAM}
HOSTNAME = "kubernetes.io/hostname"

UNSCHEDULABLE = "node(s) were unschedulable"
NOT_READY = "node(s) were not ready"

_INDEX = {name: place for place, name in enumerate(KUBE32.fitted)}
_NAMED_BUS = re.compile(r"(esp32\.io/(?:i2c|uart))-(?:bus-)?\d+")


def amount(text: object) -> int:
    """A resource quantity in whole units; what is no quantity (an unknown suffix) counts 0."""
    try:
        return quantity.value(str(text))
    except quantity.QuantityError:
        return 0


@lru_cache(maxsize=1024)
def _place(name: str) -> tuple[int, bool] | None:
    """(place among the fitted resources, whether it is one named bus); None for what is never filtered on."""
    found = _INDEX.get(name)
    if found is not None:
        return found, False
    bus = _NAMED_BUS.fullmatch(name)
    return (_INDEX[bus[1]], True) if bus else None


def _declared(container: JsonObject) -> dict[str, int]:
    """A container's fitted resources under their proper names: its request, or its limit where it has no request."""
    named = _by_name(declared(container))
    return {name: amount(value) for name, value in named.items() if _place(name) is not None}


def _words(containers: Iterable[JsonObject]) -> dict[str, str]:
    """What a pod calls the resources that it knows by their other names alone."""
    named = {name for container in containers for name in declared(container)}
    return {proper: alias for alias, proper in ALIASES.items() if alias in named and proper not in named}


def _check_order(name: str) -> tuple[int, bool, int, str]:
    """Filter order; after a plain count the named buses, `-2` before `-10`."""
    place, named = _place(name) or (len(KUBE32.fitted), False)
    return place, named, len(name), name


def pod_request(spec: JsonObject, node_name: str = "") -> Request:
    """What a pod's spec asks for.  A named bus takes one of the node's count, whatever its quantity.

    node_name: the only node wanted, if any (spec.nodeName itself is where a pod is, and no wish).
    """
    lists = [[one.get("resources") for one in spec.get(key) or ()] for key in ("containers", "initContainers")]
    return _request(orjson.dumps([*lists, spec.get("nodeSelector")]), node_name)


@lru_cache(maxsize=4096)
def _request(asked: bytes, node_name: str) -> Request:
    """Of the encoded resources and node selector: pods are many, what they ask for is mostly the same."""
    containers, initial, wanted = orjson.loads(asked)
    spec = {
        "containers": [{"resources": resources} for resources in containers],
        "initContainers": [{"resources": resources} for resources in initial],
    }
    totals = pod_totals(spec, _declared, KUBE32.defaults)
    words = _words(spec["containers"] + spec["initContainers"])
    taken = [0] * len(KUBE32.fitted)
    checks = []
    for name in sorted(totals, key=_check_order):
        place, named, _, _ = _check_order(name)
        if totals[name] > 0:
            taken[place] += 1 if named else totals[name]
            checks.append(Check(place, taken[place], f"Insufficient {words.get(name, name)}"))
    selector = tuple(sorted((wanted or {}).items()))
    return _shared(Request(tuple(taken), tuple(checks), selector, node_name=node_name))


@lru_cache(maxsize=4096)
def _shared(request: Request) -> Request:
    """The one object for equal requests, however they were written."""
    return request


def _by_name(amounts: Mapping[str, Any]) -> JsonObject:
    """The same amounts with aliases under their proper name (which wins where both are given)."""
    proper = {name: value for name, value in amounts.items() if name not in ALIASES}
    return {**{ALIASES[name]: value for name, value in amounts.items() if name in ALIASES}, **proper}


def _amounts(first: JsonObject, second: JsonObject) -> Amounts:
    """Of each fitted resource: what the first map says, or the second where the first does not name it."""
    merged = {**_by_name(second), **_by_name(first)}
    return tuple(amount(merged[name]) if name in merged else 0 for name in KUBE32.fitted)


def _barred(node: JsonObject) -> str:
    if (node.get("spec") or {}).get("unschedulable"):
        return UNSCHEDULABLE
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready" and condition.get("status") == "True":
            return ""
    return NOT_READY


def node_figures(node: JsonObject) -> Node:
    """The record of a Node object, with nothing subtracted yet.  Taints and zones mean nothing in this profile."""
    metadata, status = node["metadata"], node.get("status") or {}
    labels = metadata.get("labels") or {}
    if HOSTNAME not in labels:  # its name stands for it: so a DaemonSet leads its pods to such a node
        labels = {**labels, HOSTNAME: metadata["name"]}
    allocatable, capacity = status.get("allocatable") or {}, status.get("capacity") or {}
    return Node(
        metadata["name"],
        zone="",
        labels=labels,
        taints=(),
        capacity=_amounts(capacity, allocatable),
        free=_amounts(allocatable, capacity),
        barred=_barred(node),
    )


def named(amounts: Amounts) -> dict[str, int]:
    """Amounts of the fitted resources by their names."""
    return dict(zip(KUBE32.fitted, amounts, strict=True))
