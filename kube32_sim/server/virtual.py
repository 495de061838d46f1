"""Types that store nothing: a POST is answered from what the server knows (SubjectAccessReview and its like)."""

from __future__ import annotations

from kube32_sim.api import reviews
from kube32_sim.api.resources import ResourceType
from kube32_sim.registry.registry import Registry
from kube32_sim.server.authentication import User
from kube32_sim.storage.interface import JsonObject


def review(registry: Registry, row: ResourceType, obj: JsonObject, user: User) -> JsonObject:
    """The object as answered, with apiVersion and kind.  Everybody who got this far is an administrator."""
    info: JsonObject = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        info["uid"] = user.uid
    if user.extra:
        info["extra"] = dict(user.extra)
    return reviews.review(row, obj, info, registry.clock.timestamp())
