"""The official Python client: create, list, watch, patch, delete; its dynamic client and its informer."""

from __future__ import annotations

import queue
from collections.abc import Iterator

import pytest
from kubernetes import client, config, dynamic, watch
from kubernetes.informer import ADDED, DELETED, MODIFIED, SharedInformer

from tests.support.servers import Server
from tests.support.waiting import PATIENCE, until


@pytest.fixture
def api(full_server: Server) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(full_server.kubeconfig)) as made:
        yield made


@pytest.fixture
def core(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


def config_map(name: str, **data: str) -> client.V1ConfigMap:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"app": "test"}), data=data)


def pod(name: str) -> client.V1Pod:
    return client.V1Pod(
        metadata=client.V1ObjectMeta(name=name, annotations={"sim.kube32.io/log": "LED on"}),
        spec=client.V1PodSpec(containers=[client.V1Container(name="c", image="i")]),
    )


def test_objects_from_creation_to_deletion(core, namespace):
    made = core.create_namespaced_config_map(namespace, config_map("a", led="1"))
    assert made.metadata.uid
    read = core.read_namespaced_config_map("a", namespace)
    assert read.data == {"led": "1"}
    read.data["led"] = "2"
    replaced = core.replace_namespaced_config_map("a", namespace, read)
    assert int(replaced.metadata.resource_version) > int(made.metadata.resource_version)
    with pytest.raises(client.ApiException) as caught:
        core.replace_namespaced_config_map("a", namespace, made)
    assert (caught.value.status, caught.value.reason) == (409, "Conflict")
    patched = core.patch_namespaced_config_map("a", namespace, {"data": {"pin": "4"}})
    assert patched.data == {"led": "2", "pin": "4"}
    assert [
        item.metadata.name for item in core.list_namespaced_config_map(namespace, label_selector="app=test").items
    ] == ["a"]
    core.delete_namespaced_config_map("a", namespace)
    with pytest.raises(client.ApiException) as caught:
        core.read_namespaced_config_map("a", namespace)
    assert caught.value.status == 404


def test_watch_from_a_list_tells_what_happened_since(core, namespace):
    core.create_namespaced_config_map(namespace, config_map("before"))
    start = core.list_namespaced_config_map(namespace, label_selector="app=test")
    assert [item.metadata.name for item in start.items] == ["before"]
    core.create_namespaced_config_map(namespace, config_map("a"))
    core.patch_namespaced_config_map("a", namespace, {"data": {"x": "y"}})
    core.delete_namespaced_config_map("a", namespace)
    stream = watch.Watch().stream(
        core.list_namespaced_config_map,
        namespace,
        label_selector="app=test",
        resource_version=start.metadata.resource_version,
        timeout_seconds=1,
    )
    assert [(event["type"], event["object"].metadata.name) for event in stream] == [
        ("ADDED", "a"),
        ("MODIFIED", "a"),
        ("DELETED", "a"),
    ]


def test_watch_follows_a_pod_until_it_runs(core, namespace):
    core.create_namespaced_pod(namespace, pod("blinky"))
    watcher = watch.Watch()
    for event in watcher.stream(core.list_namespaced_pod, namespace, timeout_seconds=20):
        if event["object"].status.phase == "Running":
            watcher.stop()
    running = core.read_namespaced_pod("blinky", namespace)
    assert running.status.container_statuses[0].ready
    assert running.status.pod_ip
    assert core.read_namespaced_pod_log("blinky", namespace) == "LED on\n"


def test_workloads_and_their_subresources(api, core, namespace):
    apps = client.AppsV1Api(api)
    template = client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(labels={"app": "web"}), spec=pod("x").spec)
    spec = client.V1DeploymentSpec(
        replicas=1, selector=client.V1LabelSelector(match_labels={"app": "web"}), template=template
    )
    apps.create_namespaced_deployment(
        namespace, client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)
    )
    apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 2}})
    assert apps.read_namespaced_deployment_scale("web", namespace).status.selector == "app=web"
    until(lambda: apps.read_namespaced_deployment("web", namespace).status.ready_replicas == 2, "two ready pods")
    assert len(core.list_namespaced_pod(namespace, label_selector="app=web").items) == 2
    apps.delete_namespaced_deployment("web", namespace)
    until(lambda: not core.list_namespaced_pod(namespace).items, "no pods")


def test_lists_come_in_pages(core, namespace):
    for number in range(5):
        core.create_namespaced_config_map(namespace, config_map(f"c{number}"))
    names, token, pages = [], None, 0
    while token != "":
        page = core.list_namespaced_config_map(namespace, label_selector="app=test", limit=2, _continue=token)
        names += [item.metadata.name for item in page.items]
        token, pages = page.metadata._continue or "", pages + 1
    assert names == [f"c{number}" for number in range(5)]
    assert pages == 3


