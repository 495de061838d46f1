"""Nodes that came with a snapshot, and the boards that run them from then on.

An annotation of the Node says as what: a profile of the simulator's own, where it was one of its boards, or what its
kubelet had reported as allocatable, before anything was taken off for the pods that run there.  A node of the latter
kind keeps its labels, addresses and nodeInfo; its board reports what is free, and that it is well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from kube32_sim.api import quantity
from kube32_sim.api.requests import Amounts
from kube32_sim.api.steering import RUNS_AS
from kube32_sim.kubelet.boards import Profile, profiles
from kube32_sim.kubelet.claims import IGNORED
from kube32_sim.kubelet.node_object import kind_of

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class PlayedProfile(Profile):
    """What a node of another cluster has, by its own report: total, and for pods.

    Of what no pod is refused for, such as cpu, the Node goes on saying what it says.
    """

    total: Mapping[str, int] = field(default_factory=dict)
    for_pods: Mapping[str, int] = field(default_factory=dict)

    def capacity(self) -> Amounts:
        return dict(self.total)

    def allocatable(self) -> Amounts:
        return dict(self.for_pods)


def description(node: JsonObject) -> str:
    """What the annotation of a node is to say: the name of a profile, or what is allocatable, in JSON."""
    kind = kind_of(node)
    if kind:
        return kind
    status = node.get("status") or {}
    return orjson.dumps(status.get("allocatable") or status.get("capacity") or {}).decode()


def profile_of(node: JsonObject) -> Profile | None:
    """As what a node is run by its annotation; None where it has none that can be read."""
    return described_by((node["metadata"].get("annotations") or {}).get(RUNS_AS, ""), node)


def described_by(text: str, node: JsonObject) -> Profile | None:
    """As what a node is run by such a description; None where it cannot be read."""
    known = profiles().get(text)
    if known is not None:
        return known
    for_pods = _figures(text)
    if for_pods is None:
        return None
    status = node.get("status") or {}
    info = status.get("nodeInfo") or {}
    total = {name: quantity.value(amount) for name, amount in (status.get("capacity") or {}).items()}
    return PlayedProfile(
        name="played",
        instance_type="",
        arch=info.get("architecture", ""),
        os=info.get("operatingSystem", ""),
        os_image=info.get("osImage", ""),
        kernel=info.get("kernelVersion", ""),
        cores=0,
        memory=0,
        system=0,
        storage=0,
        host_ip=_host_ip(status),
        total=total or for_pods,
        for_pods={name: amount for name, amount in for_pods.items() if name not in IGNORED},
    )


def _figures(text: str) -> Amounts | None:
    try:
        return {name: quantity.value(amount) for name, amount in orjson.loads(text).items()}
    except (ValueError, AttributeError, TypeError):
        return None


def _host_ip(status: JsonObject) -> str:
    addresses = status.get("addresses") or ()
    return next((str(one.get("address")) for one in addresses if one.get("type") == "InternalIP"), "")
