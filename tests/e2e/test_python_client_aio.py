"""The official client's asynchronous half: create, list, watch, patch, delete; its dynamic client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from kubernetes.aio import client, config, dynamic, watch

from tests.support.servers import Server

LABELS = {"app": "test"}


@pytest_asyncio.fixture
async def api(full_server: Server) -> AsyncIterator[client.ApiClient]:
    async with await config.new_client_from_config(str(full_server.kubeconfig)) as made:
        yield made


@pytest.fixture
def core(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


def config_map(name: str) -> client.V1ConfigMap:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels=LABELS))


async def test_objects_from_creation_to_deletion(core, namespace):
    made = await core.create_namespaced_config_map(namespace, config_map("a"))
    patched = await core.patch_namespaced_config_map("a", namespace, {"data": {"led": "1"}})
    assert patched.metadata.uid == made.metadata.uid
    patched.data["led"] = "2"
    await core.replace_namespaced_config_map("a", namespace, patched)
    listed = await core.list_namespaced_config_map(namespace, label_selector="app=test")
    assert [(item.metadata.name, item.data) for item in listed.items] == [("a", {"led": "2"})]
    with pytest.raises(client.ApiException) as caught:
        await core.replace_namespaced_config_map("a", namespace, patched)
    assert caught.value.status == 409
    await core.delete_namespaced_config_map("a", namespace)
    with pytest.raises(client.ApiException) as caught:
        await core.read_namespaced_config_map("a", namespace)
    assert caught.value.status == 404


async def test_a_watch_sees_what_another_task_writes(core, namespace):
    start = (await core.list_namespaced_config_map(namespace)).metadata.resource_version

    async def write() -> None:
        await core.create_namespaced_config_map(namespace, config_map("a"))
        await core.patch_namespaced_config_map("a", namespace, {"data": {"x": "y"}})
        await core.delete_namespaced_config_map("a", namespace)

    writer = asyncio.create_task(write())
    seen = []
    async with watch.Watch() as watcher:
        events = watcher.stream(
            core.list_namespaced_config_map,
            namespace,
            label_selector="app=test",
            resource_version=start,
            timeout_seconds=20,
        )
        async for event in events:
            seen.append((event["type"], event["object"].metadata.name))
            if event["type"] == "DELETED":
                break
    await writer
    assert seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_a_pod_runs_and_is_removed(core, namespace):
    spec = client.V1PodSpec(containers=[client.V1Container(name="c", image="i")], termination_grace_period_seconds=1)
    await core.create_namespaced_pod(namespace, client.V1Pod(metadata=client.V1ObjectMeta(name="p"), spec=spec))
    phases = []
    async with watch.Watch() as watcher:
        async for event in watcher.stream(core.list_namespaced_pod, namespace, timeout_seconds=20):
            phases.append(event["object"].status.phase)
            if phases[-1] == "Running" and phases.count("Running") == 1:
                await core.delete_namespaced_pod("p", namespace)
            if event["type"] == "DELETED":
                break
    assert "Running" in phases, phases
    assert (await core.list_namespaced_pod(namespace)).items == []


async def test_many_requests_at_once(core, namespace):
    names = [f"c{number:02}" for number in range(40)]
    made = await asyncio.gather(*(core.create_namespaced_config_map(namespace, config_map(name)) for name in names))
    assert len({item.metadata.resource_version for item in made}) == 40
    listed = await core.list_namespaced_config_map(namespace, label_selector="app=test")
    assert [item.metadata.name for item in listed.items] == names
    await core.delete_collection_namespaced_config_map(namespace, label_selector="app=test")
    assert (await core.list_namespaced_config_map(namespace, label_selector="app=test")).items == []


async def test_dynamic_client(api, namespace):
    dynamic_client = await dynamic.DynamicClient(api)
    deployments = await dynamic_client.resources.get(api_version="apps/v1", kind="Deployment")
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": LABELS}, "template": template}
    made = await deployments.create(body={"metadata": {"name": "web"}, "spec": spec}, namespace=namespace)
    assert made.spec.strategy.type == "RollingUpdate"
    patched = await deployments.patch(
        name="web",
        namespace=namespace,
        body={"metadata": {"labels": {"room": "attic"}}},
        content_type="application/merge-patch+json",
    )
    assert patched.metadata.labels.room == "attic"
    found = await deployments.get(namespace=namespace, label_selector="room=attic")
    assert [item.metadata.name for item in found.items] == ["web"]
    await deployments.delete(name="web", namespace=namespace)
