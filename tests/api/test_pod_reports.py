"""Reports about pods, resizes, and warnings about new pods."""

from __future__ import annotations

from itertools import count
from typing import Any

import orjson
import pytest
from pod_objects import after, pod
from strategy_objects import changed, context_of, created, row_of, texts

from kube32_sim.api.strategies.pods import PodStrategy
from kube32_sim.api.validation.pod_paths import overlapping_paths
from kube32_sim.api.validation.pod_status import pod_status_warnings
from kube32_sim.api.validation.pod_warnings import pod_template_warnings

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
    ]
    old["status"] |= {"podIP": "10.0.0.01", "podIPs": [{"ip": "10.0.0.01"}]}
    assert after(old, {"podIP": "10.0.0.01", "podIPs": [{"ip": "10.0.0.01"}]}) == []


def test_a_report_is_about_the_pod_as_it_is() -> None:
    old = created(pod(nodeName="n"))[0]
    report = {"nominatedNodeName": "m", "observedGeneration": -1, "conditions": [{"type": "a b"}]}
    found = after(old, report)
    assert found[0].startswith('status.conditions[0].Type: Invalid value: "a b": name part must consist of')
    assert found[1:] == [
        "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node",
        "status.observedGeneration: Invalid value: -1: must be a non-negative integer",
    ]


def rule(action: str, *values: int) -> JsonObject:
    return {"action": action, "exitCodes": {"operator": "In", "values": list(values)}}


@pytest.mark.parametrize(
    ("container", "stays"),
    [
        ({}, True),
        ({"restartPolicy": "OnFailure"}, False),
        ({"restartPolicy": "Never", "restartPolicyRules": [rule("Restart", 3)]}, False),
        ({"restartPolicy": "Never", "restartPolicyRules": [rule("Restart", 4)]}, True),
        ({"restartPolicy": "Never", "restartPolicyRules": [rule("RestartAllContainers", 4)]}, False),
    ],
)
def test_what_ended_stays_so_unless_its_rules_start_it_again(container: JsonObject, stays: bool) -> None:
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", **container}]}
    old, failures, _ = created(pod(**spec))
    assert not failures
    old["status"]["containerStatuses"] = [{"name": "c", "state": {"terminated": {"exitCode": 3}}}]
    found = after(old, {"containerStatuses": [{"name": "c", "state": {"running": {}}}]})
    why = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
    assert found == ([why] if stays else [])


