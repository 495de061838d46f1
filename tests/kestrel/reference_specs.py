"""What the reference knows of nodes and pods, and how their specs are read: strict, each rule written out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class Invalid(Exception):
    """Its text is the result of the operation."""


@dataclass(frozen=True)
class Taint:
    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class Toleration:
    key: str
    operator: str
    value: str
    effect: str


@dataclass(frozen=True)
class Term:
    match: dict[str, str]
    topology: str


@dataclass(eq=False)
class Node:
    """`pods` are those bound to it."""

    name: str
    cpu: int
    mem: int
    zone: str
    labels: dict[str, str]
    taints: list[Taint]
    pods: list[Pod] = field(default_factory=list)


@dataclass(eq=False)
class Pod:
    """`cpu` and `mem` are requests; limits only have to be valid.  `seq` is 0 until the first bind."""

    name: str
    cpu: int
    mem: int
    priority: int
    selector: dict[str, str]
    labels: dict[str, str]
    tolerations: list[Toleration]
    affinity_terms: list[Term]
    anti_terms: list[Term]
    preemption: str
    seq: int = 0
    node: Node | None = None


Check = Callable[[Any], bool]


def is_int(value: Any, least: int | None = None) -> bool:
    return type(value) is int and (least is None or value >= least)


def is_str(value: Any) -> bool:
    return isinstance(value, str)


def is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def is_labels(value: Any) -> bool:
    return isinstance(value, dict) and all(is_str(item) for item in value.values())


def at_least(least: int) -> Check:
    return lambda value: is_int(value, least)


def one_of(*values: str) -> Check:
    return lambda value: isinstance(value, str) and value in values


def list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(check(item) for item in value)


def has_keys(value: Any, required: dict[str, Check], optional: dict[str, Check] | None = None) -> bool:
    """A dict of all required, perhaps some optional and no other keys, whose values pass their checks."""
    checks = {**required, **(optional or {})}
    return (
        isinstance(value, dict)
        and required.keys() <= value.keys() <= checks.keys()
        and all(checks[key](item) for key, item in value.items())
    )


def is_taint(value: Any) -> bool:
    required = {"key": is_name, "effect": one_of("NoSchedule", "NoExecute")}
    return has_keys(value, required, {"value": is_str})


def is_toleration(value: Any) -> bool:
    optional = {
        "key": is_str,
        "operator": one_of("Equal", "Exists"),
        "value": is_str,
        "effect": one_of("", "NoSchedule", "NoExecute"),
    }
    if not has_keys(value, {}, optional):
        return False
    if value.get("operator") == "Exists":
        return value.get("value", "") == ""
    return value.get("key", "") != ""


def is_term(value: Any) -> bool:
    return has_keys(value, {"match": is_labels, "topology": one_of("node", "zone")})


def is_affinity(value: Any) -> bool:
    return has_keys(value, {}, {"pod_affinity": list_of(is_term), "pod_anti_affinity": list_of(is_term)})


def is_node_spec(value: Any) -> bool:
    required = {"cpu": at_least(1), "mem": at_least(1), "zone": is_name}
    return has_keys(value, required, {"labels": is_labels, "taints": list_of(is_taint)})


def is_pod_spec(value: Any) -> bool:
    optional = {
        "limits": lambda limits: isinstance(limits, dict),  # judged by the requests beside them, below
        "priority": is_int,
        "selector": is_labels,
        "labels": is_labels,
        "tolerations": list_of(is_toleration),
        "affinity": is_affinity,
        "preemption": one_of("PreemptLowerPriority", "Never"),
    }
    return has_keys(value, {"requests": is_requests}, optional) and is_limits(
        value.get("limits", {}), value["requests"]
    )


def is_requests(value: Any) -> bool:
    return has_keys(value, {"cpu": at_least(0), "mem": at_least(0)})


def is_limits(value: Any, requests: dict[str, int]) -> bool:
    return has_keys(value, {}, {"cpu": at_least(requests["cpu"]), "mem": at_least(requests["mem"])})


def read_node(name: Any, spec: Any) -> Node:
    if not is_name(name):
        raise Invalid("error: invalid arguments")
    if not is_node_spec(spec):
        raise Invalid("error: invalid node spec")
    taints = [Taint(taint["key"], taint.get("value", ""), taint["effect"]) for taint in spec.get("taints", [])]
    return Node(name, spec["cpu"], spec["mem"], spec["zone"], spec.get("labels", {}), taints)


def read_pod(name: Any, spec: Any) -> Pod:
    if not is_name(name):
        raise Invalid("error: invalid arguments")
    if not is_pod_spec(spec):
        raise Invalid("error: invalid pod spec")
    affinity = spec.get("affinity", {})
    return Pod(
        name=name,
        cpu=spec["requests"]["cpu"],
        mem=spec["requests"]["mem"],
        priority=spec.get("priority", 0),
        selector=spec.get("selector", {}),
        labels=spec.get("labels", {}),
        tolerations=[read_toleration(toleration) for toleration in spec.get("tolerations", [])],
        affinity_terms=[read_term(term) for term in affinity.get("pod_affinity", [])],
        anti_terms=[read_term(term) for term in affinity.get("pod_anti_affinity", [])],
        preemption=spec.get("preemption", "PreemptLowerPriority"),
    )


def read_toleration(spec: dict[str, str]) -> Toleration:
    return Toleration(spec.get("key", ""), spec.get("operator", "Equal"), spec.get("value", ""), spec.get("effect", ""))


def read_term(spec: dict[str, Any]) -> Term:
    return Term(spec["match"], spec["topology"])


def check_bulk_nodes(params: Any) -> None:
    wanted = {"prefix": is_name, "count": at_least(0), "zones": at_least(1), "cpu": at_least(1), "mem": at_least(1)}
    if not has_keys(params, wanted):
        raise Invalid("error: invalid arguments")


def check_bulk_submit(params: Any) -> None:
    wanted = {
        "prefix": is_name,
        "count": at_least(0),
        "seed": at_least(0),
        "groups": at_least(1),
        "cpu": at_least(1),
        "mem": at_least(1),
        "priorities": lambda value: list_of(is_int)(value) and value != [],
    }
    if not has_keys(params, wanted):
        raise Invalid("error: invalid arguments")
