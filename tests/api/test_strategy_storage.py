"""Storage and policy kinds: defaults, status of new objects, what may change."""

from __future__ import annotations

from typing import Any

import pytest
from strategy_objects import NOW, changed, created, texts

JsonObject = dict[str, Any]


def of(api_version: str, kind: str, **fields: Any) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}} | fields


def claim(**spec: Any) -> JsonObject:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return of("v1", "PersistentVolumeClaim", spec=asked | spec)


def volume(**spec: Any) -> JsonObject:
    base = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"}}
    return of("v1", "PersistentVolume", spec=base | spec)


def test_a_claim_waits() -> None:
    obj, failures, warnings = created(claim())
    assert (failures, warnings) == ([], [])
    assert (obj["spec"]["volumeMode"], obj["status"]) == ("Filesystem", {"phase": "Pending"})


def test_fractions_of_bytes_earn_a_warning() -> None:
    assert created(claim(resources={"requests": {"storage": "500m"}}))[2] == [
        'spec.resources.requests[storage]: fractional byte value "500m" is invalid, must be an integer'
    ]


def test_claims_are_refused() -> None:
    assert texts(created(of("v1", "PersistentVolumeClaim"))[1]) == [
        "spec.accessModes: Required value: at least 1 access mode is required",
        "spec.resources[storage]: Required value",
    ]
    assert texts(created(claim(accessModes=["Odd"]))[1]) == [
        'spec.accessModes: Unsupported value: "Odd": supported values: "ReadOnlyMany", "ReadWriteMany", '
        '"ReadWriteOnce", "ReadWriteOncePod"'
    ]


def test_a_claim_grows_once_it_is_bound() -> None:
    old = created(claim())[0]
    larger = claim(resources={"requests": {"storage": "2Gi"}})
    assert [error.field for error in changed(old, larger)[1]] == ["spec"]
    assert changed(old, claim(volumeName="pv"))[1] == []
    old["status"] = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    assert changed(old, larger)[1] == []
    smaller = claim(resources={"requests": {"storage": "1Mi"}})
    assert [error.field for error in changed(old, smaller)[1]] == ["spec.resources.requests.storage"]


def test_a_volume_tells_since_when_it_is_in_its_phase() -> None:
    obj, failures, _ = created(volume())
    assert failures == []
    assert obj["status"] == {"phase": "Pending", "lastPhaseTransitionTime": NOW}
    assert obj["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    obj["status"]["lastPhaseTransitionTime"] = "2025-01-01T00:00:00Z"
    bound, _ = changed(obj, volume() | {"status": {"phase": "Bound"}}, "status")
    assert bound["status"] == {"phase": "Bound", "lastPhaseTransitionTime": NOW}
    again, _ = changed(obj, volume() | {"status": {"phase": "Pending"}}, "status")
    assert again["status"]["lastPhaseTransitionTime"] == "2025-01-01T00:00:00Z"


def test_volumes_are_of_one_kind_which_stays() -> None:
    both = volume(csi={"driver": "d.example.com", "volumeHandle": "h"})
    assert texts(created(both)[1]) == ["spec.csi: Forbidden: may not specify more than 1 volume type"]
    old = created(volume())[0]
    assert [error.field for error in changed(old, volume(hostPath={"path": "/other"}))[1]] == [
        "spec.persistentvolumesource"
    ]
    assert changed(old, volume(capacity={"storage": "3Gi"}))[1] == []


def test_a_storage_class_keeps_what_it_is() -> None:
    def storage_class(**fields: Any) -> JsonObject:
        return of("storage.k8s.io/v1", "StorageClass", **({"provisioner": "example.com/p"} | fields))

    old, failures, _ = created(storage_class())
    assert (failures, old["reclaimPolicy"], old["volumeBindingMode"]) == ([], "Delete", "Immediate")
    assert changed(old, storage_class(allowVolumeExpansion=True))[1] == []
    assert texts(changed(old, storage_class(parameters={"a": "b"}))[1]) == [
        "parameters: Forbidden: updates to parameters are forbidden."
    ]


def test_a_csi_driver_gets_its_defaults() -> None:
    spec = created(of("storage.k8s.io/v1", "CSIDriver"))[0]["spec"]
    assert (spec["attachRequired"], spec["volumeLifecycleModes"]) == (True, ["Persistent"])
    assert spec["fsGroupPolicy"] == "ReadWriteOnceWithFSType"


def test_a_disruption_budget_starts_with_nothing_counted() -> None:
    def budget(**spec: Any) -> JsonObject:
        return of("policy/v1", "PodDisruptionBudget", spec=spec)

    obj, failures, _ = created(budget(minAvailable="50%"))
    assert failures == []
    assert obj["status"] == {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}
    assert created(budget(maxUnavailable="101%"))[1] != []
    assert [e.message.rpartition(": ")[2] for e in created(budget(minAvailable=1, maxUnavailable=1))[1]] == [
        "minAvailable and maxUnavailable cannot be both set"
    ]
    assert changed(obj, budget(minAvailable=2))[0]["metadata"]["generation"] == 2


def test_an_autoscaler_watches_the_cpu_by_default() -> None:
    reference = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
    spec = {"maxReplicas": 3, "scaleTargetRef": reference, "behavior": {"scaleUp": {}}}
    obj, failures, _ = created(of("autoscaling/v2", "HorizontalPodAutoscaler", spec=spec))
    assert failures == []
    assert obj["spec"]["minReplicas"] == 1
    target = {"type": "Utilization", "averageUtilization": 80}
    assert obj["spec"]["metrics"] == [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    assert obj["spec"]["behavior"]["scaleUp"]["policies"] == [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ]
    wrong = of("autoscaling/v2", "HorizontalPodAutoscaler", spec={"minReplicas": 5, "maxReplicas": 3})
    assert texts(created(wrong)[1]) == [
        "spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`",
        "spec.scaleTargetRef.kind: Required value",
        "spec.scaleTargetRef.name: Required value",
        'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
    ]


@pytest.mark.parametrize(
    ("api_version", "kind"), [("storage.k8s.io/v1", "VolumeAttachment"), ("resource.k8s.io/v1", "ResourceClaim")]
)
def test_statuses_leave_metadata_alone(api_version: str, kind: str) -> None:
    body = of(api_version, kind)
    asked = body | {"metadata": {"name": "x", "labels": {"a": "b"}, "finalizers": ["a/b"]}}
    metadata = changed(created(body)[0], asked, "status")[0]["metadata"]
    assert not metadata.keys() & {"labels", "finalizers"}
