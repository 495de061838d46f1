"""Which nodes of a cluster are run by boards at a moment, whoever runs them, and as what they go on in its fork."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kube32_sim.api.steering import RUNS_AS
from kube32_sim.clock import parse_time
from kube32_sim.kubelet.boards import Profile, profiles
from kube32_sim.kubelet.node_keeper import fault_of
from kube32_sim.kubelet.node_object import LEASE_NAMESPACE, kind_of
from kube32_sim.kubelet.played import described_by, description
from kube32_sim.storage.interface import Store

JsonObject = dict[str, Any]

NODES, LEASES = ("", "nodes"), ("coordination.k8s.io", "leases")


def running_nodes(store: Store, now: float) -> Iterator[tuple[str, Profile]]:
    """(name, profile) of each, in the order of their names.

    A node is run where its lease is good, where it is in a snapshot that the simulator plays, and where its board has
    a fault by its annotation.  One that nobody has renewed stays as it is: it was lost before.
    """
    for stored in store.list(NODES):
        node = stored.object()
        played = RUNS_AS in (node["metadata"].get("annotations") or {})
        if played or fault_of(node).kind or _is_renewed(store, stored.name, now):
            profile = _profile(node)
            if profile is not None:
                yield stored.name, profile


def _profile(node: JsonObject) -> Profile | None:
    annotations = node["metadata"].get("annotations") or {}
    return profiles().get(kind_of(node)) or described_by(annotations.get(RUNS_AS) or description(node), node)


def _is_renewed(store: Store, name: str, now: float) -> bool:
    stored = store.get(LEASES, f"{LEASE_NAMESPACE}/{name}")
    spec = stored.object().get("spec") or {} if stored is not None else {}
    try:
        return bool(now < parse_time(spec["renewTime"]) + spec["leaseDurationSeconds"])
    except (KeyError, TypeError, ValueError):
        return False
