"""kubernetes_asyncio: list, watch, the patches, server-side apply, dynamic client, delete."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from kubernetes_asyncio import client, config, dynamic, watch

from tests.support.servers import Server

LABELS = {"app": "test"}


@pytest_asyncio.fixture
async def api(full_server: Server) -> AsyncIterator[client.ApiClient]:
    async with await config.new_client_from_config(str(full_server.kubeconfig)) as made:
        yield made


@pytest.fixture
def core(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


def config_map(name: str, **data: str) -> client.V1ConfigMap:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels=LABELS), data=data)


async def test_objects_from_creation_to_deletion(core, namespace):
    await core.create_namespaced_config_map(namespace, config_map("a", led="1"))
    for body, kind in (
        ({"data": {"x": "y"}}, "application/strategic-merge-patch+json"),
        ({"data": {"x": None}}, "application/merge-patch+json"),
        ([{"op": "replace", "path": "/data/led", "value": "2"}], "application/json-patch+json"),
    ):
        patched = await core.patch_namespaced_config_map("a", namespace, body, _content_type=kind)
    assert patched.data == {"led": "2"}
    listed = await core.list_namespaced_config_map(namespace, label_selector="app=test")
    assert [item.metadata.name for item in listed.items] == ["a"]
    await core.delete_namespaced_config_map("a", namespace)
    with pytest.raises(client.ApiException) as caught:
        await core.read_namespaced_config_map("a", namespace)
    assert caught.value.status == 404


async def test_apply_on_the_server(core, namespace):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"led": "1"}}

    async def apply(led: str, **options: object) -> client.V1ConfigMap:
        told = {**body, "data": {"led": led}}
        return await core.patch_namespaced_config_map(
            "a", namespace, told, _content_type="application/apply-patch+yaml", **options
        )

    applied = await apply("1", field_manager="one")
    assert [entry.manager for entry in applied.metadata.managed_fields] == ["one"]
    with pytest.raises(client.ApiException) as caught:
        await apply("2", field_manager="two")
    assert caught.value.status == 409
    assert (await apply("2", field_manager="two", force=True)).data == {"led": "2"}


async def test_a_watch_tells_what_happens(core, namespace):
    start = await core.list_namespaced_config_map(namespace, label_selector="app=test")
    seen = []

    async def follow() -> None:
        options = {"label_selector": "app=test", "resource_version": start.metadata.resource_version}
        async with watch.Watch().stream(core.list_namespaced_config_map, namespace, **options) as events:
            async for event in events:
                seen.append((event["type"], event["object"].metadata.name))
                if event["type"] == "DELETED":
                    return

    following = asyncio.create_task(follow())
    await core.create_namespaced_config_map(namespace, config_map("a"))
    await core.patch_namespaced_config_map("a", namespace, {"data": {"x": "y"}})
    await core.delete_namespaced_config_map("a", namespace)
    await asyncio.wait_for(following, 20)
    assert seen == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_the_dynamic_client_finds_kinds_by_discovery(api, namespace):
    async with dynamic.DynamicClient(api) as found:
        deployments = await found.resources.get(api_version="apps/v1", kind="Deployment")
        template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        body = {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"selector": {"matchLabels": LABELS}, "template": template},
        }  # fmt: skip
        applied = await deployments.server_side_apply(body, "web", namespace, field_manager="dynamic")
        assert applied.metadata.managedFields[0].manager == "dynamic"
        await deployments.delete("web", namespace)
