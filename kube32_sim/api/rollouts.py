"""What the Deployment loop notes of rollouts in a Deployment's annotations, and that nobody loses it.

Upstream counts revisions by ReplicaSets, which kube32 does not have.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.steering import PREFIX

JsonObject = dict[str, Any]

REVISION = "deployment.kubernetes.io/revision"
ROLLED_OUT = PREFIX + "pod-template-hash"
"""The template that the current revision stands for."""


def keep_notes(metadata: JsonObject, before: JsonObject) -> None:
    """Keep them in new metadata, whoever replaces the object with one that knows nothing of it."""
    noted = before.get("annotations") or {}
    if ROLLED_OUT in noted:
        kept = {name: noted[name] for name in (REVISION, ROLLED_OUT) if name in noted}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **kept}
