"""The official Python client applies on the server: its dynamic client, and its typed one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kubernetes import client, config, dynamic

from tests.support.servers import Server


@pytest.fixture
def api(full_server: Server) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(full_server.kubeconfig)) as made:
        yield made


def service(port: int) -> dict[str, object]:
    return {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"name": f"http-{port}", "port": port}]},
    }  # fmt: skip


def test_the_dynamic_client(api, namespace):
    services = dynamic.DynamicClient(api).resources.get(api_version="v1", kind="Service")
    applied = services.server_side_apply(body=service(80), name="web", namespace=namespace, field_manager="one")
    assert [entry.manager for entry in applied.metadata.managedFields] == ["one"]
    other = service(81)
    applied = services.server_side_apply(body=other, name="web", namespace=namespace, field_manager="two")
    assert [port.port for port in applied.spec.ports] == [80, 81]  # ports are told apart by number and protocol
    other["spec"]["selector"] = {"app": "other"}
    with pytest.raises(dynamic.exceptions.ConflictError, match=r'conflict with \\"one\\": \.spec\.selector'):
        services.server_side_apply(body=other, name="web", namespace=namespace, field_manager="two")
    forced = services.server_side_apply(
        body=other, name="web", namespace=namespace, field_manager="two", force_conflicts=True
    )
    assert forced.spec.selector.to_dict() == {"app": "other"}
    services.delete(name="web", namespace=namespace)


def test_the_typed_client(api, namespace):
    core = client.CoreV1Api(api)
    kind = {"_content_type": "application/apply-patch+yaml"}
    made = core.patch_namespaced_service("web", namespace, service(80), field_manager="one", **kind)
    assert made.metadata.managed_fields[0].operation == "Apply"
    with pytest.raises(client.ApiException) as caught:
        core.patch_namespaced_service("web", namespace, service(80), **kind)
    assert caught.value.status == 422  # an applier has to give his name
    core.delete_namespaced_service("web", namespace)
