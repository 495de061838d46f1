"""Ingress, NetworkPolicy, Endpoints and kin case by case: what is refused, and in which words."""

from __future__ import annotations

from typing import Any

import pytest
from strategy_objects import changed, created, texts

JsonObject = dict[str, Any]
NET = "networking.k8s.io/v1"
BAD_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def of(kind: str, name: str = "o", api_version: str = NET, **fields: Any) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}} | fields


def backend(**port: Any) -> JsonObject:
    return {"service": {"name": "s", "port": port}}


def ingress(*paths: JsonObject, **spec: Any) -> JsonObject:
    return of("Ingress", spec=({"rules": [{"http": {"paths": list(paths)}}]} if paths else {}) | spec)


def policy(**spec: Any) -> JsonObject:
    return of("NetworkPolicy", spec={"podSelector": {}} | spec)


def blocked(cidr: str, *excepted: str) -> JsonObject:
    return policy(egress=[{"to": [{"ipBlock": {"cidr": cidr, "except": list(excepted)}}]}])


def endpoints(**subset: Any) -> JsonObject:
    return of("Endpoints", api_version="v1", subsets=[subset])


def sliced(kind: str = "IPv4", ports: list[JsonObject] | None = None, **endpoint: Any) -> JsonObject:
    body = of("EndpointSlice", api_version="discovery.k8s.io/v1", addressType=kind, endpoints=[endpoint])
    return body | ({"ports": ports} if ports else {})


