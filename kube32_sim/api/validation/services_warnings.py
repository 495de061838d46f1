"""Warnings about Services and what leads traffic: fields that are taken, and mean little, nothing, or not for long.

Rules and words are upstream's `GetWarningsForService` and those of the status strategies.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.validation.addresses import cidr_warnings, ip_warnings
from kube32_sim.api.validation.services_service import TOPOLOGY_HINTS, TOPOLOGY_MODE

JsonObject = dict[str, Any]


def service_warnings(service: JsonObject) -> list[str]:
    spec = service["spec"]
    found: list[str] = []
    if TOPOLOGY_HINTS in (service["metadata"].get("annotations") or {}):
        found.append(f"annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead")
    if spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None":
        found += _headless(spec)
    else:
        found += _addresses(spec, "clusterIPs")
    found += _addresses(spec, "externalIPs")
    found += ip_warnings(spec.get("loadBalancerIP", ""), "spec.loadBalancerIP")
    for index, text in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        found += cidr_warnings(text.strip(), f"spec.loadBalancerSourceRanges[{index}]")
    return found + _of_type(spec)


def _addresses(spec: JsonObject, field: str) -> list[str]:
    return [
        each for index, text in enumerate(spec.get(field) or ()) for each in ip_warnings(text, f"spec.{field}[{index}]")
    ]


def _headless(spec: JsonObject) -> list[str]:
    fields = [field for field in ("loadBalancerIP", "externalIPs") if spec.get(field)]
    if spec.get("sessionAffinity", "None") != "None":
        fields.append("SessionAffinity")
    return [f"spec.{field} is ignored for headless services" for field in fields]


def _of_type(spec: JsonObject) -> list[str]:
    found: list[str] = []
    external = spec.get("type") == "ExternalName"
    if external and spec.get("externalIPs"):
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if not external and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    if spec.get("externalIPs"):
        found.append("spec.externalIPs is deprecated")
    return found


def balancer_warnings(obj: JsonObject) -> list[str]:
    """About the status of a Service or an Ingress."""
    balancer = (obj.get("status") or {}).get("loadBalancer") or {}
    return [
        each
        for index, entry in enumerate(balancer.get("ingress") or ())
        for each in ip_warnings(entry.get("ip", ""), f"status.loadBalancer.ingress[{index}]")
    ]


def network_policy_warnings(policy: JsonObject) -> list[str]:
    found: list[str] = []
    for field, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(policy["spec"].get(field) or ()):
            for place, peer in enumerate(rule.get(peers) or ()):
                block, path = peer.get("ipBlock") or {}, f"spec.{field}[{index}].{peers}[{place}].ipBlock"
                found += cidr_warnings(block.get("cidr", ""), f"{path}.cidr")
                for at, text in enumerate(block.get("except") or ()):
                    found += cidr_warnings(text, f"{path}.except[{at}]")
    return found


def endpoints_warnings(endpoints: JsonObject) -> list[str]:
    return [
        each
        for index, subset in enumerate(endpoints.get("subsets") or ())
        for field in ("addresses", "notReadyAddresses")
        for place, address in enumerate(subset.get(field) or ())
        for each in ip_warnings(address.get("ip", ""), f"subsets[{index}].{field}[{place}].ip")
    ]


def endpoint_slice_warnings(obj: JsonObject, *, new: bool) -> list[str]:
    if obj.get("addressType") == "FQDN":
        return ["spec.addressType: FQDN endpoints are deprecated"] if new else []
    return [
        each
        for index, endpoint in enumerate(obj.get("endpoints") or ())
        for place, text in enumerate(endpoint.get("addresses") or ())
        for each in ip_warnings(text, f"endpoints[{index}].addresses[{place}]")
    ]
