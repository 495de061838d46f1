"""Services case by case: what is refused in which words, what a change of type keeps, who gets which port."""

from __future__ import annotations

from typing import Any

import pytest
from strategy_objects import changed, created, texts

from kube32_sim.api.allocation import Allocators
from kube32_sim.api.errors import ApiError
from kube32_sim.api.service_allocation import allocate

JsonObject = dict[str, Any]
BALANCER = "may only be used when `type` is 'LoadBalancer'"
RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
HINTS, MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"


def service(annotations: JsonObject | None = None, **spec: Any) -> JsonObject:
    metadata = {"name": "s"} | ({"annotations": annotations} if annotations else {})
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]} | spec}


def stored(allocators: Allocators, **spec: Any) -> JsonObject:
    obj, failures, _ = created(service(**spec))
    assert failures == []
    allocate(obj, None, allocators)
    allocators.observe(obj, None)
    return obj


def updated(old: JsonObject, allocators: Allocators, **spec: Any) -> JsonObject:
    """The answer to a PUT of this Service."""
    obj, failures = changed(old, service(**spec))
    assert failures == []
    allocate(obj, old, allocators)
    return obj


def merged(old: JsonObject, allocators: Allocators, **spec: Any) -> JsonObject:
    """The answer to a patch: what is not named stays; None takes out."""
    after = {key: value for key, value in (old["spec"] | spec).items() if value is not None}
    obj, failures = changed(old, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": after})
    assert texts(failures) == []
    allocate(obj, old, allocators)
    return obj


def refusal(obj: JsonObject, old: JsonObject | None, allocators: Allocators) -> str:
    with pytest.raises(ApiError) as caught:
        allocate(obj, old, allocators)
    assert caught.value.code == 422
    return caught.value.message.removeprefix('Service "s" is invalid: ')


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # addresses: their failures come alone
        (
            {"clusterIP": "x", "ports": []},
            ['spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
        ),
        ({"clusterIP": "10.96.000.1"}, ['spec.clusterIPs[0]: Invalid value: "10.96.000.1": must not have leading 0s']),
        (
            {"clusterIP": "None", "clusterIPs": ["None", "10.96.0.1"]},
            ['spec.clusterIPs: Invalid value: ["None","10.96.0.1"]: \'None\' must be the first and only value'],
        ),
        (
            {"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9", "10.96.0.8"]},
            [
                'spec.clusterIPs: Invalid value: ["10.96.0.9","10.96.0.8"]: may specify no more than one IP for each '
                "IP family"
            ],
        ),
        (
            {"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.8"]},
            ['spec.clusterIPs: Invalid value: ["10.96.0.8"]: first value must match `clusterIP`'],
        ),
        (
            {"ipFamilies": ["IPv5", "IPv4", "IPv4"], "ipFamilyPolicy": "Odd"},
            [
                'spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
                'spec.ipFamilies[2]: Duplicate value: "IPv4"',
                'spec.ipFamilyPolicy: Unsupported value: "Odd": supported values: "PreferDualStack", '
                '"RequireDualStack", "SingleStack"',
            ],
        ),
        (
            {"clusterIP": "10.96.0.9", "ipFamilies": ["IPv6"]},
            ['spec.clusterIPs[0]: Invalid value: "10.96.0.9": expected an IPv6 value as indicated by `ipFamilies[0]`'],
        ),
        # everything else
        (
            {"type": "LoadBalancer", "loadBalancerClass": "a b", "ports": [{"port": 10250}]},
            [
                'spec.loadBalancerClass: Invalid value: "a b": name part must consist of alphanumeric characters, '
                "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
                "'my.name',  or '123-abc', regex used for validation is "
                "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
            ],
        ),
        ({"loadBalancerClass": "a b"}, [f"spec.loadBalancerClass: Forbidden: {BALANCER}"]),
        ({"allocateLoadBalancerNodePorts": False}, [f"spec.allocateLoadBalancerNodePorts: Forbidden: {BALANCER}"]),
        (
            {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.1/8", "10.0.0.0", " 10.0.0.0/8 "]},
            [
                'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the '
                "prefix length",
                'spec.LoadBalancerSourceRanges[1]: Invalid value: "10.0.0.0": must be a valid CIDR value, '
                "(e.g. 10.9.8.0/24 or 2001:db8::/64)",
            ],
        ),
        (
            {"annotations": {RANGES: "x"}},
            [
                f"metadata.annotations[{RANGES}]: Forbidden: {BALANCER}",
                f'metadata.annotations[{RANGES}]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 '
                "or 2001:db8::/64)",
            ],
        ),
        (
            {"annotations": {HINTS: "auto", MODE: "disabled"}},
            [
                f'metadata.annotations[{MODE}]: Invalid value: "disabled": must match annotations[{HINTS}] when both '
                "are specified"
            ],
        ),
        (
            {"healthCheckNodePort": 30001},
            [
                "spec.healthCheckNodePort: Invalid value: 30001: may only be set when `type` is 'LoadBalancer' and "
                "`externalTrafficPolicy` is 'Local'"
            ],
        ),
        (
            {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": -1},
            ["spec.healthCheckNodePort: Invalid value: -1: must be between 1 and 65535, inclusive"],
        ),
        (
            {"type": "NodePort", "ports": [{"name": n, "port": p, "nodePort": 30001} for n, p in (("a", 1), ("b", 1))]},
            [
                "spec.ports[1].nodePort: Duplicate value: 30001",
                'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,'
                '"TargetPort":0,"NodePort":0}',
            ],
        ),
        (
            {"type": "ExternalName", "externalName": "a", "clusterIP": "10.96.0.7", "ipFamilies": ["IPv4"]},
            [
                "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
                "spec.ipFamilies: Forbidden: may not be set for ExternalName services",
            ],
        ),
    ],
)
def test_services_are_refused(spec: JsonObject, expected: list[str]) -> None:
    assert texts(created(service(**spec))[1]) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            {"type": "LoadBalancer", "loadBalancerClass": "a"},
            {"type": "LoadBalancer", "loadBalancerClass": "b"},
            ['spec.loadBalancerClass: Invalid value: "b": may not change once set'],
        ),
        (
            {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30005},
            {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30006},
            ["spec.healthCheckNodePort: Forbidden: field is immutable"],
        ),
        (
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001}]},
            {"type": "ClusterIP", "ports": [{"port": 80, "nodePort": 30002}]},
            ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        ),
        (
            {"clusterIP": "None", "selector": {"a": "b"}},
            {"clusterIP": "10.96.0.7", "selector": {"a": "b"}},
            ['spec.clusterIPs[0]: Invalid value: ["10.96.0.7"]: may not change once set'],
        ),
    ],
)
def test_changes_are_refused(before: JsonObject, after: JsonObject, expected: list[str]) -> None:
    assert texts(changed(stored(Allocators(), **before), service(**after))[1]) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"ipFamilyPolicy": "RequireDualStack"},
            'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack '
            "services",
        ),
        ({"ipFamilies": ["IPv6"]}, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'),
        (
            {"ipFamilies": ["IPv4", "IPv6"]},
            "spec.ipFamilyPolicy: Invalid value: \"SingleStack\": must be 'RequireDualStack' or 'PreferDualStack' when "
            "multiple IP families are specified",
        ),
        (
            {"ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv4", "IPv6"]},
            'spec.ipFamilies[1]: Invalid value: "IPv6": not configured on this cluster',
        ),
        (
            {"clusterIP": "fd00::1"},
            'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
        ),
        (
            {"clusterIP": "10.96.0.0"},
            'spec.clusterIPs: Invalid value: ["10.96.0.0"]: failed to allocate IP 10.96.0.0: the provided IP '
            "(10.96.0.0) is not in the valid range. The range of valid IPs is 10.96.0.0/16",
        ),
    ],
)
def test_what_a_cluster_of_one_family_has_not_got(spec: JsonObject, expected: str) -> None:
    assert refusal(created(service(**spec))[0], None, Allocators()) == expected


