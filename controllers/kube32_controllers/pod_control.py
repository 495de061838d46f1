"""What the loops that own pods share: making a pod from a template, whose pod it is, what state it is in.

Pure functions over plain pod objects.  Deployment, DaemonSet and Job build on this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import orjson

from kube32_sim.api.pod_state import ready_condition, terminating
from kube32_sim.causes import Cause, Ref
from kube32_sim.client import NAMESPACES, PODS, Resource
from kube32_sim.clock import parse_time
from kube32_sim.ids import ALPHABET
from kube32_sim.runtime.actions import Create, Delete, Emit, Plan, View

JsonObject = dict[str, Any]

BURST = 500
"""Pods that one plan creates, and deletes, at most (kube-controller-manager's burst replicas).

What a plan leaves over is the next one's: each pod that came or went has its owner looked at again.  So a plan that is
refused is not, and waits as after any refusal.
"""
MANY_WAITING, PATIENCE = 10 * BURST, 50.0
"""From so many pods of an owner on that wait for a node, more come after so many seconds; for twice as many after four
times as long, and so on."""


# names and hashes


@lru_cache(maxsize=1024)
def _encoded_fnv(data: bytes) -> str:
    value = 2166136261
    for byte in data:
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return "".join(ALPHABET[ord(digit) % len(ALPHABET)] for digit in str(value))


def template_hash(template: JsonObject) -> str:
    """A function of the pod template alone: FNV-1a of its canonical JSON, written in the letters of generated names."""
    return _encoded_fnv(orjson.dumps(template, option=orjson.OPT_SORT_KEYS))


def pod_from_template(
    template: JsonObject, about: JsonObject, generate_name: str, labels: dict[str, str] | None = None
) -> JsonObject:
    """A new pod of the owner that `about` refers to; shares nothing with the template."""
    copy: JsonObject = orjson.loads(orjson.dumps(template))
    metadata: JsonObject = {"generateName": generate_name, "namespace": about["namespace"]}
    given = copy.get("metadata", {})
    metadata["labels"] = {**given.get("labels", {}), **(labels or {})}
    for key in ("annotations", "finalizers"):
        if given.get(key):
            metadata[key] = given[key]
    owner = {key: about[key] for key in ("apiVersion", "kind", "name", "uid")}
    metadata["ownerReferences"] = [{**owner, "controller": True, "blockOwnerDeletion": True}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": copy["spec"]}


# whose pod


def controlling(pod: JsonObject) -> JsonObject | None:
    """The ownerReference of the controller, or the first one where none is marked so."""
    owners: list[JsonObject] = pod["metadata"].get("ownerReferences", [])
    return next((owner for owner in owners if owner.get("controller")), owners[0] if owners else None)


def controlled(pods: Iterable[JsonObject], kind: str, owner: JsonObject) -> list[JsonObject]:
    """Those of the pods that belong to the owner with this metadata: it is their controller, or they have no other."""
    return [pod for pod in pods if _belongs(pod, kind, owner["namespace"], owner["name"], owner["uid"])]


def _belongs(pod: JsonObject, kind: str, namespace: str, name: str, uid: str) -> bool:
    """Anybody may write a uid into a reference: it means the owner only where all the rest does, too."""
    owner = controlling(pod)
    if owner is None or owner["uid"] != uid or pod["metadata"]["namespace"] != namespace:
        return False
    return bool(owner["kind"] == kind and owner["name"] == name)


def owner_key(obj: JsonObject, resource: Resource, group: str, kind: str, view: View) -> str | None:
    """The key under which a loop looks at a pod's owner, when that is of its kind.

    `namespace/name` where the owner is there; `namespace/name/uid` where it is gone and its pods are left over.
    """
    owner = controlling(obj)
    if owner is None or owner.get("kind") != kind or owner["apiVersion"].partition("/")[0] != group:
        return None
    namespace = obj["metadata"]["namespace"]
    return _key(view, resource, namespace, owner["name"], owner["uid"])


def own_key(obj: JsonObject, resource: Resource, view: View) -> str:
    """The key of a loop's own object: as `owner_key`."""
    metadata = obj["metadata"]
    return _key(view, resource, metadata["namespace"], metadata["name"], metadata["uid"])


def _key(view: View, resource: Resource, namespace: str, name: str, uid: str) -> str:
    current = view.get(resource, namespace, name)
    if current is not None and current["metadata"]["uid"] == uid:
        return f"{namespace}/{name}"
    return f"{namespace}/{name}/{uid}"


def pods_of(resource: Resource, key: str, view: View) -> tuple[Resource, str] | None:
    """`owned_by` of the loops whose keys `own_key` makes: the pods of the owner, by its uid."""
    namespace, name, *gone = key.split("/")
    if gone:
        return PODS, gone[0]
    owner = view.get(resource, namespace, name)
    return None if owner is None else (PODS, owner["metadata"]["uid"])


def delete_pod(pod: JsonObject, cause: Cause | None = None) -> Delete:
    metadata = pod["metadata"]
    return Delete(PODS, metadata["namespace"], metadata["name"], metadata["uid"], cause=cause)


def left_over(view: View, kind: str, key: str) -> Iterator[JsonObject]:
    """Pods whose owner is gone.  key: as `owner_key` makes it for them."""
    namespace, name, uid = key.split("/")
    return (pod for pod in view.owned(PODS, uid) if _belongs(pod, kind, namespace, name, uid))


def plan_leftover(view: View, kind: str, key: str) -> Plan:
    """The owner is gone: its pods go."""
    left = (pod for pod in left_over(view, kind, key) if not terminating(pod))
    cause = owner_gone(kind, key)
    return Plan(tuple(delete_pod(pod, cause) for pod in islice(left, BURST)))


def owner_gone(kind: str, key: str) -> Cause:
    """Why pods go whose owner does not exist any more.  key: as `owner_key` makes it for them."""
    namespace, name, uid = key.split("/")
    owner = Ref(kind, namespace, name, uid)
    return Cause(f"{kind.lower()}-controller", "OwnerGone", f"{kind} {name}, which owned it, has gone", owner)


def terminating_namespace(view: View, namespace: str) -> bool:
    """Nothing can be created any more in a namespace that is being deleted; what is there goes anyway."""
    found = view.get(NAMESPACES, "", namespace)
    return found is not None and "deletionTimestamp" in found["metadata"]


# what state


def available_at(pod: JsonObject, min_ready_seconds: int) -> float | None:
    """Since or from when a pod counts as available (seconds since 1970); None while it is not ready."""
    condition = ready_condition(pod)
    if condition is None:
        return None
    if not min_ready_seconds:
        return 0.0
    since = condition.get("lastTransitionTime")
    return parse_time(since) + min_ready_seconds if since else None


def available(pod: JsonObject, min_ready_seconds: int, now: float) -> bool:
    at = available_at(pod, min_ready_seconds)
    return at is not None and at <= now


def created(pod: JsonObject) -> float:
    return parse_time(pod["metadata"]["creationTimestamp"])


def newest_first(pods: Iterable[JsonObject]) -> list[JsonObject]:
    return sorted(pods, key=lambda pod: (-created(pod), pod["metadata"]["name"]))


def int_or_percent(value: int | str, total: int, *, up: bool) -> int:
    """`3`, `"3"` or `"25%"` of a total, rounded up or down."""
    if isinstance(value, str):
        number = int(value.removesuffix("%"))
        if value.endswith("%"):
            return -(-number * total // 100) if up else number * total // 100
        return number
    return value


# how many at once


def room(active: Sequence[JsonObject], now: float) -> tuple[int, float | None]:
    """How many pods may be created now beside the active ones; if none, from when on.

    Pods for which there is no node come ever more slowly: nobody misses them, and each costs memory and time.
    """
    waiting = [pod for pod in active if not pod["spec"].get("nodeName")]
    if len(waiting) < MANY_WAITING:
        return BURST, None
    newest: str = max(pod["metadata"]["creationTimestamp"] for pod in waiting)
    due = parse_time(newest) + PATIENCE * (len(waiting) / MANY_WAITING) ** 2
    return (BURST, None) if due <= now else (0, due)


# actions


def create_pod(pod: JsonObject, about: JsonObject, component: str, *, tell: bool, cause: Cause | None = None) -> Create:
    """Create a pod of the owner; a refusal becomes an event, success one where `tell`."""
    told = Emit(about, "Normal", "SuccessfulCreate", "Created pod: {name}", component) if tell else None
    refused = Emit(about, "Warning", "FailedCreate", "Error creating: {error}", component)
    return Create(PODS, about["namespace"], pod, told, refused, cause=cause)


def told_delete(pod: JsonObject, about: JsonObject, component: str, cause: Cause | None = None) -> tuple[Delete, Emit]:
    message = f"Deleted pod: {pod['metadata']['name']}"
    return delete_pod(pod, cause), Emit(about, "Normal", "SuccessfulDelete", message, component)


def merge_patch(old: JsonObject, new: JsonObject) -> JsonObject:
    """The merge patch that leads from old to new; empty when they are the same."""
    patch: JsonObject = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if before == value and key in old:
            continue
        patch[key] = merge_patch(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return patch
