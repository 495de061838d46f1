"""The API objects that a node keeps of itself: its Node, the Node's status and its Lease.

Pure: figures in, objects out.  Reasons and messages of the conditions are a kubelet's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from kube32_sim.api import quantity
from kube32_sim.clock import parse_time, rfc3339, rfc3339_micro
from kube32_sim.kubelet import addresses
from kube32_sim.kubelet.boards import HARDWARE, PSRAM, Profile, profiles
from kube32_sim.version import GIT_VERSION, PROVIDER, VERSION

JsonObject = dict[str, Any]

LEASE_NAMESPACE = "kube-node-lease"
_AMOUNTS = ("capacity", "allocatable")
BYTES = ("memory", "ephemeral-storage", PSRAM)
CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def node_labels(name: str, profile: Profile) -> dict[str, str]:
    """Where a pod may ask to go: the usual labels, and of a board what it is, its chip and what it can do."""
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": profile.arch,
        "kubernetes.io/os": profile.os,
        "node.kubernetes.io/instance-type": profile.instance_type,
    }
    chip = profile.chip
    if chip is None:  # in an ordinary cluster the labels of before 1.14 are there still, and old charts select by them
        return labels | {"beta.kubernetes.io/arch": profile.arch, "beta.kubernetes.io/os": profile.os}
    labels |= {"esp32.io/board": profile.name, "esp32.io/chip": chip.name.lower()}
    return labels | {HARDWARE + capability: "true" for capability in chip.hardware}


def kind_of(node: JsonObject) -> str:
    """The name of the profile that a board of ours gave a Node last; "" where none did.

    Its labels say so: the providerID is that of the first one for ever.
    """
    provider_id = str((node.get("spec") or {}).get("providerID") or "")
    if not provider_id.startswith(PROVIDER):
        return ""
    told = _labels(node).get("node.kubernetes.io/instance-type")
    by_label = (profile.name for profile in profiles().values() if profile.instance_type == told)
    kind = next(by_label, provider_id.removeprefix(PROVIDER).partition("/")[0])
    return kind if kind in profiles() else ""


def label_changes(node: JsonObject, name: str, profile: Profile) -> dict[str, str | None]:
    """What a merge patch of a Node's labels has to say: the board's own, and no more those of another kind of board."""
    there, wanted = _labels(node), node_labels(name, profile)
    before = profiles().get(kind_of(node))
    old = node_labels(name, before) if before is not None else {}
    gone = {label: None for label, value in old.items() if label not in wanted and there.get(label) == value}
    return {label: value for label, value in wanted.items() if there.get(label) != value} | gone


def _labels(node: JsonObject) -> JsonObject:
    return node["metadata"].get("labels") or {}


def resources_gone(node: JsonObject, profile: Profile) -> JsonObject:
    """What only other kinds of boards have, of a Node that says it of itself: a strategic merge patch of its status."""
    ours = {name for each in profiles().values() for name in each.capacity()} - profile.capacity().keys()
    status = node.get("status") or {}
    return {field: dict.fromkeys(ours & (status.get(field) or {}).keys()) for field in _AMOUNTS}


def node_object(name: str, profile: Profile, free: Mapping[str, int], now: float) -> JsonObject:
    """What a node registers itself with."""
    cidr = addresses.pod_cidr(addresses.node_number(name))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": node_labels(name, profile)},
        "spec": {"podCIDR": cidr, "podCIDRs": [cidr], "providerID": f"{PROVIDER}{profile.name}/{name}"},
        "status": node_status(name, profile, free, None, now),
    }


def node_status(
    name: str, profile: Profile, free: Mapping[str, int], node: JsonObject | None, now: float
) -> JsonObject:
    """The whole report.  `node`: the Node as it is, whose transition times are kept where a status stays the same."""
    return {
        "capacity": amounts(profile.capacity()),
        "addresses": [
            {"type": "InternalIP", "address": addresses.node_ip(addresses.node_number(name))},
            {"type": "Hostname", "address": name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": _with_boot(node_info(name, profile), node),
        **heartbeat(free, node, now),
    }


def heartbeat(free: Mapping[str, int], node: JsonObject | None, now: float) -> JsonObject:
    """The part of the report that moves: what is free, and the conditions.  A strategic merge patch of status."""
    before = {
        condition.get("type"): condition for condition in ((node or {}).get("status") or {}).get("conditions") or ()
    }
    return {
        "allocatable": amounts(free),
        "conditions": [
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "lastHeartbeatTime": rfc3339(now),
                "lastTransitionTime": _since(before.get(kind), status, now),
            }
            for kind, status, reason, message in CONDITIONS
        ],
    }


def last_report(node: JsonObject, free: Mapping[str, int]) -> str:
    """The time of the board's last report, where the next one would say all the same; "" where others have written it.

    free: what is to be reported.
    """
    status = node.get("status") or {}
    conditions = status.get("conditions") or ()
    told = next((one.get("lastHeartbeatTime") for one in conditions if one.get("type") == "Ready"), None)
    if not told:
        return ""
    again = heartbeat(free, node, parse_time(told))
    same = again["allocatable"].items() <= (status.get("allocatable") or {}).items()
    return told if same and all(condition in conditions for condition in again["conditions"]) else ""


def _since(before: JsonObject | None, status: str, now: float) -> str:
    if before is not None and before.get("status") == status and before.get("lastTransitionTime"):
        return str(before["lastTransitionTime"])
    return rfc3339(now)


def amounts(values: Mapping[str, int]) -> dict[str, str]:
    """Resource amounts as quantities: bytes in powers of two, everything else a plain number."""
    return {
        name: quantity.from_nanos(
            value * quantity.NANO, quantity.BINARY_SI if name in BYTES else quantity.DECIMAL_SI
        ).text
        for name, value in values.items()
    }


def node_info(name: str, profile: Profile) -> JsonObject:
    kind = profile.chip.name if profile.chip else profile.name
    identity = hashlib.sha256(f"{kind}/{name}".encode()).hexdigest()
    uuid = _uuid(identity)
    return {
        "architecture": profile.arch,
        "bootID": uuid,
        "machineID": identity[:32],
        "systemUUID": uuid,
        "containerRuntimeVersion": f"{PROVIDER}{VERSION}",
        "kernelVersion": profile.kernel,
        "kubeProxyVersion": "",
        "kubeletVersion": GIT_VERSION,
        "operatingSystem": profile.os,
        "osImage": profile.os_image,
    }


def _with_boot(info: JsonObject, node: JsonObject | None) -> JsonObject:
    """The boot that the Node told last, if it is the same machine: an agent that is started anew is no boot."""
    told = ((node or {}).get("status") or {}).get("nodeInfo") or {}
    same = told.get("bootID") and told.get("machineID") == info["machineID"]
    return info | ({"bootID": told["bootID"]} if same else {})


def boot_id(name: str, now: float) -> str:
    """Of the boot that was at a time."""
    return _uuid(hashlib.sha256(f"{name} booted {rfc3339_micro(now)}".encode()).hexdigest())


def _uuid(identity: str) -> str:
    return f"{identity[:8]}-{identity[8:12]}-4{identity[13:16]}-8{identity[17:20]}-{identity[20:32]}"


def lease_object(node: JsonObject, seconds: int, now: float) -> JsonObject:
    """A node's Lease, owned by the Node so that it goes with it."""
    meta = node["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": meta["name"], "uid": meta["uid"]}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": meta["name"], "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": lease_spec(meta["name"], seconds, now),
    }


def lease_spec(name: str, seconds: int, now: float) -> JsonObject:
    return {"holderIdentity": name, "leaseDurationSeconds": seconds, "renewTime": rfc3339_micro(now)}
