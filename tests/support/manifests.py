"""What the tests of kubectl give it to read: manifests as users write them, and a pod that runs."""

from __future__ import annotations

import json

from tests.support.kubectl import Kubectl

SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {set: one}}
data: {a: "1", b: "2"}
"""
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {set: one}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "web:1", env: [{name: A, value: "1"}, {name: B, value: "2"}], ports: [{containerPort: 80}]}
      - {name: side, image: "side:1"}
"""
MISTAKEN = """
apiVersion: v1
kind: Pod
metadata: {name: mistaken}
spec: {containers: [{name: a, image: "a:1", imag: b}]}
"""
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "blinky",
        "labels": {"app": "blinky"},
        "annotations": {"sim.kube32.io/log": "LED on\nLED off"},
    },
    "spec": {"containers": [{"name": "led", "image": "blinky:1.0", "resources": {"limits": {"memory": "32Ki"}}}]},
}


def start_pod(kubectl: Kubectl) -> None:
    kubectl.quietly("create", "-f", "-", stdin=json.dumps(POD))
    kubectl.quietly("wait", "--for=condition=Ready", "pod/blinky", "--timeout=20s")
