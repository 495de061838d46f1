"""The subresource `binding` of pods, and the old collection `bindings`: a pod gets its node."""

from __future__ import annotations

from kube32_sim.api import errors
from kube32_sim.api.admission.pod_topology import labels_of
from kube32_sim.api.dynamic_admission.request import CREATE
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.identity import fit_namespace, precondition_failed
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import JsonObject

SCHEDULER = "system:kube-scheduler"
"""As whom the scheduler binds; what others bind is their own affair."""
SUCCESS: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def bind_named(registry: Registry, asked: Asked, binding: JsonObject) -> JsonObject:
    """POST to the collection `bindings`: the Binding itself names the pod."""
    metadata = binding.setdefault("metadata", {})
    fit_namespace(asked, metadata)
    asked = asked._replace(name=metadata.get("name", ""))
    binding = await registry.admit(asked, CREATE, binding, asked.row)
    row = registry.table.by_storage(("", "pods"))
    return await bind(registry, asked._replace(row=row, subresource="binding"), binding)


async def bind(registry: Registry, asked: Asked, binding: JsonObject) -> JsonObject:
    """Assign a pod to the node that binding.target names; a pod that has one already is a 409."""
    metadata = binding.get("metadata") or {}
    if metadata.get("name", "") != asked.name:
        raise errors.bad_request("name in URL does not match name in Binding object")
    node = _node(asked, binding.get("target") or {})
    labels = labels_of(node, registry.context(asked))

    def change(pod: JsonObject) -> JsonObject:
        _check_preconditions(asked, pod["metadata"], metadata)
        _check_bindable(asked, pod)
        if registry.store.optimistic and asked.user.name == SCHEDULER:
            _check_room(registry, asked, pod, node)
        pod["spec"]["nodeName"] = node
        if metadata.get("annotations"):
            pod["metadata"].setdefault("annotations", {}).update(metadata["annotations"])
        if added := labels | (metadata.get("labels") or {}):
            pod["metadata"]["labels"] = added | (pod["metadata"].get("labels") or {})
        status = pod.setdefault("status", {})
        status.pop("nominatedNodeName", None)
        others = [c for c in status.get("conditions", ()) if c.get("type") != "PodScheduled"]
        scheduled = {
            "type": "PodScheduled",
            "status": "True",
            "lastTransitionTime": registry.clock.timestamp(),
        }
        status["conditions"] = [*others, scheduled]
        return pod

    await registry.finish(asked, change, decides=True)
    return dict(SUCCESS)


def _node(asked: Asked, target: JsonObject) -> str:
    """The node that is meant; 422 for what is wrong with that (upstream's words, where it says 500)."""
    kind, node = target.get("kind", ""), str(target.get("name", ""))
    wrong = [errors.not_supported("target.kind", kind, ["Node", "<empty>"])] if kind not in ("", "Node") else []
    if not node:
        wrong.append(errors.required("target.name"))
    if wrong:
        raise errors.invalid("", "Binding", asked.name, wrong)
    return node


def _check_room(registry: Registry, asked: Asked, pod: JsonObject, node: str) -> None:
    """The scheduler chose a moment ago; another server may have put a pod there since.  It tries again then."""
    why = registry.misfit(pod, node)
    if why:
        raise errors.conflict("", "pods/binding", asked.name, f'pod {asked.name} does not fit on node "{node}": {why}')


def _check_preconditions(asked: Asked, found: JsonObject, wanted: JsonObject) -> None:
    """A Binding may say which pod it means by uid, and which state of it by resourceVersion."""
    for shown, key in (("UID", "uid"), ("ResourceVersion", "resourceVersion")):
        if wanted.get(key) and wanted[key] != found.get(key):
            raise precondition_failed(asked, shown, wanted[key], found.get(key, ""))


def _check_bindable(asked: Asked, pod: JsonObject) -> None:
    why = ""
    if "deletionTimestamp" in pod["metadata"]:
        why = f"pod {asked.name} is being deleted, cannot be assigned to a host"
    elif pod["spec"].get("nodeName"):
        why = f'pod {asked.name} is already assigned to node "{pod["spec"]["nodeName"]}"'
    elif pod["spec"].get("schedulingGates"):
        why = f"pod {asked.name} has non-empty .spec.schedulingGates"
    if why:
        raise errors.conflict("", "pods/binding", asked.name, why)
