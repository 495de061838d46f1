"""Objects that an API server makes of itself: what it serves, how it treats requests, and where it is."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from kube32_sim.api.endpoint_slices import SERVICE_LABEL
from kube32_sim.client import JsonObject

NAME = "kubernetes"
_PRIORITIES = {
    ("", "v1"): (18000, 1),
    ("apps", "v1"): (17800, 15),
    ("events.k8s.io", "v1"): (17750, 15),
    ("authentication.k8s.io", "v1"): (17700, 15),
    ("authorization.k8s.io", "v1"): (17600, 15),
    ("autoscaling", "v2"): (17500, 30),
    ("autoscaling", "v1"): (17500, 15),
    ("batch", "v1"): (17400, 15),
    ("certificates.k8s.io", "v1"): (17300, 15),
    ("networking.k8s.io", "v1"): (17200, 15),
    ("policy", "v1"): (17100, 15),
    ("rbac.authorization.k8s.io", "v1"): (17000, 15),
    ("storage.k8s.io", "v1"): (16800, 15),
    ("admissionregistration.k8s.io", "v1"): (16700, 15),
    ("apiextensions.k8s.io", "v1"): (16700, 15),
    ("scheduling.k8s.io", "v1"): (16600, 15),
    ("coordination.k8s.io", "v1"): (16500, 15),
    ("node.k8s.io", "v1"): (16300, 15),
    ("discovery.k8s.io", "v1"): (16200, 15),
    ("flowcontrol.apiserver.k8s.io", "v1"): (16100, 21),
    ("resource.k8s.io", "v1"): (15900, 15),
}
"""Group version -> priority of the group, and of the version in it, as upstream registers them.

apiregistration.k8s.io has none there either.
"""
_EVERYTHING = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True},
]
_EVERY_PATH = [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
_KEPT_UP = {"apf.kubernetes.io/autoupdate-spec": "true"}


def api_services() -> Iterator[JsonObject]:
    """One for each group version that the server itself serves."""
    for (group, version), (group_priority, version_priority) in _PRIORITIES.items():
        spec: JsonObject = {
            "version": version,
            "groupPriorityMinimum": group_priority,
            "versionPriority": version_priority,
        }
        if group:
            spec["group"] = group
        labels = {"kube-aggregator.kubernetes.io/automanaged": "onstart"}
        yield {"metadata": {"name": f"{version}.{group}", "labels": labels}, "spec": spec}


def priority_levels() -> list[JsonObject]:
    """The two that every API server has."""
    limited = {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}}
    specs: dict[str, JsonObject] = {
        "exempt": {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}},
        "catch-all": {"type": "Limited", "limited": limited},
    }
    return [{"metadata": {"name": name, "annotations": _KEPT_UP}, "spec": spec} for name, spec in specs.items()]


def flow_schemas() -> list[JsonObject]:
    """The two that every API server has, of the priority levels of the same names."""
    return [
        _flow_schema("exempt", 1, ["system:masters"], None),
        _flow_schema("catch-all", 10000, ["system:unauthenticated", "system:authenticated"], "ByUser"),
    ]


def _flow_schema(name: str, precedence: int, groups: list[str], distinguished: str | None) -> JsonObject:
    rule = {
        "subjects": [{"kind": "Group", "group": {"name": group}} for group in groups],
        "resourceRules": _EVERYTHING,
        "nonResourceRules": _EVERY_PATH,
    }
    spec: JsonObject = {
        "priorityLevelConfiguration": {"name": name},
        "matchingPrecedence": precedence,
        "rules": [rule],
    }
    if distinguished is not None:
        spec["distinguisherMethod"] = {"type": distinguished}
    return {"metadata": {"name": name, "annotations": _KEPT_UP}, "spec": spec}


def not_dangling(name: str) -> JsonObject:
    """The condition of a FlowSchema whose priority level, of that name, is there."""
    return {
        "type": "Dangling",
        "status": "False",
        "reason": "Found",
        "message": f'This FlowSchema references the PriorityLevelConfiguration object named "{name}" and it exists',
    }


def own_address(host: str) -> str:
    """The address of a server that listens on a host: that of this machine where it is no address, or every one."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "127.0.0.1"
    return ("127.0.0.1" if address.version == 4 else "::1") if address.is_unspecified else str(address)


def own_endpoints(address: str, port: int) -> JsonObject:
    """The Endpoints of the Service that names the API server."""
    return {
        "metadata": {
            "name": NAME,
            "namespace": "default",
            "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
        },
        "subsets": [{"addresses": [{"ip": address}], "ports": [_port(port)]}],
    }


def own_slice(address: str, port: int) -> JsonObject:
    """The EndpointSlice of the Service that names the API server."""
    return {
        "metadata": {
            "name": NAME,
            "namespace": "default",
            "generation": 1,
            "labels": {SERVICE_LABEL: NAME},
        },
        "addressType": f"IPv{ipaddress.ip_address(address).version}",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": [_port(port)],
    }


def _port(port: int) -> JsonObject:
    return {"name": "https", "port": port, "protocol": "TCP"}
