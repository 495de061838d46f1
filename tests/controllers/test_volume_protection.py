"""Claims, volumes and classes are kept while they are used, and go afterwards."""

import pytest
from kube32_controllers.volume_protection import CLAIMS, CLASSES, VOLUMES, VolumeProtection
from workload_objects import NOW, FakeView

from kube32_sim.client import PODS
from kube32_sim.runtime.actions import Patch

DELETED = "2026-01-01T00:00:00Z"


def protected(name, finalizer, deleting=True, namespace="", **spec):
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "5", "finalizers": ["mine/too", finalizer]}
    if namespace:
        metadata["namespace"] = namespace
    if deleting:
        metadata["deletionTimestamp"] = DELETED
    return {"metadata": metadata, "spec": spec}


def claim(deleting=True, **spec):
    return protected("disk", "kubernetes.io/pvc-protection", deleting, "default", **spec)


def pod(volumes, node="a"):
    metadata = {"name": "web", "namespace": "default", "uid": "u"}
    return {"metadata": metadata, "spec": {"nodeName": node, "volumes": volumes}}


MOUNTED = [{"name": "v", "persistentVolumeClaim": {"claimName": "disk"}}]


def released(resource, obj, namespace=""):
    told = {"uid": obj["metadata"]["uid"], "resourceVersion": "5", "finalizers": ["mine/too"]}
    return (Patch(resource, namespace, obj["metadata"]["name"], {"metadata": told}),)


def test_a_claim_that_no_pod_uses_goes():
    view = FakeView({CLAIMS: [claim()]})
    loop = VolumeProtection()
    assert list(loop.keys(CLAIMS, claim(), view)) == ["claim/default/disk"]
    assert loop.plan("claim/default/disk", view, NOW).actions == released(CLAIMS, claim(), "default")


@pytest.mark.parametrize(
    ("volumes", "node", "goes"),
    [
        (MOUNTED, "a", False),
        (MOUNTED, "", True),
        ([{"name": "v", "persistentVolumeClaim": {"claimName": "other"}}], "a", True),
        ([{"name": "v", "emptyDir": {}}], "a", True),
    ],
)
def test_a_pod_that_has_a_node_keeps_its_claims(volumes, node, goes):
    view = FakeView({CLAIMS: [claim()], PODS: [pod(volumes, node)]})
    assert bool(VolumeProtection().plan("claim/default/disk", view, NOW).actions) is goes


def test_a_claim_is_looked_at_when_its_pod_has_gone():
    loop = VolumeProtection()
    assert list(loop.keys(PODS, pod(MOUNTED), FakeView({PODS: [pod(MOUNTED)]}))) == []
    ephemeral = [{"name": "cache", "ephemeral": {}}]
    assert list(loop.keys(PODS, pod(MOUNTED + ephemeral), FakeView({}))) == [
        "claim/default/disk",
        "claim/default/web-cache",
    ]


def test_what_is_not_being_deleted_keeps_its_finalizer():
    view = FakeView({CLAIMS: [claim(deleting=False)]})
    assert VolumeProtection().plan("claim/default/disk", view, NOW).actions == ()
    assert VolumeProtection().plan("claim/default/none", view, NOW).actions == ()


@pytest.mark.parametrize(("phase", "goes"), [("Bound", False), ("Released", True), ("", True)])
def test_a_bound_volume_stays(phase, goes):
    volume = protected("v", "kubernetes.io/pv-protection") | {"status": {"phase": phase}}
    actions = VolumeProtection().plan("volume/v", FakeView({VOLUMES: [volume]}), NOW).actions
    assert actions == (released(VOLUMES, volume) if goes else ())


def test_a_class_stays_while_it_is_named():
    found = protected("fast", "kubernetes.io/vac-protection")
    user = claim(deleting=False, volumeAttributesClassName="fast")
    loop = VolumeProtection()
    assert list(loop.keys(CLAIMS, user, FakeView({}))) == ["claim/default/disk", "class/fast"]
    assert loop.plan("class/fast", FakeView({CLASSES: [found], CLAIMS: [user]}), NOW).actions == ()
    assert loop.plan("class/fast", FakeView({CLASSES: [found]}), NOW).actions == released(CLASSES, found)
