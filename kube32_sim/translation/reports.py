"""Which nodes report as allocatable what is free on them, and which what pods may take in all."""

from __future__ import annotations

from typing import Any

from kube32_sim.version import PROVIDER

JsonObject = dict[str, Any]


def simulated(node: JsonObject) -> str:
    """What the simulator calls the profile of a node of its own; a cluster's nodes have other providers."""
    provider = str((node.get("spec") or {}).get("providerID") or "")
    return provider.removeprefix(PROVIDER).partition("/")[0] if provider.startswith(PROVIDER) else ""


def reports_free(node: JsonObject) -> bool:
    """Whether a node's allocatable is what its kubelet measures as free, as kube32's do; others do not count pods."""
    if simulated(node):
        return True
    status = node.get("status") or {}
    named = (*(status.get("capacity") or ()), *(status.get("allocatable") or ()))
    return any(name.startswith("esp32.io/") for name in named)
