"""DefaultTolerationSeconds: how long a pod stays on a node that is not ready or out of reach, if it does not say so."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.admission.config import AdmissionConfig
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"


def tolerates(tolerations: list[JsonObject], key: str) -> bool:
    """Whether there is something to say about a NoExecute taint already: same key or none, that effect or none."""
    return any(
        toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")
        for toleration in tolerations
    )


def add_default_tolerations(spec: JsonObject, seconds: int) -> None:
    tolerations = spec.get("tolerations") or []
    missing = [key for key in (NOT_READY, UNREACHABLE) if not tolerates(tolerations, key)]
    if missing:
        spec["tolerations"] = tolerations + [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds} for key in missing
        ]


def mutate(verb: str, obj: JsonObject, old: JsonObject | None, context: Context, config: AdmissionConfig) -> None:
    add_default_tolerations(obj["spec"], config.default_toleration_seconds)
