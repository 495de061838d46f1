"""Endpoints and EndpointSlices of a Service (seed and contract: "Endpoints and EndpointSlices")."""

import re

import pytest

from kube32_sim.api.endpoints import compute_endpoints, compute_slices


def make_service(**spec):
    return {
        "metadata": {"name": "web", "namespace": "default", "uid": "uid-web", "labels": {"app": "web"}},
        "spec": {
            "selector": {"app": "web"},
            "clusterIP": "10.96.0.9",
            "ports": [{"port": 80, "protocol": "TCP"}],
            **spec,
        },
    }


def make_pod(name, address=None, *, ready=True, phase="Running", ports=(), deleting=False, **spec):
    number = int(re.sub(r"\D", "", name) or 0)
    pod = {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"nodeName": "esp32-0", "containers": [{"name": "c", "ports": list(ports)}], **spec},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }
    address = address or f"10.244.{number // 256}.{number % 256}"
    if address != "none":
        pod["status"]["podIP"] = address
    if deleting:
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return pod


def ips(addresses):
    return [address["ip"] for address in addresses]


def test_ready_running_pods_are_addresses_with_port_and_target():
    assert compute_endpoints(make_service(), [make_pod("pod-7")]) == {
        "metadata": {
            "name": "web",
            "namespace": "default",
            "labels": {"app": "web", "endpoints.kubernetes.io/managed-by": "endpoint-controller"},
        },
        "subsets": [
            {
                "addresses": [
                    {
                        "ip": "10.244.0.7",
                        "nodeName": "esp32-0",
                        "targetRef": {"kind": "Pod", "namespace": "default", "name": "pod-7", "uid": "uid-pod-7"},
                    }
                ],
                "ports": [{"port": 80, "protocol": "TCP"}],
            }
        ],
    }


@pytest.mark.parametrize(
    ("pod", "kind"),
    [
        (make_pod("p1"), "addresses"),
        (make_pod("p1", ready=False), "notReadyAddresses"),
        (make_pod("p1", phase="Pending"), "notReadyAddresses"),
        (make_pod("p1", phase="Succeeded"), "notReadyAddresses"),
        (make_pod("p1", phase="Failed", ready=False), "notReadyAddresses"),
        (make_pod("p1", deleting=True), None),
        (make_pod("p1", "none"), None),
    ],
)
def test_every_other_non_terminating_pod_with_an_address_is_not_ready(pod, kind):
    subsets = compute_endpoints(make_service(), [pod]).get("subsets", [])
    assert [key for subset in subsets for key in subset if key != "ports"] == ([kind] if kind else [])
    (only,) = compute_slices(make_service(), [pod])
    flags = [endpoint["conditions"] for endpoint in only["endpoints"]]
    ready = kind == "addresses"
    assert flags == ([{"ready": ready, "serving": ready, "terminating": False}] if kind else [])


def test_published_not_ready_addresses_are_addresses():
    service = make_service(publishNotReadyAddresses=True)
    (subset,) = compute_endpoints(service, [make_pod("p1", ready=False, phase="Pending")])["subsets"]
    assert ips(subset["addresses"]) == ["10.244.0.1"]


def test_named_ports_resolve_on_each_pod_and_different_numbers_are_told_apart():
    service = make_service(ports=[{"name": "http", "port": 80, "targetPort": "web", "protocol": "TCP"}])
    pods = [
        make_pod("p1", ports=[{"name": "web", "containerPort": 8080}]),
        make_pod("p2", ports=[{"name": "web", "containerPort": 9090}]),
        make_pod("p3", ports=[{"name": "web", "containerPort": 8080, "protocol": "TCP"}]),
        make_pod("p4", ports=[{"name": "web", "containerPort": 8080, "protocol": "UDP"}]),
    ]
    subsets = compute_endpoints(service, pods)["subsets"]
    assert [(ips(subset["addresses"]), subset["ports"]) for subset in subsets] == [
        (["10.244.0.1", "10.244.0.3"], [{"name": "http", "port": 8080, "protocol": "TCP"}]),
        (["10.244.0.2"], [{"name": "http", "port": 9090, "protocol": "TCP"}]),
    ]
    numbers = [[port["port"] for port in one["ports"]] for one in compute_slices(service, pods)]
    assert sorted(numbers) == [[], [8080], [9090]]


def test_numbers_and_missing_target_ports_need_no_container_port():
    ports = [
        {"name": "a", "port": 80},
        {"name": "b", "port": 81, "targetPort": 8081, "protocol": "UDP", "appProtocol": "x"},
    ]
    (subset,) = compute_endpoints(make_service(ports=ports), [make_pod("p1")])["subsets"]
    assert subset["ports"] == [
        {"name": "a", "port": 80, "protocol": "TCP"},
        {"name": "b", "port": 8081, "protocol": "UDP", "appProtocol": "x"},
    ]


