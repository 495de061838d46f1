"""RBAC over a store: what is stored decides, from the moment it is stored; and ClusterRoles made of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from kube32_sim.api.authorization import ALWAYS_ALLOW, Administrators, AlwaysDeny, Authorizer, Chain
from kube32_sim.api.rbac.aggregation import aggregated
from kube32_sim.api.rbac.policy import GROUP, Policy
from kube32_sim.storage.interface import Store
from kube32_sim.storage.objects import Event, StoredObject

JsonObject = dict[str, Any]

CLUSTER_ROLES = (GROUP, "clusterroles")
ROLES = (CLUSTER_ROLES, (GROUP, "roles"))
BINDINGS = ((GROUP, "clusterrolebindings"), (GROUP, "rolebindings"))
AGGREGATOR = "clusterrole-aggregation-controller"
"""The field manager of the rules of aggregated ClusterRoles, as upstream's."""


def make_authorizer(
    modes: Sequence[str], store: Store, administrators: Iterable[str], *, certified: bool = False
) -> Authorizer:
    """Of the modes that `--authorization-mode` names, in their order; before them, some users may do everything.

    certified: those with certificates, too.
    """
    if list(modes) == ["AlwaysAllow"]:
        return ALWAYS_ALLOW
    return Chain([Administrators(administrators, certified=certified), *(_MAKERS[mode](store) for mode in modes)])


def followed_policy(store: Store) -> Policy:
    """The policy of all roles and bindings of a store, now and from now on."""
    policy = Policy()
    for storage in (*ROLES, *BINDINGS):
        for stored in store.list(storage):
            _put(policy, stored)

    def changed(event: Event) -> None:
        stored = event.stored
        if event.type != "DELETED":
            _put(policy, stored)
        elif stored.storage in ROLES:
            policy.drop_role(stored.namespace, stored.name)
        else:
            policy.drop_binding(stored.namespace, stored.name)

    store.subscribe(changed, (*ROLES, *BINDINGS))
    return policy


def _put(policy: Policy, stored: StoredObject) -> None:
    obj = stored.object()
    if stored.storage in ROLES:
        policy.put_role(stored.namespace, stored.name, obj.get("rules") or ())
    else:
        policy.put_binding(stored.namespace, stored.name, obj)


_MAKERS: dict[str, Callable[[Store], Authorizer]] = {
    "AlwaysAllow": lambda store: ALWAYS_ALLOW,
    "AlwaysDeny": lambda store: AlwaysDeny(),
    "RBAC": followed_policy,
}


class RulesWriter(Protocol):
    """Writes the rules of a ClusterRole, as a client does; answers whether that could be."""

    async def __call__(self, name: str, rules: Sequence[JsonObject]) -> bool: ...


class Aggregation:
    """Keeps the rules of aggregated ClusterRoles what they should be: asked after each write of a ClusterRole."""

    def __init__(self, store: Store, write: RulesWriter) -> None:
        self._store = store
        self._write = write
        self._running = False

    async def follow(self, stored: StoredObject) -> None:
        """stored: the ClusterRole that was written or deleted.

        Roles made of aggregated ones follow in further rounds, of which there are as many as there can be in a row:
        roles that select each other in a ring may have different rules, and would change for ever.
        """
        if self._running:  # one of its own writes, or one that the next round sees
            return
        self._running = True
        try:
            rounds = sum("aggregationRule" in role for role in self._roles())
            while rounds >= 0 and await self._round():
                rounds -= 1
        finally:
            self._running = False

    async def begin(self) -> None:
        """An earlier run may have ended between a write and what follows from it."""
        for stored in self._store.list(CLUSTER_ROLES)[:1]:
            await self.follow(stored)

    def _roles(self) -> list[JsonObject]:
        return [each.object() for each in self._store.list(CLUSTER_ROLES)]

    async def _round(self) -> bool:
        """Whether anything was written."""
        roles, wrote = self._roles(), False
        for role in roles:
            if role.get("aggregationRule") and "deletionTimestamp" not in role["metadata"]:
                rules = aggregated(role, roles)
                if rules != (role.get("rules") or []):
                    wrote = await self._write(role["metadata"]["name"], rules) or wrote
        return wrote
