"""Volumes, claims, classes and drivers case by case: what is refused, in which words, and what may change."""

from __future__ import annotations

from typing import Any

import pytest
from strategy_objects import changed, created, texts

JsonObject = dict[str, Any]
NOWHERE = {"key": "z", "values": []}
TOKENS = [{"audience": "a", "expirationSeconds": 5}, {"audience": "a"}]
MODE_FIXED = 'volumeMode: Invalid value: "Block": field is immutable'
CSI = {"driver": "d.example.com", "volumeHandle": "h"}
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def of(kind: str, api_version: str = "storage.k8s.io/v1", **fields: Any) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "o"}} | fields


def volume(**spec: Any) -> JsonObject:
    base = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    given = {key: value for key, value in (base | spec).items() if value is not None}
    return of("PersistentVolume", "v1", spec=given)


def claim(**spec: Any) -> JsonObject:
    base = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return of("PersistentVolumeClaim", "v1", spec=base | spec)


def sized(size: str) -> JsonObject:
    return {"requests": {"storage": size}}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            volume(accessModes=None, capacity=None),
            [
                "spec.accessModes: Required value",
                "spec.capacity: Required value",
                'spec.capacity: Unsupported value: null: supported values: "storage"',
                "spec: Required value: must specify a volume type",
            ],
        ),
        (
            volume(accessModes=["ReadWriteOncePod", "ReadOnlyMany"], capacity={"storage": "-1"}, csi=CSI),
            [
                "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
                "spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
                'spec.capacity[storage]: Invalid value: "-1": must be greater than zero',
            ],
        ),
        (
            volume(hostPath={"path": "/a/../b", "type": "Odd"}),
            [
                "spec.hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
                'spec.hostPath.type: Unsupported value: "Odd": supported values: "", "BlockDevice", "CharDevice", '
                '"Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
            ],
        ),
        (
            volume(hostPath={"path": "//"}, persistentVolumeReclaimPolicy="Recycle"),
            ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
        ),
        (
            volume(csi={"nodePublishSecretRef": {"name": "s"}}),
            [
                "spec.csi.driver: Required value",
                "spec.csi.volumeHandle: Required value",
                "spec.csi.nodePublishSecretRef.namespace: Required value",
            ],
        ),
        (
            volume(nfs={}),
            [
                "spec.nfs.server: Required value",
                "spec.nfs.path: Required value",
                'spec.nfs.path: Invalid value: "": must be an absolute path',
            ],
        ),
        (
            volume(gcePersistentDisk={"pdName": "d", "partition": 300}),
            ["spec.persistentDisk.partition: Invalid value: 300: must be between 1 and 255, inclusive"],
        ),
        (
            volume(fc={"targetWWNs": ["w"]}, flexVolume={"driver": "d", "options": {"k8s.io/a": "b"}}),
            [
                "spec.fc.lun: Required value: lun is required if targetWWNs is specified",
                'spec.flexVolume.options[k8s.io/a]: Invalid value: "k8s.io/a": kubernetes.io and k8s.io namespaces are '
                "reserved",
            ],
        ),
        (
            volume(iscsi={"targetPortal": "t" * 64, "iqn": "odd", "initiatorName": "q", "lun": 256, "secretRef": {}}),
            [
                f'spec.iscsi.targetportal: Invalid value: "{"t" * 64}": Total length of <volume name>:'
                "<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.",
                'spec.iscsi.iqn: Invalid value: "odd": must be valid format',
                "spec.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
                "spec.iscsi.secretRef.name: Required value",
                'spec.iscsi.initiatorname: Invalid value: "q": must be valid format',
            ],
        ),
        (
            volume(glusterfs={"endpoints": "e", "path": "p", "endpointsNamespace": ""}),
            [
                'spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a '
                "valid namespace name"
            ],
        ),
        (
            volume(azureFile={"secretName": "s", "shareName": "s", "secretNamespace": ""}),
            ["spec.azureFile.secretNamespace: Required value"],
        ),
        (
            volume(cinder={"volumeID": "v", "secretRef": {"name": "s"}}),
            ["spec.cinder.secretRef.namespace: Required value"],
        ),
        (
            volume(storageos={"volumeName": "v", "secretRef": {}}),
            ["spec.storageos.secretRef.name: Required value", "spec.storageos.secretRef.namespace: Required value"],
        ),
        (
            volume(local={"path": "/x"}),
            ["spec.nodeAffinity: Required value: Local volume requires node affinity"],
        ),
        (
            volume(csi=CSI, nodeAffinity={}),
            ["spec.nodeAffinity.required: Required value: must specify required node constraints"],
        ),
        (
            volume(hostPath={"path": "/x"}, volumeAttributesClassName=""),
            [
                "spec.volumeAttributesClassName: Required value: an empty string is disallowed",
                "spec.csi: Required value: has to be specified when using volumeAttributesClassName",
            ],
        ),
        (
            claim(accessModes=["Odd"], resources=sized("0"), storageClassName="A_B", volumeMode="Odd"),
            [
                'spec.accessModes: Unsupported value: "Odd": supported values: "ReadOnlyMany", "ReadWriteMany", '
                '"ReadWriteOnce", "ReadWriteOncePod"',
                'spec.resources[storage]: Invalid value: "0": must be greater than zero',
                f'spec.storageClassName: Invalid value: "A_B": {SUBDOMAIN}',
                'spec.volumeMode: Unsupported value: "Odd": supported values: "Block", "Filesystem"',
            ],
        ),
        (
            claim(dataSourceRef={"kind": "Pod", "name": "p"}),
            [
                "spec.dataSource: Invalid value: \"Pod\": must be 'PersistentVolumeClaim' when referencing the default "
                "apiGroup",
                "spec.dataSourceRef: Invalid value: \"Pod\": must be 'PersistentVolumeClaim' when referencing the "
                "default apiGroup",
            ],
        ),
        (
            claim(
                dataSource={"kind": "PersistentVolumeClaim", "name": "a"},
                dataSourceRef={"kind": "PersistentVolumeClaim", "name": "b"},
            ),
            ["spec: Invalid value: {}: must match dataSourceRef"],
        ),
        (of("StorageClass"), ["provisioner: Required value"]),
        (
            of("StorageClass", provisioner="a b", reclaimPolicy="Recycle", volumeBindingMode="Odd"),
            [
                "provisioner: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or "
                "'.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
                "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
                'volumeBindingMode: Unsupported value: "Odd": supported values: "Immediate", "WaitForFirstConsumer"',
            ],
        ),
        (
            of(
                "StorageClass",
                provisioner="p",
                allowedTopologies=[{"matchLabelExpressions": [{"key": "z", "values": []}]}],
            ),
            ["allowedTopologies[0].matchLabelExpressions[0].values: Required value"],
        ),
        (
            of("VolumeAttributesClass"),
            ["driverName: Required value", "parameters: Required value: must contain at least one key/value pair"],
        ),
        (
            of("VolumeAttachment", spec={"source": {}}),
            [
                "spec.attacher: Required value",
                "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
                f'spec.nodeName: Invalid value: "": {SUBDOMAIN}',
                "spec.attacher: Required value",
            ],
        ),
        (
            of(
                "CSIDriver",
                spec={
                    "fsGroupPolicy": "Odd",
                    "volumeLifecycleModes": ["Odd"],
                    "tokenRequests": [{"audience": "a", "expirationSeconds": 5}, {"audience": "a"}],
                },
            ),
            [
                'spec.fsGroupPolicy: Unsupported value: "Odd": supported values: "File", "None", '
                '"ReadWriteOnceWithFSType"',
                "spec.tokenRequests[0].expirationSeconds: Invalid value: 5: may not specify a duration less than 10 "
                "minutes",
                'spec.tokenRequests[1].audience: Duplicate value: "a"',
                'spec.volumeLifecycleModes: Unsupported value: "Odd": supported values: "Persistent", "Ephemeral"',
            ],
        ),
        (
            of("CSINode", spec={"drivers": [{"name": "d", "nodeID": "", "allocatable": {"count": -1}}]}),
            [
                "spec.drivers[0].nodeID: Required value",
                "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
        (
            of("CSIStorageCapacity", storageClassName="", capacity="-1"),
            [
                f'storageClassName: Invalid value: "": {SUBDOMAIN}',
                'capacity: Invalid value: "-1": must be greater than or equal to 0',
            ],
        ),
    ],
)
def test_mistakes(body: JsonObject, expected: list[str]) -> None:
    assert texts(created(body)[1]) == expected


