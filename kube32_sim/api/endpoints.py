"""Endpoints and EndpointSlices as a function of a Service and the pods it selects.  Pure, and stable in its answers.

Both take the selected pods of the Service's namespace, in any order, and leave out those that are terminating or have
no address.  Neither gives the objects a uid, a creationTimestamp or a resourceVersion: whoever keeps them does.
The rules are kube32's: a pod that is Running and Ready is an address, every other one with an IP a notReadyAddress;
pods on which the Service's ports resolve to different numbers are told apart.  The form is kube-controller-manager's.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from kube32_sim.api.pod_state import ready, terminating
from kube32_sim.ids import ALPHABET

JsonObject = dict[str, Any]
Ports = tuple[tuple[str, int, str, str], ...]
"""Resolved ports of a Service on a pod: (name, number, protocol, appProtocol)."""

MOST = 100
"""Endpoints in one EndpointSlice."""
HEADLESS = "service.kubernetes.io/headless"


def compute_endpoints(service: JsonObject, pods: Iterable[JsonObject]) -> JsonObject | None:
    """The v1 Endpoints of a Service; None where it has none (no selector, ExternalName)."""
    if not _has_endpoints(service):
        return None
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
        _subset(service, ports, members)
        for ports, members in sorted(_grouped(service, pods, _families(service)[0]).items())
        if ports or not service["spec"].get("ports")
    ]
    if subsets:
        obj["subsets"] = subsets
    return obj


def compute_slices(service: JsonObject, pods: Iterable[JsonObject]) -> list[JsonObject]:
    """The discovery.k8s.io/v1 EndpointSlices of a Service, at most 100 endpoints each; without pods one empty slice."""
    if not _has_endpoints(service):
        return []
    selected = list(pods)
    slices: list[JsonObject] = []
    for family in _families(service):
        groups = sorted(_grouped(service, selected, family).items()) or [((), [])]
        for ports, members in groups:
            slices += [_slice(service, family, ports, part, place) for place, part in _parts(members)]
    return slices


def _has_endpoints(service: JsonObject) -> bool:
    spec = service.get("spec", {})
    return bool(spec.get("selector")) and spec.get("type") != "ExternalName"


def _families(service: JsonObject) -> list[str]:
    families: list[str] = service["spec"].get("ipFamilies") or ["IPv4"]
    return families


def _with_headless(service: JsonObject, labels: dict[str, str]) -> dict[str, str]:
    if service["spec"].get("clusterIP") == "None":
        return {**labels, HEADLESS: ""}
    return {key: value for key, value in labels.items() if key != HEADLESS}


# pods and ports


def _grouped(service: JsonObject, pods: Iterable[JsonObject], family: str) -> dict[Ports, list[tuple[str, JsonObject]]]:
    """(address, pod) by the ports that the Service has on the pod."""
    groups: dict[Ports, list[tuple[str, JsonObject]]] = {}
    for pod in pods:
        address = None if terminating(pod) else _address(pod, family)
        if address is not None:
            groups.setdefault(_resolved(service, pod), []).append((address, pod))
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


def _by_address(members: Sequence[tuple[str, JsonObject]]) -> list[tuple[str, JsonObject]]:
    return sorted(members, key=lambda member: (_address_order(member[0]), member[1]["metadata"]["name"]))


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


def _subset(service: JsonObject, ports: Ports, members: Sequence[tuple[str, JsonObject]]) -> JsonObject:
    subset: JsonObject = {}
    for address, pod in _by_address(members):
        kind = "addresses" if _serving(service, pod) else "notReadyAddresses"
        subset.setdefault(kind, []).append({"ip": address, **_common(service, pod)})
    if ports:
        subset["ports"] = [_port(*port, in_slice=False) for port in ports]
    return subset


def _port(name: str, number: int, protocol: str, app_protocol: str, *, in_slice: bool) -> JsonObject:
    port: JsonObject = {"name": name} if name or in_slice else {}
    port |= {"port": number, "protocol": protocol}
    return port | ({"appProtocol": app_protocol} if app_protocol else {})


# EndpointSlices


def _parts(members: list[tuple[str, JsonObject]]) -> list[tuple[str, list[tuple[str, JsonObject]]]]:
    """Split into slices such that a pod that comes or goes touches only its own.

    A pod's place follows from its uid alone: a slice that grows beyond its limit is split in two by the next bit of a
    checksum.  The answer is (bits so far, members).
    """
    marked = [(f"{zlib.crc32(pod['metadata']['uid'].encode()):032b}", (address, pod)) for address, pod in members]
    parts = []
    waiting = [("", marked)]
    while waiting:
        bits, held = waiting.pop()
        if len(held) <= MOST or len(bits) == 32:
            parts += _cut(bits, [member for _, member in held])
        else:
            waiting += [(bits + bit, [one for one in held if one[0][len(bits)] == bit]) for bit in "10"]
    return [(bits, held) for bits, held in parts if held or not members]


def _cut(bits: str, held: list[tuple[str, JsonObject]]) -> list[tuple[str, list[tuple[str, JsonObject]]]]:
    """As it is, but for a hundred equal checksums."""
    starts = range(0, max(len(held), 1), MOST)
    return [(bits if start == 0 else f"{bits}+{start}", held[start : start + MOST]) for start in starts]


def _slice(
    service: JsonObject, family: str, ports: Ports, members: Sequence[tuple[str, JsonObject]], place: str
) -> JsonObject:
    metadata = service["metadata"]
    labels = {
        **metadata.get("labels", {}),
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": metadata["name"],
    }
    owner = {"apiVersion": "v1", "kind": "Service", "name": metadata["name"], "uid": metadata["uid"]}
    obj: JsonObject = {
        "metadata": {
            "name": f"{metadata['name']}-{_suffix(metadata['uid'], family, ports, place)}",
            "generateName": f"{metadata['name']}-",
            "namespace": metadata["namespace"],
            "generation": 1,
            "labels": _with_headless(service, labels),
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "addressType": family,
        "endpoints": [_endpoint(service, address, pod) for address, pod in _by_address(members)],
        "ports": [_port(*port, in_slice=True) for port in ports],
    }
    return obj


def _suffix(uid: str, family: str, ports: Ports, place: str) -> str:
    """Five letters that stay the same as long as the slice stands for the same thing."""
    number = zlib.crc32(f"{uid}/{family}/{ports}/{place}".encode())
    letters = []
    for _ in range(5):
        number, rest = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[rest])
    return "".join(letters)


def _endpoint(service: JsonObject, address: str, pod: JsonObject) -> JsonObject:
    serving = _serving(service, pod)
    return {
        "addresses": [address],
        "conditions": {"ready": serving, "serving": serving, "terminating": False},
        **_common(service, pod),
    }
