"""Short ways to write operations in tests."""

from __future__ import annotations

from typing import Any

from kube32_sim.kestrel import run

LONG = 10**6
UNSCHEDULABLE = "error: unschedulable"


def node(name: str, cpu: int = 10, mem: int = 10, zone: str = "a", **more: Any) -> list[Any]:
    return ["add_node", name, {"cpu": cpu, "mem": mem, "zone": zone, **more}]


def pod(name: str, cpu: int = 1, mem: int = 0, **more: Any) -> list[Any]:
    """More: fields of the spec; besides, `app` is short for a label, `near` and `apart` for lists of terms."""
    affinity = {"pod_affinity": more.pop("near", []), "pod_anti_affinity": more.pop("apart", [])}
    spec: dict[str, Any] = {"requests": {"cpu": cpu, "mem": mem}}
    if "app" in more:
        spec["labels"] = {"app": more.pop("app")}
    if any(affinity.values()):
        spec["affinity"] = affinity
    return ["submit", name, {**spec, **more}]


def term(topology: str, **match: str) -> dict[str, Any]:
    return {"match": match, "topology": topology}


def last(*operations: Any) -> Any:
    """The result of the last of them."""
    return run(list(operations))[-1]


def placed(*operations: Any) -> list[Any]:
    """Results of the submits among them."""
    results = run(list(operations))
    return [result for operation, result in zip(operations, results, strict=True) if operation[0] == "submit"]


def log(*operations: Any) -> list[str]:
    """The events that the operations cause."""
    return last(*operations, ["events", LONG])
