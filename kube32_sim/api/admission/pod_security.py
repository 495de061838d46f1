"""PodSecurity: the levels of the Pod Security Standards that labels of a namespace ask for.

`enforce` refuses pods, `warn` only tells, also about the pods that a workload's template would make.  What the levels
forbid is in `pod_security_checks`; only the newest version of the standards is known.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.admission.lifecycle import NAMESPACES
from kube32_sim.api.admission.pod_security_checks import LEVELS, violations
from kube32_sim.api.admission.refusal import refuse
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]

_LABEL = "pod-security.kubernetes.io/"
TEMPLATES = {
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("", "replicationcontrollers"): ("spec", "template"),
    ("", "podtemplates"): ("template",),
    ("batch", "jobs"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
}
"""Where workloads keep their pod template."""


def _policy(context: Context, mode: str) -> tuple[str, str]:
    """(level, how messages call it) that the namespace asks for; ("", "") where it forbids nothing."""
    namespace = context.cluster.get(NAMESPACES, "", context.namespace)
    labels = ((namespace or {}).get("metadata") or {}).get("labels") or {}
    level = labels.get(_LABEL + mode, "")
    if level not in LEVELS:
        return "", ""
    return level, f"{level}:{labels.get(f'{_LABEL}{mode}-version', 'latest')}"


def warnings(obj: JsonObject, context: Context) -> list[str]:
    """What the namespace wants to be told about a pod, or about the pods of a workload."""
    level, shown = _policy(context, "warn")
    if not level:
        return []
    spec: Any = obj
    for key in (*TEMPLATES.get(context.row.storage, ()), "spec"):
        spec = (spec or {}).get(key)
    wrong = violations(spec or {}, level)
    return [f'would violate PodSecurity "{shown}": {wrong}'] if wrong else []


def validate(obj: JsonObject, context: Context) -> None:
    """403 for a pod that the namespace's enforced level forbids."""
    level, shown = _policy(context, "enforce")
    wrong = violations(obj["spec"], level) if level else ""
    if wrong:
        raise refuse(context, obj, f'violates PodSecurity "{shown}": {wrong}')
