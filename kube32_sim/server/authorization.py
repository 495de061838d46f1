"""Whether a request is allowed: what it asks for, in the terms of `api.authorization`, and how it is refused."""

from __future__ import annotations

from kube32_sim.api import errors
from kube32_sim.api.authorization import Attributes, Authorizer, refusal_text
from kube32_sim.api.field_selectors import parse_fields
from kube32_sim.api.paths import Query, RequestInfo
from kube32_sim.api.users import User
from kube32_sim.registry.registry import Registry
from kube32_sim.server.call import Call

VERBS = frozenset(("create", "get", "list", "watch", "update", "patch", "delete", "deletecollection"))
APPLY = "application/apply-patch+"


def attributes_of(info: RequestInfo, query: Query) -> Attributes:
    """What a request asks for."""
    if not info.plural:
        return Attributes(info.verb, path=info.path)
    name = info.name or _selected(info, query)
    namespace = info.namespace or (info.name if info.plural == "namespaces" else "")
    return Attributes(_verb(info), info.group, info.version, info.plural, info.subresource, namespace, name)


def _verb(info: RequestInfo) -> str:
    """HEAD reads; methods that Kubernetes has no verb for are none."""
    if info.verb in VERBS:
        return info.verb
    if info.verb == "head":
        return "get" if info.name else "list"
    return ""


def _selected(info: RequestInfo, query: Query) -> str:
    """The one object that a list or watch selects by its name: it is asked for as if the path named it."""
    if info.verb not in ("list", "watch"):
        return ""
    try:
        return parse_fields((query.get("fieldSelector") or ("",))[0]).exact("metadata.name") or ""
    except errors.ApiError:
        return ""


def demand(authorizer: Authorizer, user: User, attributes: Attributes) -> None:
    """Raises ApiError 403, in upstream's words, for what the user may not do."""
    decision = authorizer.decide(user, attributes)
    if not decision.allowed:
        text = refusal_text(user, attributes, decision.reason)
        if attributes.path:
            text = f"forbidden: {text}"
        raise errors.forbidden(attributes.group, attributes.resource, attributes.name, text)


def demand_creation(registry: Registry, call: Call) -> None:
    """A write that makes a new object where there is none (PUT, server-side apply) needs leave to create, too."""
    info, row = call.info, call.row
    applies = info.verb == "patch" and call.request.headers.get("Content-Type", "").startswith(APPLY)
    creates = applies or (info.verb == "update" and row.strategy.create_on_update)
    if not creates or info.subresource or not row.stored:
        return
    if registry.store.get(row.storage, call.asked().key) is not None:
        return
    attributes = Attributes("create", info.group, info.version, info.plural, "", info.namespace, info.name)
    decision = registry.authorizer.decide(call.user, attributes)
    if not decision.allowed:
        raise errors.forbidden(info.group, info.plural, info.name, decision.reason)