# Not the events of events.k8s.io: their eventTime is null where a recorder of the old kind wrote them, on a real
# cluster too, and the client takes that badly.
LISTS = [
    (client.CoreV1Api, "list_pod_for_all_namespaces"),
    (client.CoreV1Api, "list_service_for_all_namespaces"),
    (client.CoreV1Api, "list_endpoints_for_all_namespaces"),
    (client.CoreV1Api, "list_event_for_all_namespaces"),
    (client.CoreV1Api, "list_node"),
    (client.CoreV1Api, "list_namespace"),
    (client.CoreV1Api, "list_service_account_for_all_namespaces"),
    (client.CoreV1Api, "list_persistent_volume"),
    (client.AppsV1Api, "list_deployment_for_all_namespaces"),
    (client.AppsV1Api, "list_daemon_set_for_all_namespaces"),
    (client.BatchV1Api, "list_job_for_all_namespaces"),
    (client.CoordinationV1Api, "list_lease_for_all_namespaces"),
    (client.DiscoveryV1Api, "list_endpoint_slice_for_all_namespaces"),
    (client.NetworkingV1Api, "list_ingress_for_all_namespaces"),
    (client.RbacAuthorizationV1Api, "list_role_for_all_namespaces"),
    (client.StorageV1Api, "list_storage_class"),
    (client.SchedulingV1Api, "list_priority_class"),
    (client.PolicyV1Api, "list_pod_disruption_budget_for_all_namespaces"),
    (client.AutoscalingV2Api, "list_horizontal_pod_autoscaler_for_all_namespaces"),
    (client.CertificatesV1Api, "list_certificate_signing_request"),
    (client.AdmissionregistrationV1Api, "list_validating_webhook_configuration"),
    (client.ApiextensionsV1Api, "list_custom_resource_definition"),
    (client.FlowcontrolApiserverV1Api, "list_flow_schema"),
]


@pytest.mark.parametrize(("group", "method"), LISTS, ids=[method for _, method in LISTS])
def test_no_list_upsets_the_client(api, core, namespace, group, method):
    """The client raises where a list that its model requires is null."""
    core.create_namespaced_service(namespace, client.V1Service(
        metadata=client.V1ObjectMeta(name="nobody"),
        spec=client.V1ServiceSpec(selector={"app": "nobody"}, ports=[client.V1ServicePort(port=80)]),
    ))  # fmt: skip
    assert isinstance(getattr(group(api), method)().items, list)


def test_discovery_of_every_group_is_readable(api):
    assert {"apps", "batch", "coordination.k8s.io"} <= {
        group.name for group in client.ApisApi(api).get_api_versions().groups
    }
    assert client.CoreApi(api).get_api_versions().versions == ["v1"]
    assert any(resource.name == "pods/log" for resource in client.CoreV1Api(api).get_api_resources().resources)
    assert client.VersionApi(api).get_code().git_version.startswith("v1.36.")


def test_dynamic_client(api, namespace):
    config_maps = dynamic.DynamicClient(api).resources.get(api_version="v1", kind="ConfigMap")
    body = {"metadata": {"name": "a", "labels": {"app": "test"}}, "data": {"led": "1"}}
    made = config_maps.create(body=body, namespace=namespace)
    assert made.data.led == "1"
    patched = config_maps.patch(
        name="a", namespace=namespace, body={"data": {"led": "2"}}, content_type="application/merge-patch+json"
    )
    assert patched.data.led == "2"
    assert [item.metadata.name for item in config_maps.get(namespace=namespace, label_selector="app=test").items] == [
        "a"
    ]
    seen = config_maps.watch(namespace=namespace, name="a", timeout=1)
    assert [(event["type"], event["object"].data.led) for event in seen] == [("ADDED", "2")]
    config_maps.delete(name="a", namespace=namespace)
    with pytest.raises(dynamic.exceptions.NotFoundError):
        config_maps.get(name="a", namespace=namespace)


def test_dynamic_client_finds_resources_by_name_and_scales(api, namespace):
    dynamic_client = dynamic.DynamicClient(api)
    assert dynamic_client.resources.get(api_version="apps/v1", name="deployments").kind == "Deployment"
    nodes = dynamic_client.resources.get(api_version="v1", kind="Node").get()
    assert {"esp32-0", "esp32-1"} <= {node.metadata.name for node in nodes.items}
    assert nodes.items[0].status.nodeInfo.kubeletVersion.startswith("v1.36.")


def test_informer_keeps_a_cache_in_step(core, namespace):
    core.create_namespaced_config_map(namespace, config_map("before"))
    informer = SharedInformer(core.list_namespaced_config_map, namespace=namespace, label_selector="app=test")
    heard: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
    for kind in (ADDED, MODIFIED, DELETED):
        informer.add_event_handler(kind, lambda obj, kind=kind: heard.put((kind, obj.metadata.name)))
    informer.start()
    try:
        assert heard.get(timeout=PATIENCE) == (ADDED, "before")
        core.create_namespaced_config_map(namespace, config_map("a"))
        core.patch_namespaced_config_map("a", namespace, {"data": {"x": "y"}})
        core.delete_namespaced_config_map("before", namespace)
        events = [heard.get(timeout=PATIENCE) for _ in range(3)]
        assert events == [(ADDED, "a"), (MODIFIED, "a"), (DELETED, "before")]
        assert [item.metadata.name for item in informer.cache.list()] == ["a"]
        assert informer.cache.get_by_key(f"{namespace}/a").data == {"x": "y"}
    finally:
        informer.stop()
