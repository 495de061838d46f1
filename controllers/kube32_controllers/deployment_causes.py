"""Why a Deployment's pods come and go, as the Deployment loop sees it when it decides.  Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kube32_sim.causes import Cause, ref

if TYPE_CHECKING:
    from kube32_controllers.deployment_controller import Pods

JsonObject = dict[str, Any]

COMPONENT = "deployment-controller"


def why_created(deployment: JsonObject, seen: Pods, *, grows: bool) -> Cause:
    """Of pods that are missing.  grows: the Deployment was made or changed since it was last looked at, or is still
    growing since.
    """
    name, wanted = deployment["metadata"]["name"], deployment["spec"].get("replicas", 1)
    about, there = ref("Deployment", deployment), len(seen.active)
    if seen.stale:
        message = f"Deployment {name} replaces the pods of its older templates: {len(seen.stale)} of {there} are left"
        return Cause(COMPONENT, "RolledOut", message, about)
    ended = f", and {len(seen.ended)} that have ended" if seen.ended else ""
    message = f"Deployment {name} wants {_pods(wanted)} and has {there}{ended}"
    return Cause(COMPONENT, "ScaledUp" if grows else "Missing", message, about)


def why_deleted(deployment: JsonObject, seen: Pods) -> Cause:
    """Of the pods that are too many, or whose turn it is to be replaced."""
    name, wanted = deployment["metadata"]["name"], deployment["spec"].get("replicas", 1)
    about, there = ref("Deployment", deployment), len(seen.active)
    if there > wanted:
        message = f"Deployment {name} wants {_pods(wanted)} and has {there}"
        return Cause(COMPONENT, "ScaledDown", message, about)
    message = f"it is of an older template of Deployment {name}, and it is its turn to be replaced"
    return Cause(COMPONENT, "OldTemplate", message, about)


def why_cleared(deployment: JsonObject) -> Cause:
    """Of finished pods that nobody needs to look at any more."""
    name = deployment["metadata"]["name"]
    message = f"it has ended, and Deployment {name} keeps only the last ended pods of its template"
    return Cause(COMPONENT, "Cleared", message, ref("Deployment", deployment))


def _pods(number: int) -> str:
    return f"{number} pod" if number == 1 else f"{number} pods"
