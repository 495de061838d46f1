"""What a pod takes of a node's cpu and memory, counted as kube-scheduler counts it: cpu in millicores, memory in bytes.

`kubernetes` makes requests of it, `beyond` asks whether other resources are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kube32_sim.api import quantity
from kube32_sim.api.requests import declared

JsonObject = dict[str, Any]
Nanos = dict[str, int]
"""Billionths of a unit, by resource: sums are exact, and rounded once in the end."""

# Bytes where Kestrel's own clusters have MiB: fits, percentages and scores only compare and divide numbers of one unit,
# and no pod or node has to be rounded.
RESOURCES = ("cpu", "memory")
STEPS = {"cpu": quantity.NANO // 1000, "memory": quantity.NANO}


def room(node: JsonObject) -> tuple[int, ...]:
    """(millicores, bytes) that pods may take: allocatable, or capacity where that is silent, or 0.

    Raises QuantityError.
    """
    given = given_by(node)
    return _rounded({name: _nanos(given[name]) for name in RESOURCES if name in given})


def most_pods(node: JsonObject) -> int | None:
    """How many pods a node allows; None where it does not say.  Raises QuantityError."""
    amount = given_by(node).get("pods")
    return None if amount is None else quantity.value(str(amount))


def given_by(node: JsonObject) -> dict[str, Any]:
    """Quantities by resource."""
    status = node.get("status") or {}
    return {**(status.get("capacity") or {}), **(status.get("allocatable") or {})}


def taken(pod: JsonObject) -> tuple[int, ...]:
    """(millicores, bytes) that a pod takes, by its spec and, while a resize is under way, by its status.

    A resize counts with the most of what is wanted, granted and in force; what cannot be granted is not wanted.
    Raises QuantityError.
    """
    spec, status = pod["spec"], pod.get("status") or {}
    counts = [_total(spec, declared)]
    statuses = {
        one["name"]: one
        for one in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
        if one.get("resources") or one.get("allocatedResources")
    }
    if statuses:
        hopeless = _resize_is_infeasible(status)
        counts = [] if hopeless else counts
        counts += [_total(spec, lambda container: _granted(container, statuses, hopeless))]
        counts += [_total(spec, lambda container: _in_force(container, statuses, hopeless))]
    most = {name: max(count.get(name, 0) for count in counts) for name in RESOURCES}
    overhead = spec.get("overhead") or {}
    return _rounded({name: most[name] + _nanos(overhead.get(name, "0")) for name in RESOURCES})


def asked_for(spec: JsonObject) -> Iterator[tuple[str, str, Any]]:
    """(field, resource, quantity) of everything that is counted, whatever the resource."""
    for name, amount in (spec.get("overhead") or {}).items():
        yield f"spec.overhead[{name}]", name, amount
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            requests = (container.get("resources") or {}).get("requests") or {}
            for name, amount in declared(container).items():
                kind = "requests" if name in requests else "limits"
                yield f"spec.{field}[{index}].resources.{kind}[{name}]", name, amount


def why_no_quantity(amount: Any) -> str:
    """What is wrong with a quantity, or ""."""
    try:
        quantity.parse(str(amount))
    except quantity.QuantityError as error:
        return str(error)
    return ""


def _total(spec: JsonObject, ask: Callable[[JsonObject], Mapping[str, Any]]) -> Nanos:
    """All containers together, or the most that runs while they are prepared, where that is more.

    Sidecars (init containers that restart always) run beside the containers and beside the init containers after them.
    """
    running: Nanos = {}
    for container in spec.get("containers") or ():
        _add(running, ask(container))
    sidecars: Nanos = {}
    most: Nanos = {}
    for container in spec.get("initContainers") or ():
        sidecar = container.get("restartPolicy") == "Always"
        now = sidecars if sidecar else dict(sidecars)
        _add(now, ask(container))
        if sidecar:
            _add(running, ask(container))
        most = {name: max(most.get(name, 0), now.get(name, 0)) for name in RESOURCES}
    return {name: max(running.get(name, 0), most.get(name, 0)) for name in RESOURCES}


def _add(total: Nanos, amounts: Mapping[str, Any]) -> None:
    for name in RESOURCES:
        if name in amounts:
            total[name] = total.get(name, 0) + _nanos(amounts[name])


def _granted(container: JsonObject, statuses: Mapping[str, JsonObject], hopeless: bool) -> Mapping[str, Any]:
    status = statuses.get(container.get("name", ""), {})
    if "allocatedResources" in status:
        return status["allocatedResources"] or {}
    return {} if hopeless else declared(container)


def _in_force(container: JsonObject, statuses: Mapping[str, JsonObject], hopeless: bool) -> Mapping[str, Any]:
    status = statuses.get(container.get("name", ""), {})
    requests = (status.get("resources") or {}).get("requests")
    return requests if requests is not None else _granted(container, statuses, hopeless)


def _resize_is_infeasible(status: JsonObject) -> bool:
    conditions = status.get("conditions") or ()
    return any(one.get("type") == "PodResizePending" and one.get("reason") == "Infeasible" for one in conditions)


def _nanos(amount: Any) -> int:
    return quantity.parse(str(amount)).nanos


def _rounded(amounts: Nanos) -> tuple[int, ...]:
    """Millicores and bytes, rounded up."""
    return tuple(-(-amounts.get(name, 0) // STEPS[name]) for name in RESOURCES)
