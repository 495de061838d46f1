"""PodSecurity: the levels of the Pod Security Standards that labels of a namespace ask for.

`enforce` refuses pods, `warn` only tells, also about the pods that a workload's template would make; whoever changes
what a namespace enforces is told which of its pods would not be let in.  What the levels forbid is in
`pod_security_checks`.
"""

from __future__ import annotations

import re
from typing import Any

from kube32_sim.api.admission.lifecycle import NAMESPACES
from kube32_sim.api.admission.pod_security_checks import LEVELS, violated, violations
from kube32_sim.api.admission.refusal import refuse
from kube32_sim.api.errors import FieldError, invalid, invalid_value
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]

PODS = ("", "pods")
_LABEL = "pod-security.kubernetes.io/"
_NAMES = ("privileged", "baseline", "restricted")
_is_version = re.compile(r"latest|v1\.(?:0|[1-9][0-9]*)").fullmatch
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
    """(level, version) that the namespace asks for; ("", "") where it forbids nothing.

    Who asks for no warnings but has a level enforced is warned of what that forbids.
    """
    namespace = context.cluster.get(NAMESPACES, "", context.namespace)
    labels = ((namespace or {}).get("metadata") or {}).get("labels") or {}
    level, version = labels.get(_LABEL + mode), labels.get(f"{_LABEL}{mode}-version")
    if mode == "warn" and level is None:
        level = labels.get(f"{_LABEL}enforce")
        version = version or labels.get(f"{_LABEL}enforce-version")
    if level not in LEVELS:
        return "", ""
    return level, version if version and _is_version(version) else "latest"


def warnings(obj: JsonObject, context: Context) -> list[str]:
    """What the namespace wants to be told about a pod, or about the pods of a workload."""
    level, version = _policy(context, "warn")
    if not level:
        return []
    spec: Any = obj
    for key in (*TEMPLATES.get(context.row.storage, ()), "spec"):
        spec = (spec or {}).get(key)
    wrong = violations(spec or {}, level, version)
    return [f'would violate PodSecurity "{level}:{version}": {wrong}'] if wrong else []


def validate(obj: JsonObject, context: Context) -> None:
    """403 for a pod that the namespace's enforced level forbids."""
    level, version = _policy(context, "enforce")
    wrong = violations(obj["spec"], level, version) if level else ""
    if wrong:
        raise refuse(context, obj, f'violates PodSecurity "{level}:{version}": {wrong}')


def is_significant(new: JsonObject, old: JsonObject) -> bool:
    """Whether a change of a pod is one that is looked at: containers more or fewer, or other images."""
    return any(
        [container.get("image") for container in new["spec"].get(field) or ()]
        != [container.get("image") for container in old["spec"].get(field) or ()]
        for field in ("containers", "initContainers", "ephemeralContainers")
    )


# namespaces


def _labels(namespace: JsonObject | None) -> JsonObject:
    labels: JsonObject = {
        key: value
        for key, value in (((namespace or {}).get("metadata") or {}).get("labels") or {}).items()
        if key.startswith(_LABEL)
    }
    return labels


def _wrong_labels(labels: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    for mode in ("enforce", "audit", "warn"):
        level, version = labels.get(_LABEL + mode), labels.get(f"{_LABEL}{mode}-version")
        if level is not None and level not in _NAMES:
            path = f"metadata.labels[{_LABEL}{mode}]"
            found.append(invalid_value(path, level, f"must be one of {', '.join(_NAMES)}"))
        if version is not None and not _is_version(version):
            path = f"metadata.labels[{_LABEL}{mode}-version]"
            found.append(invalid_value(path, version, 'must be "latest" or "v1.x"'))
    return found


def validate_namespace(obj: JsonObject, old: JsonObject | None, context: Context) -> None:
    """422 for labels that are no level or no version, unless they were there before."""
    wrong = _wrong_labels(_labels(obj))
    if wrong and wrong != _wrong_labels(_labels(old)):
        raise invalid("", "Namespace", context.name, wrong)


def namespace_warnings(obj: JsonObject, old: JsonObject, context: Context) -> list[str]:
    """Which pods of a namespace its new enforced level would not let in, those with one reason together."""
    labels, before = _labels(obj), _labels(old)
    level, was = (each.get(f"{_LABEL}enforce", "privileged") for each in (labels, before))
    version, former = (each.get(f"{_LABEL}enforce-version", "latest") for each in (labels, before))
    if _wrong_labels(labels) or level not in LEVELS or (level, version) == (was, former):
        return []
    if version == former and was in _NAMES and _NAMES.index(level) <= _NAMES.index(was):
        return []
    pods: dict[str, list[str]] = {}
    for pod in context.cluster.list(PODS, context.name):
        if reasons := violated(pod["spec"], level, version):
            pods.setdefault(", ".join(reasons), []).append(pod["metadata"]["name"])
    if not pods:
        return []
    head = f'existing pods in namespace "{context.name}" violate the new PodSecurity enforce level "{level}:{version}"'
    told = sorted(f"{min(names)}{_others(len(names) - 1)}: {reasons}" for reasons, names in pods.items())
    return [head, *told]


def _others(count: int) -> str:
    if not count:
        return ""
    return " (and 1 other pod)" if count == 1 else f" (and {count} other pods)"
