"""Types that store nothing: a POST is answered from what the server knows (SubjectAccessReview and its like).

Binding is one of them: what is posted to `bindings` binds the pod of its name.
"""

from __future__ import annotations

from kube32_sim.api import reviews
from kube32_sim.api.users import User
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.binding import bind_named
from kube32_sim.registry.identity import fit_namespace
from kube32_sim.registry.registry import Registry
from kube32_sim.registry.tokens import Tokens
from kube32_sim.storage.interface import JsonObject


async def answer(registry: Registry, asked: Asked, obj: JsonObject, user: User, tokens: Tokens) -> JsonObject:
    """The answer to a POST, with apiVersion and kind.  tokens: by which callers are known."""
    if asked.row.kind == "Binding":
        return await bind_named(registry, asked, obj)
    answering = registry.own.answers(asked.row)
    if answering is not None:
        return await answering(asked, obj)
    fit_namespace(asked, obj.setdefault("metadata", {}))
    asking = reviews.Asking(user, registry.clock.timestamp(), registry.authorizer, tokens)
    return reviews.review(asked.row, obj, asking)