def test_the_claim_for_extended_resources() -> None:
    resources = {"limits": {"example.com/a": "1"}}
    old = created(pod(containers=[{"name": "c", "image": "i", "resources": resources}]))[0]
    good = {"containerName": "c", "resourceName": "example.com/a", "requestName": "r"}
    claim = {"resourceClaimName": "x", "requestMappings": [good]}
    at = "status.extendedResourceClaimStatus"
    assert after(old, {"extendedResourceClaimStatus": claim}) == []
    assert after(old, {"extendedResourceClaimStatus": {}}) == [
        f"{at}.requestMappings: Required value: at least one request mapping is required",
        f"{at}.resourceClaimName: Required value",
    ]
    wrong = [good, good, {**good, "containerName": "d"}, {**good, "resourceName": "cpu"}]
    assert [
        text.partition(": ")[0]
        for text in after(old, {"extendedResourceClaimStatus": {**claim, "requestMappings": wrong}})
    ] == [
        f"{at}.requestMappings[1].containerName",
        f"{at}.requestMappings[1].resourceName",
        f"{at}.requestMappings[1].requestName",
        f"{at}.requestMappings[2].containerName",
        f"{at}.requestMappings[3].resourceName",
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
        f"{at}.user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive",
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


def test_containers_that_start_a_pod_are_resized_too() -> None:
    first = {"name": "first", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    old = created(pod({"resources": {"requests": {"cpu": "1"}}}, initContainers=[first]))[0]
    bigger = {**first, "resources": {"requests": {"cpu": "2"}}}
    assert resized(old, pod({"resources": {"requests": {"cpu": "1"}}}, initContainers=[bigger])) == []
    more = {**first, "resources": {"requests": {"cpu": "1", "ephemeral-storage": "1"}}}
    assert resized(old, pod({"resources": {"requests": {"cpu": "1"}}}, initContainers=[more])) == [
        "spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are mutable"
    ]


def test_a_pod_as_a_whole_is_resized() -> None:
    old = created(pod(resources={"requests": {"cpu": "1"}}))[0]
    assert resized(old, pod(resources={"requests": {"cpu": "2"}})) == []
    assert resized(old, pod()) == [
        'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
        "spec.resources: Forbidden: pod-level resources cannot be removed",
    ]
    assert resized(old, pod(resources={"requests": {"memory": "1"}})) == [
        "spec.resources.requests: Forbidden: pod-level resource requests cannot be removed"
    ]
    assert resized(
        old, pod(resources={"requests": {"cpu": "1", "hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi"}})
    ) == ["spec: Forbidden: only cpu and memory resources are mutable at pod-level"]


def warned(container: JsonObject | None = None, **spec: Any) -> list[str]:
    _, failures, warnings = created(pod(container, **spec))
    assert texts(failures) == []
    return warnings


def test_changes_of_pods_warn_nobody() -> None:
    old, _, warnings = created(pod(imagePullSecrets=[{"name": ""}]))
    assert warnings
    body = pod()
    where = context_of(row_of(body), body)
    assert PodStrategy().warnings(old, old, where) == []


def test_addresses_are_written_the_short_way() -> None:
    config = {"nameservers": ["2001:DB8::1", "1.1.1.1"]}
    assert warned(dnsConfig=config, hostAliases=[{"ip": "2001:db8:0::1", "hostnames": ["h"]}]) == [
        'spec.dnsConfig.nameservers[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format '
        '("2001:db8::1")',
        'spec.hostAliases[0].ip: IPv6 address "2001:db8:0::1" should be in RFC 5952 canonical format ("2001:db8::1")',
    ]
    reported = {"podIPs": [{"ip": "2001:DB8::1"}], "hostIPs": [{"ip": "10.0.0.1"}]}
    assert pod_status_warnings({"status": reported}) == [
        'status.podIPs[0].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")'
    ]


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
        'volume "v" (Projected): overlapping paths: "t/l" (DownwardAPI) with "t" (Secret "s")',
        'volume "v" (Projected) has no sources provided',
    ]


PROJECTED: dict[str, JsonObject] = {
    'ConfigMap "Test"': {"configMap": {"name": "Test", "items": [{"key": "k", "path": "PATH"}]}},
    'Secret "Test"': {"secret": {"name": "Test", "items": [{"key": "k", "path": "PATH"}]}},
    "DownwardAPI": {"downwardAPI": {"items": [{"path": "PATH", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    "ServiceAccountToken": {"serviceAccountToken": {"path": "PATH"}},
    'ClusterTrustBundle "Test"': {"clusterTrustBundle": {"name": "Test", "path": "PATH"}},
    'ClusterTrustBundle "example.com/s"': {
        "clusterTrustBundle": {"signerName": "example.com/s", "path": "PATH", "labelSelector": {}}
    },
    "PodCertificate key": {"podCertificate": {"keyPath": "PATH", "signerName": "e.com/s", "keyType": "ED25519"}},
}


def source_at(name: str, path: str) -> JsonObject:
    found: JsonObject = orjson.loads(orjson.dumps(PROJECTED[name]).replace(b"PATH", path.encode()))
    return found


@pytest.mark.parametrize("paths", [("test", "test"), ("test", "test/file"), ("test/file", "test")])
@pytest.mark.parametrize("name", PROJECTED)
def test_a_projected_file_is_told_of_with_its_source(name: str, paths: tuple[str, str]) -> None:
    sources = [source_at('Secret "Test"', paths[0]), source_at(name, paths[1])]
    assert overlapping_paths([{"name": "v", "projected": {"sources": sources}}]) == [
        f'volume "v" (Projected): overlapping paths: "{paths[1]}" ({name}) with "{paths[0]}" (Secret "Test")'
    ]


def test_each_pair_of_projected_files_is_told_of_once() -> None:
    sources = [
        source_at("DownwardAPI", "a/b"),
        source_at('Secret "Test"', "a/"),
        source_at("ServiceAccountToken", "a"),
        source_at('ConfigMap "Test"', "ab"),
    ]
    head = 'volume "v" (Projected): overlapping paths: '
    assert overlapping_paths([{"name": "v", "projected": {"sources": sources}}]) == [
        f'{head}"a" (Secret "Test") with "a/b" (DownwardAPI)',
        f'{head}"a" (ServiceAccountToken) with "a/b" (DownwardAPI)',
        f'{head}"a" (ServiceAccountToken) with "a" (Secret "Test")',
    ]


def named_port(name: str, port: int) -> JsonObject:
    return {"name": name, "containerPort": port}


@pytest.mark.parametrize(
    ("starting", "running", "told"),
    [
        ([], [["x"], ["x"]], [("containers[1].ports[0]", "containers[0].ports[0]")]),
        ([], [["x"], ["y", "x"]], [("containers[1].ports[1]", "containers[0].ports[0]")]),
        ([["x"], ["x"]], [[]], [("initContainers[1].ports[0]", "initContainers[0].ports[0]")]),
        ([["x"]], [["x"]], [("containers[0].ports[0]", "initContainers[0].ports[0]")]),
        (
            [["x"]],
            [["x"], ["x"]],
            [(f"containers[{n}].ports[0]", "initContainers[0].ports[0]") for n in (0, 1)],
        ),
        ([["x"]], [["y"], ["", ""]], []),
    ],
)
@pytest.mark.parametrize("at", ["", "spec.template"])
def test_ports_of_one_name(starting: list[list[str]], running: list[list[str]], told: Any, at: str) -> None:
    numbers = count(1)
    containers = [
        [{"ports": [named_port(n, next(numbers)) for n in names]} for names in many] for many in (starting, running)
    ]
    template = {"spec": {"initContainers": containers[0], "containers": containers[1]}}
    spec = f"{at}.spec" if at else "spec"
    assert pod_template_warnings(template, at) == [
        f'{spec}.{here}: duplicate port name "x" with {spec}.{there}, services and probes that select ports by name '
        f"will use {spec}.{there}"
        for here, there in told
    ]


@pytest.mark.parametrize(("value", "told"), [("a b", True), ("-1", True), ("x" * 64, True), ("", False), ("ok", False)])
def test_preferred_values_that_no_node_has(value: str, told: bool) -> None:
    expression = {"key": "k", "operator": "In", "values": ["fine", value]}
    wished = [{"weight": 1, "preference": {"matchExpressions": [expression]}}]
    found = warned(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wished}})
    at = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference"
    assert [text.partition(" is invalid, ")[0] for text in found] == (
        [f"{at}.matchExpressions[0].values[1]: {value}"] if told else []
    )


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
