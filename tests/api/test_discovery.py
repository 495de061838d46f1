"""Discovery documents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.discovery import Discovery, groups_in_order, version_document
from kube32_sim.api.errors import ApiError
from kube32_sim.api.media import PLAIN, Accepted
from kube32_sim.api.paths import parse
from kube32_sim.api.resources import ResourceTable, ResourceType, Subresource

AGGREGATED = Accepted("discovery", "v2")
CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def get(discovery: Discovery, path: str, accepted: Accepted = PLAIN) -> Any:
    return json.loads(discovery.answer(parse("GET", path), accepted).body)


@pytest.fixture
def table() -> ResourceTable:
    return builtin_table()


def widget(version: str = "v1", group: str = "example.com") -> ResourceType:
    return ResourceType(
        group=group,
        version=version,
        kind="Widget",
        plural="widgets",
        singular="widget",
        namespaced=True,
        schema="",
        short_names=("wd",),
        verbs=CUSTOM_VERBS,
        subresources=(Subresource("status", ("get", "patch", "update"), "Widget"),),
        storage=(group, "widgets"),
        names_in_list=True,
    )


def test_core(table: ResourceTable) -> None:
    document = get(Discovery(table), "/api/v1")
    assert "apiVersion" not in document
    assert (document["kind"], document["groupVersion"]) == ("APIResourceList", "v1")
    names = [entry["name"] for entry in document["resources"]]
    assert names[:4] == ["bindings", "componentstatuses", "configmaps", "endpoints"]
    entries = {entry["name"]: entry for entry in document["resources"]}
    assert entries["pods"] == {
        "name": "pods",
        "singularName": "pod",
        "namespaced": True,
        "kind": "Pod",
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        "shortNames": ["po"],
        "categories": ["all"],
        "storageVersionHash": "xPOwRZ+Yhw8=",
    }
    assert entries["serviceaccounts/token"] == {
        "name": "serviceaccounts/token",
        "singularName": "",
        "namespaced": True,
        "group": "authentication.k8s.io",
        "version": "v1",
        "kind": "TokenRequest",
        "verbs": ["create"],
    }
    assert "shortNames" not in entries["secrets"]
    without = {name for name, entry in entries.items() if "storageVersionHash" not in entry and "/" not in name}
    assert without == {"bindings", "componentstatuses"}
    assert not any("storageVersionHash" in entry for name, entry in entries.items() if "/" in name)


def test_the_storage_version_is_that_of_the_stored_type(table: ResourceTable) -> None:
    """Two versions, two groups, one storage: one hash."""
    discovery = Discovery(table)

    def hash_of(path: str, name: str) -> str:
        resources = get(discovery, path)["resources"]
        return next(entry["storageVersionHash"] for entry in resources if entry["name"] == name)

    events = [hash_of(path, "events") for path in ("/api/v1", "/apis/events.k8s.io/v1")]
    assert events == ["r2yiGXH7wu8="] * 2
    scalers = [hash_of(f"/apis/autoscaling/{version}", "horizontalpodautoscalers") for version in ("v1", "v2")]
    assert scalers == ["qwQve8ut294="] * 2
    assert hash_of("/apis/apps/v1", "deployments") == "8aSe+NMegvE="


def test_what_nobody_may_write_has_no_verbs_for_it(table: ResourceTable) -> None:
    computed = {("", "endpoints"), ("discovery.k8s.io", "endpointslices")}
    discovery = Discovery(table, read_only=computed)
    core = {entry["name"]: entry for entry in get(discovery, "/api/v1")["resources"]}
    assert core["endpoints"]["verbs"] == ["get", "list", "watch"]
    assert "create" in core["services"]["verbs"]
    items = get(discovery, "/apis", AGGREGATED)["items"]
    (group,) = [item for item in items if item["metadata"]["name"] == "discovery.k8s.io"]
    (slices,) = group["versions"][0]["resources"]
    assert slices["verbs"] == ["get", "list", "watch"]


def test_groups(table: ResourceTable) -> None:
    discovery = Discovery(table)
    groups = get(discovery, "/apis")["groups"]
    assert [group["name"] for group in groups][:3] == ["apiregistration.k8s.io", "apps", "events.k8s.io"]
    autoscaling = get(discovery, "/apis/autoscaling")
    assert autoscaling["apiVersion"] == "v1"
    assert autoscaling["preferredVersion"] == {"groupVersion": "autoscaling/v2", "version": "v2"}
    assert [version["version"] for version in autoscaling["versions"]] == ["v2", "v1"]
    assert get(discovery, "/apis/apps/v1")["apiVersion"] == "v1"


def test_api_names_the_servers_address(table: ResourceTable) -> None:
    document = get(Discovery(table, "127.0.0.1:6443"), "/api")
    assert document["versions"] == ["v1"]
    assert document["serverAddressByClientCIDRs"] == [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}]


def test_aggregated(table: ResourceTable) -> None:
    discovery = Discovery(table)
    core = get(discovery, "/api", AGGREGATED)
    assert (core["kind"], core["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    assert [item["metadata"] for item in core["items"]] == [{}]
    pods = next(r for r in core["items"][0]["versions"][0]["resources"] if r["resource"] == "pods")
    assert pods["responseKind"] == {"group": "", "version": "", "kind": "Pod"}
    assert pods["subresources"][3] == {
        "subresource": "eviction",
        "responseKind": {"group": "policy", "version": "v1", "kind": "Eviction"},
        "verbs": ["create"],
    }
    apis = get(discovery, "/apis", Accepted("discovery", "v2beta1"))
    assert apis["apiVersion"] == "apidiscovery.k8s.io/v2beta1"
    assert [item["metadata"]["name"] for item in apis["items"]][:2] == ["apiregistration.k8s.io", "apps"]
    assert apis["items"][1]["versions"][0]["freshness"] == "Current"


def test_custom_types_come_and_go(table: ResourceTable) -> None:
    discovery = Discovery(table)
    before = discovery.answer(parse("GET", "/apis"), AGGREGATED)
    assert discovery.answer(parse("GET", "/apis"), AGGREGATED) is before
    row = widget()
    table.add(row)
    assert get(discovery, "/apis/example.com/v1") == {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": "example.com/v1",
        "resources": [
            {
                "name": "widgets",
                "singularName": "widget",
                "namespaced": True,
                "kind": "Widget",
                "verbs": list(CUSTOM_VERBS),
                "shortNames": ["wd"],
                "storageVersionHash": "gIwvi5rymmg=",
            },
            {
                "name": "widgets/status",
                "singularName": "",
                "namespaced": True,
                "kind": "Widget",
                "verbs": ["get", "patch", "update"],
            },
        ],
    }
    item = get(discovery, "/apis", AGGREGATED)["items"][-1]
    assert item["versions"][0]["resources"][0]["responseKind"] == {
        "group": "example.com",
        "version": "v1",
        "kind": "Widget",
    }
    table.remove(row)
    assert discovery.answer(parse("GET", "/apis"), AGGREGATED) == before


def test_order_of_custom_groups_and_versions(table: ResourceTable) -> None:
    for version in ("v1alpha1", "v1beta1", "v1", "other", "v2", "v1beta2"):
        table.add(widget(version, "zebra.example"))
    table.add(widget("v1", "ant.example"))
    groups = groups_in_order(table)
    assert list(groups)[-2:] == ["ant.example", "zebra.example"]
    assert groups["zebra.example"] == ["v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "other"]


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/apis/nosuch.example", 404),
        ("GET", "/apis/apps/v9", 404),
        ("GET", "/api/v2", 404),
        ("POST", "/api", 405),
        ("DELETE", "/apis/apps/v1", 405),
    ],
)
def test_what_there_is_not(table: ResourceTable, method: str, path: str, code: int) -> None:
    with pytest.raises(ApiError) as caught:
        Discovery(table).answer(parse(method, path), PLAIN)
    assert caught.value.code == code


def test_etags_tell_documents_apart(table: ResourceTable) -> None:
    discovery = Discovery(table)
    tags = {
        discovery.answer(parse("GET", path), form).etag for path in ("/api", "/apis") for form in (PLAIN, AGGREGATED)
    }
    assert len(tags) == 4
    assert all(tag.startswith('"') and tag.endswith('"') for tag in tags)


def test_version() -> None:
    document = version_document()
    assert document["gitVersion"].startswith("v1.36.")
    assert document["gitVersion"].endswith("+kube32-sim")
    assert (document["major"], document["minor"], document["minCompatibilityMinor"]) == ("1", "36", "35")
    assert all(isinstance(value, str) for value in document.values())
