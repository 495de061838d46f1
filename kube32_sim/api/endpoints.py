"""Endpoints and EndpointSlices as a function of a Service and the pods it selects.  Pure, and stable in its answers.

Both take the selected pods of the Service's namespace, in any order, and leave out those that are terminating or have
no address.  Neither gives the objects a uid, a creationTimestamp or a resourceVersion: whoever keeps them does.
The rules are kube32's: a pod that is Running and Ready is an address, every other one with an IP a notReadyAddress;
pods on which the Service's ports resolve to different numbers are told apart.  The form is kube-controller-manager's.

What one pod contributes is an `Entry`: whoever keeps those need not look at a pod again until it has changed.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from kube32_sim.api.pod_state import ready, terminating
from kube32_sim.ids import ALPHABET

JsonObject = dict[str, Any]
Ports = tuple[tuple[str, int, str, str], ...]
"""Resolved ports of a Service on a pod: (name, number, protocol, appProtocol)."""

MOST = 100
"""Endpoints in one EndpointSlice."""
HEADLESS = "service.kubernetes.io/headless"


@dataclass(frozen=True, slots=True)
class Entry:
    """What one address of a pod means to a Service.  Never changes, nor do the objects in it: they are shared.

    bits: of a checksum of the pod's uid, which decide about its slice.
    """

    family: str
    ports: Ports
    order: tuple[bytes, str]
    bits: str
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
    found = ((family, _address(pod, family)) for family in _families(service))
    return tuple(_entry(service, pod, family, address) for family, address in found if address is not None)


def compute_endpoints(service: JsonObject, pods: Iterable[JsonObject]) -> JsonObject | None:
    """The v1 Endpoints of a Service; None where it has none (no selector, ExternalName)."""
    return endpoints_of(service, _entries(service, pods)) if has_endpoints(service) else None


def compute_slices(service: JsonObject, pods: Iterable[JsonObject]) -> list[JsonObject]:
    """The discovery.k8s.io/v1 EndpointSlices of a Service, at most 100 endpoints each; without pods one empty slice."""
    return slices_of(service, _entries(service, pods)) if has_endpoints(service) else []


def _entries(service: JsonObject, pods: Iterable[JsonObject]) -> list[Entry]:
    return [entry for pod in pods for entry in entries_of(service, pod)]


def endpoints_of(service: JsonObject, entries: Iterable[Entry]) -> JsonObject:
    """The Endpoints of a Service that has_endpoints, made of its pods' entries."""
    metadata = service["metadata"]
    labels = {**metadata.get("labels", {}), "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    obj: JsonObject = {
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "labels": _with_headless(service, labels),
        }
    }
    subsets = [
        _subset(ports, members)
        for ports, members in sorted(_grouped(entries, _families(service)[0]).items())
        if ports or not service["spec"].get("ports")
    ]
    if subsets:
        obj["subsets"] = subsets
    return obj


def slices_of(service: JsonObject, entries: Sequence[Entry]) -> list[JsonObject]:
    """The EndpointSlices of a Service that has_endpoints, made of its pods' entries."""
    slices: list[JsonObject] = []
    for family in _families(service):
        groups = sorted(_grouped(entries, family).items()) or [((), [])]
        for number, (ports, members) in enumerate(groups):
            slices += [_slice(service, family, ports, part, f"{number}/{place}") for place, part in _parts(members)]
    return slices


def _families(service: JsonObject) -> list[str]:
    families: list[str] = service["spec"].get("ipFamilies") or ["IPv4"]
    return families


def _with_headless(service: JsonObject, labels: dict[str, str]) -> dict[str, str]:
    if service["spec"].get("clusterIP") == "None":
        return {**labels, HEADLESS: ""}
    return {key: value for key, value in labels.items() if key != HEADLESS}


# pods and ports


