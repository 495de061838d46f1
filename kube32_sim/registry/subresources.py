"""Subresources with rules of their own: scale here; `binding`, `eviction`, `tokens`, `logs`, `connections` beside it.

(`status`, `finalize`, `ephemeralcontainers`, `resize` and `approval` are ordinary updates: the kind's strategy sees
which one by `Context.subresource`.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import orjson

from kube32_sim.api import errors, scale
from kube32_sim.api.bodies import Patcher, expected
from kube32_sim.api.configuration import Configuration
from kube32_sim.api.dynamic_admission.request import CREATE
from kube32_sim.api.options import WriteOptions
from kube32_sim.api.resources import ResourceType
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.binding import SUCCESS, bind
from kube32_sim.registry.dynamic_admission import Through
from kube32_sim.registry.eviction import evict
from kube32_sim.registry.identity import fit_namespace
from kube32_sim.registry.registry import Registry
from kube32_sim.registry.steps import Change
from kube32_sim.registry.tokens import token
from kube32_sim.registry.unbinding import unbind
from kube32_sim.storage.interface import JsonObject


async def create(registry: Registry, asked: Asked, body: JsonObject) -> JsonObject:
    """POST to pods/binding, pods/eviction, serviceaccounts/token and the like: the answer, with apiVersion and kind."""
    if not asked.row.stored:
        return await registry.own.post(asked, body)
    fit_namespace(asked, body.setdefault("metadata", {}))
    body = await _admitted(registry, asked, body)
    if asked.subresource == "binding":
        return await bind(registry, asked, body)
    if asked.subresource == "eviction":
        await evict(registry, asked, body)
        return dict(SUCCESS)
    if asked.subresource == "token":
        return token(registry, asked, body)
    raise errors.method_not_allowed()


async def _admitted(registry: Registry, asked: Asked, body: JsonObject) -> JsonObject:
    sub = asked.row.subresource(asked.subresource)
    if sub is None:
        return body
    kind = expected(sub.group or asked.row.group, sub.version or asked.row.version, sub.kind)
    plain = {name: value for name, value in body.items() if name not in ("apiVersion", "kind")}
    return await registry.admit(asked, CREATE, plain, kind)


async def update(registry: Registry, asked: Asked, body: JsonObject) -> JsonObject:
    """PUT to a subresource that is not the object itself."""
    if asked.subresource == "scale":
        return await put_scale(registry, asked, lambda _: body)
    if asked.subresource == "unbind":
        return await unbind(registry, asked, body)
    result = await registry.update(asked, body)
    return {"kind": asked.row.kind, "apiVersion": asked.row.api_version, **result.object()}


# scale


def get_scale(registry: Registry, asked: Asked) -> JsonObject:
    return scale.scale_of(asked.row, registry.get(asked).object())


async def put_scale(registry: Registry, asked: Asked, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """`change` makes the wanted Scale of the current one; the object is updated as by an ordinary update."""
    row, writer = asked.row, registry.writer(asked)

    def apply(shared: JsonObject) -> JsonObject:
        current: JsonObject = orjson.loads(orjson.dumps(shared))
        before = scale.scale_of(row, current, scale.UNSET)
        after = change(scale.scale_of(row, current, scale.UNSET))
        registry.fields.scaled(writer, current, before, after)
        return scale.apply_scale(row, current, after)

    return await _write_scale(registry, asked, apply)


async def patch_scale(
    registry: Registry, asked: Asked, patch: Patcher | Configuration, wanted: WriteOptions, warnings: list[str]
) -> JsonObject:
    """The Scale is patched, or a configuration of it applied; `warnings` gets the patch's."""
    if isinstance(patch, Patcher):

        def patched(current: JsonObject) -> JsonObject:
            obj, found = patch.apply(current, wanted.field_validation)
            warnings.extend(found)
            return obj

        return await put_scale(registry, asked, patched)
    warnings.extend(patch.warnings)
    row, writer = asked.row, registry.writer(asked)

    def apply(shared: JsonObject) -> JsonObject:
        current: JsonObject = orjson.loads(orjson.dumps(shared))
        before = scale.scale_of(row, current, scale.UNSET)
        after = registry.fields.scale_applied(writer, current, before, patch.value, force=wanted.force)
        after = {name: value for name, value in after.items() if name not in ("apiVersion", "kind")}
        return scale.apply_scale(row, current, patch.decoded(after))

    return await _write_scale(registry, asked, apply)


async def _write_scale(registry: Registry, asked: Asked, apply: Change) -> JsonObject:
    def back(obj: JsonObject, after: JsonObject) -> JsonObject:
        return scale.apply_scale(asked.row, orjson.loads(orjson.dumps(obj)), after)

    through = Through("scale", expected("autoscaling", "v1", scale.KIND), partial(_plain_scale, asked.row), back)
    result = await registry.patch(asked._replace(subresource=""), apply, managed=True, through=through)
    return scale.scale_of(asked.row, result.object(), 0)


def _plain_scale(row: ResourceType, obj: JsonObject) -> JsonObject:
    return {name: value for name, value in scale.scale_of(row, obj, 0).items() if name not in ("apiVersion", "kind")}
