"""How operations are named and described: tags, operation ids, descriptions."""

from __future__ import annotations

import re

from kube32_sim.api.resources import ResourceType, Subresource

METHODS = {"get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete"}
"""Verb -> HTTP method, of objects and subresources."""

_NAMES = {"get": "read", "update": "replace"}


def group_words(group: str) -> str:
    """A group in operation ids: `rbac.authorization.k8s.io` -> RbacAuthorization, "" -> Core."""
    base = group.removesuffix(".k8s.io") or "core"
    return "".join(capital(part) for part in re.split(r"[.-]", base))


def capital(word: str) -> str:
    return word[:1].upper() + word[1:]


def tag_of(group: str, version: str = "") -> str:
    """`rbacAuthorization_v1`, `core_v1`; without a version `rbacAuthorization`."""
    base = group_words(group)
    base = f"{base[:1].lower()}{base[1:]}"
    return f"{base}_{version}" if version else base


def describe(row: ResourceType, verb: str, sub: Subresource | None, *, connect: str = "") -> str:
    """What an operation does; connect: the HTTP method of one that is handed on."""
    kind = row.kind
    if connect:
        return f"connect {connect.upper()} requests to {sub.name if sub else ''} of {kind}"
    if verb in ("watch", "watchlist"):
        what = f"an object of kind {kind}" if verb == "watch" else f"a list of {kind}"
        return f"watch changes to {what}; deprecated: list with the parameter 'watch' instead"
    if sub is not None:
        action = {"get": "read", "create": "create", "update": "replace", "patch": "partially update"}[verb]
        return f"{action} {sub.name} of {'a' if verb == 'create' else 'the specified'} {kind}"
    article = "an" if kind[0] in "AEIOU" else "a"
    return {
        "get": f"read the specified {kind}",
        "list": f"list or watch objects of kind {kind}",
        "create": f"create {article} {kind}",
        "update": f"replace the specified {kind}",
        "patch": f"partially update the specified {kind}",
        "delete": f"delete {article} {kind}",
        "deletecollection": f"delete collection of {kind}",
    }[verb]


def operation_id(
    row: ResourceType,
    verb: str,
    sub: Subresource | None = None,
    *,
    everywhere: bool = False,
    connect: str = "",
    rest: bool = False,
) -> str:
    """Unique in all documents.  connect: as of `describe`.  rest: the path goes on after the subresource."""
    group = f"{group_words(row.group)}{capital(row.version)}"
    scope = "Namespaced" if row.namespaced and not everywhere else ""
    suffix = capital(sub.name) if sub else ""
    if connect:
        return f"connect{group}{capital(connect)}{scope}{row.kind}{suffix}{'WithPath' if rest else ''}"
    if verb == "watchlist":
        return f"watch{group}{scope}{row.kind}List{'ForAllNamespaces' if everywhere else ''}"
    if everywhere:
        return f"list{group}{row.kind}ForAllNamespaces"
    if verb == "deletecollection":
        return f"delete{group}Collection{scope}{row.kind}"
    return f"{_NAMES.get(verb, verb)}{group}{scope}{row.kind}{suffix}"
