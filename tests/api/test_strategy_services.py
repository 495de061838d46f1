"""Services: defaults, addresses and ports, what an update keeps; and the kinds around them."""

from __future__ import annotations

from typing import Any

import pytest
from strategy_objects import changed, created, texts

from kube32_sim.api.allocation import Allocators
from kube32_sim.api.errors import ApiError
from kube32_sim.api.service_allocation import allocate
from kube32_sim.ids import Ids

JsonObject = dict[str, Any]


def service(**spec: Any) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]} | spec}


def stored(allocators: Allocators, **spec: Any) -> JsonObject:
    obj, failures, _ = created(service(**spec))
    assert failures == []
    allocate(obj, None, allocators)
    allocators.observe(obj, None)
    return obj


def refused(allocators: Allocators, **spec: Any) -> str:
    obj = created(service(**spec))[0]
    with pytest.raises(ApiError) as caught:
        allocate(obj, None, allocators)
    assert caught.value.code == 422
    return caught.value.message.removeprefix('Service "s" is invalid: ')


def test_a_service_gets_its_defaults_and_an_address() -> None:
    spec = stored(Allocators())["spec"]
    address = spec["clusterIP"]
    assert address.startswith("10.96.")
    assert spec == {
        "clusterIP": address,
        "clusterIPs": [address],
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }


def test_node_ports_and_traffic_of_outside() -> None:
    spec = stored(Allocators(), type="NodePort", sessionAffinity="ClientIP")["spec"]
    assert 30000 <= spec["ports"][0]["nodePort"] <= 32767
    assert spec["externalTrafficPolicy"] == "Cluster"
    assert spec["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}


def test_one_number_serves_both_protocols_of_a_port() -> None:
    ports = [{"name": "tcp", "port": 53}, {"name": "udp", "port": 53, "protocol": "UDP"}, {"name": "x", "port": 80}]
    tcp, udp, other = (port["nodePort"] for port in stored(Allocators(), type="NodePort", ports=ports)["spec"]["ports"])
    assert tcp == udp
    assert tcp != other


def test_headless_services_have_no_address() -> None:
    spec = stored(Allocators(), clusterIP="None", selector={"a": "b"})["spec"]
    assert (spec["clusterIPs"], spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["None"], ["IPv4"], "SingleStack")
    by_hand = stored(Allocators(), clusterIP="None")["spec"]
    assert (by_hand["ipFamilies"], by_hand["ipFamilyPolicy"]) == (["IPv4", "IPv6"], "RequireDualStack")


def test_an_external_name_needs_nothing_else() -> None:
    spec = stored(Allocators(), type="ExternalName", externalName="a.example.com", ports=[])["spec"]
    assert spec == {"externalName": "a.example.com", "sessionAffinity": "None", "type": "ExternalName"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"clusterIP": "1.2.3.4"},
            'spec.clusterIPs: Invalid value: ["1.2.3.4"]: failed to allocate IP 1.2.3.4: the provided network does not '
            "match the current range",
        ),
        (
            {"clusterIP": "10.96.7.7"},
            'spec.clusterIPs: Invalid value: ["10.96.7.7"]: failed to allocate IP 10.96.7.7: provided IP is already '
            "allocated",
        ),
        (
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30777}]},
            "spec.ports[0].nodePort: Invalid value: 30777: provided port is already allocated",
        ),
        (
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]},
            "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid "
            "ports is 30000-32767",
        ),
        (
            {"ipFamilies": ["IPv6"]},
            'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
        ),
        (
            {"ipFamilyPolicy": "RequireDualStack"},
            'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack '
            "services",
        ),
    ],
)
def test_what_is_taken_or_elsewhere_is_refused(spec: JsonObject, expected: str) -> None:
    allocators = Allocators()
    stored(allocators, clusterIP="10.96.7.7", type="NodePort", ports=[{"port": 80, "nodePort": 30777}])
    assert refused(allocators, **spec) == expected


def test_allocating_takes_nothing_until_the_service_is_stored() -> None:
    allocators = Allocators()
    dry = created(service(clusterIP="10.96.7.7"))[0]
    allocate(dry, None, allocators)
    again = stored(allocators, clusterIP="10.96.7.7")
    assert "already allocated" in refused(allocators, clusterIP="10.96.7.7")
    allocators.observe(None, again)
    stored(allocators, clusterIP="10.96.7.7")


def test_addresses_are_not_given_twice_and_come_back() -> None:
    allocators = Allocators(cidr="10.1.0.0/28")
    services = [stored(allocators) for _ in range(14)]
    assert len({each["spec"]["clusterIP"] for each in services}) == 14
    assert "range is full" in refused(allocators)
    allocators.observe(None, services[3])
    assert stored(allocators)["spec"]["clusterIP"] == services[3]["spec"]["clusterIP"]


def test_node_ports_run_out_and_come_back() -> None:
    allocators = Allocators(ports=(30000, 30002))
    services = [stored(allocators, type="NodePort") for _ in range(3)]
    assert "range is full" in refused(allocators, type="NodePort")
    allocators.observe(None, services[0])
    assert stored(allocators, type="NodePort")["spec"]["ports"] == services[0]["spec"]["ports"]


