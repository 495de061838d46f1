"""Plain objects for the tests of the loops: as the API server would hand them out, no more than a test needs."""

from __future__ import annotations

from itertools import count

from kube32_controllers.pod_control import template_hash

from kube32_sim.clock import rfc3339

NOW = 1_767_225_600.0
_numbers = count(1)


def template(image="app:1", **spec):
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": image}], "restartPolicy": "Always", **spec},
    }


def make_pod(owner, kind, *, ready=False, phase=None, age=100.0, name=None, labels=None, deleting=False, **spec):
    """A pod of an owner; age: seconds since it was created and, if ready, became ready."""
    name = name or f"{owner['metadata']['name']}-{next(_numbers):05d}"
    api_version = "batch/v1" if kind == "Job" else "apps/v1"
    since = rfc3339(NOW - age)
    pod = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "resourceVersion": "7",
            "creationTimestamp": since,
            "labels": {"app": "web", **(labels or {})},
            "ownerReferences": [
                {
                    "apiVersion": api_version,
                    "kind": kind,
                    "name": owner["metadata"]["name"],
                    "uid": owner["metadata"]["uid"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {"containers": [{"name": "app", "image": "app:1"}], **spec},
        "status": {"phase": phase or ("Running" if ready else "Pending")},
    }
    if ready:
        pod["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": since}]
    if deleting:
        pod["metadata"]["deletionTimestamp"] = rfc3339(NOW + 30)
        pod["metadata"]["deletionGracePeriodSeconds"] = 30
    return pod


def make_deployment(replicas=3, *, image="app:1", settled=False, **spec):
    """settled: rolled out already at revision 1, with observedGeneration current."""
    pods = template(image)
    deployment = {
        "metadata": {
            "name": "web",
            "namespace": "default",
            "uid": "uid-web",
            "resourceVersion": "5",
            "generation": 1,
            "creationTimestamp": rfc3339(NOW - 1000),
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
            "progressDeadlineSeconds": 600,
            "template": pods,
            **spec,
        },
        "status": {},
    }
    if settled:
        settle(deployment)
    return deployment


def settle(deployment, image="app:1"):
    deployment["metadata"]["annotations"] = {
        "deployment.kubernetes.io/revision": "1",
        "sim.kube32.io/pod-template-hash": template_hash(template(image)),
    }
    deployment["status"] = {"observedGeneration": deployment["metadata"]["generation"]}


def deployment_pod(deployment, image="app:1", **how):
    return make_pod(deployment, "Deployment", labels={"pod-template-hash": template_hash(template(image))}, **how)


def make_node(name, *, labels=None, hostname=True):
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "3", "labels": dict(labels or {})}
    if hostname:
        metadata["labels"]["kubernetes.io/hostname"] = name
    return {"metadata": metadata, "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}


class FakeView:
    """A `runtime.actions.View` over plain objects: {Resource: [objects]}."""

    def __init__(self, objects):
        self.objects = objects

    def get(self, resource, namespace, name):
        for obj in self.list(resource, namespace):
            if obj["metadata"]["name"] == name:
                return obj
        return None

    def list(self, resource, namespace=""):
        found = self.objects.get(resource, [])
        return [obj for obj in found if not namespace or obj["metadata"].get("namespace", "") == namespace]

    def owned(self, resource, uid):
        return [
            obj
            for obj in self.list(resource)
            if any(owner["uid"] == uid for owner in obj["metadata"].get("ownerReferences", []))
        ]

    def by_field(self, resource, field, value):
        assert field == "spec.nodeName"
        return [obj for obj in self.list(resource) if obj["spec"].get("nodeName", "") == value]
