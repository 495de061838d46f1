"""Warnings about old labels of nodes, outside pods."""

from __future__ import annotations

from typing import Any

import pytest
from strategy_objects import context_of, created, row_of

JsonObject = dict[str, Any]

OS = 'deprecated since v1.14; use "kubernetes.io/os" instead'
ZONE = 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'


def expressions(*keys: str) -> list[JsonObject]:
    return [{"key": key, "operator": "In", "values": ["v"]} for key in keys]


def volume(*terms: list[JsonObject]) -> JsonObject:
    required = {"nodeSelectorTerms": [{"matchExpressions": each} for each in terms]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/x"},
            "nodeAffinity": {"required": required},
        },
    }


def storage_class(*terms: list[str]) -> JsonObject:
    topologies = [{"matchLabelExpressions": [{"key": key, "values": ["v"]} for key in keys]} for keys in terms]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "c"},
        "provisioner": "example.com/p",
        "allowedTopologies": topologies,
    }


def capacity(**selector: Any) -> JsonObject:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "c"},
        "storageClassName": "c",
        "nodeTopology": selector,
    }


def runtime_class(**labels: str) -> JsonObject:
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "c"},
        "handler": "h",
        "scheduling": {"nodeSelector": labels},
    }


OLD_OS, OLD_ZONE = "beta.kubernetes.io/os", "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            volume(expressions("a", OLD_OS), expressions(OLD_ZONE)),
            [
                f"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[1].key: {OLD_OS} is {OS}",
                f"spec.nodeAffinity.required.nodeSelectorTerms[1].matchExpressions[0].key: {OLD_ZONE} is {ZONE}",
            ],
        ),
        (volume(expressions("kubernetes.io/os")), []),
        (
            storage_class(["a", OLD_OS], [OLD_ZONE]),
            [
                f"allowedTopologies[0].matchLabelExpressions[1].key: {OS}",
                f"allowedTopologies[1].matchLabelExpressions[0].key: {ZONE}",
            ],
        ),
        (
            capacity(matchLabels={OLD_OS: "linux"}, matchExpressions=expressions(OLD_ZONE)),
            [
                f"nodeTopology.matchExpressions[0].key: {OLD_ZONE} is {ZONE}",
                f"nodeTopology.matchLabels.{OLD_OS}: {OS}",
            ],
        ),
        (capacity(matchLabels={"a": "b"}), []),
        (runtime_class(**{OLD_OS: "linux", OLD_ZONE: "z"}), [f"scheduling.nodeSelector: {t}" for t in (OS, ZONE)]),
        (runtime_class(a="b"), []),
    ],
)
def test_old_labels_of_nodes(body: JsonObject, expected: list[str]) -> None:
    obj, failures, warnings = created(body)
    assert (failures, warnings) == ([], expected)
    row = row_of(body)
    assert row.strategy.warnings(obj, obj, context_of(row, body)) == expected
