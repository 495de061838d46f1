"""Subresources with rules of their own: binding, eviction, scale, token, and those that need a real node.

(`status`, `finalize`, `ephemeralcontainers`, `resize` and `approval` are ordinary updates: the kind's strategy sees
which one by `Context.subresource`.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kube32_sim.api import errors, reviews, scale
from kube32_sim.api.options import DeleteOptions
from kube32_sim.api.selectors import label_selector
from kube32_sim.api.steering import RUN_SECONDS
from kube32_sim.registry.deletion import check_preconditions
from kube32_sim.registry.registry import Asked, Registry
from kube32_sim.registry.unbinding import unbind
from kube32_sim.storage.interface import JsonObject

BUDGETS = ("policy", "poddisruptionbudgets")
VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
SUCCESS: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def create(registry: Registry, asked: Asked, body: JsonObject) -> JsonObject:
    """POST to pods/binding, pods/eviction or serviceaccounts/token: what it answers, with apiVersion and kind."""
    if asked.subresource == "binding":
        return await bind(registry, asked, body)
    if asked.subresource == "eviction":
        return await evict(registry, asked, body)
    if asked.subresource == "token":
        return token(registry, asked, body)
    raise errors.method_not_allowed()


async def update(registry: Registry, asked: Asked, body: JsonObject) -> JsonObject:
    """PUT to a subresource that is not the object itself."""
    if asked.subresource == "scale":
        return await put_scale(registry, asked, lambda _: body)
    if asked.subresource == "unbind":
        return await unbind(registry, asked, body)
    result = await registry.update(asked, body)
    return {"kind": asked.row.kind, "apiVersion": asked.row.api_version, **result.object()}


# binding


async def bind(registry: Registry, asked: Asked, binding: JsonObject) -> JsonObject:
    """Assign a pod to the node that binding.target names; a pod that has one already is a 409."""
    metadata = binding.get("metadata") or {}
    if metadata.get("name", asked.name) != asked.name:
        raise errors.bad_request("name in URL does not match name in Binding object")
    target = binding.get("target") or {}
    node = target.get("name", "")
    if target.get("kind", "Node") not in ("", "Node"):
        failure = errors.not_supported("target.kind", target["kind"], ["Node", "<empty>"])
        raise errors.invalid("", "Binding", asked.name, [failure])
    if not node:
        raise errors.invalid("", "Binding", asked.name, [errors.required("target.name")])

    def change(pod: JsonObject) -> JsonObject:
        _check_bindable(asked, pod, metadata.get("uid", ""))
        pod["spec"]["nodeName"] = node
        for key in ("annotations", "labels"):
            if metadata.get(key):
                pod["metadata"].setdefault(key, {}).update(metadata[key])
        status = pod.setdefault("status", {})
        others = [c for c in status.get("conditions", ()) if c.get("type") != "PodScheduled"]
        scheduled = {
            "type": "PodScheduled",
            "status": "True",
            "lastTransitionTime": registry.clock.timestamp(),
        }
        status["conditions"] = [*others, scheduled]
        return pod

    await registry.finish(asked, change)
    return dict(SUCCESS)


def _check_bindable(asked: Asked, pod: JsonObject, uid: str) -> None:
    why = ""
    if uid and uid != pod["metadata"]["uid"]:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {pod['metadata']['uid']}"
    elif "deletionTimestamp" in pod["metadata"]:
        why = f"pod {asked.name} is being deleted, cannot be assigned to a host"
    elif pod["spec"].get("nodeName"):
        why = f'pod {asked.name} is already assigned to node "{pod["spec"]["nodeName"]}"'
    elif pod["spec"].get("schedulingGates"):
        why = f"pod {asked.name} has non-empty .spec.schedulingGates"
    if why:
        raise errors.conflict("", "pods/binding", asked.name, why)


# eviction


async def evict(registry: Registry, asked: Asked, eviction: JsonObject) -> JsonObject:
    """Delete a pod unless a PodDisruptionBudget forbids it just now (429)."""
    metadata = eviction.get("metadata") or {}
    if metadata.get("name", asked.name) != asked.name:
        raise errors.bad_request("name in URL does not match name in Eviction object")
    given = eviction.get("deleteOptions") or {}
    preconditions = given.get("preconditions") or {}
    options = DeleteOptions(
        asked.dry_run or bool(given.get("dryRun")),
        given.get("gracePeriodSeconds"),
        given.get("propagationPolicy"),
        preconditions.get("uid"),
        preconditions.get("resourceVersion"),
    )
    pod = registry.get(asked).object()
    check_preconditions(asked.row, asked.name, pod["metadata"], options)
    if _counts(pod):
        await _spend_budget(registry, asked, pod, options.dry_run)
    if not options.dry_run and "deletionTimestamp" not in pod["metadata"]:
        options = await _mark(registry, asked, options)
    await registry.delete(asked, options)
    return dict(SUCCESS)


async def _mark(registry: Registry, asked: Asked, options: DeleteOptions) -> DeleteOptions:
    """Write into the pod why it goes, provided it may; answers what to ask for in the deletion then."""
    now = registry.clock.timestamp()

    def change(current: JsonObject) -> JsonObject:
        check_preconditions(asked.row, asked.name, current["metadata"], options)
        return _marked(current, now)

    result = await registry.finish(asked, change)
    if not options.resource_version:
        return options
    return replace(options, resource_version=result.object()["metadata"]["resourceVersion"])


def _marked(pod: JsonObject, now: str) -> JsonObject:
    """The pod with the condition that tells why it goes."""
    others = [c for c in pod.setdefault("status", {}).get("conditions", ()) if c.get("type") != "DisruptionTarget"]
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    pod["status"]["conditions"] = [*others, target]
    return pod


def _counts(pod: JsonObject) -> bool:
    """Whether evicting the pod disrupts anything: one that has ended, not begun or is going already does not."""
    phase = pod.get("status", {}).get("phase")
    return phase not in ("Succeeded", "Failed", "Pending") and "deletionTimestamp" not in pod["metadata"]


def _ready(pod: JsonObject) -> bool:
    conditions: Sequence[JsonObject] = pod.get("status", {}).get("conditions", ())
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


async def _spend_budget(registry: Registry, asked: Asked, pod: JsonObject, dry_run: bool) -> None:
    labels = pod["metadata"].get("labels") or {}
    budgets = [
        budget
        for budget in registry.lookup.list(BUDGETS, asked.namespace)
        if label_selector(budget.get("spec", {}).get("selector")).matches(labels)
    ]
    if len(budgets) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise errors.ApiError(400, "BadRequest", message)
    if not budgets:
        return
    budget = budgets[0]
    row = registry.table.by_storage(BUDGETS)
    name = budget["metadata"]["name"]

    def spend(current: JsonObject) -> JsonObject:
        return _spent(current, asked.name, pod, registry.clock.timestamp())

    await registry.finish(Asked(row, asked.namespace, name, "status", dry_run), spend)


def _spent(budget: JsonObject, pod_name: str, pod: JsonObject, now: str) -> JsonObject:
    """The budget after one more disruption; ApiError 429 where it allows none."""
    status = budget.setdefault("status", {})
    name = budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        why = f"The disruption budget {name} is still being processed by the server."
        raise _refused(why, 10)
    always = budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if not _ready(pod) and (always or (healthy >= desired and desired > 0)):
        return budget
    if status.get("disruptionsAllowed", 0) <= 0:
        why = f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
        raise _refused(why, None)
    status["disruptionsAllowed"] -= 1
    if status["disruptionsAllowed"] == 0:
        status["conditions"] = [_insufficient(budget, now)]
    status.setdefault("disruptedPods", {})[pod_name] = now
    return budget


def _insufficient(budget: JsonObject, now: str) -> JsonObject:
    return {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "lastTransitionTime": now,
        "observedGeneration": budget["status"].get("observedGeneration", 0),
    }


def _refused(why: str, retry_after: int | None) -> errors.ApiError:
    details: JsonObject = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    headers = []
    if retry_after is not None:
        details["retryAfterSeconds"] = retry_after
        headers = [("Retry-After", str(retry_after))]
    return errors.ApiError(429, "TooManyRequests", VIOLATES, details, headers)


# scale


def get_scale(registry: Registry, asked: Asked) -> JsonObject:
    return scale.scale_of(asked.row, registry.get(asked).object())


async def put_scale(registry: Registry, asked: Asked, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """`change` makes the wanted Scale of the current one; the object is updated as by an ordinary update."""
    row = asked.row

    def apply(current: JsonObject) -> JsonObject:
        now = scale.scale_of(row, current)
        return scale.apply_scale(row, current, change(now))

    result = await registry.patch(asked._replace(subresource=""), apply)
    return scale.scale_of(row, result.object())


# token


def token(registry: Registry, asked: Asked, request: JsonObject) -> JsonObject:
    """TokenRequest: a token for the ServiceAccount, as well-formed as upstream's."""
    account = registry.get(asked).object()
    return reviews.token_request(request, account, registry.clock.now(), registry.ids)


# what needs a real node


def refuse_connection(registry: Registry, asked: Asked) -> errors.ApiError:
    """exec, attach, portforward and proxy: what to answer, since no containers run here."""
    stored = registry.get(asked)
    what = asked.subresource
    if asked.row.kind == "Pod" and not stored.object()["spec"].get("nodeName"):
        return errors.bad_request(f"pod {asked.name} does not have a host assigned")
    message = f"{what} is not supported: {asked.row.kind.lower()} {asked.name} is simulated, nothing runs in it"
    if what == "attach":  # who attaches waits for the end
        message += f"; its annotation {RUN_SECONDS} says when it ends"
    return errors.not_implemented(message)
