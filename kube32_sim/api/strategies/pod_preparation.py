"""What becomes of a new pod's spec before it is checked: requirements made of label keys, profiles of annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.validation.pod_annotations import annotated_profiles

JsonObject = dict[str, Any]

_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def merge_label_keys(pod: JsonObject) -> None:
    """Write what `matchLabelKeys` and `mismatchLabelKeys` mean for this pod's labels into its selectors."""
    spec, labels = pod["spec"], pod["metadata"].get("labels") or {}
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        for weighted in terms.get(_PREFERRED) or ():
            _merge(weighted.get("podAffinityTerm") or {}, labels)
        for term in terms.get(_REQUIRED) or ():
            _merge(term, labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _merge(constraint, labels)


def _merge(owner: JsonObject, labels: JsonObject) -> None:
    selector = owner.get("labelSelector")
    if selector is None:
        return
    added = _requirements(owner.get("matchLabelKeys") or (), "In", labels)
    added += _requirements(owner.get("mismatchLabelKeys") or (), "NotIn", labels)
    if added:
        expressions = [*(selector.get("matchExpressions") or ()), *added]
        owner["labelSelector"] = {**selector, "matchExpressions": expressions}


def _requirements(keys: Sequence[str], operator: str, labels: JsonObject) -> list[JsonObject]:
    return [{"key": key, "operator": operator, "values": [labels[key]]} for key in keys if key in labels]


def profiles_from_annotations(pod: JsonObject) -> None:
    """Give containers the AppArmor profile that only an annotation names."""
    annotations = pod["metadata"].get("annotations") or {}
    for container, profile in annotated_profiles(annotations, pod["spec"]):
        security = container.get("securityContext") or {}
        if profile is not None and security.get("appArmorProfile") is None:
            container["securityContext"] = {**security, "appArmorProfile": profile}