def _entry(service: JsonObject, pod: JsonObject, family: str, address: str) -> Entry:
    common, serving = _common(service, pod), _serving(service, pod)
    conditions = {"ready": serving, "serving": serving, "terminating": False}
    return Entry(
        family,
        _resolved(service, pod),
        (_address_order(address), pod["metadata"]["name"]),
        f"{zlib.crc32(pod['metadata']['uid'].encode()):032b}",
        serving,
        {"ip": address, **common},
        {"addresses": [address], "conditions": conditions, **common},
    )


def _grouped(entries: Iterable[Entry], family: str) -> dict[Ports, list[Entry]]:
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
    """Where a Service port leads on this pod; None where a named targetPort is not among its container ports."""
    target = port.get("targetPort") or port["port"]
    if isinstance(target, int):
        return target
    for container in pod["spec"].get("containers", ()):
        for candidate in container.get("ports", ()):
            if candidate.get("name") == target and candidate.get("protocol", "TCP") == port.get("protocol", "TCP"):
                number: int = candidate["containerPort"]
                return number
    return None


def _serving(service: JsonObject, pod: JsonObject) -> bool:
    if service["spec"].get("publishNotReadyAddresses"):
        return True
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
    import ipaddress  # rarely needed, and dear at start-up

    try:
        return ipaddress.ip_address(address).packed
    except ValueError:
        return address.encode()


# Endpoints


def _subset(ports: Ports, members: Sequence[Entry]) -> JsonObject:
    subset: JsonObject = {}
    for entry in members:
        subset.setdefault("addresses" if entry.serving else "notReadyAddresses", []).append(entry.address)
    if ports:
        subset["ports"] = [_port(*port, in_slice=False) for port in ports]
    return subset


def _port(name: str, number: int, protocol: str, app_protocol: str, *, in_slice: bool) -> JsonObject:
    port: JsonObject = {"name": name} if name or in_slice else {}
    port |= {"port": number, "protocol": protocol}
    return port | ({"appProtocol": app_protocol} if app_protocol else {})


# EndpointSlices


def _parts(members: list[Entry]) -> list[tuple[str, list[Entry]]]:
    """Split into slices such that a pod that comes or goes touches only its own.

    A pod's place follows from its uid alone: a slice that grows beyond its limit is split in two by the next bit of a
    checksum.  The answer is (bits so far, members).
    """
    parts = []
    waiting = [("", members)]
    while waiting:
        bits, held = waiting.pop()
        if len(held) <= MOST or len(bits) == 32:
            parts += _cut(bits, held)
        else:
            waiting += [(bits + bit, [one for one in held if one.bits[len(bits)] == bit]) for bit in "10"]
    return [(bits, held) for bits, held in parts if held or not members]


def _cut(bits: str, held: list[Entry]) -> list[tuple[str, list[Entry]]]:
    """As it is, but for a hundred equal checksums."""
    starts = range(0, max(len(held), 1), MOST)
    return [(bits if start == 0 else f"{bits}+{start}", held[start : start + MOST]) for start in starts]


def _slice(service: JsonObject, family: str, ports: Ports, members: Sequence[Entry], place: str) -> JsonObject:
    metadata = service["metadata"]
    labels = {
        **metadata.get("labels", {}),
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": metadata["name"],
    }
    owner = {"apiVersion": "v1", "kind": "Service", "name": metadata["name"], "uid": metadata["uid"]}
    obj: JsonObject = {
        "metadata": {
            "name": f"{metadata['name']}-{_suffix(metadata['uid'], family, place)}",
            "generateName": f"{metadata['name']}-",
            "namespace": metadata["namespace"],
            "generation": 1,
            "labels": _with_headless(service, labels),
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "addressType": family,
        "endpoints": [entry.endpoint for entry in members],
        "ports": [_port(*port, in_slice=True) for port in ports],
    }
    return obj


def _suffix(uid: str, family: str, place: str) -> str:
    """Five letters that stay the same whatever comes into the slice: its ports too, which are none without a pod."""
    number = zlib.crc32(f"{uid}/{family}/{place}".encode())
    letters = []
    for _ in range(5):
        number, rest = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[rest])
    return "".join(letters)
