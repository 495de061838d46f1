"""Reports about pods, resizes, and warnings about new pods."""

from __future__ import annotations

from typing import Any

from pod_objects import after, pod
from strategy_objects import changed, created, texts

JsonObject = dict[str, Any]


def test_a_report_keeps_the_quality_of_service() -> None:
    old = created(pod())[0]
    assert after(old, {"phase": "Running"}) == []
    assert after(old, {"qosClass": "Guaranteed"}) == [
        'status.qosClass: Invalid value: "Guaranteed": field is immutable'
    ]


def test_a_report_keeps_the_generations_it_does_not_name() -> None:
    old = created(pod())[0]
    old["status"] |= {"observedGeneration": 3, "conditions": [{"type": "Ready", "observedGeneration": 2}]}
    conditions = [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}]
    new, failures = changed(old, {**pod(), "status": {"conditions": conditions}}, "status")
    assert not failures
    assert new["status"]["observedGeneration"] == 3
    assert [each.get("observedGeneration") for each in new["status"]["conditions"]] == [2, None]


def test_reported_addresses_are_one_of_each_family() -> None:
    old = created(pod())[0]
    addresses = [{"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}]
    assert after(old, {"podIP": "10.0.0.1", "podIPs": addresses}) == [
        'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.1"}]: may specify no more than one IP for each '
        "IP family",
        'status.podIPs[1]: Duplicate value: {"IP":"10.0.0.1"}',
    ]


def test_reported_claims_users_and_health_are_checked() -> None:
    old = created(pod())[0]
    health = {"name": "cpu", "resources": [{"resourceID": "a", "health": "Odd"}]}
    container = {"name": "c", "image": "i", "user": {"linux": {"uid": -1, "gid": 0}}}
    report = {
        "resourceClaimStatuses": [{"name": "x"}],
        "containerStatuses": [{**container, "allocatedResourcesStatus": [health]}],
    }
    at = "status.containerStatuses[0]"
    assert after(old, report) == [
        'status.resourceClaimStatuses[0].name: Invalid value: "x": must match the name of an entry in '
        "`spec.resourceClaims`",
        f"{at}.linux.uid: Invalid value: -1: must be between 0 and 4294967295, inclusive",
        f'{at}.allocatedResourcesStatus[0].name: Invalid value: "cpu": must match one of the container\'s resource '
        "requests",
        f'{at}.allocatedResourcesStatus[0].resources[0].health: Unsupported value: "Odd": supported values: "Healthy", '
        '"Unhealthy", "Unknown"',
    ]


def resized(old: JsonObject, body: JsonObject) -> list[str]:
    return texts(changed(old, body, "resize")[1])


def sized(*, limits: JsonObject | None = None, **requests: str) -> JsonObject:
    return pod({"resources": {"requests": requests, **({"limits": limits} if limits else {})}})


def test_a_resize_changes_cpu_and_memory() -> None:
    old = created(sized(cpu="1", memory="1Mi"))[0]
    new, failures = changed(old, sized(cpu="2", memory="1Mi"), "resize")
    assert not failures
    assert new["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "2"
    assert resized(old, sized(cpu="2")) == [
        "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"
    ]


def test_a_memory_limit_may_shrink() -> None:
    old = created(sized(limits={"memory": "2Mi"}, memory="1Mi"))[0]
    assert resized(old, sized(limits={"memory": "1Mi"}, memory="1Mi")) == []


def test_a_resize_changes_nothing_else() -> None:
    old = created(sized(cpu="1"))[0]
    only = "spec: Forbidden: only cpu and memory resources are mutable"
    assert resized(old, sized(**{"cpu": "1", "ephemeral-storage": "1"})) == [only]
    policy = [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    assert resized(old, pod({"resources": {"requests": {"cpu": "1"}}, "resizePolicy": policy})) == [only]
    renamed = pod({"name": "d", "resources": {"requests": {"cpu": "1"}}})
    assert resized(old, renamed) == [
        "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"
    ]
    two = sized(cpu="1")
    two["spec"]["containers"].append({"name": "d", "image": "i"})
    assert resized(old, two) == ["spec.containers: Forbidden: containers may not be added or removed on resize"]


def warned(container: JsonObject | None = None, **spec: Any) -> list[str]:
    _, failures, warnings = created(pod(container, **spec))
    assert texts(failures) == []
    return warnings


def test_changes_of_pods_warn_nobody() -> None:
    old, _, warnings = created(pod(imagePullSecrets=[{"name": ""}]))
    assert warnings
    from kube32_sim.api.strategies.pods import PodStrategy

    assert PodStrategy().warnings(old, old, None) == []  # type: ignore[arg-type]


def test_paths_that_overlap() -> None:
    items = [{"key": "a", "path": "x"}, {"key": "b", "path": "x/y"}, {"key": "c", "path": "xy"}]
    assert warned(volumes=[{"name": "v", "configMap": {"name": "m", "items": items}}]) == [
        'volume "v" (ConfigMap "m"): overlapping paths: "x/y" with "x"'
    ]
    sources = [
        {"secret": {"name": "s", "items": [{"key": "k", "path": "t"}]}},
        {"downwardAPI": {"items": [{"path": "t/l", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {},
    ]
    assert warned(volumes=[{"name": "v", "projected": {"sources": sources}}]) == [
        'volume "v" (Projected DownwardAPI): overlapping paths: "t/l" with "t"',
        'volume "v" (Projected) has no sources provided',
    ]


def test_ports_on_an_address_without_a_host_port() -> None:
    assert warned({"ports": [{"containerPort": 80, "hostIP": "127.0.0.1"}]}) == [
        "spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP "
        "HostIP:127.0.0.1}"
    ]


def test_affinity_to_nobody() -> None:
    terms = [{"weight": 1, "podAffinityTerm": {"topologyKey": "z"}}]
    field = "preferredDuringSchedulingIgnoredDuringExecution"
    assert warned(affinity={"podAffinity": {field: terms}}) == [
        f"spec.affinity.podAffinity.{field}[0].podAffinityTerm.labelSelector: a null labelSelector results in matching "
        "no pod"
    ]