def test_a_preference_for_two_families_makes_do_with_one() -> None:
    spec = stored(Allocators(), ipFamilyPolicy="PreferDualStack")["spec"]
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"], len(spec["clusterIPs"])) == (["IPv4"], "PreferDualStack", 1)


def test_a_hand_made_headless_service_lets_go_of_a_family_by_its_policy() -> None:
    allocators = Allocators()
    both = stored(allocators, clusterIP="None")
    single = merged(both, allocators, ipFamilyPolicy="SingleStack")["spec"]
    assert (single["ipFamilies"], single["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")
    shorter = changed(both, service(clusterIP="None", ipFamilies=["IPv4"]))[0]
    assert refusal(shorter, both, allocators) == (
        "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": must be 'SingleStack' to release the secondary IP "
        "family"
    )


DNS = [{"name": "tcp", "port": 53}, {"name": "udp", "port": 53, "protocol": "UDP"}]


def test_a_node_port_belongs_to_one_service_whatever_the_protocol() -> None:
    allocators = Allocators()
    stored(allocators, type="NodePort", ports=[{"port": 80, "nodePort": 30001}])
    other = created(service(type="NodePort", ports=[{"port": 80, "protocol": "UDP", "nodePort": 30001}]))[0]
    taken = "spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated"
    assert refusal(other, None, allocators) == taken


def test_a_named_node_port_serves_the_other_protocol_of_its_port() -> None:
    ports = [DNS[0], DNS[1] | {"nodePort": 30053}]
    assert [each["nodePort"] for each in stored(Allocators(), type="NodePort", ports=ports)["spec"]["ports"]] == [
        30053,
        30053,
    ]
    first = {"name": "a", "port": 80, "nodePort": 30001}
    apart = [first, {"name": "b", "port": 81, "protocol": "UDP", "nodePort": 30001}]
    wrong = created(service(type="NodePort", ports=apart))[0]
    assert refusal(wrong, None, Allocators()).startswith("spec.ports[1].nodePort: Invalid value: 30001: provided port")


def test_a_node_port_asked_for_twice_is_all_a_new_service_hears_of() -> None:
    ports = [{"name": name, "port": port, "nodePort": 30001} for name, port in (("a", 80), ("b", 81))]
    wrong, found, *_ = created(service(type="NodePort", ports=ports, sessionAffinity="x"))
    assert found == []
    taken = "spec.ports[1].nodePort: Invalid value: 30001: provided port is already allocated"
    assert refusal(wrong, None, Allocators()) == taken


def test_a_load_balancer_without_node_ports_still_has_those_it_asks_for() -> None:
    allocators = Allocators()
    stored(allocators, type="NodePort", ports=[{"port": 80, "nodePort": 30001}])
    plain = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}
    assert "nodePort" not in stored(allocators, **plain)["spec"]["ports"][0]
    asking = created(service(**plain, ports=[{"port": 80, "nodePort": 30001}]))[0]
    assert refusal(asking, None, allocators).endswith("provided port is already allocated")