def attached(node: str) -> JsonObject:
    spec = {"attacher": "d", "nodeName": node, "source": {"persistentVolumeName": "v"}}
    return of("VolumeAttachment", spec=spec)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            volume(csi=CSI),
            volume(csi=CSI | {"volumeHandle": "other"}, volumeMode="Block"),
            [
                "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation",
                'volumeMode: Invalid value: "Block": field is immutable',
            ],
        ),
        (
            volume(csi=CSI),
            volume(csi=CSI | {"controllerExpandSecretRef": {"name": "s", "namespace": "n"}}),
            [],
        ),
        (
            of("StorageClass", provisioner="p", parameters={"a": "b"}),
            of("StorageClass", provisioner="q", reclaimPolicy="Retain", volumeBindingMode="WaitForFirstConsumer"),
            [
                "parameters: Forbidden: updates to parameters are forbidden.",
                "provisioner: Forbidden: updates to provisioner are forbidden.",
                "reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.",
                'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
            ],
        ),
        (
            of("VolumeAttributesClass", driverName="d", parameters={"a": "b"}),
            of("VolumeAttributesClass", driverName="e", parameters={"a": "c"}),
            [
                "driverName: Forbidden: updates to driverName are forbidden.",
                "parameters: Forbidden: updates to parameters are forbidden.",
            ],
        ),
        (
            attached("n"),
            attached("m"),
            [
                'spec: Invalid value: {"Attacher":"d","Source":{"PersistentVolumeName":"v","InlineVolumeSpec":null},'
                '"NodeName":"m"}: field is immutable'
            ],
        ),
        (
            of("CSIDriver", spec={}),
            of("CSIDriver", spec={"attachRequired": False}),
            ["spec.attachedRequired: Invalid value: false: field is immutable"],
        ),
    ],
)
def test_what_may_not_change(before: JsonObject, after: JsonObject, expected: list[str]) -> None:
    assert texts(changed(created(before)[0], after)[1]) == expected


