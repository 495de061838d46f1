"""Endpoints and EndpointSlices of a Service by kube32's rules."""

import random
import re

import pytest

from kube32_sim.api.endpoint_slices import compute_slices
from kube32_sim.api.endpoints import compute_endpoints


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


def test_what_is_not_ready_is_not_published_as_if_it_were():
    service, pods = make_service(publishNotReadyAddresses=True), [make_pod("p1", ready=False)]
    (subset,) = compute_endpoints(service, pods)["subsets"]
    assert (ips(subset["notReadyAddresses"]), "addresses" in subset) == (["10.244.0.1"], False)
    (only,) = compute_slices(service, pods)
    assert only["endpoints"][0]["conditions"] == {"ready": False, "serving": False, "terminating": False}


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


def test_a_port_name_is_looked_up_in_all_containers_with_its_protocol_and_the_first_counts():
    dns = [{"name": "dns", "containerPort": 53, "protocol": "UDP"}, {"name": "dns", "containerPort": 5353}]
    containers = [
        {"name": "a", "ports": dns},
        {"name": "b", "ports": [{"name": "dns", "containerPort": 9953}, {"name": "late", "containerPort": 7000}]},
    ]
    sidecar = {"name": "s", "restartPolicy": "Always", "ports": [{"name": "proxy", "containerPort": 15001}]}
    once = {"name": "o", "ports": [{"name": "setup", "containerPort": 1}]}
    pod = make_pod("p1", containers=containers, initContainers=[once, sidecar])
    targets = (("dns", "TCP"), ("dns", "UDP"), ("late", "TCP"), ("proxy", "TCP"), ("setup", "TCP"))
    ports = [
        {"name": f"{target}-{protocol.lower()}", "port": 80, "targetPort": target, "protocol": protocol}
        for target, protocol in targets
    ]
    (subset,) = compute_endpoints(make_service(ports=ports), [pod])["subsets"]
    assert {port["name"]: port["port"] for port in subset["ports"]} == {
        "dns-tcp": 5353,
        "dns-udp": 53,
        "late-tcp": 7000,
        "proxy-tcp": 15001,
    }


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


# who is in which slice


def layout(slices):
    """Pods by slice."""
    return {one["metadata"]["name"]: [e["targetRef"]["name"] for e in one["endpoints"]] for one in slices}


def many(first, last):
    return [make_pod(f"pod-{number}") for number in range(first, last)]


def test_slices_hold_at_most_a_hundred_and_together_everything():
    pods = many(0, 1000)
    slices = compute_slices(make_service(), pods)
    assert [len(held) for held in layout(slices).values()] == [100] * 10
    named = sorted(name for held in layout(slices).values() for name in held)
    assert named == sorted(pod["metadata"]["name"] for pod in pods)
    assert slices == compute_slices(make_service(), pods[::-1])


def test_a_pod_stays_in_its_slice_whoever_comes_and_goes():
    rng = random.Random(7)
    service, pods = make_service(), many(0, 1000)
    slices = compute_slices(service, pods)
    for step in range(30):
        pods = [pod for pod in pods if rng.random() < 0.9] + many(1000 * (step + 1), 1000 * (step + 1) + 90)
        before = {pod: name for name, held in layout(slices).items() for pod in held}
        slices = compute_slices(service, pods, slices)
        after = {pod: name for name, held in layout(slices).items() for pod in held}
        assert sorted(after) == sorted(pod["metadata"]["name"] for pod in pods)
        assert all(after[pod] == name for pod, name in before.items() if pod in after)
        assert all(0 < len(held) <= 100 for held in layout(slices).values())


def test_one_more_than_a_hundred_opens_a_slice_and_touches_no_other():
    full = compute_slices(make_service(), many(0, 100))
    more = compute_slices(make_service(), many(0, 101), full)
    assert more[0] == full[0]
    assert [len(held) for held in layout(more).values()] == [100, 1]
    assert compute_slices(make_service(), many(0, 100), more) == full


def test_who_comes_fills_the_fullest_slice_that_has_room():
    slices = compute_slices(make_service(), many(0, 250))
    first, second, third = layout(slices)
    left = [*many(5, 100), *many(110, 250)]
    slices = compute_slices(make_service(), [*left, *many(300, 306)], compute_slices(make_service(), left, slices))
    held = layout(slices)
    assert [len(held[name]) for name in (first, second, third)] == [100, 91, 50]
    assert "pod-305" in held[second]


def test_the_slice_without_pods_is_the_one_in_which_they_come():
    service = make_service(ports=[{"name": "http", "port": 80, "targetPort": "web"}])
    empty = compute_slices(service, [])
    pods = [make_pod("p1", ports=[{"name": "web", "containerPort": 8080}])]
    filled = compute_slices(service, pods, empty)
    assert list(layout(filled)) == list(layout(empty))
    assert layout(compute_slices(service, [], filled)) == layout(empty)


def test_a_slice_whose_pods_all_get_other_ports_goes_on_with_those():
    before = compute_slices(make_service(), many(0, 150))
    after = compute_slices(make_service(ports=[{"port": 80, "targetPort": 9090}]), many(0, 150), before)
    assert layout(after) == layout(before)
    assert [one["ports"][0]["port"] for one in after] == [9090, 9090]


def test_a_slice_goes_on_with_the_ports_that_most_of_its_pods_get():
    def target(name):
        return make_service(ports=[{"port": 80, "targetPort": name}])

    pods = [
        make_pod(f"pod-{number}", ports=[{"name": "a", "containerPort": 8080}, {"name": "b", "containerPort": other}])
        for number, other in enumerate((8080, 9090, 9090))
    ]
    before = compute_slices(target("a"), pods)
    (name,) = layout(before)
    after = layout(compute_slices(target("b"), pods, before))
    assert after.pop(name) == ["pod-1", "pod-2"]
    assert list(after.values()) == [["pod-0"]]


def test_pods_with_another_number_leave_the_slice_of_the_others_alone():
    service = make_service(ports=[{"name": "http", "port": 80, "targetPort": "web"}])

    def pods(first, last, number):
        ports = [{"name": "web", "containerPort": number}]
        return [make_pod(f"pod-{one}", ports=ports) for one in range(first, last)]

    old = compute_slices(service, pods(0, 10, 8080))
    (name,) = layout(old)
    both = compute_slices(service, pods(0, 4, 8080) + pods(20, 26, 80), old)
    assert layout(both)[name] == ["pod-0", "pod-1", "pod-2", "pod-3"]
    assert [one["ports"][0]["port"] for one in both] == [80, 8080]
    new = compute_slices(service, pods(20, 30, 80), both)
    assert set(layout(new)) == set(layout(both)) - {name}


def test_slices_of_another_service_of_that_name_are_not_gone_on_with():
    before = compute_slices(make_service(), many(0, 5))
    service = make_service()
    service["metadata"]["uid"] = "another"
    after = compute_slices(service, many(0, 5), before)
    assert set(layout(after)).isdisjoint(layout(before))