def test_ports_are_known_again_by_name() -> None:
    allocators = Allocators()
    old = stored(allocators, type="NodePort", ports=[{"name": "a", "port": 80}, {"name": "b", "port": 81}])
    a, b = (port["nodePort"] for port in old["spec"]["ports"])
    new = updated(old, allocators, type="NodePort", ports=[{"name": "b", "port": 90}, {"name": "c", "port": 80}])
    kept, fresh = (port["nodePort"] for port in new["spec"]["ports"])
    assert kept == b
    assert fresh not in (a, b)


def test_node_ports_move_between_the_types_that_have_them() -> None:
    allocators = Allocators()
    old = stored(allocators, type="NodePort")
    balancer = merged(old, allocators, type="LoadBalancer", externalTrafficPolicy="Local")
    spec = balancer["spec"]
    assert spec["ports"][0]["nodePort"] == old["spec"]["ports"][0]["nodePort"]
    assert 30000 <= spec["healthCheckNodePort"] <= 32767
    allocators.observe(balancer, old)
    plain = merged(balancer, allocators, type="ClusterIP")["spec"]
    gone = {"healthCheckNodePort", "externalTrafficPolicy", "allocateLoadBalancerNodePorts"}
    assert not gone & plain.keys()
    assert "nodePort" not in plain["ports"][0]
    assert plain["clusterIP"] == old["spec"]["clusterIP"]


