"""An operator written with kopf: a Blinky becomes a Deployment, whose LEDs it switches off before it goes.

    kopf run --standalone --namespace default docs/operators/blinky/blinky.py

Deployments and the daemon's status are written with the official client, everything else is kopf's.
"""

from __future__ import annotations

import asyncio
from typing import Any

import kopf
from kubernetes import client, config

GROUP, VERSION, PLURAL = "example.com", "v1", "blinkies"
MANAGER = "blinky-operator"
LABEL = "example.com/blinky"
SECONDS = 0.5
"""Until it tries again, and until it looks again."""


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    config.load_kube_config()
    settings.persistence.finalizer = f"{PLURAL}.{GROUP}/{MANAGER}"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=f"{MANAGER}.{GROUP}")
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=f"{MANAGER}.{GROUP}")


@kopf.on.resume(GROUP, VERSION, PLURAL, backoff=SECONDS)
@kopf.on.create(GROUP, VERSION, PLURAL, backoff=SECONDS)
@kopf.on.update(GROUP, VERSION, PLURAL, field="spec", backoff=SECONDS)
def deploy(body: kopf.Body, name: str, patch: kopf.Patch, reason: str, **_: Any) -> None:
    """The Deployment as it should be, by server-side apply: the same whether it is there, is not, or was changed."""
    apply(wanted(body))
    patch.status["deployment"] = name
    kopf.info(body, reason="Deployed", message=f"{reason}: {body.spec['boards']} boards blink")


@kopf.on.delete(GROUP, VERSION, PLURAL, backoff=SECONDS)
def switch_off(body: kopf.Body, name: str, namespace: str, **_: Any) -> None:
    """The finalizer's work: the object stays until the last of its pods is gone."""
    apply(wanted(body, replicas=0))
    if pods(namespace, name):
        raise kopf.TemporaryError("there are LEDs on yet", delay=SECONDS)


@kopf.timer(GROUP, VERSION, PLURAL, interval=SECONDS)
def count(name: str, namespace: str, status: kopf.Status, patch: kopf.Patch, **_: Any) -> None:
    lit = sum(pod.status.phase == "Running" for pod in pods(namespace, name))
    if lit != status.get("lit"):
        patch.status["lit"] = lit


@kopf.daemon(GROUP, VERSION, PLURAL, backoff=SECONDS, cancellation_timeout=1)
async def blink(name: str, namespace: str, spec: kopf.Spec, stopped: kopf.DaemonStopped, **_: Any) -> None:
    """What kopf would patch at the end of a daemon this one writes while it runs."""
    custom, led = client.CustomObjectsApi(), "off"
    while not stopped:
        led = "off" if led == "on" else "on"
        body = {"status": {"led": led}}
        await asyncio.to_thread(
            custom.patch_namespaced_custom_object_status, GROUP, VERSION, namespace, PLURAL, name, body
        )
        await stopped.wait(spec["period"])


def wanted(blinky: kopf.Body, replicas: int | None = None) -> dict[str, Any]:
    """The Deployment of a Blinky, which owns it.  replicas: how many instead of its boards."""
    spec, labels = blinky.spec, {LABEL: blinky.metadata.name}
    container = {"name": "led", "image": spec["image"], "env": [{"name": "PERIOD", "value": str(spec["period"])}]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": blinky.metadata.name, "namespace": blinky.metadata.namespace, "labels": labels},
        "spec": {
            "replicas": spec["boards"] if replicas is None else replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    kopf.append_owner_reference(deployment, owner=blinky)
    return deployment


def apply(deployment: dict[str, Any]) -> None:
    name, namespace = deployment["metadata"]["name"], deployment["metadata"]["namespace"]
    options = {"field_manager": MANAGER, "force": True, "_content_type": "application/apply-patch+yaml"}
    client.AppsV1Api().patch_namespaced_deployment(name, namespace, deployment, **options)


def pods(namespace: str, name: str) -> list[client.V1Pod]:
    return client.CoreV1Api().list_namespaced_pod(namespace, label_selector=f"{LABEL}={name}").items
