"""What is left alone by each endpoint makes nobody its owner; these are the reset fields of upstream's strategies."""

from __future__ import annotations

import pytest

from kube32_sim.api.managed.fieldset import paths, text
from kube32_sim.api.managed.resets import told
from tests.managed.managing import TABLE, row_of

META = {"f:annotations": {}, "f:deletionTimestamp": {}, "f:labels": {}, "f:ownerReferences": {}}
CONTAINER = {'k:{"name":"a"}': {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}, "f:resizePolicy": {}}}
FIELDS = {
    "f:metadata": {**META, "f:name": {}, "f:uid": {}, "f:generation": {}},
    "f:spec": {"f:containers": CONTAINER, "f:ephemeralContainers": CONTAINER, "f:finalizers": {}},
    "f:status": {"f:certificate": {}, "f:conditions": {}},
}
ALL_META = [f".metadata.{name[2:]}" for name in META]
STATUS = [".status.certificate", ".status.conditions"]


def left(kind: str, subresource: str) -> list[str]:
    fields = told(row_of(kind), subresource).of(FIELDS)
    return [text(path) for path in paths(fields) if "containers" not in text(path).lower()]


@pytest.mark.parametrize(
    ("kind", "subresource", "expected"),
    [
        ("ConfigMap", "", [*ALL_META, ".spec.finalizers", *STATUS]),
        ("Pod", "", [*ALL_META, ".spec.finalizers"]),
        ("Pod", "status", [".metadata.annotations", ".metadata.labels", *STATUS]),
        ("Deployment", "status", [name for name in ALL_META if "labels" not in name] + STATUS),
        ("StatefulSet", "status", ALL_META + STATUS),
        ("Node", "", [*ALL_META, ".spec.finalizers"]),
        ("Node", "status", ALL_META + STATUS),
        ("Namespace", "", [*ALL_META, ".spec.finalizers"]),
        ("Namespace", "status", ALL_META + STATUS),
        ("Namespace", "finalize", [*ALL_META, ".spec.finalizers"]),
        ("CertificateSigningRequest", "", ALL_META),
        ("CertificateSigningRequest", "status", [*ALL_META, ".status.certificate"]),
        ("CertificateSigningRequest", "approval", [*ALL_META, ".status.conditions"]),
        ("APIService", "status", STATUS),
        ("CustomResourceDefinition", "status", STATUS),
        ("FlowSchema", "status", STATUS),
        ("PriorityLevelConfiguration", "status", STATUS),
        ("ValidatingAdmissionPolicy", "status", STATUS),
        ("VolumeAttachment", "status", STATUS),
        ("ServiceCIDR", "", [*ALL_META, ".spec.finalizers", *STATUS]),
        ("ServiceCIDR", "status", [*ALL_META, ".spec.finalizers", *STATUS]),
        ("Pod", "ephemeralcontainers", []),
        ("Pod", "resize", []),
    ],
)
def test_what_counts_of_a_write(kind, subresource, expected):
    assert sorted(left(kind, subresource)) == sorted(expected)


def test_two_endpoints_of_pods_change_one_thing_only():
    pod = row_of("Pod")
    assert told(pod, "ephemeralcontainers").of(FIELDS) == {"f:spec": {"f:ephemeralContainers": CONTAINER}}
    resized = {'k:{"name":"a"}': {".": {}, "f:resources": {}, "f:resizePolicy": {}}}
    assert told(pod, "resize").of(FIELDS) == {"f:spec": {"f:containers": resized}}


def test_every_kind_with_a_status_leaves_it_alone_elsewhere():
    exempt = {"servicecidrs"}
    for row in TABLE:
        if row.subresource("status") is None or row.plural in exempt:
            continue
        assert "f:status" not in told(row, "").of(FIELDS), row.kind
        assert "f:spec" not in told(row, "status").of(FIELDS), row.kind