def test_chance_is_the_seed_s() -> None:
    first, second = (stored(Allocators(Ids(5)))["spec"]["clusterIP"] for _ in range(2))
    assert first == second != stored(Allocators(Ids(6)))["spec"]["clusterIP"]


def test_a_put_need_not_know_what_was_given_out() -> None:
    allocators = Allocators()
    old = stored(allocators, type="NodePort")
    new, failures = changed(old, service(type="NodePort"))
    assert failures == []
    allocate(new, old, allocators)
    assert new["spec"] == old["spec"]


def test_another_type_lets_go_of_node_ports_and_addresses() -> None:
    allocators = Allocators()
    old = stored(allocators, type="NodePort")
    body = service(**(old["spec"] | {"type": "ClusterIP"}))
    plain, failures = changed(old, body)
    assert failures == []
    assert "nodePort" not in plain["spec"]["ports"][0]
    assert "externalTrafficPolicy" not in plain["spec"]
    allocators.observe(plain, old)
    port = old["spec"]["ports"][0]["nodePort"]
    stored(allocators, type="NodePort", ports=[{"port": 80, "nodePort": port}])
    external, failures = changed(plain, service(**(plain["spec"] | {"type": "ExternalName", "externalName": "x.y"})))
    assert failures == []
    assert "clusterIP" not in external["spec"]
    assert "ipFamilies" not in external["spec"]


def test_the_address_may_not_change() -> None:
    old = stored(Allocators())
    body = service(**(old["spec"] | {"clusterIP": "10.96.0.250"}))
    assert texts(changed(old, body)[1]) == [
        'spec.clusterIPs[0]: Invalid value: ["10.96.0.250"]: may not change once set'
    ]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ports": []}, ["spec.ports: Required value"]),
        (
            {"externalIPs": ["127.0.0.1"]},
            [
                'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, '
                "::1/128)"
            ],
        ),
        (
            {"clusterIPs": ["10.96.0.9"]},
            ['spec.clusterIPs: Invalid value: ["10.96.0.9"]: must be empty when `clusterIP` is not specified'],
        ),
        (
            {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}},
            [
                "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less "
                "than 86400"
            ],
        ),
        (
            {"loadBalancerSourceRanges": ["10.0.0.0/8"]},
            ["spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'"],
        ),
        (
            {"trafficDistribution": "Odd"},
            [
                'spec.trafficDistribution: Unsupported value: "Odd": supported values: "PreferClose", '
                '"PreferSameNode", "PreferSameZone"'
            ],
        ),
    ],
)
def test_services_are_refused(spec: JsonObject, expected: list[str]) -> None:
    assert texts(created(service(**spec))[1]) == expected


def test_network_policies_default_their_types_and_protocols() -> None:
    body = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "n"},
        "spec": {"podSelector": {}, "egress": [{"ports": [{"port": 53}], "to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]},
    }
    obj, failures, _ = created(body)
    assert failures == []
    assert obj["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert obj["spec"]["egress"][0]["ports"] == [{"port": 53, "protocol": "TCP"}]
    body["spec"]["egress"][0]["to"] = [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}}]
    assert texts(created(body)[1]) == [
        'spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`'
    ]


def test_an_ingress_leads_somewhere() -> None:
    def body(**spec: Any) -> JsonObject:
        return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"}, "spec": spec}

    good = {"service": {"name": "s", "port": {"number": 80}}}
    obj, failures, _ = created(body(defaultBackend=good))
    assert (failures, obj["status"]) == ([], {"loadBalancer": {}})
    paths = [{"path": "x", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {}}}}]
    assert texts(created(body(rules=[{"host": "10.0.0.1", "http": {"paths": paths}}]))[1]) == [
        'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
        'spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path',
        "spec.rules[0].http.paths[0].backend: Required value: port name or number is required",
    ]


def test_an_endpoint_slice_counts_labels_as_content() -> None:
    body = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "e", "labels": {"a": "b"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.2.3"]}],
        "ports": [{"port": 80}],
    }
    old, failures, _ = created(body)
    assert failures == []
    assert old["ports"] == [{"name": "", "port": 80, "protocol": "TCP"}]
    relabelled = body | {"metadata": {"name": "e", "labels": {"a": "c"}}}
    assert changed(old, relabelled)[0]["metadata"]["generation"] == 2
    wrong = body | {"endpoints": [{"addresses": ["2001:db8::1"]}]}
    assert [error.field for error in created(wrong)[1]] == ["endpoints[0].addresses[0]"]
    assert [error.field for error in changed(old, body | {"addressType": "IPv6"})[1]][-1] == "addressType"


def test_the_range_is_passed_once_for_all_ports_of_a_service() -> None:
    class Probed(Allocators):
        probes = 0

    allocators = Probed(ids=Ids(1))
    held = allocators._node_ports._held

    class Counted(type(held)):  # type: ignore[misc]
        def __contains__(self, key: object) -> bool:
            Probed.probes += 1
            return super().__contains__(key)

    allocators._node_ports._held = Counted()
    ports = [{"name": f"p{n}", "port": n + 1} for n in range(2768)]
    spec = stored(allocators, type="NodePort", ports=ports)["spec"]
    assert len({port["nodePort"] for port in spec["ports"]}) == 2768
    assert Probed.probes < 12 * 2768