def test_an_external_name_gets_an_address_when_it_becomes_another() -> None:
    allocators = Allocators()
    old = stored(allocators)
    named = merged(old, allocators, type="ExternalName", externalName="a.example.com")
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & named["spec"].keys()
    allocators.observe(named, old)
    again = merged(named, allocators, type="ClusterIP", clusterIP="10.96.0.77")["spec"]
    assert (again["clusterIPs"], again["ipFamilies"], again["externalName"]) == (
        ["10.96.0.77"],
        ["IPv4"],
        "a.example.com",
    )


def test_another_type_forgets_what_the_load_balancer_said() -> None:
    allocators = Allocators()
    old = stored(allocators, type="LoadBalancer")
    told = old | {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP"}]}}}
    assert merged(told, allocators, type="LoadBalancer")["status"] == told["status"]
    assert merged(told, allocators, type="NodePort")["status"] == {"loadBalancer": {}}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"ip": "192.0.2.1"}, []),
        (
            {"ip": "x", "ipMode": "Odd"},
            [
                'ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
                'ipMode: Unsupported value: "Odd": supported values: "Proxy", "VIP"',
            ],
        ),
        (
            {"hostname": "192.0.2.1", "ipMode": "VIP"},
            [
                "ipMode: Forbidden: may not be specified when `ip` is not set",
                'hostname: Invalid value: "192.0.2.1": must be a DNS name, not an IP address',
            ],
        ),
    ],
)
def test_reports_of_load_balancers(entry: JsonObject, expected: list[str]) -> None:
    old = stored(Allocators(), type="LoadBalancer")
    body = service(type="LoadBalancer") | {"status": {"loadBalancer": {"ingress": [entry]}}}
    head = "status.loadBalancer.ingress[0]."
    assert texts(changed(old, body, "status")[1]) == [head + each for each in expected]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"clusterIP": "None", "sessionAffinity": "ClientIP", "loadBalancerIP": "192.0.2.1"},
            [
                "spec.loadBalancerIP is ignored for headless services",
                "spec.SessionAffinity is ignored for headless services",
            ],
        ),
        ({"externalName": "x"}, ['spec.externalName is ignored when spec.type is not "ExternalName"']),
        (
            {"trafficDistribution": "PreferClose"},
            ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
        ),
        (
            {"annotations": {HINTS: "auto"}},
            [f"annotation {HINTS} is deprecated, please use {MODE} instead"],
        ),
        (
            {"loadBalancerIP": "FD00::1"},
            ['spec.loadBalancerIP: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")'],
        ),
    ],
)
def test_services_earn_warnings(spec: JsonObject, expected: list[str]) -> None:
    assert created(service(**spec))[2] == expected


def test_a_full_range_goes_on_in_the_next() -> None:
    allocators = Allocators(cidr="10.0.0.0/28")
    assert [stored(allocators)["spec"]["clusterIP"] for _ in range(14)][-1] == "10.0.0.14"
    assert "range is full" in refusal(created(service())[0], None, allocators)
    allocators.add_range("more", "10.0.0.0/27")
    allocators.add_range("six", "fd00::/64")
    assert stored(allocators)["spec"]["clusterIP"] == "10.0.0.17"
    allocators.drop_range("more", "10.0.0.0/27")
    assert "range is full" in refusal(created(service())[0], None, allocators)
