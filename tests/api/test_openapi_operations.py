"""What OpenAPI documents say about operations, fields and their values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.openapi import OpenAPI, enums
from kube32_sim.api.paths import parse, resolve
from kube32_sim.api.schema import all_definitions, json_type

TABLE = builtin_table()
OPENAPI = OpenAPI(TABLE)
POD = "/api/v1/namespaces/{namespace}/pods/{name}"


def document(path: str) -> Any:
    return json.loads(OPENAPI.answer(parse("GET", path), {}).body)


def paths(name: str) -> Any:
    return document(f"/openapi/{name}")["paths"]


def names(told: Any) -> list[str]:
    return [parameter["name"] for parameter in told.get("parameters", ())]


def properties(name: str, key: str) -> Any:
    found = document(f"/openapi/{name}")
    schemas = found.get("definitions") or found["components"]["schemas"]
    return schemas[key]["properties"]


@pytest.mark.parametrize("name", ["v2", "v3/api/v1"])
def test_what_all_operations_of_a_path_take_is_said_once(name: str) -> None:
    pods = paths(name)["/api/v1/namespaces/{namespace}/pods"]
    assert names(pods) == ["namespace", "pretty"]
    assert [each for each in names(pods["post"]) if each != "body"] == ["dryRun", "fieldManager", "fieldValidation"]
    assert "pretty" not in names(pods["get"])
    everywhere = paths(name)["/api/v1/pods"]
    assert names(everywhere["get"]) == []
    assert {"labelSelector", "watch", "sendInitialEvents", "pretty"} <= set(names(everywhere))
    eviction = paths(name)[f"{POD}/eviction"]
    assert names(eviction) == ["dryRun", "fieldManager", "fieldValidation", "name", "namespace", "pretty"]
    assert names(eviction["post"]) == (["body"] if name == "v2" else [])


@pytest.mark.parametrize(
    ("path", "method", "codes"),
    [
        (POD, "get", ["200", "401"]),
        (POD, "put", ["200", "201", "401"]),
        (POD, "patch", ["200", "201", "401"]),
        (POD, "delete", ["200", "202", "401"]),
        ("/api/v1/namespaces/{namespace}/pods", "post", ["200", "201", "202", "401"]),
        ("/api/v1/namespaces/{namespace}/pods", "delete", ["200", "401"]),
        (f"{POD}/exec", "post", ["200", "401"]),
    ],
)
def test_how_operations_may_answer(path: str, method: str, codes: list[str]) -> None:
    for name in ("v2", "v3/api/v1"):
        assert list(paths(name)[path][method]["responses"]) == codes


def test_deleting_answers_with_the_object_where_its_kind_does() -> None:
    def answered(path: str) -> str:
        schema: str = paths("v2")[path]["delete"]["responses"]["200"]["schema"]["$ref"]
        return schema.rpartition(".")[2]

    assert answered(POD) == "Pod"
    assert answered("/api/v1/namespaces/{namespace}/configmaps/{name}") == "Status"
    assert answered("/api/v1/namespaces/{name}") == "Status"


def test_old_watch_paths() -> None:
    told = paths("v3/api/v1")
    ids = {
        "/api/v1/watch/pods": "watchCoreV1PodListForAllNamespaces",
        "/api/v1/watch/namespaces/{namespace}/pods": "watchCoreV1NamespacedPodList",
        "/api/v1/watch/namespaces/{namespace}/pods/{name}": "watchCoreV1NamespacedPod",
        "/api/v1/watch/nodes": "watchCoreV1NodeList",
        "/api/v1/watch/nodes/{name}": "watchCoreV1Node",
    }
    assert {path: told[path]["get"]["operationId"] for path in ids} == ids
    one = told["/api/v1/watch/namespaces/{namespace}/pods/{name}"]["get"]
    assert one["x-kubernetes-action"] == "watch"
    assert told["/api/v1/watch/pods"]["get"]["x-kubernetes-action"] == "watchlist"
    answer = one["responses"]["200"]["content"]["application/json;stream=watch"]["schema"]
    assert answer["$ref"].endswith(".WatchEvent")


def test_requests_that_are_handed_on() -> None:
    told = paths("v3/api/v1")
    assert names(told[f"{POD}/exec"]) == [
        "command", "container", "name", "namespace", "stderr", "stdin", "stdout", "tty"
    ]  # fmt: skip
    proxy = told[f"{POD}/proxy/{{path}}"]
    assert set(proxy) - {"parameters"} == {"get", "head", "options", "post", "put", "patch", "delete"}
    assert proxy["head"]["operationId"] == "connectCoreV1HeadNamespacedPodProxyWithPath"
    log = told[f"{POD}/log"]
    assert {"follow", "tailLines", "previous", "sinceSeconds", "pretty"} <= set(names(log))
    assert log["get"]["responses"]["200"]["content"]["text/plain"]["schema"] == {"type": "string"}


def test_forms_of_patches_and_of_answers() -> None:
    for name, path in (("v2", POD), ("v3/api/v1", POD)):
        patch = paths(name)[path]["patch"]
        taken = patch["consumes"] if name == "v2" else list(patch["requestBody"]["content"])
        assert taken == [
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
        ]
    listing = paths("v2")["/api/v1/nodes"]["get"]
    assert "application/json;stream=watch" in listing["produces"]
    assert "application/vnd.kubernetes.protobuf" in listing["produces"]


def test_every_path_is_one_that_is_served() -> None:
    for path, told in paths("v2").items():
        methods = {"head": "GET", "options": "GET"}
        for method in set(told) - {"parameters"}:
            info = parse(methods.get(method, method.upper()), path.replace("{", "").replace("}", ""))
            if info.kind == "resource":
                resolve(TABLE, info)


def test_the_documents_of_versions_and_groups() -> None:
    told = paths("v2")
    ids = {
        "/api/": "getCoreAPIVersions",
        "/apis/": "getAPIVersions",
        "/apis/apps/": "getAppsAPIGroup",
        "/apis/apps/v1/": "getAppsV1APIResources",
        "/version/": "getCodeVersion",
    }
    assert {path: told[path]["get"]["operationId"] for path in ids} == ids
    for name in ("api", "apis", "apis/apps", "version"):
        ((path, entry),) = paths(f"v3/{name}").items()
        assert entry["get"]["operationId"] == ids[path]


def test_documents_have_the_definitions_that_they_refer_to_and_no_others() -> None:
    reviews = document("/openapi/v3/apis/authentication.k8s.io/v1")["components"]["schemas"]
    kinds = {key.rpartition(".")[2] for key in reviews}
    assert {"TokenReview", "TokenReviewStatus", "UserInfo", "ObjectMeta", "APIResourceList"} <= kinds
    assert kinds.isdisjoint(("DeleteOptions", "Patch", "Status", "TokenReviewList"))


def test_only_v3_states_defaults() -> None:
    container = properties("v3/api/v1", "io.k8s.api.core.v1.Container")
    assert container["name"]["default"] == ""
    assert container["resources"]["default"] == {}
    assert container["resources"]["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.ResourceRequirements"}]
    assert "default" not in container["lifecycle"]
    assert "default" not in container["image"]
    assert container["args"]["items"] == {"type": "string", "default": ""}
    assert container["env"]["items"]["default"] == {}
    assert properties("v3/api/v1", "io.k8s.api.core.v1.ServicePort")["protocol"]["default"] == "TCP"
    pod = properties("v3/api/v1", "io.k8s.api.core.v1.Pod")
    assert [pod[name]["default"] for name in ("metadata", "spec", "status")] == [{}, {}, {}]
    deployment = properties("v3/apis/apps/v1", "io.k8s.api.apps.v1.DeploymentSpec")
    assert "default" not in deployment["selector"]
    assert deployment["template"]["default"] == {}
    meta = properties("v3/api/v1", "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
    assert "default" not in meta["creationTimestamp"]
    assert meta["labels"]["additionalProperties"] == {"type": "string", "default": ""}
    resources = properties("v3/api/v1", "io.k8s.api.core.v1.ResourceRequirements")
    assert list(resources["limits"]["additionalProperties"]) == ["$ref"]
    for schema in document("/openapi/v2")["definitions"].values():
        assert not any("default" in each for each in schema.get("properties", {}).values())


@pytest.mark.parametrize("name", ["v2", "v3/api/v1"])
def test_fields_of_fixed_values_name_them(name: str) -> None:
    policy = properties(name, "io.k8s.api.core.v1.PodSpec")["restartPolicy"]
    assert policy["enum"] == ["Always", "Never", "OnFailure"]
    assert policy["description"].endswith('\n\nPossible enum values:\n - `"Always"`\n - `"Never"`\n - `"OnFailure"`')
    modes = properties(name, "io.k8s.api.core.v1.PersistentVolumeClaimSpec")["accessModes"]
    assert modes["items"]["enum"] == ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]
    assert properties(name, "io.k8s.api.core.v1.HostPathVolumeSource")["type"]["enum"][0] == ""


def test_every_field_with_fixed_values_exists() -> None:
    kinds: dict[str, dict[str, Any]] = {}
    for key, schema in all_definitions().items():
        group, _, kind = key.rsplit(".", 3)[-3:]
        for name in (kind, f"{group}.{kind}"):
            kinds.setdefault(name, {}).update(schema.get("properties", {}))
    for table, wanted in ((enums.FIELDS, "string"), (enums.LISTS, "array")):
        for kind, field in table:
            assert json_type(kinds[kind][field]) == wanted, (kind, field)
