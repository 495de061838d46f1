"""OpenAPI documents: whole, consistent, and as clients read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.errors import ApiError
from kube32_sim.api.openapi import Answer, OpenAPI
from kube32_sim.api.paths import parse, parse_query

OPENAPI = OpenAPI(builtin_table())


def get(path: str, openapi: OpenAPI = OPENAPI, accept: str = "", if_none_match: str = "") -> Answer:
    path, _, query = path.partition("?")
    return openapi.answer(parse("GET", path), parse_query(query), accept, if_none_match)


def document(path: str, openapi: OpenAPI = OPENAPI) -> Any:
    answer = get(path, openapi)
    assert answer.status == 200
    return json.loads(answer.body)


def index(openapi: OpenAPI = OPENAPI) -> dict[str, str]:
    return {name: entry["serverRelativeURL"] for name, entry in document("/openapi/v3", openapi)["paths"].items()}


def schemas(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a document."""
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from schemas(part)
    elif isinstance(value, list):
        for part in value:
            yield from schemas(part)


def test_the_index_lists_what_is_served() -> None:
    names = index()
    assert {"api", "api/v1", "apis", "apis/apps", "apis/apps/v1", "apis/autoscaling/v2", "version"} <= set(names)
    assert get("/openapi/v3").content_type == "text/plain; charset=utf-8"
    for name, url in names.items():
        answer = get(url)
        assert (answer.status, answer.content_type) == (200, "application/json"), name
        assert answer.headers["Cache-Control"] == "public, immutable"


@pytest.mark.parametrize("path", ["/openapi/v2", *(f"/openapi/v3/{name}" for name in index())])
def test_references_lead_somewhere_and_types_are_plain(path: str) -> None:
    whole = document(path)
    known = whole.get("definitions") or whole["components"]["schemas"]
    prefix = "#/definitions/" if "swagger" in whole else "#/components/schemas/"
    for schema in schemas(whole):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            assert reference.startswith(prefix)
            assert reference.removeprefix(prefix) in known
        assert not isinstance(schema.get("type"), list)


def test_operation_ids_are_unique() -> None:
    paths = document("/openapi/v2")["paths"]
    ids = [op["operationId"] for entry in paths.values() for op in entry.values() if isinstance(op, dict)]
    assert len(ids) == len(set(ids))
    assert {
        "createAppsV1NamespacedDeployment",
        "listAppsV1DeploymentForAllNamespaces",
        "readCoreV1NamespacedPodStatus",
        "replaceCoreV1NodeStatus",
        "deleteCoreV1CollectionNamespacedPod",
        "connectCoreV1PostNamespacedPodExec",
        "createRbacAuthorizationV1ClusterRole",
    } <= set(ids)


def test_operations_say_what_kubectl_looks_for() -> None:
    patch = document("/openapi/v3/apis/apps/v1")["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"][
        "patch"
    ]
    assert patch["x-kubernetes-action"] == "patch"
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert {"dryRun", "fieldValidation", "fieldManager", "force"} <= {p["name"] for p in patch["parameters"]}
    assert "application/apply-patch+yaml" in patch["requestBody"]["content"]


def test_schemas_keep_kubernetes_extensions() -> None:
    found = document("/openapi/v3/api/v1")["components"]["schemas"]
    containers = found["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    pod = found["io.k8s.api.core.v1.Pod"]
    assert pod["x-kubernetes-group-version-kind"] == [{"group": "", "version": "v1", "kind": "Pod"}]
    assert pod["properties"]["kind"]["type"] == "string"
    assert "enum" not in pod["properties"]["kind"]
    assert pod["properties"]["spec"]["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}]
    quantity = found["io.k8s.apimachinery.pkg.api.resource.Quantity"]
    assert quantity["oneOf"] == [{"type": "string"}, {"type": "number"}]
    assert document("/openapi/v2")["definitions"]["io.k8s.apimachinery.pkg.api.resource.Quantity"]["type"] == "string"


def test_types_of_fields_are_described() -> None:
    """kubectl explain goes on with the type's own words where a field has said its own."""
    for definition in (document("/openapi/v2")["definitions"], document("/openapi/v3/api/v1")["components"]["schemas"]):
        for name in ("api.resource.Quantity", "util.intstr.IntOrString", "apis.meta.v1.Time", "apis.meta.v1.FieldsV1"):
            assert definition[f"io.k8s.apimachinery.pkg.{name}"]["description"], name


def test_documents_are_cacheable() -> None:
    answer = get("/openapi/v3/apis/apps/v1")
    etag = answer.headers["ETag"]
    assert get("/openapi/v3/apis/apps/v1", if_none_match=etag).status == 304
    assert get("/openapi/v3/apis/apps/v1", if_none_match='"other"').status == 200
    stale = get("/openapi/v3/apis/apps/v1?hash=OLD")
    assert (stale.status, stale.headers["Location"]) == (301, index()["apis/apps/v1"])


@pytest.mark.parametrize("path", ["/openapi", "/openapi/v1", "/openapi/v3/apis/nosuch/v1", "/openapi/v2/x"])
def test_unknown_documents(path: str) -> None:
    assert get(path).status == 404


def test_v3_is_served_as_json_only() -> None:
    assert get("/openapi/v3/api/v1", accept="application/com.github.proto-openapi.spec.v3@v1.0+protobuf").status == 406
    assert get("/openapi/v3", accept="application/com.github.proto-openapi.spec.v3@v1.0+protobuf").status == 200
    with pytest.raises(ApiError):
        OPENAPI.answer(parse("POST", "/openapi/v2"), {})


V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
V2_OLD_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("application/json, */*", "application/json"),
        (V2_PROTOBUF, V2_PROTOBUF),
        (V2_OLD_PROTOBUF, V2_PROTOBUF),
        (f"text/html, {V2_OLD_PROTOBUF}", V2_PROTOBUF),
        (f"application/json;q=0.5,{V2_PROTOBUF};q=0.9", V2_PROTOBUF),
        (f"{V2_PROTOBUF};q=0.1, application/json", "application/json"),
        ("text/html", None),
        ("application/yaml", None),
    ],
)
def test_the_form_of_v2_is_negotiated(accept: str, form: str | None) -> None:
    answer = get("/openapi/v2", accept=accept)
    assert (answer.status, answer.headers["Vary"]) == (200 if form else 406, "Accept")
    assert form is None or answer.content_type == form


