"""Kinds that are kept like any other but that nothing acts on here, and what whoever creates one is told.

What is accepted without a word seems to work; so a creation is answered with a warning, which kubectl shows.  A bare
API server (`--controllers none`) acts on nothing at all, as its users know: it does not warn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

JsonObject = dict[str, Any]

_CONTROLLER = "runs no controller for them"
_VOLUMES = "binds no volumes: they stay Pending"
_RULES = "does not enforce them"
_NETWORK = "networking.k8s.io"

IDLE: Mapping[tuple[str, str], tuple[str, str]] = {
    ("apps", "statefulsets"): ("StatefulSets", _CONTROLLER),
    ("apps", "replicasets"): ("ReplicaSets", _CONTROLLER),
    ("", "replicationcontrollers"): ("ReplicationControllers", _CONTROLLER),
    ("batch", "cronjobs"): ("CronJobs", _CONTROLLER),
    ("autoscaling", "horizontalpodautoscalers"): ("HorizontalPodAutoscalers", _CONTROLLER),
    ("", "persistentvolumeclaims"): ("PersistentVolumeClaims", _VOLUMES),
    ("", "persistentvolumes"): ("PersistentVolumes", _VOLUMES),
    (_NETWORK, "ingresses"): ("Ingresses", _RULES),
    (_NETWORK, "networkpolicies"): ("NetworkPolicies", _RULES),
    ("certificates.k8s.io", "certificatesigningrequests"): ("CertificateSigningRequests", "signs none of them"),
    ("apiregistration.k8s.io", "apiservices"): ("APIServices", "forwards no requests to other API servers"),
    ("resource.k8s.io", "resourceclaims"): ("ResourceClaims", "allocates no devices"),
}
"""Storage -> (the kind's plural, what kube32-sim does not do about it)."""

LEFT_TO_THEIR_OWNERS = frozenset({("apps", "replicasets")})
"""Those of them that are fine as they are where a controller owns them: it is what acts on them."""


def warnings(storage: tuple[str, str], obj: JsonObject) -> Sequence[str]:
    """What to answer to the creation of an object."""
    if storage not in IDLE:
        return ()
    owners = obj["metadata"].get("ownerReferences") or ()
    if storage in LEFT_TO_THEIR_OWNERS and any(owner.get("controller") for owner in owners):
        return ()
    kinds, what = IDLE[storage]
    return (f"kube32-sim stores {kinds} but {what}",)
