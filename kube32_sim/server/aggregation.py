"""Other API servers that APIServices name: they are asked nothing, and who asks for what they serve is told so."""

from __future__ import annotations

from kube32_sim.api import errors
from kube32_sim.api.paths import RequestInfo
from kube32_sim.registry.custom_types import API_SERVICES
from kube32_sim.storage.interface import Store


def refuse_aggregated(store: Store, info: RequestInfo) -> None:
    """501 for a path of a group, or of its version, that an APIService leaves to another server."""
    if info.prefix != "apis" or not info.group:
        return
    for stored in store.list(API_SERVICES):
        spec = stored.object()["spec"]
        if spec.get("group") != info.group or info.version not in ("", spec.get("version")):
            continue
        if spec.get("service") is not None:
            raise errors.not_implemented(
                f"kube32-sim forwards no requests to other API servers: APIService {stored.name} is stored only"
            )
