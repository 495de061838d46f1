"""Pods: defaults, what a new one's status is, how generations count, grace, quality of service."""

from __future__ import annotations

from typing import Any

import pytest
from strategy_objects import NOW, changed, created

from kube32_sim.api.strategies.pod_defaults import default_pod_template, pull_policy
from kube32_sim.api.strategies.pod_qos import qos_class
from kube32_sim.api.strategies.pods import PodStrategy

JsonObject = dict[str, Any]


def pod(container: JsonObject | None = None, **spec: Any) -> JsonObject:
    containers = [{"name": "c", "image": "nginx:1.25", **(container or {})}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def container_of(body: JsonObject) -> JsonObject:
    made: JsonObject = created(body)[0]["spec"]["containers"][0]
    return made


def test_a_plain_pod() -> None:
    made, failures, warnings = created({**pod(), "status": {"phase": "Running", "podIP": "1.2.3.4"}})
    assert not failures
    assert not warnings
    assert made["metadata"]["generation"] == 1
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made["spec"] == {
        "containers": [
            {
                "name": "c",
                "image": "nginx:1.25",
                "imagePullPolicy": "IfNotPresent",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("localhost:5000/a/b", "Always"),
        ("registry.example.com/A:1", "IfNotPresent"),
        ("nginx:1.25", "IfNotPresent"),
        (f"nginx@sha256:{'a' * 64}", "IfNotPresent"),
        ("UPPER", "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_pull_policies(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


def test_probes_and_hooks() -> None:
    made = container_of(
        pod(
            {
                "livenessProbe": {"httpGet": {"port": 80}, "periodSeconds": 3},
                "lifecycle": {"postStart": {"httpGet": {"port": "http", "path": "x"}}},
                "readinessProbe": {"grpc": {"port": 1}},
            }
        )
    )
    assert made["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 3,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert made["lifecycle"]["postStart"]["httpGet"] == {"port": "http", "path": "x", "scheme": "HTTP"}
    assert made["readinessProbe"]["grpc"]["service"] == ""


def test_requests_are_taken_from_limits() -> None:
    made = container_of(pod({"resources": {"limits": {"cpu": "1", "esp32.io/gpio": "2"}, "requests": {"cpu": "500m"}}}))
    assert made["resources"]["requests"] == {"cpu": "500m", "esp32.io/gpio": "2"}


def test_ports_of_the_host_network() -> None:
    ports = {"ports": [{"containerPort": 80}]}
    assert container_of(pod(ports, hostNetwork=True))["ports"] == [
        {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}
    ]
    assert container_of(pod(ports))["ports"] == [{"containerPort": 80, "protocol": "TCP"}]


def test_volumes() -> None:
    sources: dict[str, JsonObject] = {
        "a": {},
        "b": {"configMap": {"name": "x"}},
        "c": {"hostPath": {"path": "/"}},
        "d": {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        "e": {"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    }
    volumes = [{"name": name, **source} for name, source in sources.items()]
    made = created(pod(volumes=volumes, serviceAccount="sa"))[0]["spec"]
    assert made["serviceAccountName"] == made["serviceAccount"] == "sa"
    assert made["volumes"][0] == {"name": "a", "emptyDir": {}}
    assert made["volumes"][1]["configMap"]["defaultMode"] == 420
    assert made["volumes"][2]["hostPath"] == {"path": "/", "type": ""}
    assert made["volumes"][3]["projected"]["sources"][0]["serviceAccountToken"]["expirationSeconds"] == 3600
    assert made["volumes"][4]["downwardAPI"]["items"][0]["fieldRef"]["apiVersion"] == "v1"


def test_templates_have_no_service_links() -> None:
    template: JsonObject = {
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}]}
    }
    default_pod_template(template)
    assert template["metadata"] == {}
    assert "enableServiceLinks" not in template["spec"]
    assert template["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}}


def test_defaults_are_idempotent() -> None:
    made = created(pod({"ports": [{"containerPort": 1}]}, volumes=[{"name": "v"}]))[0]
    before = repr(made)
    PodStrategy().default(made)
    assert repr(made) == before


def test_a_gated_pod_says_so() -> None:
    made = created(pod(schedulingGates=[{"name": "g"}]))[0]
    condition = made["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "SchedulingGated")
    assert condition["lastTransitionTime"] == NOW


def test_only_the_spec_counts_generations() -> None:
    old = created(pod())[0]
    labelled = pod()
    labelled["metadata"]["labels"] = {"a": "b"}
    assert changed(old, labelled)[0]["metadata"]["generation"] == 1
    assert changed(old, pod(activeDeadlineSeconds=5))[0]["metadata"]["generation"] == 2


def test_a_write_keeps_the_status() -> None:
    old = created(pod())[0]
    old["status"]["phase"] = "Running"
    new, _ = changed(old, {**pod(), "status": {"phase": "Failed"}})
    assert new["status"]["phase"] == "Running"


def test_a_status_write_keeps_everything_else() -> None:
    old = created(pod())[0]
    body = pod(nodeName="other")
    body["metadata"]["labels"] = {"via": "status"}
    new, failures = changed(old, {**body, "status": {"phase": "Running", "podIP": "10.0.0.9"}}, "status")
    assert not failures
    assert new["spec"] == old["spec"]
    assert new["metadata"]["labels"] == {"via": "status"}
    assert new["status"] == {
        "phase": "Running",
        "podIP": "10.0.0.9",
        "podIPs": [{"ip": "10.0.0.9"}],
        "qosClass": "BestEffort",
    }


def test_grace() -> None:
    strategy = PodStrategy()
    made = created(pod(nodeName="n"))[0]
    assert strategy.grace_period(made, None) == 30
    assert strategy.grace_period(made, 5) == 5
    assert strategy.grace_period(made, -1) == 1
    assert strategy.grace_period({**made, "status": {"phase": "Succeeded"}}, None) == 0
    assert strategy.grace_period(created(pod())[0], 5) == 0


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"esp32.io/gpio": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "0"}}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1024Mi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}}, "Burstable"),
        ({"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}, "Burstable"),
    ],
)
def test_quality_of_service(resources: JsonObject, expected: str) -> None:
    assert qos_class({"containers": [{"resources": resources}]}) == expected


def test_one_container_without_limits_is_enough() -> None:
    full = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}
    assert qos_class({"containers": [{"resources": full}, {"resources": {}}]}) == "Burstable"
    assert qos_class({"containers": [{}], "resources": full}) == "Guaranteed"
