"""The subresource `eviction` of pods: a deletion that PodDisruptionBudgets may refuse.

A budget's status says how many of its pods may go; `disruption_controller` counts it.  What is taken from it here is
noted beside the pod's name, so that two evictions at once cannot both have the last one.
"""

from __future__ import annotations

from dataclasses import replace

from kube32_sim.api import errors
from kube32_sim.api.options import DeleteOptions, delete_options
from kube32_sim.api.pod_state import ready
from kube32_sim.api.selectors import label_selector
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.deletion import check_preconditions
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import JsonObject

BUDGETS = ("policy", "poddisruptionbudgets")
MOST_DISRUPTED = 2000
"""Evicted pods that a budget's status may still name; there are more only where nothing counts budgets."""
RETRY_AFTER = 10
"""Seconds after which to ask again while a budget has not been counted."""

VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
TWO_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
TOO_BIG = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"


async def evict(registry: Registry, asked: Asked, eviction: JsonObject) -> None:
    """Delete a pod; ApiError 429 where a budget forbids it just now, 400 where two budgets guard it.

    (Upstream says 500 to the latter, for something that the client alone can change.)
    """
    if (eviction.get("metadata") or {}).get("name", "") != asked.name:
        raise errors.bad_request("name in URL does not match name in Eviction object")
    options = delete_options({}, eviction.get("deleteOptions") or {})
    options = replace(options, dry_run=options.dry_run or asked.dry_run)
    pod = registry.get(asked).object()
    check_preconditions(asked.row, asked.name, pod["metadata"], options)
    if _counts(pod):
        await _ask_budget(registry, asked, pod, options.dry_run)
    if not options.dry_run:
        options = await _tell_why(registry, asked, options)
    await registry.delete(asked, options)


def _counts(pod: JsonObject) -> bool:
    """Whether evicting the pod disrupts anything: one that has ended, not begun or is going already does not."""
    phase = (pod.get("status") or {}).get("phase")
    return phase not in ("Succeeded", "Failed", "Pending") and "deletionTimestamp" not in pod["metadata"]


async def _tell_why(registry: Registry, asked: Asked, options: DeleteOptions) -> DeleteOptions:
    """Write the condition DisruptionTarget into the pod; answers what to ask for in the deletion then."""
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastTransitionTime": registry.clock.timestamp(),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }

    def change(current: JsonObject) -> JsonObject:
        check_preconditions(asked.row, asked.name, current["metadata"], options)
        _set_condition(current.setdefault("status", {}), target)
        return current

    result = await registry.finish(asked, change)
    if not options.resource_version:
        return options
    return replace(options, resource_version=result.object()["metadata"]["resourceVersion"])


def _set_condition(status: JsonObject, condition: JsonObject) -> None:
    """In the place of the one of its type, or at the end; its time stays where its status does."""
    conditions = status["conditions"] = list(status.get("conditions") or ())
    for place, old in enumerate(conditions):
        if old.get("type") == condition["type"]:
            if old.get("status") == condition["status"] and "lastTransitionTime" in old:
                condition = {**condition, "lastTransitionTime": old["lastTransitionTime"]}
            conditions[place] = condition
            return
    conditions.append(condition)


# budgets


async def _ask_budget(registry: Registry, asked: Asked, pod: JsonObject, dry_run: bool) -> None:
    """Take one disruption from the budget of a pod, if it has one and is healthy; ApiError where that cannot be."""
    labels = pod["metadata"].get("labels") or {}
    budgets = [
        budget
        for budget in registry.lookup.list(BUDGETS, asked.namespace)
        if label_selector(budget.get("spec", {}).get("selector")).matches(labels)
    ]
    if len(budgets) > 1:
        raise errors.bad_request(TWO_BUDGETS)
    if not budgets or (not ready(pod) and _spares_the_unhealthy(budgets[0])):
        return

    def spend(budget: JsonObject) -> JsonObject:
        return _spent(budget, asked.name, registry.clock.timestamp())

    row = registry.table.by_storage(BUDGETS)
    name = budgets[0]["metadata"]["name"]
    await registry.finish(Asked(row, asked.namespace, name, "status", dry_run), spend)


def _spares_the_unhealthy(budget: JsonObject) -> bool:
    """Whether pods that are not healthy may go without being counted."""
    if budget.get("spec", {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired: int = status.get("desiredHealthy", 0)
    return bool(status.get("currentHealthy", 0) >= desired > 0)


def _spent(budget: JsonObject, pod_name: str, now: str) -> JsonObject:
    """The budget after one more disruption; ApiError 429 where it allows none."""
    status = budget.setdefault("status", {})
    name = budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _refused(f"The disruption budget {name} is still being processed by the server.", RETRY_AFTER)
    if len(status.get("disruptedPods") or ()) > MOST_DISRUPTED:
        raise errors.forbidden("policy", "poddisruptionbudget", name, TOO_BIG)
    if status.get("disruptionsAllowed", 0) <= 0:
        raise _refused(f"The disruption budget {name} {_why_not(status)}", None)
    status["disruptionsAllowed"] -= 1
    if status["disruptionsAllowed"] == 0:
        _set_condition(status, _insufficient(status, now))
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod_name: now}
    return budget


def _why_not(status: JsonObject) -> str:
    """Where the budget could not be counted its numbers say nothing."""
    conditions = status.get("conditions") or ()
    told: JsonObject = next((one for one in conditions if one.get("type") == "DisruptionAllowed"), {})
    message = told.get("message", "") if told.get("status") == "False" else ""
    reason = told.get("reason", "")
    if message and reason == "SyncFailed":
        return f"does not allow evicting pods currently because it failed sync: {message}"
    desired, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    if healthy <= desired:
        return f"needs {desired} healthy pods and has {healthy} currently"
    return "does not allow evicting pods currently" + (f" ({reason}): {message}" if message else "")


def _insufficient(status: JsonObject, now: str) -> JsonObject:
    return {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "lastTransitionTime": now,
        "observedGeneration": status.get("observedGeneration", 0),
    }


def _refused(why: str, retry_after: int | None) -> errors.ApiError:
    details: JsonObject = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    headers = []
    if retry_after is not None:
        details["retryAfterSeconds"] = retry_after
        headers = [("Retry-After", str(retry_after))]
    return errors.ApiError(429, "TooManyRequests", VIOLATES, details, headers)
