"""Manifests and what a cluster has, as a preview reads them, and what it makes of them."""

import pytest

from kube32_sim.preview.manifests import Manifest
from kube32_sim.preview.placements import ClusterState, PreviewError
from kube32_sim.preview.workloads import wanted_pods

CONTAINER = {"name": "c", "image": "i"}
HOSTNAME = "kubernetes.io/hostname"


def manifest(api_version, kind, name="web", namespace="default", **rest):
    metadata = {"generateName": name} if name.endswith("-") else {"name": name}
    obj = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}
    return Manifest(obj, "app.yaml, document 1", namespace)


def template(labels=None, **spec):
    return {"metadata": {"labels": labels or {"app": "web"}}, "spec": {"containers": [CONTAINER], **spec}}


def workload(kind, name="web", namespace="default", pod=None, **spec):
    """pod: fields of the pods' spec."""
    group, selector = ("batch/v1", {}) if kind == "Job" else ("apps/v1", {"selector": {"matchLabels": {"app": "web"}}})
    pod = {"restartPolicy": "Never"} | (pod or {}) if kind == "Job" else pod or {}
    return manifest(group, kind, name, namespace, spec={**selector, "template": template(**pod), **spec})


def pod(name="web", namespace="default", **spec):
    return manifest("v1", "Pod", name, namespace, spec={"containers": [CONTAINER], **spec})


def node(name, **labels):
    return {"metadata": {"name": name, "labels": labels}}


def there(name, owner=None, labels=None, phase="Running"):
    """A pod of the cluster.  owner: kind and name."""
    metadata = {"name": name, "namespace": "default", "labels": labels or {}}
    if owner:
        about = {"apiVersion": "apps/v1", "kind": owner[0], "name": owner[1], "uid": "1", "controller": True}
        metadata["ownerReferences"] = [about]
    return {"metadata": metadata, "spec": {"nodeName": "a"}, "status": {"phase": phase}}


def state(nodes=(), pods=(), classes=(), ranges=(), namespaces=None):
    return ClusterState(nodes, pods, classes, ranges, ["from the start"], namespaces=namespaces)


def priority_class(name, value, **more):
    return {"metadata": {"name": name}, "value": value, "preemptionPolicy": "PreemptLowerPriority", **more}


def limit_range(namespace="default", **limit):
    metadata = {"name": "limits", "namespace": namespace}
    return {"metadata": metadata, "spec": {"limits": [{"type": "Container", **limit}]}}


def wanted(*manifests, **given):
    return wanted_pods(manifests, state(**given))


def names(*manifests, **given):
    return [each.name for each in wanted(*manifests, **given)[0]]


def spec_of(*manifests, **given):
    return wanted(*manifests, **given)[0][0].obj["spec"]


def warnings(*manifests, **given):
    first, *others = wanted(*manifests, **given)[1].warnings
    assert first == "from the start"
    return others


def problems(*manifests, **given):
    with pytest.raises(PreviewError) as caught:
        wanted(*manifests, **given)
    return [line.removeprefix("app.yaml, document 1 ") for line in str(caught.value).splitlines()]
