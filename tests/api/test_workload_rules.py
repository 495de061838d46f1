"""Workloads: what upstream refuses, in its order and words, on create, on update and in a status."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from strategy_objects import changed, context_of, created, decoded, row_of, texts

JsonObject = dict[str, Any]

POD: JsonObject = {"containers": [{"name": "app", "image": "nginx:1.25"}]}
CLAIM: JsonObject = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
ROLLING = "spec.updateStrategy.rollingUpdate"
NEGATIVE = "must be greater than or equal to 0"
HOST_NAMES = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
    "a DNS label is recommended: [must not contain dots]"
)
OLD_LABEL = (
    'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'
)


def workload(kind: str, name: str = "w", pod: JsonObject | None = None, **spec: Any) -> JsonObject:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD | (pod or {})}
    selector: JsonObject = {"a": "b"} if kind == "ReplicationController" else {"matchLabels": {"a": "b"}}
    body: JsonObject = {"apiVersion": "v1" if kind == "ReplicationController" else "apps/v1", "kind": kind}
    return body | {"metadata": {"name": name}, "spec": {"selector": selector, "template": template} | spec}


def refusals(body: JsonObject) -> list[str]:
    return texts(created(body)[1])


def warnings(old: JsonObject, body: JsonObject) -> list[str]:
    """What a PUT of `body` over `old` is warned about."""
    row, obj = row_of(body), decoded(body)
    obj["metadata"] = {**old["metadata"], **obj["metadata"]}
    context = context_of(row, body)
    row.strategy.prepare_update(obj, old, context)
    return row.strategy.warnings(obj, old, context)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"podManagementPolicy": "Odd", "replicas": -1},
            [
                "spec.podManagementPolicy: Invalid value: \"Odd\": must be 'OrderedReady' or 'Parallel'",
                f"spec.replicas: Invalid value: -1: {NEGATIVE}",
            ],
        ),
        (
            {"updateStrategy": {"type": "Odd"}},
            [
                'spec.updateStrategy: Invalid value: {"Type":"Odd","RollingUpdate":null}: '
                "must be 'RollingUpdate' or 'OnDelete'"
            ],
        ),
        (
            {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
            [
                'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: '
                "only allowed for updateStrategy 'RollingUpdate'"
            ],
        ),
        (
            {"updateStrategy": {"rollingUpdate": {"partition": -1}}},
            [f"spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: {NEGATIVE}"],
        ),
        (
            {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Odd"}},
            [
                'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Odd": '
                'supported values: "Retain", "Delete"'
            ],
        ),
        (
            {
                "volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": CLAIM | {"accessModes": []}}],
                "replicas": -1,
            },
            [
                "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
                f"spec.replicas: Invalid value: -1: {NEGATIVE}",
            ],
        ),
        (
            {"ordinals": {"start": -1}, "minReadySeconds": -1, "serviceName": "a.b"},
            [
                f"spec.minReadySeconds: Invalid value: -1: {NEGATIVE}",
                f"spec.ordinals.start: Invalid value: -1: {NEGATIVE}",
                'spec.serviceName: Invalid value: "a.b": must not contain dots',
            ],
        ),
        ({"selector": {}}, ["spec.selector: Invalid value: {}: empty selector is invalid for statefulset"]),
        ({"revisionHistoryLimit": -1}, []),
    ],
)
def test_stateful_sets_are_refused(spec: JsonObject, expected: list[str]) -> None:
    assert refusals(workload("StatefulSet", **spec)) == expected


def test_a_stateful_set_is_named_as_a_host() -> None:
    assert [error.split(":")[0] for error in refusals(workload("StatefulSet", name="a.b"))] == ["metadata.name"]


def test_a_negative_history_of_a_stateful_set_is_warned_about() -> None:
    assert created(workload("StatefulSet", revisionHistoryLimit=-1))[2] == [
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
    ]


def test_a_stateful_set_that_names_its_strategy_gets_no_partition() -> None:
    assert created(workload("StatefulSet", updateStrategy={"type": "RollingUpdate"}))[0]["spec"]["updateStrategy"] == {
        "type": "RollingUpdate"
    }
    given = {"rollingUpdate": {"maxUnavailable": 2}}
    assert created(workload("StatefulSet", updateStrategy=given))[0]["spec"]["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"partition": 0},
    }


def test_fractions_of_bytes_in_claims_are_warned_about() -> None:
    claim = {"metadata": {"name": "d"}, "spec": CLAIM | {"resources": {"requests": {"storage": "500m"}}}}
    body = workload("StatefulSet", volumeClaimTemplates=[claim])
    odd = 'resources.requests[storage]: fractional byte value "500m" is invalid, must be an integer'
    old, failures, said = created(body)
    assert (failures, said) == ([], [f"spec.volumeClaimTemplates[0].{odd}"])
    assert warnings(old, body) == [f"spec.volumeClaimTemplates[0].Spec.{odd}"]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (
            {"type": "Odd"},
            [
                'spec.updateStrategy: Unsupported value: {"Type":"Odd","RollingUpdate":null}: '
                'supported values: "RollingUpdate", "OnDelete"'
            ],
        ),
        (
            {"rollingUpdate": {"maxUnavailable": "150%", "maxSurge": "200%"}},
            [
                f'{ROLLING}.maxUnavailable: Invalid value: "150%": must not be greater than 100%',
                f'{ROLLING}.maxSurge: Invalid value: "200%": must not be greater than 100%',
                f'{ROLLING}.maxSurge: Invalid value: "200%": may not be set when maxUnavailable is non-zero',
            ],
        ),
        (
            {"rollingUpdate": {"maxUnavailable": 0}},
            [
                "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
            ],
        ),
    ],
)
def test_strategies_of_daemon_sets_are_refused(strategy: JsonObject, expected: list[str]) -> None:
    assert refusals(workload("DaemonSet", updateStrategy=strategy)) == expected


def test_a_replication_controller_without_a_template_is_refused() -> None:
    body: JsonObject = {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "w"}, "spec": {}}
    assert refusals(body) == ["spec.selector: Required value", "spec.template: Required value"]


@pytest.mark.parametrize(
    ("kind", "times"),
    [("Deployment", 1), ("StatefulSet", 1), ("ReplicaSet", 2), ("DaemonSet", 2), ("ReplicationController", 2)],
)
def test_how_often_the_causes_of_an_update_are_told(kind: str, times: int) -> None:
    old = created(workload(kind))[0]
    found = texts(changed(old, workload(kind, minReadySeconds=-1))[1])
    cause = f"spec.minReadySeconds: Invalid value: -1: {NEGATIVE}"
    assert [each for each in found if each == cause] == [cause] * times


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "ReplicationController"])
def test_names_that_pods_take_are_warned_about(kind: str) -> None:
    old, failures, said = created(workload(kind, name="a.b"))
    assert (failures, said) == ([], [HOST_NAMES])
    assert warnings(old, workload(kind, name="a.b", replicas=2)) == []
    assert created(workload("DaemonSet", name="a.b"))[2] == []


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"])
def test_a_new_generation_is_warned_about_its_template_again(kind: str) -> None:
    pod = {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}
    old, _, said = created(workload(kind, pod=pod))
    assert said == [OLD_LABEL]
    assert warnings(old, workload(kind, pod=pod)) == []
    assert warnings(old, workload(kind, pod=pod, replicas=3)) == [OLD_LABEL]


def test_a_daemon_set_is_warned_about_a_new_template_only() -> None:
    pod = {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}
    old = created(workload("DaemonSet", pod=pod))[0]
    assert warnings(old, workload("DaemonSet", pod=pod, minReadySeconds=1)) == []
    assert warnings(old, workload("DaemonSet", pod=pod | {"hostname": "h"})) == [OLD_LABEL]


WHOLE = "cannot be greater than status.replicas"


@pytest.mark.parametrize(
    ("kind", "before", "after", "expected"),
    [
        ("Deployment", {}, {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 1, "availableReplicas": 1}, []),
        (
            "Deployment",
            {"collisionCount": 2},
            {"replicas": 1, "updatedReplicas": 2, "availableReplicas": 1, "observedGeneration": -1},
            [
                f"status.observedGeneration: Invalid value: -1: {NEGATIVE}",
                f"status.updatedReplicas: Invalid value: 2: {WHOLE}",
                "status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas",
                "status.collisionCount: Invalid value: 0: cannot be decremented",
            ],
        ),
        (
            "ReplicaSet",
            {},
            {"replicas": 0, "fullyLabeledReplicas": 1, "readyReplicas": -1},
            [
                f"status.readyReplicas: Invalid value: -1: {NEGATIVE}",
                f"status.fullyLabeledReplicas: Invalid value: 1: {WHOLE}",
                "status.availableReplicas: Invalid value: 0: cannot be greater than readyReplicas",
            ],
        ),
        (
            "StatefulSet",
            {},
            {"replicas": 1, "currentReplicas": 2, "availableReplicas": 1},
            [
                f"status.currentReplicas: Invalid value: 2: {WHOLE}",
                "status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas",
            ],
        ),
        (
            "DaemonSet",
            {"collisionCount": 1},
            {"numberReady": -1, "numberAvailable": -2, "desiredNumberScheduled": 0},
            [
                f"status.numberReady: Invalid value: -1: {NEGATIVE}",
                f"status.numberAvailable: Invalid value: -2: {NEGATIVE}",
                "status.collisionCount: Invalid value: 0: cannot be decremented",
            ],
        ),
        (
            "ReplicationController",
            {},
            {"replicas": 0, "readyReplicas": 1},
            [f"status.readyReplicas: Invalid value: 1: {WHOLE}"],
        ),
    ],
)
def test_statuses_are_refused(kind: str, before: JsonObject, after: JsonObject, expected: list[str]) -> None:
    old = created(workload(kind))[0]
    old["status"] = before
    body = workload(kind) | {"status": copy.deepcopy(after)}
    assert texts(changed(old, body, "status")[1]) == expected
