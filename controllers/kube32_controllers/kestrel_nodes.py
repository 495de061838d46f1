"""Nodes as the scheduler of the profile `kestrel` keeps them, and what of their domains Kestrel's terms cannot say."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from kube32_controllers.kestrel_pods import KestrelRecord
from kube32_sim.kestrel.models import NODE, ZONE, Node, PodSpec
from kube32_sim.translation.kubernetes import kestrel_node
from kube32_sim.translation.reports import reports_free
from kube32_sim.translation.terms import HOSTNAME_LABEL, ZONE_LABEL

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Site:
    """A node and what is known of it.

    node: with nothing taken.  revision: of the report.  reports: whether that tells what is free, so that the pods that
    it includes have to be added.  zoned: whether it is in a zone.  hostname: its value of the label, or its name.
    """

    node: Node
    revision: int
    reports: bool
    zoned: bool
    hostname: str

    def made(self, pods: Collection[KestrelRecord]) -> Node:
        """The record of the node with these pods on it, before their requests are subtracted."""
        cpu, memory = self.node.capacity
        if self.reports:
            memory += sum(pod.memory for pod in pods if not pod.unsettled and pod.revision <= self.revision)
        room = (cpu, memory)
        barred = self.node.barred or _beyond_count(pods)
        return Node(self.node.name, self.node.zone, self.node.labels, self.node.taints, room, room, barred)


def _beyond_count(pods: Iterable[KestrelRecord]) -> str:
    """Why nobody can tell how much is free; "" where it can be told."""
    found = min((f"{pod.key}: {pod.lasting[0].field}" for pod in pods if pod.lasting), default="")
    return f"node(s) had a pod that Kestrel cannot count ({found})" if found else ""


def read_node(obj: JsonObject, revision: int) -> Site:
    node, problems = kestrel_node(obj)
    if problems:
        node.barred = f"node(s) had what Kestrel cannot read ({problems[0].field})"
    labels = obj["metadata"].get("labels") or {}
    return Site(node, revision, reports_free(obj), ZONE_LABEL in labels, labels.get(HOSTNAME_LABEL, node.name))


class Domains:
    """Whether every node is a domain of its own, and in a zone: else terms about them mean something else."""

    def __init__(self) -> None:
        self._outside: dict[str, None] = {}
        self._hostnames: dict[str, dict[str, None]] = {}
        self._shared: dict[str, None] = {}

    def replace(self, old: Site | None, new: Site | None) -> None:
        if old is not None:
            self._outside.pop(old.node.name, None)
            self._name(old.hostname).pop(old.node.name, None)
        if new is not None:
            if not new.zoned:
                self._outside[new.node.name] = None
            self._name(new.hostname)[new.node.name] = None
        for site in (old, new):
            if site is not None:
                self._look_at(site.hostname)

    def _name(self, hostname: str) -> dict[str, None]:
        return self._hostnames.setdefault(hostname, {})

    def _look_at(self, hostname: str) -> None:
        nodes = self._hostnames.get(hostname, {})
        if len(nodes) > 1:
            self._shared[hostname] = None
        else:
            self._shared.pop(hostname, None)
        if not nodes:
            self._hostnames.pop(hostname, None)

    def trouble(self, spec: PodSpec, *, kept_apart: bool) -> str:
        """Why a pod cannot be placed; "" where it can.  kept_apart: whether pods keep others away by node."""
        topologies = {term.topology for term in (*spec.affinity_terms, *spec.anti_terms)}
        if ZONE in topologies and self._outside:
            return f"no label {ZONE_LABEL} on node {min(self._outside)}: the pod has affinity terms about zones"
        if (NODE in topologies or kept_apart) and self._shared:
            hostname = min(self._shared)
            nodes = ", ".join(sorted(self._hostnames[hostname])[:2])
            return f"one {HOSTNAME_LABEL}={hostname} on nodes {nodes}: there are affinity terms about nodes"
        return ""