def test_what_may_be_kept_for_good_says_so() -> None:
    assert get(index()["apis/apps/v1"]).forever
    assert not get("/openapi/v3/apis/apps/v1").forever
    assert get("/openapi/v3/apis/apps/v1", if_none_match="*").status == 304
    both = {get("/openapi/v2", accept=accept).headers["ETag"] for accept in ("", V2_PROTOBUF)}
    assert len(both) == 1
    assert get("/openapi/v2", accept=V2_PROTOBUF, if_none_match=both.pop()).status == 304


def fields(message: bytes) -> list[tuple[int, Any]]:
    """(number, value) of a protobuf message's fields: bytes, or a number for varints."""
    found, at = [], 0

    def varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(message):
        number, kind = divmod(varint(), 8)
        assert kind in (0, 2)
        value: Any = varint()
        if kind == 2:
            value, at = message[at : at + value], at + value
            assert at <= len(message)
        found.append((number, value))
    return found


def test_the_protobuf_form_of_v2_says_what_the_json_form_says() -> None:
    answer = get("/openapi/v2", accept="application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
    assert answer.content_type == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    whole = fields(answer.body)
    assert whole[0] == (1, b"2.0")
    plain = document("/openapi/v2")["definitions"]
    entries = [dict(fields(entry)) for _, entry in fields(dict(whole)[9])]
    assert [entry[1].decode() for entry in entries] == list(plain)
    named = {entry[1].decode(): fields(entry[2]) for entry in entries}
    for name, schema in plain.items():
        written = named[name]
        properties = [
            dict(fields(entry))[1].decode() for number, each in written if number == 25 for _, entry in fields(each)
        ]
        assert properties == list(schema.get("properties", ()))
        assert [value.decode() for number, value in written if number == 19] == schema.get("required", [])
        values = [json.loads(dict(fields(value))[2]) for number, value in written if number == 20]
        assert values == schema.get("enum", [])
        told = {
            (part := dict(fields(each)))[1].decode(): json.loads(dict(fields(part[2]))[2])
            for n, each in written
            if n == 31
        }
        assert told == {key: value for key, value in schema.items() if key.startswith("x-")}


def test_the_protobuf_form_of_v2_has_the_operations() -> None:
    """kubectl up to 1.26 reads from it which kinds know dryRun and fieldValidation."""
    answer = get("/openapi/v2", accept="application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
    paths = [dict(fields(entry)) for number, entry in fields(dict(fields(answer.body))[8]) if number == 2]
    plain = document("/openapi/v2")["paths"]
    assert [path[1].decode() for path in paths] == list(plain)
    numbers = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
    for path, told in zip(paths, plain.values(), strict=True):
        item = dict(fields(path[2]))
        assert {number for number in item if number != 9} == {numbers[name] for name in told if name != "parameters"}
        for name, operation in told.items():
            if name != "parameters":
                assert operation_of(item[numbers[name]]) == {
                    "names": [parameter["name"] for parameter in operation.get("parameters", ())],
                    "kind": operation.get("x-kubernetes-group-version-kind"),
                    "codes": list(operation["responses"]),
                }


def operation_of(message: bytes) -> dict[str, Any]:
    """What Go clients look for in an Operation."""
    names = []
    found = fields(message)
    for each in (value for number, value in found if number == 8):
        ((kind, parameter),) = fields(dict(fields(each))[1])
        names.append(dict(fields(parameter))[2] if kind == 1 else dict(fields(fields(parameter)[0][1]))[4])
    extensions = [dict(fields(value)) for number, value in found if number == 13]
    told = {entry[1].decode(): json.loads(dict(fields(entry[2]))[2]) for entry in extensions}
    codes = [dict(fields(entry))[1].decode() for _, entry in fields(dict(found)[9])]
    kind = told.get("x-kubernetes-group-version-kind")
    return {"names": [name.decode() for name in names], "kind": kind, "codes": codes}
