"""Volumes of pods: what each source must say, and what mounts find."""

from __future__ import annotations

from typing import Any

import pytest
from pod_objects import AT, refused

JsonObject = dict[str, Any]

V = "spec.volumes[0]"
CASES: list[tuple[JsonObject, list[str]]] = [
    ({"gcePersistentDisk": {"pdName": ""}}, [f"{V}.persistentDisk.pdName: Required value"]),
    (
        {"awsElasticBlockStore": {"volumeID": "a", "partition": 300}},
        [f"{V}.awsElasticBlockStore.partition: Invalid value: 300: must be between 1 and 255, inclusive"],
    ),
    (
        {"iscsi": {"targetPortal": "", "iqn": "odd", "lun": -1}},
        [
            f"{V}.iscsi.targetPortal: Required value",
            f'{V}.iscsi.iqn: Invalid value: "odd": must be valid format starting with iqn, eui, or naa',
            f"{V}.iscsi.lun: Invalid value: -1: must be between 0 and 255, inclusive",
        ],
    ),
    (
        {"iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:storage", "lun": 1}},
        [],
    ),
    ({"flocker": {}}, [f"{V}.flocker: Required value: one of datasetName and datasetUUID is required"]),
    (
        {"fc": {"targetWWNs": ["a"]}},
        [f"{V}.fc.lun: Required value: lun is required if targetWWNs is specified"],
    ),
    (
        {"flexVolume": {"driver": "d", "options": {"a.kubernetes.io/x": "y"}}},
        [
            f'{V}.flexVolume.options[a.kubernetes.io/x]: Invalid value: "a.kubernetes.io/x": kubernetes.io and k8s.io '
            "namespaces are reserved"
        ],
    ),
    ({"rbd": {"monitors": [], "image": "x"}}, [f"{V}.rbd.monitors: Required value"]),
    ({"cephfs": {"monitors": []}}, [f"{V}.cephfs.monitors: Required value"]),
    (
        {"azureDisk": {"diskName": "d", "diskURI": "x", "kind": "Managed"}},
        [
            f'{V}.azureDisk.diskURI: Unsupported value: "x": supported values: "/subscriptions/{{sub-id}}/'
            'resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"'
        ],
    ),
    ({"scaleIO": {"gateway": "g", "system": "s", "secretRef": {}}}, [f"{V}.scaleIO.volumeName: Required value"]),
    ({"storageos": {"secretRef": {}}}, [
        f"{V}.storageos.volumeName: Required value", f"{V}.storageos.secretRef.name: Required value",
    ]),
    ({"csi": {"driver": "D", "nodePublishSecretRef": {}}}, [f"{V}.csi.nodePublishSecretRef.name: Required value"]),
    ({"image": {}}, [f"{V}.image.reference: Required value"]),
    (
        {"image": {"reference": "i", "pullPolicy": "Odd"}},
        [
            f'{V}.image.pullPolicy: Unsupported value: "Odd": supported values: "Always", "IfNotPresent", "Never"'
        ],
    ),
    (
        {"emptyDir": {}, "downwardAPI": {}, "cephfs": {"monitors": ["a"]}},
        [
            f"{V}.cephFS: Forbidden: may not specify more than 1 volume type",
            f"{V}.downwarAPI: Forbidden: may not specify more than 1 volume type",
        ],
    ),
    (
        {"ephemeral": {"volumeClaimTemplate": {"metadata": {"name": "x"}, "spec": {}}}},
        [
            f"{V}.ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set",
            f"{V}.ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required",
            f"{V}.ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), CASES)
def test_sources(source: JsonObject, expected: list[str]) -> None:
    assert refused(volumes=[{"name": "v", **source}]) == expected


def test_a_wrong_volume_cannot_be_mounted() -> None:
    mounts = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    assert refused(mounts, volumes=[{"name": "v", "hostPath": {"path": ""}}]) == [
        f"{V}.hostPath.path: Required value",
        f'{AT}.volumeMounts[0].name: Not found: "v"',
    ]


def test_a_claim_that_is_to_be_made_is_not_named() -> None:
    claim = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    volumes = [
        {"name": "made", "ephemeral": {"volumeClaimTemplate": claim}},
        {"name": "v", "persistentVolumeClaim": {"claimName": "p-made"}},
    ]
    assert refused(volumes=volumes) == [
        'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "p-made": must not reference a PVC that gets '
        "created for an ephemeral volume"
    ]


def test_images_can_be_mounted_by_parts() -> None:
    mount = {"name": "v", "mountPath": "/v", "subPath": "part"}
    assert refused({"volumeMounts": [mount]}, volumes=[{"name": "v", "image": {"reference": "i"}}]) == []


def test_a_device_path_with_backsteps_takes_no_place() -> None:
    claim = {"persistentVolumeClaim": {"claimName": "x"}}
    devices = [{"name": name, "devicePath": "/dev/../x"} for name in ("a", "b")]
    why = "can not contain backsteps ('..')"
    assert refused({"volumeDevices": devices}, volumes=[{"name": name, **claim} for name in ("a", "b")]) == [
        f'{AT}.volumeDevices[{index}].devicePath: Invalid value: "/dev/../x": {why}' for index in (0, 1)
    ]
