"""lightkube, a typed client: list, watch, patches, server-side apply, subresources, delete."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lightkube import ApiError, Client, KubeConfig, codecs
from lightkube.models.core_v1 import Container, PodSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Node, Pod
from lightkube.types import CascadeType, PatchType

from tests.support.servers import Server

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
"""


@pytest.fixture
def client(full_server: Server, namespace: str) -> Iterator[Client]:
    made = Client(KubeConfig.from_file(str(full_server.kubeconfig)), namespace=namespace, field_manager="lightkube")
    yield made
    made.close()


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, labels={"app": "test"}), data=data)


def test_objects_from_creation_to_deletion(client):
    made = client.create(config_map("a", led="1"))
    assert [each.metadata.name for each in client.list(ConfigMap, labels={"app": "test"})] == ["a"]
    made.data["led"] = "2"
    replaced = client.replace(made)
    assert replaced.metadata.resourceVersion != made.metadata.resourceVersion
    with pytest.raises(ApiError) as caught:
        client.replace(made)
    assert (caught.value.status.code, caught.value.status.reason) == (409, "Conflict")
    assert client.patch(ConfigMap, "a", {"data": {"x": "y"}}, patch_type=PatchType.MERGE).data == {"led": "2", "x": "y"}
    steps = [{"op": "remove", "path": "/data/x"}]
    assert client.patch(ConfigMap, "a", steps, patch_type=PatchType.JSON).data == {"led": "2"}
    assert client.patch(ConfigMap, "a", {"metadata": {"labels": {"b": "c"}}}).metadata.labels["b"] == "c"
    client.delete(ConfigMap, "a")
    with pytest.raises(ApiError, match='configmaps "a" not found'):
        client.get(ConfigMap, "a")
    assert {each.metadata.name for each in client.list(Node)} == {"esp32-0", "esp32-1"}


def test_apply_on_the_server(client):
    (web,) = codecs.load_all_yaml(WEB)
    assert isinstance(client.apply(web), Deployment)
    web.spec.template.spec.containers[0].image = "web:2"
    with pytest.raises(ApiError) as caught:
        client.apply(web, field_manager="other")
    assert caught.value.status.code == 409
    assert 'conflict with "lightkube"' in caught.value.status.message
    applied = client.apply(web, field_manager="other", force=True)
    managers = [entry.manager for entry in applied.metadata.managedFields if entry.operation == "Apply"]
    assert sorted(managers) == ["lightkube", "other"]
    assert (
        client.patch(Deployment.Scale, "web", {"spec": {"replicas": 2}}, patch_type=PatchType.MERGE).spec.replicas == 2
    )
    assert client.get(Deployment.Scale, "web").status.selector == "app=web"
    client.delete(Deployment, "web", cascade=CascadeType.FOREGROUND)


def test_a_watch_follows_a_pod(client):
    pod = Pod(metadata=ObjectMeta(name="one"), spec=PodSpec(containers=[Container(name="led", image="blinky:1")]))
    made = client.create(pod)
    phases = []
    for event, each in client.watch(Pod, resource_version=made.metadata.resourceVersion):
        phases.append((event, each.status.phase))
        if each.status.phase == "Running":
            break
    assert {event for event, _ in phases} == {"MODIFIED"}
    client.wait(Pod, "one", for_conditions=["Ready"])
    client.deletecollection(Pod)
