"""Validation of changes to a pod after its creation.  Resizes are in `pod_resize`, reports in `pod_status`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.errors import FieldError, forbidden_field, go_value, invalid_value, required
from kube32_sim.api.validation import pod_shown
from kube32_sim.api.validation.names import in_range
from kube32_sim.api.validation.pod import MAX_INT32, MIRROR, validate_pod_object
from kube32_sim.api.validation.pod_annotations import (
    APP_ARMOR,
    DELETION_COST,
    is_deletion_cost,
    validate_pod_annotations,
)
from kube32_sim.api.validation.pod_scheduling import validate_tolerations
from kube32_sim.api.validation.workloads_common import map_value

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
_ADDITIONS = "only additions are allowed (no mutations or deletions)"


def validate_pod_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Failures of a changed pod: it must be valid, and only a few fields of its spec may differ."""
    found = validate_annotation_changes(new, old)
    spec, before = new["spec"], old["spec"]
    if spec == before:  # upstream looks at annotations twice, in the pod as a whole and in the change
        annotations = new["metadata"].get("annotations") or {}
        same = annotations == (old["metadata"].get("annotations") or {})
        again = [] if same else validate_pod_annotations(annotations, spec, "metadata.annotations", ratchet(old))
        return again + found
    found = validate_pod_object(new, ratchet(old)) + found
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
    changed = difference(rest, before)
    if changed:
        why = f"pod updates may not change fields other than {_UPDATABLE}\n{changed}"
        found.append(forbidden_field("spec", why))
    return found


def ratchet(old: JsonObject) -> frozenset[str]:
    """Annotations of a pod that may stay wrong because they were."""
    cost = (old["metadata"].get("annotations") or {}).get(DELETION_COST)
    return frozenset((DELETION_COST,)) if cost is not None and not is_deletion_cost(cost) else frozenset()


def validate_annotation_changes(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Failures of changed annotations: some never change, the others must be valid."""
    now = new["metadata"].get("annotations") or {}
    before = old["metadata"].get("annotations") or {}
    if now == before:
        return []
    fixed = {key: "AppArmor annotations" for key in sorted({*now, *before}) if key.startswith(APP_ARMOR)}
    fixed[MIRROR] = "mirror pod annotation"
    found = [
        forbidden_field(f"metadata.annotations[{key}]", f"may not {'remove or update' if there else 'add'} {what}")
        for there in (True, False)
        for key, what in fixed.items()
        if (key in before) is there and now.get(key) != before.get(key)
    ]
    return found + validate_pod_annotations(now, new["spec"], "metadata.annotations", ratchet(old))


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
        found.append(invalid_value("spec.nodeSelector", map_value(selector), why))
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
        return [invalid_value(path, [pod_shown.node_selector_term(term) for term in terms] or None, why)]
    return [
        invalid_value(f"{path}[{index}]", pod_shown.node_selector_term(term), _ADDITIONS)
        for index, (term, then) in enumerate(zip(terms, before, strict=bool(before)) if before else ())
        if not _only_added(term, then)
    ]


def _only_added(term: JsonObject, old: JsonObject) -> bool:
    fields = ("matchExpressions", "matchFields")
    if not any(old.get(field) for field in fields) and any(term.get(field) for field in fields):
        return False
    return all((term.get(field) or [])[: len(old.get(field) or [])] == (old.get(field) or []) for field in fields)


def difference(new: JsonObject, old: JsonObject) -> str:
    """The fields that differ, one a line (upstream shows Go's structures here)."""
    names = sorted(key for key in new.keys() | old.keys() if new.get(key) != old.get(key))
    return "\n".join(f"- {name}: {go_value(old.get(name))}\n+ {name}: {go_value(new.get(name))}" for name in names)


def validate_ephemeral_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Ephemeral containers are only added."""
    found = validate_pod_object(new, ratchet(old))
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden_field("", "static pods do not support ephemeral containers")]
    path = "spec.ephemeralContainers"
    now = {each.get("name"): each for each in new["spec"].get("ephemeralContainers") or ()}
    for before in old["spec"].get("ephemeralContainers") or ():
        name = before.get("name", "")
        if name not in now:
            found.append(forbidden_field(path, f'existing ephemeral containers "{name}" may not be removed\n'))
        elif now[name] != before:
            changed = difference(now[name], before)
            found.append(forbidden_field(path, f'existing ephemeral containers "{name}" may not be changed\n{changed}'))
    return found
