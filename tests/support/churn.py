"""A round of everything that comes and goes in a cluster, under names that no other round has.

What it leaves behind is nothing: when its events have expired, the cluster is as it was.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import DAEMONSETS, DEPLOYMENTS, JOBS, NAMESPACES, NODES, PODS, SERVICES, Resource
from kube32_sim.cluster import Cluster
from tests.support import policies
from tests.support.definitions import CRDS, custom, definition, object_schema, served, version
from tests.support.objects import BUDGETS, ENDPOINTS, MAPS, SLICES, config_map, node, pod, service
from tests.support.scenario import FAULT, template, workload
from tests.support.wire import Wire, connected

JsonObject = dict[str, Any]

ADMISSION = "admissionregistration.k8s.io"
POLICIES = Resource(ADMISSION, "v1", "validatingadmissionpolicies")
BINDINGS = Resource(ADMISSION, "v1", "validatingadmissionpolicybindings")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings")
QUOTAS = Resource("", "v1", "resourcequotas")
CLAIMS = Resource("", "v1", "persistentvolumeclaims")


class Round:
    """One round; `number` is in every name.  Needs a virtual clock and boards esp32-0 and esp32-1 at least."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self._cluster = cluster
        self._client = cluster.client
        self._number = number
        self._space = f"round-{number}"
        self._group = f"round-{number}.example.com"
        self._kind = f"Thing{number}"
        self._things = served(f"thing{number}s", group=self._group)

    async def run(self) -> None:
        async with AsyncExitStack() as watchers:
            await self._client.create(NAMESPACES, "", {"metadata": {"name": self._space}})
            await self._define()
            await self._watch(watchers)
            await self._begin()
            await self._advance("40s")
            await self._change()
            await self._suffer()
        await self._watch_and_vanish()
        await self._end()

    async def _advance(self, duration: str) -> None:
        await self._cluster.advance(duration)

    async def _create(self, resource: Resource, obj: JsonObject, namespace: str | None = None) -> None:
        await self._client.create(resource, self._space if namespace is None else namespace, obj)

    # what comes

    async def _define(self) -> None:
        """A type with a rule, objects of it, and a policy on them."""
        size = {"type": "integer", "maximum": 100 + self._number}
        rule = {"rule": f"self.size < {90 + self._number}"}
        spec = object_schema(size=size) | {"x-kubernetes-validations": [rule]}
        schema = object_schema(spec=spec, status=object_schema(seen={"type": "string"}))
        made = version(schema=schema, subresources={"status": {}})
        crd = definition(self._things.plural, self._kind, made, group=self._group)
        await self._create(CRDS, crd, "")
        for name in ("one", "two"):
            spec = {"size": len(name)}
            await self._create(self._things, custom(name, self._kind, f"{self._group}/v1", spec=spec))
        wrong = custom("wrong", self._kind, f"{self._group}/v1", spec={"size": 95 + self._number})
        with pytest.raises(ApiError):
            await self._create(self._things, wrong)
        rules = [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["configmaps"]}]
        policy = policies.policy(f"object.metadata.name != 'no-{self._number}'", name=self._space, rules=rules)
        await self._create(POLICIES, policy, "")
        await self._create(BINDINGS, policies.binding(self._space, self._space), "")
        with pytest.raises(ApiError):
            await self._create(MAPS, config_map(f"no-{self._number}"))

    async def _begin(self) -> None:
        for app in ("web", "agent"):
            await self._create(SERVICES, service(app, {"app": app, "round": str(self._number)}, type="NodePort"))
        await self._create(DEPLOYMENTS, workload("web", self._template("web"), replicas=4))
        await self._create(DAEMONSETS, workload("agent", self._template("agent")))
        await self._create_jobs()
        budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
        await self._create(BUDGETS, {"metadata": {"name": "web"}, "spec": budget})
        await self._create(PODS, pod("nowhere", spec={"nodeSelector": {"no": str(self._number)}}))
        await self._create(PODS, pod("odd", annotations={"sim.kube32.io/exit-code": f"no{self._number}"}))
        await self._create(QUOTAS, {"metadata": {"name": "many"}, "spec": {"hard": {"count/configmaps": "3"}}})
        await self._create(MAPS, config_map("kept", number=str(self._number)))
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
        await self._create(ROLES, {"metadata": {"name": "reader"}, "rules": rules})
        subject = {"kind": "User", "name": self._space, "apiGroup": "rbac.authorization.k8s.io"}
        role = {"kind": "Role", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
        await self._create(ROLE_BINDINGS, {"metadata": {"name": "reader"}, "subjects": [subject], "roleRef": role})
        asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        await self._create(CLAIMS, {"metadata": {"name": "disk"}, "spec": asked})
        volume = {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}
        await self._create(PODS, pod("user", spec={"volumes": [volume]}))
        await self._create(NODES, node(self._space), "")

    def _template(self, app: str, image: str = "i", **more: Any) -> JsonObject:
        made = template(app, image, **more)
        made["metadata"]["labels"]["round"] = str(self._number)
        return made

    async def _create_jobs(self) -> None:
        quick = {"sim.kube32.io/run-seconds": "3"}
        for name, steered, spec in (
            ("done", quick, {"completions": 3, "parallelism": 2, "ttlSecondsAfterFinished": 120}),
            ("deleted", quick, {}),
            ("failing", quick | {"sim.kube32.io/exit-code": "1"}, {"backoffLimit": 20, "activeDeadlineSeconds": 86400}),
        ):
            made = self._template("batch", annotations=steered, restartPolicy="Never")
            await self._create(JOBS, {"metadata": {"name": name}, "spec": {**spec, "template": made}})

    # who looks

    async def _watch(self, watchers: AsyncExitStack) -> None:
        """Over HTTP, with time-outs and without, and in process."""
        space = f"namespaces/{self._space}"
        for path in (
            f"/api/v1/{space}/pods?watch=1&timeoutSeconds=86400&labelSelector=round={self._number}",
            "/api/v1/events?watch=1&allowWatchBookmarks=1",
            f"/apis/discovery.k8s.io/v1/{space}/endpointslices?watch=1",
            f"/apis/{self._group}/v1/{self._things.plural}?watch=1",
            f"/api/v1/nodes?watch=1&fieldSelector=metadata.name={self._space}",
        ):
            wire = await watchers.enter_async_context(connected(self._cluster.port))
            await self._opened(wire, path)
        for resource in (PODS, self._things):
            await watchers.enter_async_context(self._client.watch(resource, self._space))

    @staticmethod
    async def _opened(wire: Wire, path: str) -> None:
        await wire.ask("GET", path)
        assert (await wire.begin()).status == 200

    async def _watch_and_vanish(self) -> None:
        for path in ("/api/v1/pods?watch=1", f"/api/v1/namespaces/{self._space}/pods/user/log?follow=1"):
            async with connected(self._cluster.port) as wire:
                await wire.ask("GET", path)
                await wire.begin()
                wire.abort()
        async with connected(self._cluster.port) as wire:
            listed = await wire("GET", "/api/v1/pods?limit=1")
            assert listed.json()["metadata"].get("continue")
            assert (await wire("GET", f"/apis/{self._group}/v1")).status == 200
            assert (await wire("GET", f"/openapi/v3/apis/{self._group}/v1")).status == 200

    # what becomes of it

    async def _change(self) -> None:
        """Rollouts, scaling, an image that comes and one that is no more, things deleted in the middle of it all."""
        await self._client.delete(JOBS, self._space, "deleted", options={"propagationPolicy": "Foreground"})
        for image in ("j", "k"):
            await self._client.patch(
                DEPLOYMENTS, self._space, "web", {"spec": {"template": self._template("web", image)}}
            )
            await self._advance("20s")
        await self._client.patch(DEPLOYMENTS, self._space, "web", {"spec": {"replicas": 2}}, subresource="scale")
        for resource in (ENDPOINTS, SLICES):
            await self._client.list(resource)
        await self._client.patch(self._things, self._space, "one", {"spec": {"size": 5}})
        await self._client.delete(self._things, self._space, "two")
        await self._advance("60s")

    async def _suffer(self) -> None:
        """A board is lost until its pods have moved, another one is switched off and on; a node goes for good."""
        for name, fault, lasts in (("esp32-1", "stopped", "400s"), ("esp32-0", "partitioned", "30s")):
            await self._client.patch(NODES, "", name, {"metadata": {"annotations": {FAULT: fault}}})
            await self._advance(lasts)
            await self._client.patch(NODES, "", name, {"metadata": {"annotations": {FAULT: None}}})
        await self._client.delete(NODES, "", self._space)
        await self._advance("90s")

    async def _end(self) -> None:
        await self._client.delete(CRDS, "", f"{self._things.plural}.{self._group}")
        await self._client.delete(BINDINGS, "", self._space)
        await self._client.delete(POLICIES, "", self._space)
        await self._client.delete(NAMESPACES, "", self._space)
        await self._advance("2m")
        names = [found["metadata"]["name"] for found in (await self._client.list(NAMESPACES)).items]
        assert self._space not in names
