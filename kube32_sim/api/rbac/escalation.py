"""Who may write roles and bindings: nobody hands out what he does not hold, unless he may `escalate` or `bind`.

Upstream's `pkg/registry/rbac/*/policybased`; the strategies of the four types call it before they validate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from kube32_sim.api import errors
from kube32_sim.api.authorization import MASTERS, Attributes, Authorizer
from kube32_sim.api.errors import ApiError, aggregate, go_list, go_value
from kube32_sim.api.rbac.covering import described, uncovered
from kube32_sim.api.rbac.policy import GROUP
from kube32_sim.api.users import User

JsonObject = dict[str, Any]

FULL_AUTHORITY: Sequence[JsonObject] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)
_COLLECTED = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")
"""Metadata by which objects are cleared away: who changes nothing else hands nothing out."""


class Asking(Protocol):
    """The circumstances of a write, as far as they matter here (see `strategies.base.Context`)."""

    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def user(self) -> User: ...

    @property
    def authorizer(self) -> Authorizer: ...


def check_role(obj: JsonObject, old: JsonObject | None, asking: Asking, plural: str) -> None:
    """Of a Role or ClusterRole that is to be written; raises ApiError 403."""
    if MASTERS in asking.user.groups or _only_collected(obj, old):
        return
    name = "" if old is None else asking.name
    if _allowed(asking, "escalate", plural, name):
        return
    _confirm(obj.get("rules") or (), asking, plural, obj)
    if obj.get("aggregationRule") or (old or {}).get("aggregationRule"):
        try:
            _confirm(FULL_AUTHORITY, asking, plural, obj)
        except ApiError:
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise errors.forbidden(GROUP, plural, _name(obj), why) from None


def check_binding(obj: JsonObject, old: JsonObject | None, asking: Asking, plural: str) -> None:
    """Of a RoleBinding or ClusterRoleBinding that is to be written; raises ApiError 403, or 404 of its role."""
    if MASTERS in asking.user.groups or _only_collected(obj, old):
        return
    reference = obj.get("roleRef") or {}
    kind, role = reference.get("kind", ""), reference.get("name", "")
    roles = {"ClusterRole": "clusterroles", "Role": "roles"}.get(kind, "")
    if roles and _allowed(asking, "bind", roles, role):
        return
    rules, failure = asking.authorizer.holdings.role_rules(kind, asking.namespace, role)
    if failure and roles:
        raise errors.not_found(GROUP, roles, role)
    if failure:
        raise errors.forbidden(GROUP, plural, _name(obj), failure)
    _confirm(rules, asking, plural, obj)


def _name(obj: JsonObject) -> str:
    name: str = obj["metadata"].get("name", "")
    return name


def _only_collected(obj: JsonObject, old: JsonObject | None) -> bool:
    if old is None:
        return False
    return _shown(obj) == _shown(old)


def _shown(obj: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _COLLECTED}
    return {**obj, "metadata": metadata}


def _allowed(asking: Asking, verb: str, plural: str, name: str) -> bool:
    attributes = Attributes(verb, GROUP, "*", plural, namespace=asking.namespace, name=name)
    return asking.authorizer.decide(asking.user, attributes).allowed


def _confirm(rules: Sequence[JsonObject], asking: Asking, plural: str, obj: JsonObject) -> None:
    """Raises ApiError 403 where the user does not hold all of these."""
    user, held, failures = asking.user, list[JsonObject](), list[str]()
    for each in asking.authorizer.holdings.held(user, asking.namespace):
        held += each.rules
        if each.failure:
            failures.append(each.failure)
    missing = uncovered(held, rules)
    if not missing:
        return
    text = (
        f"user {go_value(user.name)} (groups={go_list(user.groups)}) is attempting to grant RBAC permissions "
        "not currently held:\n" + "\n".join(described(missing))
    )
    if failures:
        text += f"; resolution errors: [{aggregate(failures)}]"
    raise errors.forbidden(GROUP, plural, _name(obj), text)