HTTP = "spec.rules[0].http.paths[0]"
TO = "spec.egress[0].to[0]"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (ingress(), ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]),
        (ingress(rules=[]), ["spec: Invalid value: []: either `defaultBackend` or `rules` must be specified"]),
        (ingress({"path": "/"}), [f"{HTTP}.pathType: Required value: pathType must be specified"]),
        (
            ingress({"path": "/a//b/..", "pathType": "Exact", "backend": backend(number=80, name="x")}),
            [
                f"{HTTP}.path: Invalid value: \"/a//b/..\": must not contain '//'",
                f"{HTTP}.path: Invalid value: \"/a//b/..\": cannot end with '/..'",
                f'{HTTP}.backend: Invalid value: "": cannot set both port name & port number',
            ],
        ),
        (
            ingress({"pathType": "Odd", "backend": {"resource": {"kind": "a/b"}}}),
            [
                f'{HTTP}.pathType: Unsupported value: "Odd": supported values: "Exact", "ImplementationSpecific", '
                '"Prefix"',
                f"{HTTP}.backend.resource.kind: Invalid value: \"a/b\": may not contain '/'",
                f"{HTTP}.backend.resource.name: Required value",
            ],
        ),
        (
            ingress(defaultBackend=backend(number=80), tls=[{"secretName": "A_B"}]),
            [f'spec.tls[0].secretName: Invalid value: "A_B": {SUBDOMAIN}'],
        ),
        (of("IngressClass", spec={}), ["spec.controller: Required value"]),
        (
            of("IngressClass", spec={"controller": "acme"}),
            ['spec.controller: Invalid value: "acme": must be a domain-prefixed path (such as "acme.io/foo")'],
        ),
        (
            of("IngressClass", spec={"controller": "acme.io/a b", "parameters": {"kind": "K", "scope": "Odd"}}),
            [
                'spec.controller: Invalid value: "a b": Invalid path (regex used for validation is '
                "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
                "spec.parameters.name: Required value",
                'spec.parameters.scope: Unsupported value: "Odd": supported values: "Cluster", "Namespace"',
            ],
        ),
        (
            of("IngressClass", spec={"controller": "a/b", "parameters": {"kind": "K", "name": "n", "namespace": "x"}}),
            ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
        ),
        (
            policy(policyTypes=["Odd"]),
            ['spec.policyTypes[0]: Unsupported value: "Odd": supported values: "Ingress", "Egress"'],
        ),
        (
            policy(egress=[{"ports": [{"protocol": "ICMP", "endPort": 9}, {"port": 90, "endPort": 9}]}]),
            [
                'spec.egress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"',
                "spec.egress[0].ports[0].endPort: Invalid value: 9: may not be specified when `port` is not specified",
                "spec.egress[0].ports[1].endPort: Invalid value: 9: must be greater than or equal to `port`",
            ],
        ),
        (policy(egress=[{"to": [{}]}]), [f"{TO}: Required value: must specify a peer"]),
        (
            policy(egress=[{"to": [{"podSelector": {}, "ipBlock": {}}]}]),
            [f"{TO}.ipBlock.cidr: Required value", f"{TO}: Forbidden: may not specify both ipBlock and another peer"],
        ),
        (
            blocked("10.0.0.0/8", "10.1.0.1/16", "11.0.0.0/16"),
            [
                f'{TO}.ipBlock.except[0]: Invalid value: "10.1.0.1/16": must not have bits set beyond the prefix '
                "length",
                f'{TO}.ipBlock.except[1]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
            ],
        ),
        (of("IPAddress", "10.1.2.3", spec={}), ["spec.parentRef: Required value"]),
        (
            of("IPAddress", "2001:DB8::1", spec={"parentRef": {"resource": "services", "name": "a/b"}}),
            [
                'metadata.name: Invalid value: "2001:DB8::1": must be in canonical form ("2001:db8::1")',
                "spec.parentRef.name: Invalid value: \"a/b\": may not contain '/'",
            ],
        ),
        (
            of("ServiceCIDR", spec={"cidrs": ["10.0.0.0/24", "10.1.0.0/24"]}),
            [
                'spec.cidrs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than one IP for each IP '
                "family, i.e 192.168.0.0/24 and 2001:db8::/64"
            ],
        ),
        (
            of("ServiceCIDR", spec={"cidrs": ["a", "b", "c"]}),
            ['spec.cidrs: Invalid value: {"CIDRs":["a","b","c"]}: may only hold up to 2 values'],
        ),
        (endpoints(), ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"]),
        (
            endpoints(addresses=[{"ip": "x", "hostname": "A_B"}], ports=[{"port": 0}, {"port": 1}]),
            [
                f'subsets[0].addresses[0].ip: Invalid value: "x": {BAD_IP}',
                'subsets[0].addresses[0].hostname: Invalid value: "A_B": a lowercase RFC 1123 label must consist of '
                "lower case alphanumeric characters or '-', and must start and end with an alphanumeric character "
                "(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
                'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address',
                "subsets[0].ports[0].name: Required value",
                "subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "subsets[0].ports[1].name: Required value",
            ],
        ),
        (
            sliced(addresses=["x", "2001:db8::1"], hints={"forZones": [{"name": "a"}, {"name": "a"}]}),
            [
                f'endpoints[0].addresses[0]: Invalid value: "x": {BAD_IP}',
                'endpoints[0].addresses[1]: Invalid value: "2001:db8::1": must be an IPv4 address',
                'endpoints[0].hints.forZones[1].name: Duplicate value: "a"',
            ],
        ),
        (
            sliced("FQDN", addresses=["one"]),
            [
                'endpoints[0].addresses[0]: Invalid value: "one": should be a domain with at least two segments '
                "separated by dots"
            ],
        ),
        (
            sliced("Odd", addresses=["x"], ports=[{"port": 0}, {"port": 1}]),
            [
                'addressType: Unsupported value: "Odd": supported values: "FQDN", "IPv4", "IPv6"',
                'ports[1].name: Duplicate value: ""',
            ],
        ),
    ],
)
def test_mistakes(body: JsonObject, expected: list[str]) -> None:
    assert texts(created(body)[1]) == expected


def test_two_names_of_a_class_have_to_agree() -> None:
    body = ingress(defaultBackend=backend(number=80), ingressClassName="a")
    body["metadata"]["annotations"] = {"kubernetes.io/ingress.class": "b"}
    assert texts(created(body)[1]) == [
        'annotations.kubernetes.io/ingress.class: Invalid value: "b": must match `ingressClassName` when both are '
        "specified"
    ]
    body["metadata"]["annotations"] = {"kubernetes.io/ingress.class": "a"}
    assert created(body)[1] == []


