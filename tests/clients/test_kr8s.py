"""kr8s, a client that speaks as kubectl does: list, watch, patch, apply, scale, wait, delete."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import kr8s.asyncio
import pytest
import pytest_asyncio
from kr8s.asyncio.objects import ConfigMap, Deployment, Pod

from tests.support.servers import Server
from tests.support.waiting import eventually

pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported. Supported versions for kr8s")
CONTAINER = {"name": "led", "image": "blinky:1"}


@pytest_asyncio.fixture
async def api(full_server: Server, namespace: str) -> AsyncIterator[Any]:
    made = await kr8s.asyncio.api(kubeconfig=str(full_server.kubeconfig), namespace=namespace)
    yield made
    await made._session.aclose()  # it has no way of its own to be closed


def config_map(api: Any, name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"led": "1"},
        "metadata": {"name": name, "namespace": api.namespace, "labels": {"app": "test"}},
    }  # fmt: skip


async def test_objects_from_creation_to_deletion(api):
    assert (await api.version())["gitVersion"].startswith("v1.36.")
    made = await ConfigMap(config_map(api, "a"), api=api)
    await made.create()
    assert await made.exists()
    await made.patch({"data": {"led": "2"}})
    await made.patch([{"op": "add", "path": "/data/pin", "value": "4"}], type="json")
    await made.label({"more": "yes"})
    await made.annotate(told="this")
    await made.refresh()
    assert made.data == {"led": "2", "pin": "4"}
    assert made.labels == {"app": "test", "more": "yes"}
    found = [each.name async for each in api.get("configmaps", label_selector={"app": "test"})]
    assert found == ["a"]
    await made.delete()
    assert not await made.exists()
    assert "deployments" in {row["name"] for row in await api.api_resources()}


async def test_a_watch_tells_what_happens(api):
    seen: list[tuple[str, str]] = []

    async def follow() -> None:
        async with aclosing(api.watch("configmaps", label_selector={"app": "test"})) as events:
            async for event, each in events:
                seen.append((event, each.name))
                if event == "DELETED":
                    return

    first = await ConfigMap(config_map(api, "a"), api=api)
    await first.create()
    following = asyncio.create_task(follow())
    await eventually(lambda: seen, "the first event")
    await first.patch({"data": {"led": "2"}})
    await first.delete()
    await asyncio.wait_for(following, 20)
    assert seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_workloads(api):
    labels = {"app": "web"}
    web = await Deployment(
        {
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": api.namespace},
            "spec": {
                "replicas": 1, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [CONTAINER]}},
            },
        },
        api=api,
    )  # fmt: skip
    await web.create()
    await web.scale(2)
    await web.wait("condition=Available", timeout=20)
    assert await web.ready()
    pods = await web.pods()
    assert len(pods) == 2
    await web.delete(propagation_policy="Foreground")
    await web.wait("delete", timeout=20)


async def test_a_pod_and_its_log(api):
    pod = await Pod(
        {
            "apiVersion": "v1", "kind": "Pod", "spec": {"containers": [CONTAINER]},
            "metadata": {"name": "one", "namespace": api.namespace, "annotations": {"sim.kube32.io/log": "LED on"}},
        },
        api=api,
    )  # fmt: skip
    await pod.create()
    await pod.wait("condition=Ready", timeout=20)
    assert [line async for line in pod.logs()] == ["LED on"]
    await pod.delete()