def test_a_pod_without_one_of_the_named_ports_serves_the_others():
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81, "targetPort": "metrics"}]
    (subset,) = compute_endpoints(make_service(ports=ports), [make_pod("p1")])["subsets"]
    assert [port["name"] for port in subset["ports"]] == ["a"]


@pytest.mark.parametrize("spec", [{"selector": None}, {"selector": {}}, {"type": "ExternalName"}])
def test_without_selector_or_for_an_external_name_there_is_none(spec):
    assert compute_endpoints(make_service(**spec), []) is None
    assert compute_slices(make_service(**spec), []) == []


def test_without_pods_both_are_there_and_empty():
    assert "subsets" not in compute_endpoints(make_service(), [])
    (only,) = compute_slices(make_service(), [])
    assert (only["endpoints"], only["ports"]) == ([], [])


def test_headless_services_are_labelled_and_hostnames_told():
    service = make_service(clusterIP="None", ports=[])
    pods = [make_pod("p1", hostname="db-0", subdomain="web"), make_pod("p2", hostname="db-0", subdomain="other")]
    endpoints = compute_endpoints(service, pods)
    assert endpoints["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    (subset,) = endpoints["subsets"]
    assert "ports" not in subset
    assert [address.get("hostname") for address in subset["addresses"]] == ["db-0", None]
    (only,) = compute_slices(service, pods)
    assert [endpoint.get("hostname") for endpoint in only["endpoints"]] == ["db-0", None]


def test_a_slice_is_named_labelled_and_owned_after_its_service():
    (only,) = compute_slices(make_service(), [make_pod("p1")])
    metadata = only["metadata"]
    assert re.fullmatch("web-[bcdfghjklmnpqrstvwxz2456789]{5}", metadata["name"])
    assert metadata["labels"] == {
        "app": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": "web",
    }
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Service", "web", "uid-web")
    assert only["addressType"] == "IPv4"
    assert only["ports"] == [{"name": "", "port": 80, "protocol": "TCP"}]
    assert only["endpoints"][0]["addresses"] == ["10.244.0.1"]


def test_each_address_family_of_the_service_has_its_slices():
    pod = make_pod("p1")
    pod["status"]["podIPs"] = [{"ip": "10.244.0.1"}, {"ip": "fd00::1"}]
    slices = compute_slices(make_service(ipFamilies=["IPv4", "IPv6"]), [pod])
    found = [(one["addressType"], one["endpoints"][0]["addresses"]) for one in slices]
    assert found == [("IPv4", ["10.244.0.1"]), ("IPv6", ["fd00::1"])]


def test_addresses_are_in_numerical_order_whatever_the_order_of_the_pods():
    pods = [make_pod("a", "10.244.0.10"), make_pod("b", "10.244.0.9"), make_pod("c", "10.244.0.100")]
    for given in (pods, pods[::-1]):
        (subset,) = compute_endpoints(make_service(), given)["subsets"]
        assert ips(subset["addresses"]) == ["10.244.0.9", "10.244.0.10", "10.244.0.100"]


def by_name(slices):
    return {one["metadata"]["name"]: one for one in slices}


def test_slices_hold_at_most_a_hundred_and_together_everything():
    pods = [make_pod(f"pod-{number}") for number in range(1000)]
    slices = compute_slices(make_service(), pods)
    assert max(len(one["endpoints"]) for one in slices) <= 100
    named = sorted(endpoint["targetRef"]["name"] for one in slices for endpoint in one["endpoints"])
    assert named == sorted(pod["metadata"]["name"] for pod in pods)
    assert len(by_name(slices)) == len(slices)
    assert slices == compute_slices(make_service(), pods[::-1])


def test_a_pod_that_comes_or_goes_changes_only_its_own_slice():
    pods = [make_pod(f"pod-{number}") for number in range(1000)]
    before = by_name(compute_slices(make_service(), pods))
    after = by_name(compute_slices(make_service(), pods[:500] + pods[501:]))
    assert set(before) == set(after)
    assert sum(before[name] != after[name] for name in before) == 1


def test_exactly_a_hundred_share_one_slice():
    pods = [make_pod(f"pod-{number}") for number in range(100)]
    assert len(compute_slices(make_service(), pods)) == 1
    assert len(compute_slices(make_service(), [*pods, make_pod("pod-100")])) > 1
