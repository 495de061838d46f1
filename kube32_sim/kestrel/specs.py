"""Node and pod specs: every field, what is invalid, and the records they become.

A spec is what `json.loads` makes of JSON, so values may be of any type.  Strict: an unknown key at any level, a missing
required key or a value out of range makes the whole spec invalid.  A bool is no int, a float is none, None no absence.

Node spec: `cpu` (millicores) and `mem` (MiB), ints > 0; `zone`, non-empty str; optional `labels`, str to str; optional
`taints`, a list of `key` non-empty str, optional `value` str, `effect` NoSchedule or NoExecute.

Pod spec: `requests`, exactly `cpu` and `mem`, ints >= 0; all others optional: `limits`, any of the two, not below the
request; `priority`, int; `selector` and `labels`, str to str; `tolerations`, a list of `key`, `operator` (Equal or
Exists), `value`, `effect` ("", NoSchedule or NoExecute), where an empty key wants Exists and Exists wants no value;
`affinity`, any of `pod_affinity` and `pod_anti_affinity`, lists of terms with exactly `match`, str to str, and
`topology`, node or zone; `preemption`, PreemptLowerPriority or Never.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.kestrel.models import (
    TOPOLOGIES,
    Amounts,
    Labels,
    Node,
    PodSpec,
    Taint,
    Term,
    Toleration,
    fit,
)

EFFECTS = ("NoSchedule", "NoExecute")
PREEMPTION = ("PreemptLowerPriority", "Never")
_NODE_KEYS, _NODE_REQUIRED = frozenset(("cpu", "mem", "zone", "labels", "taints")), ("cpu", "mem", "zone")
_POD_KEYS = frozenset(("requests", "limits", "priority", "selector", "labels", "tolerations", "affinity", "preemption"))


class InvalidSpec(ValueError):
    """A spec that is none; the message names the field."""


def parse_node(name: str, spec: Any) -> Node:
    fields = _object(spec, "spec", _NODE_KEYS, _NODE_REQUIRED)
    room = (_int(fields["cpu"], "cpu", 1), _int(fields["mem"], "mem", 1))
    zone = _text(fields["zone"], "zone", empty=False)
    labels = dict(_labels(fields, "labels"))
    taints = tuple(map(_taint, _list(fields, "taints")))
    return Node(name, zone, labels, taints, room, room)


def parse_pod(spec: Any) -> PodSpec:
    fields = _object(spec, "spec", _POD_KEYS, ("requests",))
    amounts = _requests(fields["requests"])
    _check_limits(fields, amounts)
    priority = _int(fields["priority"], "priority", None) if "priority" in fields else 0
    selector, labels = _labels(fields, "selector"), _labels(fields, "labels")
    tolerations = tuple(map(_toleration, _list(fields, "tolerations")))
    affinity = _object(fields.get("affinity", {}), "affinity", frozenset(("pod_affinity", "pod_anti_affinity")))
    return PodSpec(
        fit(amounts, selector, tolerations),
        priority,
        labels,
        tuple(map(_term, _list(affinity, "pod_affinity"))),
        tuple(map(_term, _list(affinity, "pod_anti_affinity"))),
        _one_of(fields.get("preemption", PREEMPTION[0]), "preemption", PREEMPTION) == PREEMPTION[0],
    )


def _requests(value: Any) -> Amounts:
    requests = _object(value, "requests", frozenset(("cpu", "mem")), ("cpu", "mem"))
    return _int(requests["cpu"], "requests.cpu", 0), _int(requests["mem"], "requests.mem", 0)


def _check_limits(fields: dict[str, Any], amounts: Amounts) -> None:
    limits = _object(fields.get("limits", {}), "limits", frozenset(("cpu", "mem")))
    for name, least in zip(("cpu", "mem"), amounts, strict=True):
        if name in limits:
            _int(limits[name], f"limits.{name}", least)


def _taint(value: Any) -> Taint:
    fields = _object(value, "taints", frozenset(("key", "value", "effect")), ("key", "effect"))
    return Taint(
        _text(fields["key"], "taints.key", empty=False),
        _text(fields.get("value", ""), "taints.value"),
        _one_of(fields["effect"], "taints.effect", EFFECTS),
    )


def _toleration(value: Any) -> Toleration:
    fields = _object(value, "tolerations", frozenset(("key", "operator", "value", "effect")))
    toleration = Toleration(
        _text(fields.get("key", ""), "tolerations.key"),
        _one_of(fields.get("operator", "Equal"), "tolerations.operator", ("Equal", "Exists")),
        _text(fields.get("value", ""), "tolerations.value"),
        _one_of(fields.get("effect", ""), "tolerations.effect", ("", *EFFECTS)),
    )
    if toleration.operator == "Equal" and not toleration.key:
        raise InvalidSpec("tolerations.key: may be empty with operator Exists only")
    if toleration.operator == "Exists" and toleration.value:
        raise InvalidSpec("tolerations.value: has to be empty with operator Exists")
    return toleration


def _term(value: Any) -> Term:
    fields = _object(value, "affinity", frozenset(("match", "topology")), ("match", "topology"))
    return Term(_labels(fields, "match"), _one_of(fields["topology"], "topology", TOPOLOGIES))


def _object(value: Any, field: str, keys: frozenset[str], required: tuple[str, ...] = ()) -> dict[str, Any]:
    if type(value) is not dict:
        raise InvalidSpec(f"{field}: not an object")
    if not value.keys() <= keys:
        raise InvalidSpec(f"{field}: unknown key {min(value.keys() - keys)!r}")
    for key in required:
        if key not in value:
            raise InvalidSpec(f"{field}: {key!r} is missing")
    return value


def _list(fields: dict[str, Any], key: str) -> list[Any]:
    value = fields.get(key, [])
    if type(value) is not list:
        raise InvalidSpec(f"{key}: not a list")
    return value


def _labels(fields: dict[str, Any], key: str) -> Labels:
    value = fields.get(key, {})
    if type(value) is not dict or not all(type(text) is str for text in value.values()):
        raise InvalidSpec(f"{key}: not an object of strings")
    return tuple(sorted(value.items()))


def _int(value: Any, field: str, least: int | None) -> int:
    if type(value) is not int or (least is not None and value < least):
        raise InvalidSpec(f"{field}: not an int, or too small")  # the bound may have too many digits to be printed
    return value


def _text(value: Any, field: str, *, empty: bool = True) -> str:
    if type(value) is not str or not (value or empty):
        raise InvalidSpec(f"{field}: not a {'' if empty else 'non-empty '}string")
    return value


def _one_of(value: Any, field: str, allowed: tuple[str, ...]) -> str:
    if type(value) is not str or value not in allowed:
        raise InvalidSpec(f"{field}: none of {', '.join(map(repr, allowed))}")
    return value
