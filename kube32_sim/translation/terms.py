"""Pod affinity terms of Kubernetes as Kestrel's, and what of them Kestrel cannot say.

Kestrel knows no namespaces.  Each pod carries its own as one more label (`NAMESPACE`), and each term asks for the one
that it is about, or for none where it is about all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kube32_sim.api.selectors import label_selector
from kube32_sim.kestrel.models import NODE, ZONE, Labels, Term
from kube32_sim.translation.beyond import PREFERRED, REQUIRED, Problem, beyond

JsonObject = dict[str, Any]

HOSTNAME_LABEL, ZONE_LABEL = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
TOPOLOGY_KEYS = {HOSTNAME_LABEL: NODE, ZONE_LABEL: ZONE}
NAMESPACE = ""
"""The label that says a pod's namespace: no label of Kubernetes has an empty key."""
NOBODY: Labels = ((NAMESPACE, ""),)
"""Matches no pod: every namespace has a name."""


class ReadTerm(NamedTuple):
    """A required term of a pod.  term: None where there are problems.  obj, namespace: the term and whose it is."""

    term: Term | None
    problems: tuple[Problem, ...]
    obj: JsonObject
    namespace: str

    def may_select(self, pod: JsonObject) -> bool:
        """Whether a pod can be one that the term is about; True where only the cluster's namespaces could tell."""
        obj = self.obj
        named = obj.get("namespaces") or (self.namespace,)
        if obj.get("namespaceSelector") is None and namespace_of(pod) not in named:
            return False
        return label_selector(obj.get("labelSelector")).matches(pod["metadata"].get("labels") or {})


def namespace_of(pod: JsonObject) -> str:
    return pod["metadata"].get("namespace") or "default"


def name_of(pod: JsonObject) -> str:
    return f"{namespace_of(pod)}/{pod['metadata']['name']}"


def labels_of(pod: JsonObject) -> Labels:
    """A pod's labels, its namespace among them."""
    return tuple(sorted({**(pod["metadata"].get("labels") or {}), NAMESPACE: namespace_of(pod)}.items()))


def required_terms(pod: JsonObject, kind: str) -> tuple[ReadTerm, ...]:
    """kind: podAffinity or podAntiAffinity."""
    affinity = ((pod["spec"].get("affinity") or {}).get(kind) or {}).get(REQUIRED) or ()
    namespace = namespace_of(pod)
    return tuple(_read(obj, namespace, f"spec.affinity.{kind}.{REQUIRED}[{i}]") for i, obj in enumerate(affinity))


def preferred_terms(pod: JsonObject) -> Iterator[Problem]:
    affinity = pod["spec"].get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        if (affinity.get(kind) or {}).get(PREFERRED):
            yield beyond(f"spec.affinity.{kind}.{PREFERRED}", "has required terms only")


def _read(obj: JsonObject, namespace: str, field: str) -> ReadTerm:
    problems = tuple(_problems(obj, field))
    term = None if problems else Term(_match(obj, namespace), TOPOLOGY_KEYS[obj["topologyKey"]])
    return ReadTerm(term, problems, obj, namespace)


def _problems(obj: JsonObject, field: str) -> Iterator[Problem]:
    if obj.get("topologyKey") not in TOPOLOGY_KEYS:
        yield beyond(f"{field}.topologyKey", f"knows no topology but {HOSTNAME_LABEL} and {ZONE_LABEL}")
    if (obj.get("labelSelector") or {}).get("matchExpressions"):
        yield beyond(f"{field}.labelSelector.matchExpressions", "has matchLabels only")
    for key in ("matchLabelKeys", "mismatchLabelKeys"):
        if obj.get(key):
            yield beyond(f"{field}.{key}", "has matchLabels only")
    if obj.get("namespaceSelector"):
        yield beyond(f"{field}.namespaceSelector", "does not know the labels of namespaces")
    elif obj.get("namespaceSelector") is None and len(set(obj.get("namespaces") or ())) > 1:
        yield beyond(f"{field}.namespaces", "has terms about one namespace, or about all of them")


def _match(obj: JsonObject, namespace: str) -> Labels:
    """namespaces and namespaceSelector: one name, neither (the pod's own namespace), or the selector {} (all)."""
    selector = obj.get("labelSelector")
    if selector is None:
        return NOBODY
    match = dict(selector.get("matchLabels") or {})
    if obj.get("namespaceSelector") is None:
        match[NAMESPACE] = next(iter(obj.get("namespaces") or ()), namespace)
    return tuple(sorted(match.items()))