REFERENCE = {"resource": "services", "namespace": "ns", "name": "s"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            of("IngressClass", spec={"controller": "a.io/b"}),
            of("IngressClass", spec={"controller": "a.io/c"}),
            ['spec.controller: Invalid value: "a.io/c": field is immutable'],
        ),
        (
            of("IPAddress", "10.1.2.3", spec={"parentRef": REFERENCE}),
            of("IPAddress", "10.1.2.3", spec={"parentRef": REFERENCE | {"name": "t"}}),
            [
                'spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"ns","Name":"t"}: field '
                "is immutable"
            ],
        ),
        (
            of("ServiceCIDR", spec={"cidrs": ["10.0.0.0/24"]}),
            of("ServiceCIDR", spec={"cidrs": ["10.1.0.0/24"]}),
            ['spec.cidrs[0]: Invalid value: "10.1.0.0/24": field is immutable'],
        ),
        (
            of("ServiceCIDR", spec={"cidrs": ["10.0.0.0/24"]}),
            of("ServiceCIDR", spec={"cidrs": ["10.0.0.0/24", "2001:db8::/64"]}),
            [],
        ),
        (
            sliced(addresses=["10.1.2.3"]),
            sliced("IPv6", addresses=["2001:db8::1"]),
            ['addressType: Invalid value: "IPv6": field is immutable'],
        ),
    ],
)
def test_what_may_not_change(before: JsonObject, after: JsonObject, expected: list[str]) -> None:
    assert texts(changed(created(before)[0], after)[1]) == expected


def test_rules_that_are_none_are_not_kept() -> None:
    spec = {"defaultBackend": backend(number=80)}
    obj, failures, _ = created(ingress(rules=[], **spec))
    assert (failures, obj["spec"]) == ([], spec)


def test_an_ingress_has_an_honest_status() -> None:
    body = ingress(defaultBackend=backend(number=80))
    report = body | {"status": {"loadBalancer": {"ingress": [{"ip": "x"}, {"hostname": "10.1.2.3"}]}}}
    assert texts(changed(created(body)[0], report, "status")[1]) == [
        f'status.loadBalancer.ingress[0].ip: Invalid value: "x": {BAD_IP}',
        'status.loadBalancer.ingress[1].hostname: Invalid value: "10.1.2.3": must be a DNS name, not an IP address',
    ]


def test_a_policy_keeps_networks_it_had_in_an_odd_spelling() -> None:
    old = created(blocked("10.0.0.0/8"))[0]
    old["spec"]["egress"][0]["to"][0]["ipBlock"]["cidr"] = "10.0.0.1/8"
    assert changed(old, blocked("10.0.0.1/8"))[1] == []
    assert changed(old, blocked("10.0.0.2/8"))[1] != []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (sliced("FQDN", addresses=["a.example.com"]), ["spec.addressType: FQDN endpoints are deprecated"]),
        (
            sliced("IPv6", addresses=["2001:DB8::1"]),
            [
                'endpoints[0].addresses[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format '
                '("2001:db8::1")'
            ],
        ),
        (
            blocked("2001:DB8::/32"),
            [
                f'{TO}.ipBlock.cidr: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format '
                '("2001:db8::/32")'
            ],
        ),
    ],
)
def test_odd_spellings_earn_warnings(body: JsonObject, expected: list[str]) -> None:
    assert created(body)[2] == expected


CERTIFICATE, KEY = (f"-----BEGIN {kind}-----\nAAAA\n-----END {kind}-----\n" for kind in ("CERTIFICATE", "PRIVATE KEY"))


@pytest.mark.parametrize(
    ("certificate", "key", "expected"),
    [
        ("x", KEY, ["tls: failed to find any PEM data in certificate input"]),
        (
            KEY,
            CERTIFICATE,
            [
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs "
                "may have been switched"
            ],
        ),
        (CERTIFICATE, "x", ["tls: failed to find any PEM data in key input"]),
        (CERTIFICATE, CERTIFICATE, ["tls: found a certificate rather than a key in the PEM for the private key"]),
        (CERTIFICATE, KEY, []),
    ],
)
def test_what_is_in_a_tls_secret_is_looked_at(certificate: str, key: str, expected: list[str]) -> None:
    texts = {"tls.crt": certificate, "tls.key": key}
    body = of("Secret", api_version="v1", type="kubernetes.io/tls", stringData=texts)
    assert created(body)[1:] == ([], expected)
