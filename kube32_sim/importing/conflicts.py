"""What stands in the way of a snapshot: objects that there are already, under the same key or with the same uid.

What every simulator makes for itself at its start is in nobody's way: it gives way to what the snapshot has instead.
So do Events, and the nodes that the simulator's own boards run, who go on with those of the snapshot.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum

from kube32_sim.api.customs.naming import DEFINITIONS
from kube32_sim.importing.judging import Judged
from kube32_sim.storage.interface import Storage
from kube32_sim.storage.objects import StoredObject


class OnConflict(StrEnum):
    FAIL = "Fail"
    SKIP = "Skip"
    REPLACE = "Replace"


class Fate(StrEnum):
    """What becomes of an object for which there is another one."""

    FAIL = "fail"
    SKIP = "skip"
    REPLACE = "replace"
    SAME = "same"
    """It is there already."""


SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_SERVED = frozenset(("flowcontrol.apiserver.k8s.io", "apiregistration.k8s.io"))
"""Groups of which every object may be the server's own."""
_OWN_KEYS: Mapping[Storage, Collection[str]] = {
    ("", "namespaces"): SYSTEM_NAMESPACES,
    ("", "services"): ("default/kubernetes",),
    ("", "endpoints"): ("default/kubernetes",),
    ("discovery.k8s.io", "endpointslices"): ("default/kubernetes",),
    ("networking.k8s.io", "servicecidrs"): ("kubernetes",),
    ("scheduling.k8s.io", "priorityclasses"): ("system-node-critical", "system-cluster-critical"),
}
_OWN_NAMES: Mapping[Storage, str] = {("", "serviceaccounts"): "default", ("", "configmaps"): "kube-root-ca.crt"}
"""In every namespace."""
_RBAC = ("rbac.authorization.k8s.io", "kubernetes.io/bootstrapping", "rbac-defaults")
_ADDRESSES, _EVENTS, _NODES, _LEASES = (
    ("networking.k8s.io", "ipaddresses"),
    ("", "events"),
    ("", "nodes"),
    ("coordination.k8s.io", "leases"),
)
_NODE_LEASES = "kube-node-lease"


def fate(new: Judged, there: StoredObject, policy: OnConflict, played: Collection[str]) -> Fate:
    """played: names of the nodes that the simulator's boards run."""
    if new.row.storage == DEFINITIONS and _same_spec(new, there):
        return Fate.SAME
    if _gives_way(there, played):
        return Fate.REPLACE
    return Fate(policy.value.lower())


def _gives_way(there: StoredObject, played: Collection[str]) -> bool:
    storage = there.storage
    if storage[0] in _SERVED or storage == _EVENTS:
        return True
    if there.key in _OWN_KEYS.get(storage, ()) or _OWN_NAMES.get(storage) == there.name:
        return True
    if storage == _NODES or (storage == _LEASES and there.namespace == _NODE_LEASES):
        return there.name in played
    if storage == _ADDRESSES:
        parent = there.object()["spec"].get("parentRef") or {}
        return (parent.get("namespace"), parent.get("name")) == ("default", "kubernetes")
    group, label, value = _RBAC
    return storage[0] == group and there.labels.get(label) == value


def _same_spec(new: Judged, there: StoredObject) -> bool:
    import orjson

    return bool(orjson.loads(new.raw).get("spec") == there.object().get("spec"))
