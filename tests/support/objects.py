"""Small valid objects, as fresh copies."""

from __future__ import annotations

from typing import Any

from kube32_sim.client import Resource

JsonObject = dict[str, Any]

MAPS = Resource("", "v1", "configmaps")
REPLICASETS = Resource("apps", "v1", "replicasets")
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets")
ENDPOINTS = Resource("", "v1", "endpoints")
SLICES = Resource("discovery.k8s.io", "v1", "endpointslices")
PLENTY = {
    "memory": "300Ki",
    "esp32.io/psram": "8Mi",
    "esp32.io/gpio": "30",
    "esp32.io/i2c": "2",
    "esp32.io/uart": "3",
    "esp32.io/adc": "10",
    "esp32.io/rmt-tx": "4",
    "esp32.io/rmt-rx": "4",
}
"""Enough, for most pods, of everything that the scheduler looks at."""


def pod_spec(**more: Any) -> JsonObject:
    return {"containers": [{"name": "c", "image": "i"}], **more}


def pod(name: str = "", *, spec: JsonObject | None = None, **metadata: Any) -> JsonObject:
    return {"metadata": {"name": name, **metadata}, "spec": pod_spec(**(spec or {}))}


def config_map(name: str, **data: str) -> JsonObject:
    return {"metadata": {"name": name}, "data": data}


def node(name: str, **status: Any) -> JsonObject:
    ready = {"type": "Ready", "status": "True"}
    room = {"memory": "300Ki", "esp32.io/gpio": "20", "pods": "110"}
    return {
        "metadata": {"name": name},
        "status": {"conditions": [ready], "capacity": room, "allocatable": room, **status},
    }


def service(name: str, selector: dict[str, str] | None, *, ports: Any = None, **spec: Any) -> JsonObject:
    wanted = ports or [{"port": 80, "targetPort": 8080}]
    return {
        "metadata": {"name": name},
        "spec": {**({"selector": selector} if selector else {}), "ports": wanted, **spec},
    }


def replica_set(name: str, replicas: int = 1) -> JsonObject:
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec()}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}
