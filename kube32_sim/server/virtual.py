"""Types that store nothing: a POST is answered from what the server knows (SubjectAccessReview and its like).

Binding is one of them: what is posted to `bindings` binds the pod of its name.
"""

from __future__ import annotations

from kube32_sim.api import reviews
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.users import User
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.binding import bind_named
from kube32_sim.registry.identity import fit_namespace
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import JsonObject


async def answer(registry: Registry, asked: Asked, obj: JsonObject, user: User) -> JsonObject:
    """The answer to a POST, with apiVersion and kind."""
    if asked.row.kind == "Binding":
        return await bind_named(registry, asked, obj)
    fit_namespace(asked, obj.setdefault("metadata", {}))
    return review(registry, asked.row, obj, user)


def review(registry: Registry, row: ResourceType, obj: JsonObject, user: User) -> JsonObject:
    """The object as answered, with apiVersion and kind.  Everybody who got this far is an administrator."""
    info: JsonObject = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        info["uid"] = user.uid
    if user.extra:
        info["extra"] = dict(user.extra)
    return reviews.review(row, obj, info, registry.clock.timestamp())
