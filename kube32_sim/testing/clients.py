"""That the clients of a test find its cluster, no other one, and leave nothing in the user's home.

Most look at $KUBECONFIG when they are made.  Some have looked before, and keep what they saw.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Protocol

ELSEWHERE = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
"""Where a test runs in a pod, clients would find the cluster of that pod."""
LOCATION = "KUBE_CONFIG_DEFAULT_LOCATION"
LOOKED_BEFORE = ("kubernetes", "kubernetes.aio", "kubernetes_asyncio")
"""Official clients: the environment of the moment in which they were imported counts for them."""


class Patching(Protocol):
    """pytest's MonkeyPatch."""

    def setenv(self, name: str, value: str, /) -> None: ...

    def delenv(self, name: str, raising: bool = ...) -> None: ...

    def setattr(self, target: Any, name: str, value: Any, /) -> None: ...


def lead_to(kubeconfig: Path, patching: Patching) -> None:
    patching.setenv("KUBECONFIG", str(kubeconfig))
    patching.setenv("KUBECACHEDIR", str(kubeconfig.with_name("kubectl-cache")))
    patching.setenv("KUBERC", "off")
    for name in ELSEWHERE:
        patching.delenv(name, raising=False)
    for package in LOOKED_BEFORE:
        for module in (f"{package}.config", f"{package}.config.kube_config"):
            if hasattr(sys.modules.get(module), LOCATION):
                patching.setattr(sys.modules[module], LOCATION, str(kubeconfig))
    _forget_kr8s()


def _forget_kr8s() -> None:
    """kr8s answers every `api()` with the first one of the thread, which leads to the cluster of an earlier test."""
    kept = getattr(getattr(sys.modules.get("kr8s._api"), "Api", None), "_instances", None)
    if isinstance(kept, dict):
        kept.clear()
