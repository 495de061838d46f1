"""Views of one stored object in two versions."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.conversion import from_view, to_view
from kube32_sim.api.resources import ResourceType

TABLE = builtin_table()
PREFIX = "autoscaling.alpha.kubernetes.io/"


def row(group: str, version: str, plural: str) -> ResourceType:
    found = TABLE.by_path(group, version, plural)
    assert found is not None
    return found


NEW_EVENTS = row("events.k8s.io", "v1", "events")
OLD_HPA = row("autoscaling", "v1", "horizontalpodautoscalers")

CORE_EVENT: dict[str, Any] = {
    "metadata": {"name": "e1", "namespace": "ns"},
    "involvedObject": {"kind": "Pod", "name": "p"},
    "reason": "Pulled",
    "message": "Container image already present",
    "source": {"component": "kubelet", "host": "n1"},
    "firstTimestamp": "2024-01-01T00:00:00Z",
    "lastTimestamp": "2024-01-01T00:01:00Z",
    "count": 5,
    "type": "Normal",
    "reportingComponent": "",
    "reportingInstance": "",
}
NEW_EVENT: dict[str, Any] = {
    "metadata": {"name": "e1", "namespace": "ns"},
    "regarding": {"kind": "Pod", "name": "p"},
    "reason": "Pulled",
    "note": "Container image already present",
    "deprecatedSource": {"component": "kubelet", "host": "n1"},
    "deprecatedFirstTimestamp": "2024-01-01T00:00:00Z",
    "deprecatedLastTimestamp": "2024-01-01T00:01:00Z",
    "deprecatedCount": 5,
    "type": "Normal",
}


def test_events() -> None:
    before = copy.deepcopy(CORE_EVENT)
    assert to_view(NEW_EVENTS, CORE_EVENT) == NEW_EVENT
    assert from_view(NEW_EVENTS, NEW_EVENT) == CORE_EVENT
    assert before == CORE_EVENT
    assert from_view(NEW_EVENTS, {"metadata": {}}) == {
        "metadata": {},
        "involvedObject": {},
        "source": {},
        "reportingComponent": "",
        "reportingInstance": "",
    }


def test_the_stored_form_is_its_own_view() -> None:
    core = row("", "v1", "events")
    assert to_view(core, CORE_EVENT) is CORE_EVENT
    assert from_view(core, CORE_EVENT) is CORE_EVENT


def resource(name: str, utilization: int) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def metric(kind: str, value: str, quantity: str = "1k", **extra: Any) -> dict[str, Any]:
    target = {"type": {"averageValue": "AverageValue", "value": "Value"}[value], value: quantity}
    source = {"metric": {"name": "m", "selector": {"matchLabels": {"a": "b"}}}, "target": target, **extra}
    return {"type": kind, kind[:1].lower() + kind[1:]: source}


HPA: dict[str, Any] = {
    "metadata": {"name": "h", "annotations": {"own": "x"}},
    "spec": {
        "maxReplicas": 5,
        "scaleTargetRef": {"kind": "Deployment", "name": "d"},
        "metrics": [
            resource("memory", 50),
            metric("Pods", "averageValue"),
            metric("Object", "value", describedObject={"kind": "Ingress", "name": "i"}),
            metric("External", "value"),
            resource("cpu", 80),
        ],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 300, "selectPolicy": "Max"}},
    },
    "status": {
        "currentReplicas": 1,
        "desiredReplicas": 2,
        "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 7}}}],
        "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": None}],
    },
}


def test_autoscalers_in_version_1() -> None:
    before = copy.deepcopy(HPA)
    old = to_view(OLD_HPA, HPA)
    assert before == HPA
    assert old["spec"]["targetCPUUtilizationPercentage"] == 80
    assert "metrics" not in old["spec"]
    assert old["status"]["currentCPUUtilizationPercentage"] == 7
    annotations = old["metadata"]["annotations"]
    assert annotations["own"] == "x"
    metrics = json.loads(annotations[f"{PREFIX}metrics"])
    assert metrics[0] == {"type": "Resource", "resource": {"name": "memory", "targetAverageUtilization": 50}}
    assert metrics[1]["pods"]["targetAverageValue"] == "1k"
    assert metrics[2]["object"]["target"] == {"kind": "Ingress", "name": "i"}
    assert annotations[f"{PREFIX}behavior"] == (
        '{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":300,"SelectPolicy":"Max","Policies":null,'
        '"Tolerance":null}}'
    )
    assert annotations[f"{PREFIX}current-metrics"] == (
        '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":7,"currentAverageValue":"0"}}]'
    )
    assert annotations[f"{PREFIX}metrics"].endswith(
        '{"type":"External","external":{"metricName":"m","metricSelector":{"matchLabels":{"a":"b"}},"targetValue":"1k"}}]'
    )


def test_nothing_is_lost_on_the_way_through_version_1() -> None:
    assert from_view(OLD_HPA, to_view(OLD_HPA, HPA)) == HPA


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "5",
        "[5]",
        '[{"type":"Resource"}]',
        '[{"type":"Pods","pods":{"metricName":5}}]',
        '[{"type":["x"]}]',
    ],
)
def test_annotations_that_are_no_metrics_are_dropped(text: str) -> None:
    names = ("metrics", "current-metrics", "conditions", "behavior")
    old = {
        "metadata": {"name": "h", "annotations": {f"{PREFIX}{name}": text for name in names}},
        "spec": {"maxReplicas": 1, "targetCPUUtilizationPercentage": 30},
        "status": {},
    }
    new = from_view(OLD_HPA, old)
    assert new["metadata"] == {"name": "h"}
    assert new["spec"] == {"maxReplicas": 1, "metrics": [resource("cpu", 30)]}


JSON_TEXT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "pods", "resource", "metricName", "name", "scaleUp"]), inner, max_size=3
        )
    ),
    max_leaves=6,
).map(json.dumps)


@given(st.sampled_from(["metrics", "current-metrics", "conditions", "behavior"]), JSON_TEXT)
def test_any_annotation_is_survived(name: str, text: str) -> None:
    old = {
        "metadata": {"name": "h", "annotations": {f"{PREFIX}{name}": text}},
        "spec": {"maxReplicas": 1},
        "status": {},
    }
    to_view(OLD_HPA, from_view(OLD_HPA, old))
