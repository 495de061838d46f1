"""Subresources with rules of their own: binding, scale, token, and those that need a real node; `eviction` has its own.

(`status`, `finalize`, `ephemeralcontainers`, `resize` and `approval` are ordinary updates: the kind's strategy sees
which one by `Context.subresource`.)
"""

from __future__ import annotations

from collections.abc import Callable

from kube32_sim.api import errors, reviews, scale
from kube32_sim.api.bodies import Patcher
from kube32_sim.api.configuration import Configuration
from kube32_sim.api.options import WriteOptions
from kube32_sim.api.steering import RUN_SECONDS
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.eviction import evict
from kube32_sim.registry.registry import Change, Registry
from kube32_sim.registry.unbinding import unbind
from kube32_sim.storage.interface import JsonObject

SUCCESS: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def create(registry: Registry, asked: Asked, body: JsonObject) -> JsonObject:
    """POST to pods/binding, pods/eviction, serviceaccounts/token and the like: the answer, with apiVersion and kind."""
    if not asked.row.stored:
        return await registry.own.post(asked, body)
    if asked.subresource == "binding":
        return await bind(registry, asked, body)
    if asked.subresource == "eviction":
        await evict(registry, asked, body)
        return dict(SUCCESS)
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


# scale


def get_scale(registry: Registry, asked: Asked) -> JsonObject:
    return scale.scale_of(asked.row, registry.get(asked).object())


async def put_scale(registry: Registry, asked: Asked, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """`change` makes the wanted Scale of the current one; the object is updated as by an ordinary update."""
    row, writer = asked.row, registry.writer(asked)

    def apply(current: JsonObject) -> JsonObject:
        before = scale.scale_of(row, current)
        after = change(scale.scale_of(row, current))
        registry.fields.scaled(writer, current, before, after)
        return scale.apply_scale(row, current, after)

    return await _write_scale(registry, asked, apply)


async def patch_scale(
    registry: Registry, asked: Asked, patch: Patcher | Configuration, wanted: WriteOptions
) -> JsonObject:
    """The Scale is patched, or a configuration of it applied."""
    if isinstance(patch, Patcher):
        return await put_scale(registry, asked, lambda current: patch.apply(current, wanted.field_validation)[0])
    row, writer = asked.row, registry.writer(asked)

    def apply(current: JsonObject) -> JsonObject:
        before = scale.scale_of(row, current)
        after = registry.fields.scale_applied(writer, current, before, patch.value, force=wanted.force)
        after = {name: value for name, value in after.items() if name not in ("apiVersion", "kind")}
        return scale.apply_scale(row, current, patch.decoded(after))

    return await _write_scale(registry, asked, apply)


async def _write_scale(registry: Registry, asked: Asked, apply: Change) -> JsonObject:
    result = await registry.patch(asked._replace(subresource=""), apply, managed=True)
    return scale.scale_of(asked.row, result.object())


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
