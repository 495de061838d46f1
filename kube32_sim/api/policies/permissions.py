"""Who writes a policy or binding with parameters must be allowed to read them: what they say could be told by messages.

Words are upstream's `pkg/registry/admissionregistration/*/authz.go`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from kube32_sim.api.authorization import MASTERS, Attributes, Authorizer
from kube32_sim.api.customs.naming import DEFINITIONS
from kube32_sim.api.errors import FieldError, forbidden_field
from kube32_sim.api.groupkinds import split_version
from kube32_sim.api.users import User

if TYPE_CHECKING:
    from kube32_sim.api.resources import ResourceTable
    from kube32_sim.api.strategies.base import Lookup

JsonObject = dict[str, Any]

_EVERYTHING = Attributes("", "*", "*", "*")


class Asking(Protocol):
    """What of a write's circumstances is looked at."""

    @property
    def user(self) -> User: ...
    @property
    def authorizer(self) -> Authorizer: ...
    @property
    def cluster(self) -> Lookup: ...


def policy_permission(obj: JsonObject, old: JsonObject | None, asking: Asking) -> list[FieldError]:
    """Of a policy of either kind.  old: None on create."""
    kind = obj["spec"].get("paramKind")
    if kind is None or (old is not None and old["spec"].get("paramKind") == kind) or _is_master(asking.user):
        return []
    about = _resource(kind, asking.cluster)._replace(verb="get", namespace="*", name="*")
    if asking.authorizer.decide(asking.user, about).allowed:
        return []
    named = f"(kind={kind['kind']}, apiVersion={kind['apiVersion']})"
    why = f'user {_go_user(asking.user)} must have "get" permission on all objects of the referenced paramKind {named}'
    return [forbidden_field("spec.paramKind", why)]


def binding_permission(obj: JsonObject, policies: tuple[str, str], asking: Asking) -> list[FieldError]:
    """Of a binding.  policies: the type of what it binds."""
    reference = obj["spec"].get("paramRef")
    if reference is None or _is_master(asking.user):
        return []
    policy = asking.cluster.get(policies, "", obj["spec"]["policyName"])
    kind = policy["spec"].get("paramKind") if policy is not None else None
    about = _EVERYTHING if kind is None else _resource(kind, asking.cluster)
    name = reference.get("name") or ""
    verb = "get" if name else "list"
    about = about._replace(verb=verb, namespace=reference.get("namespace") or "", name=name)
    if asking.authorizer.decide(asking.user, about).allowed:
        return []
    # Upstream has the two the wrong way round.
    why = f'user {verb} does not have "{_go_user(asking.user)}" permission on the object referenced by paramRef'
    return [forbidden_field("spec.paramRef", why)]


def _is_master(user: User) -> bool:
    return MASTERS in user.groups


def _resource(kind: JsonObject, cluster: Lookup) -> Attributes:
    """What a paramKind means, as far as it is known."""
    group, version = split_version(kind["apiVersion"])
    row = _builtin().by_kind(group, version, kind["kind"])
    plural = row.plural if row is not None else _custom(group, kind["kind"], cluster)
    return Attributes("", group, version, plural)


@cache
def _builtin() -> ResourceTable:
    from kube32_sim.api.builtin import builtin_table  # which imports strategies, which ask here

    return builtin_table()


def _custom(group: str, kind: str, cluster: Lookup) -> str:
    for definition in cluster.list(DEFINITIONS):
        spec = definition["spec"]
        if spec["group"] == group and spec["names"]["kind"] == kind:
            return str(spec["names"]["plural"])
    return "*"


def _go_user(user: User) -> str:
    """As Go prints a user's struct."""
    extra = " ".join(f"{key}:[{' '.join(values)}]" for key, values in sorted(user.extra.items()))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"
