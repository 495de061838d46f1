"""Validation of changes to a pod: what may change after creation, in the status, and through its subresources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.errors import FieldError, duplicate, forbidden_field, invalid_value, required
from kube32_sim.api.quantity import parse
from kube32_sim.api.strategies.pod_qos import qos_class
from kube32_sim.api.validation.names import dns1123_subdomain, in_range, ip_address, qualified_name
from kube32_sim.api.validation.pod import MAX_INT32, MIRROR, validate_pod_object
from kube32_sim.api.validation.pod_scheduling import validate_tolerations

JsonObject = dict[str, Any]

_UPDATABLE = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)
_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_ADDITIONS = "only additions are allowed (no mutations or deletions)"


def validate_pod_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Failures of a changed pod: it must be valid, and only a few fields of its spec may differ."""
    found = _validate_annotation_changes(new, old)
    spec, before = new["spec"], old["spec"]
    if spec == before:
        return found
    found = validate_pod_object(new) + found
    for field in ("containers", "initContainers"):
        wrong = _validate_container_changes(spec.get(field) or (), before.get(field) or (), f"spec.{field}")
        found += wrong
        if wrong and len(spec.get(field) or ()) != len(before.get(field) or ()):
            return found
    wrong = _validate_deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    found += wrong
    if wrong and spec.get("activeDeadlineSeconds") is not None:
        return found
    found += _validate_toleration_changes(spec.get("tolerations") or [], before.get("tolerations") or [])
    found += _validate_gate_changes(spec.get("schedulingGates") or (), before.get("schedulingGates") or ())
    rest, wrong = _without_updatable(spec, before)
    found += wrong
    changed = _difference(rest, before)
    if changed:
        why = f"pod updates may not change fields other than {_UPDATABLE}\n{changed}"
        found.append(forbidden_field("spec", why))
    return found


def _validate_annotation_changes(new: JsonObject, old: JsonObject) -> list[FieldError]:
    now = new["metadata"].get("annotations") or {}
    before = old["metadata"].get("annotations") or {}
    if now.get(MIRROR) == before.get(MIRROR):
        return []
    what = "add" if MIRROR not in before else "remove or update"
    return [forbidden_field(f"metadata.annotations[{MIRROR}]", f"may not {what} mirror pod annotation")]


def _validate_container_changes(new: Sequence[JsonObject], old: Sequence[JsonObject], path: str) -> list[FieldError]:
    if len(new) != len(old):
        return [forbidden_field(path, "pod updates may not add or remove containers")]
    found: list[FieldError] = []
    for index, container in enumerate(new):
        image = container.get("image", "")
        if not image:
            found.append(required(f"{path}[{index}].image"))
        if image != image.strip():
            why = "must not have leading or trailing whitespace"
            found.append(invalid_value(f"{path}[{index}].image", image, why))
    return found


def _validate_deadline(new: int | None, old: int | None) -> list[FieldError]:
    path = "spec.activeDeadlineSeconds"
    if new is None:
        why = "must not update from a positive integer to nil value"
        return [] if old is None else [invalid_value(path, None, why)]
    if not 0 <= new <= MAX_INT32:
        return [invalid_value(path, new, in_range(0, MAX_INT32))]
    if old is not None and old < new:
        return [invalid_value(path, new, "must be less than or equal to previous value")]
    return []


def _validate_toleration_changes(new: list[JsonObject], old: list[JsonObject]) -> list[FieldError]:
    """Tolerations are only added; the seconds of those there may change."""
    path = "spec.tolerations"
    kept = [_timeless(toleration) for toleration in new]
    if any(_timeless(toleration) not in kept for toleration in old):
        return [forbidden_field(path, "existing toleration can not be modified except its tolerationSeconds")]
    return validate_tolerations(new, path)


def _timeless(toleration: JsonObject) -> JsonObject:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _validate_gate_changes(new: Sequence[JsonObject], old: Sequence[JsonObject]) -> list[FieldError]:
    known = {gate.get("name") for gate in old}
    return [
        forbidden_field(
            f"spec.schedulingGates[{index}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate.get('name', '')}'",
        )
        for index, gate in enumerate(new)
        if gate.get("name") not in known
    ]


