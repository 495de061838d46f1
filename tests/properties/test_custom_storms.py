"""Storms: definitions, their objects, policies, namespaces and roles that come, change and go in no order at all.

Whatever is asked, nobody gets a failure of the server's, the store stays consistent, nothing is left of a type that has
gone, and a storm of the same seed is the same to the last byte.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import NAMESPACES, Resource
from kube32_sim.cluster import Cluster
from kube32_sim.storage.objects import Event
from tests.support.definitions import ANYTHING, CRDS, GROUP, custom, definition, object_schema, served, version
from tests.support.rbac import rule

JsonObject = dict[str, Any]

ADMISSION, RBAC = "admissionregistration.k8s.io", "rbac.authorization.k8s.io"
KINDS = {"widgets": "Widget", "gadgets": "Gadget", "things": "Thing"}
POLICIES = [Resource(ADMISSION, "v1", f"{kind}admissionpolicies") for kind in ("validating", "mutating")]
BINDINGS = [Resource(ADMISSION, "v1", f"{kind}admissionpolicybindings") for kind in ("validating", "mutating")]
CLUSTER_ROLES = Resource(RBAC, "v1", "clusterroles")
SCHEMAS = [
    object_schema(spec=ANYTHING, status=ANYTHING),
    object_schema(spec=object_schema(a={"type": "integer", "default": 1}, replicas={"type": "integer"})),
    object_schema(
        spec={
            **object_schema(a={"type": "integer"}),
            "x-kubernetes-validations": [{"rule": "!has(self.a) || self.a < 5"}],
        }
    ),
    object_schema(spec=object_schema(a={"type": "string"})),
]
SCALE = {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}, "status": {}}
CONDITIONS = ["true", "object == null || object.metadata.name != 'o1'", "1 / 0 == 1"]
SPECS: list[JsonObject] = [{}, {"a": 3}, {"a": 7}, {"a": "x"}, {"replicas": 2}]


class Storm:
    """Of one seed; log: all that happened."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster, self.client, self.random = cluster, cluster.client, Random(seed)
        self.log: list[str] = []
        self.done = 0
        cluster.store.subscribe(self._note)

    def _note(self, event: Event) -> None:
        self.log.append(f"{event.type} {event.stored.storage} {event.stored.key} {event.stored.raw.decode()}")

    async def blow(self, steps: int) -> None:
        for _ in range(steps):
            await asyncio.gather(*(self._step() for _ in range(self.random.choice((1, 1, 4)))))
            if self.random.random() < 0.1:
                await self.cluster.advance("1s")
        await self.cluster.advance("2m")
        await self.cluster.settle()
        self.cluster.store.check()

    async def _step(self) -> None:
        chances: list[tuple[Callable[[], Awaitable[object]], int]] = [
            (self._define, 4),
            (self._redefine, 2),
            (self._forget, 1),
            (self._make, 8),
            (self._change, 6),
            (self._drop, 2),
            (self._namespace, 2),
            (self._policy, 3),
            (self._role, 2),
        ]
        act = self.random.choices([each for each, _ in chances], [weight for _, weight in chances])[0]
        try:
            await act()
            self.done += 1
        except ApiError as error:
            if error.code >= 500:
                raise

    # definitions

    def _versions(self) -> list[JsonObject]:
        random = self.random
        more = {"subresources": SCALE} if random.random() < 0.5 else {}
        made = [version("v1", schema=random.choice(SCHEMAS), **more)]
        if random.random() < 0.5:
            made.append(version("v2", schema=random.choice(SCHEMAS), stored=False))
            if random.random() < 0.3:
                made[0]["storage"], made[1]["storage"] = False, True
        return made

    def _names(self) -> JsonObject:
        return self.random.choice([{}, {"shortNames": ["w"]}, {"singular": "thing"}])

    async def _define(self) -> object:
        plural = self.random.choice(list(KINDS))
        scope = self.random.choice(["Namespaced", "Namespaced", "Cluster"])
        kind = self.random.choice([KINDS[plural], "Widget"])
        made = definition(plural, kind, *self._versions(), scope=scope, names=self._names())
        return await self.client.create(CRDS, "", made)

    async def _redefine(self) -> object:
        plural = self.random.choice(list(KINDS))
        spec = {"versions": self._versions(), "names": self._names()}
        return await self.client.patch(CRDS, "", f"{plural}.{GROUP}", {"spec": spec})

    async def _forget(self) -> object:
        return await self.client.delete(CRDS, "", f"{self.random.choice(list(KINDS))}.{GROUP}")

    # objects

    def _place(self) -> tuple[str, Resource, str, str]:
        plural, name = self.random.choice(list(KINDS)), f"o{self.random.randrange(6)}"
        resource = served(plural, self.random.choice(["v1", "v1", "v2"]))
        return plural, resource, self.random.choice(["default", "default", "n", ""]), name

    async def _make(self) -> object:
        plural, resource, namespace, name = self._place()
        held = {"finalizers": ["example.com/held"]} if self.random.random() < 0.2 else {}
        api_version = f"{GROUP}/{resource.version}"
        spec = self.random.choice(SPECS)
        made = custom(name, KINDS[plural], api_version=api_version, metadata=held, spec=spec)
        return await self.client.create(resource, namespace, made)

    async def _change(self) -> object:
        _, resource, namespace, name = self._place()
        changes: list[tuple[JsonObject, str]] = [
            ({"spec": {"a": self.random.randrange(7)}, "metadata": {"finalizers": None}}, ""),
            ({"spec": {"replicas": 3}}, "scale"),
            ({"status": {"replicas": 3}}, "status"),
        ]
        change, part = self.random.choice(changes)
        return await self.client.patch(resource, namespace, name, change, subresource=part)

    async def _drop(self) -> object:
        _, resource, namespace, name = self._place()
        return await self.client.delete(resource, namespace, name)

    # others

    async def _namespace(self) -> object:
        if self.random.random() < 0.3:
            return await self.client.delete(NAMESPACES, "", "n")
        return await self.client.create(NAMESPACES, "", {"metadata": {"name": "n"}})

    async def _policy(self) -> object:
        mutating, name = self.random.randrange(2), f"p{self.random.randrange(3)}"
        what = self.random.random()
        if what < 0.4:
            return await self.client.delete(self.random.choice([POLICIES, BINDINGS])[mutating], "", name)
        if what < 0.7:
            actions = {} if mutating else {"validationActions": ["Deny"]}
            bound = {"metadata": {"name": name}, "spec": {"policyName": name, **actions}}
            return await self.client.create(BINDINGS[mutating], "", bound)
        rules = [rule_of(GROUP, ["CREATE", "UPDATE"] if mutating else ["CREATE", "UPDATE", "DELETE"])]
        spec: JsonObject = {"matchConstraints": {"resourceRules": rules}, "failurePolicy": "Ignore"}
        if mutating:
            labels = f"Object{{metadata: Object.metadata{{labels: {{'p': '{name}'}}}}}}"
            applied = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": labels}}
            spec |= {"mutations": [applied], "reinvocationPolicy": "IfNeeded"}
        else:
            spec["validations"] = [{"expression": self.random.choice(CONDITIONS)}]
        return await self.client.create(POLICIES[mutating], "", {"metadata": {"name": name}, "spec": spec})

    async def _role(self) -> object:
        name = f"r{self.random.randrange(4)}"
        if self.random.random() < 0.3:
            return await self.client.delete(CLUSTER_ROLES, "", name)
        made: JsonObject = {"metadata": {"name": name, "labels": {"agg": "x"}}}
        if self.random.random() < 0.5:
            made |= {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"agg": "x"}}]}}
        else:
            made |= {"rules": [rule("get,list", self.random.choice(list(KINDS)), GROUP)]}
        return await self.client.create(CLUSTER_ROLES, "", made)

    # the end

    async def clear_up(self) -> None:
        """All definitions go, and with them everything that is theirs."""
        store = self.cluster.store
        for resource in BINDINGS:
            for bound in list(store.list((resource.group, resource.plural))):
                await self.client.delete(resource, "", bound.name)
        for stored in list(store.list((CRDS.group, CRDS.plural))):
            spec = stored.object()["spec"]
            await self.client.delete(CRDS, "", stored.name)
            plural = spec["names"]["plural"]
            resource = served(plural, next(each["name"] for each in spec["versions"] if each["served"]))
            for held in list(store.list((GROUP, plural))) if (GROUP, plural) in store.storages() else []:
                await self.client.patch(
                    resource, held.namespace, held.name, {"metadata": {"finalizers": None}, "spec": None}
                )
        await self.cluster.advance("1m")
        await self.cluster.settle()
        store.check()


def rule_of(group: str, operations: list[str]) -> JsonObject:
    return {"apiGroups": [group], "apiVersions": ["*"], "resources": ["*"], "operations": operations}


async def storm_of(seed: int, steps: int) -> Storm:
    async with Cluster(nodes=0, clock="virtual", seed=seed) as cluster:
        storm = Storm(cluster, seed)
        await storm.blow(steps)
        await storm.clear_up()
        left = [storage for storage in cluster.store.storages() if storage[0] == GROUP and cluster.store.count(storage)]
        assert left == []
        assert cluster.store.count((CRDS.group, CRDS.plural)) == 0
        assert [row for row in cluster.registry.table if row.group == GROUP] == []
        services = cluster.store.list(("apiregistration.k8s.io", "apiservices"))
        assert [each.key for each in services if each.key.endswith(f".{GROUP}")] == []
    return storm


async def test_a_storm_leaves_nothing_behind_and_is_the_same_again() -> None:
    one, other = [await storm_of(1, 120) for _ in range(2)]
    assert one.done > 40
    assert one.log == other.log


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 42))
async def test_many_storms(seed: int) -> None:
    await storm_of(seed, 400)
