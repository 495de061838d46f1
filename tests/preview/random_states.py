"""Small random clusters in Kubernetes' objects, on which promises about previews are tried."""

from __future__ import annotations

import random
from typing import Any

from kube32_sim.preview.placements import ClusterState, WantedPod
from kube32_sim.translation.terms import HOSTNAME_LABEL, ZONE_LABEL

JsonObject = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Draw:
    """Nodes, pods that are on them and wanted pods, of one seed.  boards: real ones now and then, with their pins."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._pods = 0

    def node(self, name: str) -> JsonObject:
        rng = self.rng
        labels = {HOSTNAME_LABEL: name, ZONE_LABEL: rng.choice("ab"), "board": rng.choice(("s3", "c3"))}
        room = {"memory": f"{rng.choice((60, 100, 140))}Ki", "esp32.io/gpio": str(rng.choice((4, 8))), "cpu": "240m"}
        ready = "True" if rng.random() < 0.85 else "Unknown"
        spec: JsonObject = {"unschedulable": True} if rng.random() < 0.15 else {}
        if rng.random() < 0.2:
            spec["taints"] = [{"key": "hw", "value": rng.choice(("", "gpu")), "effect": "NoSchedule"}]
        if rng.random() < 0.25:
            spec["providerID"] = f"kube32-sim://{rng.choice(('esp32', 'esp32-c3'))}/{name}"
            labels["esp32.io/board"] = "esp32-c3"
        return {
            "metadata": {"name": name, "labels": labels},
            "spec": spec,
            "status": {
                "conditions": [{"type": "Ready", "status": ready}],
                "allocatable": room,
                "capacity": {"memory": "200Ki", "esp32.io/gpio": "10", "cpu": "240m"},
            },
        }

    def pod(self, name: str = "", *, kestrel: bool, hard: bool = False) -> JsonObject:
        """hard: one that asks for much and names conditions."""
        rng = self.rng
        self._pods += 1
        name = name or f"p{self._pods}"
        labels = {"app": rng.choice(("x", "y"))}
        containers = [self._container(n, kestrel, hard) for n in range(rng.choice((1, 1, 2)))]
        spec: JsonObject = {"containers": containers, "priority": rng.choice((0, 0, 10)) if kestrel else 0}
        if rng.random() < 0.2:
            spec["initContainers"] = [self._container(9, kestrel, hard)]
        if rng.random() < (0.5 if hard else 0.2):
            spec["nodeSelector"] = {"board": rng.choice(("s3", "c3", "p4"))}
        if kestrel and rng.random() < 0.3:
            kind = rng.choice(("podAffinity", "podAntiAffinity"))
            match, key = {"app": rng.choice(("x", "y"))}, rng.choice((HOSTNAME_LABEL, ZONE_LABEL))
            spec["affinity"] = {kind: {REQUIRED: [{"labelSelector": {"matchLabels": match}, "topologyKey": key}]}}
        return {"metadata": {"name": name, "namespace": "default", "uid": name, "labels": labels}, "spec": spec}

    def _container(self, number: int, kestrel: bool, hard: bool) -> JsonObject:
        rng = self.rng
        asked = {"memory": f"{rng.choice((7, 20, 45, 90) if hard else (7, 13, 20))}Ki"}
        if kestrel:
            asked["cpu"] = f"{rng.choice((20, 130, 300) if hard else (20, 50))}m"
        elif rng.random() < 0.5:
            asked["esp32.io/gpio"] = str(rng.randrange(1, 7 if hard else 3))
        if not kestrel and rng.random() < 0.15:
            asked[f"esp32.io/gpio-{rng.choice((4, 5))}"] = "1"
        resources = {"requests": asked, "limits": {name: one for name, one in asked.items() if "/" in name}}
        return {"name": f"c{number}", "image": "i", "resources": resources}

    def state(self, *, kestrel: bool, nodes: int, pods: int) -> ClusterState:
        made = [self.node(f"n{number}") for number in range(nodes)]
        there = []
        for _ in range(pods):
            pod = self.pod(kestrel=kestrel)
            pod["spec"]["nodeName"] = self.rng.choice(made)["metadata"]["name"]
            phase = self.rng.choice(("Pending", "Running"))
            there.append({**pod, "status": {"phase": phase}})
        return ClusterState(made, there)

    def wanted(self, name: str = "new", *, kestrel: bool) -> WantedPod:
        return WantedPod(self.pod(name, kestrel=kestrel, hard=True))