def _without_updatable(spec: JsonObject, old: JsonObject) -> tuple[JsonObject, list[FieldError]]:
    """(the new spec with the updatable fields as they were, failures of fields that only gated pods may change)."""
    rest = dict(spec)
    for field in ("containers", "initContainers"):
        if field in spec:
            rest[field] = [
                {**now, "image": before.get("image", "")}
                for now, before in zip(spec[field], old.get(field) or (), strict=True)
            ]
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _restore(rest, old, field)
    if old.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        _restore(rest, old, "terminationGracePeriodSeconds")
    found = _restore_gated(rest, old) if old.get("schedulingGates") else []
    return rest, found


def _restore(rest: JsonObject, old: JsonObject, field: str) -> None:
    rest.pop(field, None)
    if field in old:
        rest[field] = old[field]


def _restore_gated(rest: JsonObject, old: JsonObject) -> list[FieldError]:
    """While gated, a pod may be narrowed: node selectors added, required node affinity added to."""
    found: list[FieldError] = []
    selector, before = rest.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in before.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        found.append(invalid_value("spec.nodeSelector", selector, why))
    _restore(rest, old, "nodeSelector")
    affinity = dict(rest.get("affinity") or {})
    now, then = affinity.pop("nodeAffinity", None), (old.get("affinity") or {}).get("nodeAffinity")
    if now != then:
        found += _validate_narrowed(now or {}, then or {})
        if then is not None:
            affinity["nodeAffinity"] = then
        rest.pop("affinity", None)
        if affinity:
            rest["affinity"] = affinity
    return found


def _validate_narrowed(new: JsonObject, old: JsonObject) -> list[FieldError]:
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    path = f"spec.affinity.nodeAffinity.{field}.nodeSelectorTerms"
    terms = (new.get(field) or {}).get("nodeSelectorTerms") or []
    before = (old.get(field) or {}).get("nodeSelectorTerms") or []
    if before and len(terms) != len(before):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [invalid_value(path, terms, why)]
    return [
        invalid_value(f"{path}[{index}]", term, _ADDITIONS)
        for index, (term, then) in enumerate(zip(terms, before, strict=bool(before)) if before else ())
        if not _only_added(term, then)
    ]


def _only_added(term: JsonObject, old: JsonObject) -> bool:
    fields = ("matchExpressions", "matchFields")
    if not any(old.get(field) for field in fields) and any(term.get(field) for field in fields):
        return False
    return all((term.get(field) or [])[: len(old.get(field) or [])] == (old.get(field) or []) for field in fields)


def _difference(new: JsonObject, old: JsonObject) -> str:
    """The fields that differ, one a line (upstream shows Go's structures here)."""
    names = sorted(key for key in new.keys() | old.keys() if new.get(key) != old.get(key))
    return "\n".join(f"- {name}: {old.get(name)!r}\n+ {name}: {new.get(name)!r}" for name in names)


def validate_ephemeral_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Ephemeral containers are only added."""
    found = validate_pod_object(new)
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden_field("", "static pods do not support ephemeral containers")]
    path = "spec.ephemeralContainers"
    now = {each.get("name"): each for each in new["spec"].get("ephemeralContainers") or ()}
    for before in old["spec"].get("ephemeralContainers") or ():
        name = before.get("name", "")
        if name not in now:
            found.append(forbidden_field(path, f'existing ephemeral containers "{name}" may not be removed\n'))
        elif now[name] != before:
            changed = _difference(now[name], before)
            found.append(forbidden_field(path, f'existing ephemeral containers "{name}" may not be changed\n{changed}'))
    return found


def validate_resize(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Only cpu and memory of containers change, none of them is taken away, and the QoS class stays."""
    found = validate_pod_object(new)
    spec, before = new["spec"], old["spec"]
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden_field("", "static pods cannot be resized")]
    if (before.get("os") or {}).get("name") == "windows":
        return [forbidden_field("", "windows pods cannot be resized")]
    if old.get("status", {}).get("qosClass", qos_class(before)) != qos_class(spec):
        why = "Pod QOS Class may not change as a result of resizing"
        found.append(invalid_value("spec", new.get("status", {}).get("qosClass", ""), why))
    for field in ("initContainers", "containers"):
        now, then = spec.get(field) or [], before.get(field) or []
        if len(now) != len(then):
            return [*found, forbidden_field("spec", "only cpu and memory resources are mutable")]
        for index, (container, was) in enumerate(zip(now, then, strict=True)):
            found += _validate_container_resize(container, was, field, f"spec.{field}[{index}].resources")
    return found


