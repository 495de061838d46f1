"""The subresource `token` of ServiceAccounts: whose token, bound to what; `api/reviews` writes it."""

from __future__ import annotations

from kube32_sim.api import errors, reviews
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.registry import Registry
from kube32_sim.storage.interface import JsonObject

GROUP = "authentication.k8s.io"
BINDABLE = {"Pod": "pods", "Node": "nodes", "Secret": "secrets"}
"""What a token may be bound to: its end is the token's end."""


def token(registry: Registry, asked: Asked, request: JsonObject) -> JsonObject:
    """TokenRequest: a token for the ServiceAccount, as well-formed as upstream's."""
    given = (request.get("metadata") or {}).get("name", "")
    if given and given != asked.name:
        why = "must match the service account name if specified"
        failure = errors.invalid_value("metadata.name", given, why)
        raise errors.invalid(GROUP, "TokenRequest", asked.name, [failure])
    account = registry.get(asked).object()
    reviews.check_token_request(request)
    bound = (request.get("spec") or {}).get("boundObjectRef")
    uid = _bound_uid(registry, asked, bound) if bound is not None else ""
    return reviews.token_request(request, account, registry.clock.now(), registry.ids, uid)


def _bound_uid(registry: Registry, asked: Asked, reference: JsonObject) -> str:
    """The uid of the object that the token is to be bound to; raises ApiError 400, 404 and 409."""
    group, _, version = reference.get("apiVersion", "").rpartition("/")
    kind, name = reference.get("kind", ""), reference.get("name", "")
    if group or kind not in BINDABLE:
        raise errors.bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    plural = BINDABLE[kind]
    found = registry.lookup.get(("", plural), "" if kind == "Node" else asked.namespace, name)
    if found is None:
        raise errors.not_found("", plural, name)
    if kind == "Pod" and found["spec"].get("serviceAccountName", "") != asked.name:
        raise errors.bad_request(
            f"cannot bind token for serviceaccount {errors.go_value(asked.name)} to pod running with different "
            "serviceaccount name."
        )
    uid: str = found["metadata"]["uid"]
    if reference.get("uid") and reference["uid"] != uid:
        why = (
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict("", kind, name, why)
    return uid