FIXED = (
    "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for "
    "bound claims"
)


@pytest.mark.parametrize(
    ("status", "spec", "expected"),
    [
        ({"phase": "Pending"}, {"volumeName": "v"}, []),
        ({"phase": "Pending"}, {"storageClassName": "fast"}, []),
        ({"phase": "Pending"}, {"resources": sized("2Gi")}, [FIXED]),
        ({"phase": "Bound"}, {"resources": sized("2Gi")}, []),
        ({"phase": "Bound"}, {"resources": sized("2Gi") | {"limits": {"storage": "3Gi"}}}, [FIXED]),
        ({"phase": "Bound"}, {"accessModes": ["ReadOnlyMany"]}, [FIXED]),
        (
            {"phase": "Bound", "capacity": {"storage": "1Gi"}},
            {"resources": sized("512Mi")},
            ["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"],
        ),
        ({"phase": "Bound", "capacity": {"storage": "256Mi"}}, {"resources": sized("512Mi")}, []),
        ({"phase": "Bound"}, {"volumeAttributesClassName": "gold"}, []),
        (
            {"phase": "Bound"},
            {"volumeMode": "Block"},
            [FIXED, MODE_FIXED],
        ),
    ],
)
def test_what_may_change_of_a_claim(status: JsonObject, spec: JsonObject, expected: list[str]) -> None:
    old = created(claim())[0] | {"status": status}
    assert texts(changed(old, claim(**spec))[1]) == expected


def test_an_old_kind_of_source_that_is_none_is_dropped() -> None:
    spec = created(claim(dataSource={"kind": "Pod", "name": "p"}))[0]["spec"]
    assert "dataSource" not in spec
    assert "dataSourceRef" not in spec


def test_volumes_earn_warnings() -> None:
    body = volume(rbd={"monitors": ["m"], "image": "i"}, persistentVolumeReclaimPolicy="Recycle")
    assert created(body)[2] == [
        "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended "
        "approach is to use dynamic provisioning.",
        "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
    ]


def test_reports_about_attachments_are_bounded() -> None:
    old = created(attached("n"))[0]
    report = attached("n") | {"status": {"attached": False, "attachError": {"message": "x" * 1025}}}
    assert texts(changed(old, report, "status")[1]) == [
        "status.attachError.message: Too long: may not be more than 262144 bytes"
    ]


@pytest.mark.parametrize(
    ("source", "added"),
    [
        ({"hostPath": {"path": "/x"}}, {"type": ""}),
        ({"rbd": {"monitors": ["m"], "image": "i"}}, {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}),
        ({"iscsi": {"targetPortal": "t", "iqn": "q", "lun": 1}}, {"iscsiInterface": "default"}),
    ],
)
def test_sources_have_defaults(source: JsonObject, added: JsonObject) -> None:
    kind = next(iter(source))
    assert created(volume(**source))[0]["spec"][kind] == source[kind] | added


def test_a_report_without_a_phase_is_of_the_first() -> None:
    for body in (claim(), volume(csi=CSI)):
        old = created(body)[0] | {"status": {"phase": "Bound"}}
        assert changed(old, body | {"status": {}}, "status")[0]["status"]["phase"] == "Pending"
