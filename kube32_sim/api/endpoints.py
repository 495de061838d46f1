"""What pods mean to a Service that selects them, and the Endpoints that follow.  Pure; the order of pods is no matter.

The rules are kube32's: a pod that is Running and Ready is an address, every other one with an IP a notReadyAddress,
whatever the Service's publishNotReadyAddresses; pods that are terminating are left out, and those on which the
Service's ports resolve to different numbers are told apart.  The form is kube-controller-manager's.

What one pod contributes is an `Entry`: whoever keeps those need not look at a pod again until it has changed.
`endpoint_slices` makes the other form of them.  Nothing here gives an object a uid, a creationTimestamp or a
resourceVersion: whoever keeps it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from kube32_sim.api.pod_state import ready, terminating
from kube32_sim.api.validation.addresses import parse_ip

JsonObject = dict[str, Any]
Ports = tuple[tuple[str, int, str, str], ...]
"""Resolved ports of a Service on a pod: (name, number, protocol, appProtocol)."""

HEADLESS = "service.kubernetes.io/headless"


@dataclass(frozen=True, slots=True)
class Entry:
    """What one address of a pod means to a Service.  Never changes, nor do the objects in it: they are shared.

    uid: the pod's.
    """

    family: str
    ports: Ports
    order: tuple[bytes, str]
    uid: str
    serving: bool
    address: JsonObject
    endpoint: JsonObject


def has_endpoints(service: JsonObject) -> bool:
    """Whether a Service selects pods."""
    spec = service.get("spec", {})
    return bool(spec.get("selector")) and spec.get("type") != "ExternalName"


def entries_of(service: JsonObject, pod: JsonObject) -> tuple[Entry, ...]:
    """What a selected pod contributes: nothing while it has no address, or is terminating."""
    if terminating(pod):
        return ()
    found = ((family, _address(pod, family)) for family in families(service))
    return tuple(_entry(service, pod, family, address) for family, address in found if address is not None)


def compute_endpoints(service: JsonObject, pods: Iterable[JsonObject]) -> JsonObject | None:
    """The v1 Endpoints of a Service; None where it has none (no selector, ExternalName)."""
    return endpoints_of(service, all_entries(service, pods)) if has_endpoints(service) else None


def all_entries(service: JsonObject, pods: Iterable[JsonObject]) -> list[Entry]:
    return [entry for pod in pods for entry in entries_of(service, pod)]


def endpoints_of(service: JsonObject, entries: Iterable[Entry]) -> JsonObject:
    """The Endpoints of a Service that has_endpoints, made of its pods' entries."""
    metadata = service["metadata"]
    labels = {**metadata.get("labels", {}), "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    obj: JsonObject = {
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "labels": with_headless(service, labels),
        }
    }
    subsets = [
        _subset(ports, members)
        for ports, members in sorted(grouped(entries, families(service)[0]).items())
        if ports or not service["spec"].get("ports")
    ]
    if subsets:
        obj["subsets"] = subsets
    return obj


def families(service: JsonObject) -> list[str]:
    """The address families of a Service, the first of which its Endpoints have."""
    found: list[str] = service["spec"].get("ipFamilies") or ["IPv4"]
    return found


def with_headless(service: JsonObject, labels: dict[str, str]) -> dict[str, str]:
    """The labels, with that of headless Services where this is one."""
    if service["spec"].get("clusterIP") == "None":
        return {**labels, HEADLESS: ""}
    return {key: value for key, value in labels.items() if key != HEADLESS}


# pods and ports


def _entry(service: JsonObject, pod: JsonObject, family: str, address: str) -> Entry:
    common, serving = _common(service, pod), _serving(pod)
    conditions = {"ready": serving, "serving": serving, "terminating": False}
    return Entry(
        family,
        _resolved(service, pod),
        (_address_order(address), pod["metadata"]["name"]),
        pod["metadata"]["uid"],
        serving,
        {"ip": address, **common},
        {"addresses": [address], "conditions": conditions, **common},
    )


def grouped(entries: Iterable[Entry], family: str) -> dict[Ports, list[Entry]]:
    """Entries by the ports that the Service has on their pods, in the order of their addresses."""
    groups: dict[Ports, list[Entry]] = {}
    for entry in sorted(entries, key=_ORDER):
        if entry.family == family:
            groups.setdefault(entry.ports, []).append(entry)
    return groups


def _address(pod: JsonObject, family: str) -> str | None:
    """The pod's address of a family; None while it has none."""
    status = pod.get("status", {})
    for entry in (status.get("podIP"), *(one.get("ip") for one in status.get("podIPs", ()))):
        if entry and (":" in entry) == (family == "IPv6"):
            address: str = entry
            return address
    return None


def _resolved(service: JsonObject, pod: JsonObject) -> Ports:
    found = []
    for port in service["spec"].get("ports", ()):
        number = _port_number(port, pod)
        if number is not None:
            protocol = port.get("protocol", "TCP")
            found.append((port.get("name", ""), number, protocol, port.get("appProtocol", "")))
    return tuple(found)


def _port_number(port: JsonObject, pod: JsonObject) -> int | None:
    """Where a Service port leads on this pod; None where a named targetPort is not among its container ports.

    Of several ports of that name the first with the Service's protocol counts; sidecars come last.
    """
    target = port.get("targetPort") or port["port"]
    if isinstance(target, int):
        return target
    spec = pod["spec"]
    sidecars = (one for one in spec.get("initContainers", ()) if one.get("restartPolicy") == "Always")
    for container in (*spec.get("containers", ()), *sidecars):
        for candidate in container.get("ports", ()):
            if candidate.get("name") == target and candidate.get("protocol", "TCP") == port.get("protocol", "TCP"):
                number: int = candidate["containerPort"]
                return number
    return None


def _serving(pod: JsonObject) -> bool:
    return pod.get("status", {}).get("phase") == "Running" and ready(pod)


def _hostname(service: JsonObject, pod: JsonObject) -> dict[str, str]:
    spec = pod["spec"]
    if spec.get("hostname") and spec.get("subdomain") == service["metadata"]["name"]:
        return {"hostname": spec["hostname"]}
    return {}


def _common(service: JsonObject, pod: JsonObject) -> JsonObject:
    """What an endpoint address has in both forms."""
    common: JsonObject = dict(_hostname(service, pod))
    if pod["spec"].get("nodeName"):
        common["nodeName"] = pod["spec"]["nodeName"]
    metadata = pod["metadata"]
    common["targetRef"] = {
        "kind": "Pod",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    return common


_ORDER = attrgetter("order")


def _address_order(address: str) -> bytes:
    if ":" not in address:
        parts = address.split(".")
        if all(part.isdecimal() and int(part) < 256 for part in parts):
            return bytes(map(int, parts))
        return address.encode()
    parsed = parse_ip(address)
    return address.encode() if parsed is None else parsed.packed


# Endpoints


def _subset(ports: Ports, members: Sequence[Entry]) -> JsonObject:
    subset: JsonObject = {}
    for entry in members:
        subset.setdefault("addresses" if entry.serving else "notReadyAddresses", []).append(entry.address)
    if ports:
        subset["ports"] = [port_object(*port, in_slice=False) for port in ports]
    return subset


def port_object(name: str, number: int, protocol: str, app_protocol: str, *, in_slice: bool) -> JsonObject:
    port: JsonObject = {"name": name} if name or in_slice else {}
    port |= {"port": number, "protocol": protocol}
    return port | ({"appProtocol": app_protocol} if app_protocol else {})
