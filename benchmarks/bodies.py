"""The objects that are sent: a pod of 2.5 KB, the same made 4.4 KB as stored, nodes, ConfigMaps, leases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from benchmarks.load import request

PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
NODES = "/api/v1/nodes"
APPS = "/apis/apps/v1/namespaces/default/deployments"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def container(name: str) -> dict[str, Any]:
    """About 1 KB."""
    probe = {"httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"}, "periodSeconds": 10}
    return {
        "name": name,
        "image": f"registry.example.org/firmware/{name}:v1.4.2",
        "imagePullPolicy": "IfNotPresent",
        "command": ["/firmware", "--config=/etc/config/settings.json", "--verbose"],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [
            {"name": "SENSOR_PERIOD", "value": "500ms"},
            {"name": "MQTT_HOST", "value": "mqtt.default.svc.cluster.local"},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
        ],
        "resources": {"requests": {"memory": "32Ki"}, "limits": {"memory": "32Ki"}},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/config", "readOnly": True}],
        "livenessProbe": probe | {"initialDelaySeconds": 5},
        "readinessProbe": probe,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }


def pod(name: str, *, node: str = "", labels: dict[str, str] | None = None, bulk: int = 0) -> dict[str, Any]:
    """A pod of 2.5 KB as a client sends it.

    bulk: one container less, but so many bytes of annotation as managedFields would take in its metadata.
    """
    annotations = {"prometheus.io/scrape": "true", "prometheus.io/port": "8080"}
    if bulk:
        annotations["bulk"] = "f:spec " * (bulk // 7)
    spec: dict[str, Any] = {
        "containers": [container("sensor")] if bulk else [container("sensor"), container("uplink")],
        "volumes": [{"name": "config", "configMap": {"name": "settings", "defaultMode": 420}}],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "securityContext": {},
    }
    if node:
        spec["nodeName"] = node
    metadata = {
        "name": name,
        "namespace": "default",
        "labels": {"app.kubernetes.io/name": "sensor", "app.kubernetes.io/part-of": "benchmarks", **(labels or {})},
        "annotations": annotations,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def node(name: str) -> dict[str, Any]:
    """A board that is Ready and has room for about a thousand of the pods above."""
    room = {"cpu": "2", "memory": "64Mi", "pods": "2000", "esp32.io/gpio": "2000"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/arch": "xtensa"}
    status = {"capacity": room, "allocatable": room, "conditions": [ready]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def config_map(name: str) -> dict[str, Any]:
    """Carries the watchers' mark once."""
    data = {"wifi": "ssid=workshop;channel=6", "period": "500ms", "mark": "~"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def lease(name: str, second: int, version: str = "") -> bytes:
    """As a kubelet renews it; version: the resourceVersion it last saw."""
    metadata = {"name": name, "namespace": "kube-node-lease"}
    if version:
        metadata["resourceVersion"] = version
    minutes, seconds = divmod(second % 3600, 60)
    spec = {
        "holderIdentity": name,
        "leaseDurationSeconds": 40,
        "renewTime": f"2026-01-01T00:{minutes:02}:{seconds:02}.000000Z",
    }
    return orjson.dumps({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})


def application(name: str, version: str) -> dict[str, Any]:
    """A Deployment of 3 KB as a client applies it."""
    container_of = container("sensor") | {"image": f"registry.example.org/firmware/sensor:{version}"}
    labels = {"app.kubernetes.io/name": name}
    volumes = [{"name": "config", "configMap": {"name": "settings"}}]
    template = {"containers": [container_of, container("uplink")], "volumes": volumes}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template},
        },
    }


def status_patch(number: int) -> bytes:
    """A kubelet's report on a pod: a different one for each number."""
    status = {
        "phase": "Running",
        "podIP": f"10.244.{number // 250 % 250}.{number % 250}",
        "startTime": "2026-01-01T00:00:00Z",
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
        "containerStatuses": [
            {
                "name": name,
                "image": f"registry.example.org/firmware/{name}:v1.4.2",
                "imageID": f"sha256:{number:064x}",
                "ready": True,
                "restartCount": number,
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
            }
            for name in ("sensor", "uplink")
        ],
    }
    return orjson.dumps({"status": status})


def create(path: str, obj: dict[str, Any]) -> bytes:
    return request("POST", path, orjson.dumps(obj))


def create_nodes(count: int) -> Iterator[bytes]:
    return (create(NODES, node(f"node-{number:04}")) for number in range(count))