def _validate_container_resize(new: JsonObject, old: JsonObject, field: str, path: str) -> list[FieldError]:
    resources, before = new.get("resources") or {}, old.get("resources") or {}
    if field == "initContainers" and old.get("restartPolicy") != "Always":
        why = "resources for non-sidecar init containers are immutable"
        return [] if new == old else [forbidden_field("spec", why)]
    found: list[FieldError] = []
    for kind in ("requests", "limits"):
        now, then = resources.get(kind) or {}, before.get(kind) or {}
        if then.keys() - now.keys():
            found.append(forbidden_field(f"{path}.{kind}", f"resource {kind} cannot be removed"))
        if any(now.get(name) != then.get(name) for name in now.keys() | then.keys() if name not in ("cpu", "memory")):
            sidecars = " for sidecar containers" if field == "initContainers" else ""
            found.append(forbidden_field("spec", f"only cpu and memory resources{sidecars} are mutable"))
    policies = {each.get("resourceName"): each.get("restartPolicy") for each in new.get("resizePolicy") or ()}
    limit, was = (part.get("limits", {}).get("memory") for part in (resources, before))
    if policies.get("memory", "NotRequired") != "NotRequired" or limit is None:
        return found
    verb = "added" if was is None else "decreased" if parse(limit).nanos < parse(was).nanos else ""
    if verb:
        why = f"memory limits cannot be {verb} unless resizePolicy is RestartContainer"
        found.append(forbidden_field(f"{path}.limits[memory]", why))
    return found


def validate_pod_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Failures of a reported status."""
    found = _validate_annotation_changes(new, old)
    status, before = new.get("status", {}), old.get("status", {})
    for index, condition in enumerate(status.get("conditions") or ()):
        kind = condition.get("type", "")
        if kind not in _SYSTEM_CONDITIONS:
            path = f"metadata.conditions[{index}].Type"
            found += [invalid_value(path, kind, why) for why in qualified_name(kind)]
    nominated = status.get("nominatedNodeName")
    if nominated and nominated != before.get("nominatedNodeName"):
        found += [invalid_value("status.nominatedNodeName", nominated, why) for why in dns1123_subdomain(nominated)]
    policy = old["spec"].get("restartPolicy", "Always")
    for field in ("containerStatuses", "initContainerStatuses"):
        found += _validate_transitions(status, before, field, policy, old["spec"])
    found += _validate_transitions(status, before, "ephemeralContainerStatuses", "Never", old["spec"])
    return found + _validate_addresses(status.get("podIPs") or (), "status.podIPs") + _validate_host_addresses(status)


def _validate_transitions(
    new: JsonObject, old: JsonObject, field: str, policy: str, spec: JsonObject
) -> list[FieldError]:
    """A container that ended and is not restarted stays ended."""
    if policy == "Always" or field not in old:
        return []
    sidecars = {each.get("name") for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"}
    own = {each.get("name"): each.get("restartPolicy") for each in spec.get("containers") or ()}
    running = {each.get("name") for each in new.get(field) or () if "terminated" not in (each.get("state") or {})}
    found: list[FieldError] = []
    for index, status in enumerate(old[field] or ()):
        ended = (status.get("state") or {}).get("terminated")
        name = status.get("name")
        rule = own.get(name) or policy
        if ended is None or name in sidecars or rule == "Always":
            continue
        if ended.get("exitCode", 0) != 0 and rule == "OnFailure":
            continue
        if name in running:
            why = "may not be transitioned to non-terminated state"
            found.append(forbidden_field(f"status.{field}[{index}].state", why))
    return found


def _validate_addresses(addresses: Sequence[JsonObject], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    texts = [each.get("ip", "") for each in addresses]
    for index, text in enumerate(texts):
        found += [invalid_value(f"{path}[{index}]", text, why) for why in ip_address(text)]
    if len(texts) > 1 and not found:
        if len(texts) > 2 or len({":" in text for text in texts}) != 2:
            why = "may specify no more than one IP for each IP family"
            found.append(invalid_value(path, list(addresses), why))
        found += [
            duplicate(f"{path}[{index}]", dict(addresses[index]))
            for index, text in enumerate(texts)
            if text in texts[:index]
        ]
    return found


def _validate_host_addresses(status: JsonObject) -> list[FieldError]:
    addresses = status.get("hostIPs")
    if not addresses:
        return []
    first = addresses[0].get("ip", "")
    found: list[FieldError] = []
    if first != status.get("hostIP", ""):
        found.append(invalid_value("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
    return found + _validate_addresses(addresses, "status.hostIPs")
