"""Definitions in Kubernetes' own groups: they need an annotation that says where the API was approved, or why not.

The condition KubernetesAPIApprovalPolicyConformant says the same of what is stored.
"""

from __future__ import annotations

from enum import Enum
from typing import Any
from urllib.parse import urlsplit

from kube32_sim.api.customs.naming import APPROVED as ANNOTATION
from kube32_sim.api.errors import FieldError, go_value, invalid_value, required

JsonObject = dict[str, Any]

_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
_PATH = f"metadata.annotations[{ANNOTATION}]"


class Approval(Enum):
    INVALID = "Invalid"
    APPROVED = "Approved"
    BYPASSED = "Bypassed"
    MISSING = "Missing"


def is_protected(group: str) -> bool:
    """Whether a group is Kubernetes' own."""
    return group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))


def approval(annotations: JsonObject | None) -> tuple[Approval, str]:
    """What the annotation says, and the reason that upstream gives."""
    text = (annotations or {}).get(ANNOTATION, "")
    if not text:
        return Approval.MISSING, f"protected groups must have approval annotation {go_value(ANNOTATION)}, {_SEE}"
    if text.startswith("unapproved"):
        return Approval.BYPASSED, f"not approved: {go_value(text)}"
    if _is_url(text):
        return Approval.APPROVED, f"approved in {text}"
    either = 'with either a URL or a reason starting with "unapproved"'
    return Approval.INVALID, f"protected groups must have approval annotation {go_value(ANNOTATION)} {either}, {_SEE}"


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc) and text.isprintable() and " " not in text


def approval_faults(obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Who does not change what the annotation says is not asked to."""
    if not is_protected(obj["spec"].get("group", "")):
        return []
    annotations = obj["metadata"].get("annotations")
    state, why = approval(annotations)
    if old is not None and approval(old["metadata"].get("annotations"))[0] is state:
        return []
    if state is Approval.MISSING:
        return [required(_PATH, why)]
    return [invalid_value(_PATH, annotations[ANNOTATION], why)] if annotations and state is Approval.INVALID else []
