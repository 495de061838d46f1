"""What OpenAPI documents say about custom types: the rules of apiextensions-apiserver, one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.openapi import OpenAPI
from kube32_sim.api.openapi.custom import definitions_of, published
from kube32_sim.api.openapi.schemas import Flavour
from kube32_sim.api.paths import parse, parse_query
from kube32_sim.api.resources import ResourceTable, ResourceType, Subresource

META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
PRESERVES = "x-kubernetes-preserve-unknown-fields"
KIND = {"group": "example.com", "version": "v1", "kind": "Widget"}


def crd(schema: Any, *, list_kind: str = "WidgetList", **spec: Any) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if schema is None:
        del version["schema"]
    names = {"kind": "Widget", "listKind": list_kind, "plural": "widgets", "singular": "widget"}
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version], **spec},
    }


class Stored:
    """CustomResourceDefinitions as a test has them."""

    def __init__(self, *crds: dict[str, Any]) -> None:
        self.crds = list(crds)
        self.asked = 0

    def all(self) -> dict[Hashable, Callable[[], dict[str, Any]]]:
        return {id(each): partial(self._load, each) for each in self.crds}

    def _load(self, definition: dict[str, Any]) -> dict[str, Any]:
        self.asked += 1
        return definition


def made(schema: Any, flavour: Flavour, **spec: Any) -> Any:
    """The definition of Widget."""
    (each,) = published(crd(schema, **spec)).values()
    return definitions_of(each, flavour)["com.example.v1.Widget"]


def field(schema: dict[str, Any], flavour: Flavour) -> Any:
    """What becomes of one field."""
    return made({"type": "object", "properties": {"it": schema}}, flavour)["properties"]["it"]


def get(path: str, openapi: OpenAPI) -> Any:
    path, _, query = path.partition("?")
    answer = openapi.answer(parse("GET", path), parse_query(query))
    assert answer.status == 200, path
    return json.loads(answer.body)


def widget() -> ResourceType:
    return ResourceType(
        group="example.com",
        version="v1",
        kind="Widget",
        plural="widgets",
        singular="widget",
        namespaced=True,
        schema="",
        subresources=(
            Subresource("scale", ("get", "patch", "update"), "Scale", "autoscaling", "v1"),
            Subresource("status", ("get", "patch", "update"), "Widget"),
        ),
        storage=("example.com", "widgets"),
        names_in_list=True,
    )


SIZED = {"type": "object", "properties": {"size": {"type": "integer", "maximum": 5}}}


def test_definitions_are_named_by_the_group_reversed() -> None:
    (each,) = published(crd(SIZED, list_kind="WidgetSet")).values()
    for flavour, prefix in ((2, "#/definitions/"), (3, "#/components/schemas/")):
        found = definitions_of(each, flavour)  # type: ignore[arg-type]
        assert list(found) == ["com.example.v1.Widget", "com.example.v1.WidgetSet"]
        whole, listing = found.values()
        assert whole["x-kubernetes-group-version-kind"] == [KIND]
        assert whole["properties"]["size"] == {"type": "integer", "maximum": 5}
        assert set(whole["properties"]) == {"apiVersion", "kind", "metadata", "size"}
        assert listing["x-kubernetes-group-version-kind"] == [{**KIND, "kind": "WidgetSet"}]
        assert listing["required"] == ["items"]
        assert listing["properties"]["items"]["items"] == {"$ref": f"{prefix}com.example.v1.Widget"}
    assert made(SIZED, 3)["properties"]["metadata"]["allOf"] == [{"$ref": f"#/components/schemas/{META}"}]
    assert made(SIZED, 2)["properties"]["metadata"]["$ref"] == f"#/definitions/{META}"


def test_only_served_versions_are_published() -> None:
    definition = crd(SIZED)
    definition["spec"]["versions"] += [
        {"name": "v2", "served": False, "storage": False, "schema": {"openAPIV3Schema": SIZED}},
        {"name": "v3", "served": True, "storage": False, "schema": {"openAPIV3Schema": SIZED}},
    ]
    assert [version for _, version, _ in published(definition)] == ["v1", "v3"]


def test_what_is_not_established_is_not_published() -> None:
    definition = crd(SIZED)
    for status, count in (("False", 0), ("True", 1)):
        definition["status"] = {"conditions": [{"type": "NamesAccepted", "status": status}]}
        assert len(published(definition)) == 1
        definition["status"]["conditions"].append({"type": "Established", "status": status})
        assert len(published(definition)) == count


@pytest.mark.parametrize("flavour", [2, 3])
def test_without_a_schema_no_field_is_listed(flavour: Flavour) -> None:
    """kubectl would take the list for a complete one."""
    assert made(None, flavour) == {"type": "object", "x-kubernetes-group-version-kind": [KIND]}


def test_where_unknown_fields_are_kept_v2_lists_none() -> None:
    bare = {"type": "object", "x-kubernetes-group-version-kind": [KIND]}
    keeping = {**SIZED, PRESERVES: True}
    assert made(keeping, 2) == bare
    assert made(SIZED, 2, preserveUnknownFields=True) == bare
    assert made(keeping, 3)[PRESERVES] is True
    assert "size" in made(keeping, 3)["properties"]
    inner = {"type": "object", "description": "x", PRESERVES: True, "properties": {"a": {"type": "string"}}}
    assert field(inner, 2) == {"description": "x", PRESERVES: True}
    assert field(inner, 3) == inner
    kept = {"type": "array", PRESERVES: True, "items": {"type": "string"}}
    assert field(kept, 2) == {PRESERVES: True}


def test_what_may_be_null_has_no_type_in_v2() -> None:
    nullable = {"type": "object", "nullable": True, "properties": {"a": {"type": "string"}}, "maxProperties": 3}
    assert field(nullable, 2) == {"maxProperties": 3}
    assert field(nullable, 3) == nullable
    assert field({"type": "array", "nullable": True, "items": {"type": "string"}}, 2) == {}
    whole = {
        "type": "object",
        "required": ["a", "b"],
        "properties": {"a": {"type": "string", "nullable": True}, "b": {"type": "string"}},
    }
    assert field(whole, 2)["required"] == ["b"]
    assert field(whole, 3)["required"] == ["a", "b"]
    values = {"type": "object", "required": ["a"], "additionalProperties": {"type": "string", "nullable": True}}
    assert field(values, 2) == {"type": "object", "additionalProperties": {}}


def test_alternatives_and_defaults_are_not_in_v2() -> None:
    schema = {
        "type": "integer",
        "default": 0,
        "minimum": 0,
        "anyOf": [{"minimum": 1}, {"maximum": 3}],
        "allOf": [{"maximum": 9}],
        "oneOf": [{"enum": [0, 1]}],
        "not": {"enum": [7]},
        "x-kubernetes-validations": [{"rule": "self < 5", "message": "too large"}],
    }
    assert field(schema, 3) == schema
    kept = ("type", "minimum", "x-kubernetes-validations")
    assert field(schema, 2) == {name: schema[name] for name in kept}
    deep = {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "string", "default": "x"}}}}
    assert field(deep, 2)["properties"]["list"]["items"] == {"type": "string"}


def test_int_or_string_is_spelled_out_in_v3() -> None:
    either = [{"type": "integer"}, {"type": "string"}]
    mark = {"x-kubernetes-int-or-string": True}
    assert field(mark, 2) == mark
    assert field(mark, 3) == {**mark, "anyOf": either}
    assert field({**mark, "anyOf": either}, 3) == {**mark, "anyOf": either}
    assert field({**mark, "allOf": [{"anyOf": either}]}, 3) == {**mark, "allOf": [{"anyOf": either}]}
    others = [{"maximum": 1}, {"pattern": "x"}]
    assert field({**mark, "anyOf": others}, 3) == {**mark, "anyOf": others, "allOf": [{"anyOf": either}]}


def test_objects_within_have_the_fields_of_objects() -> None:
    inner = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "string"}}}
    for flavour in (2, 3):
        found = field(inner, flavour)  # type: ignore[arg-type]
        assert set(found["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
        assert found["required"] == ["kind", "apiVersion"]
    keeping = {**inner, PRESERVES: True}
    assert "properties" not in field(keeping, 2)
    assert "metadata" in field(keeping, 3)["properties"]
    listed = {"type": "array", "items": inner}
    assert "metadata" in field(listed, 3)["items"]["properties"]


def test_what_is_no_part_of_a_structural_schema_is_left_out() -> None:
    assert field({"type": "string", "example": "x", "nullable": False, "uniqueItems": False}, 3) == {"type": "string"}
    assert field({"type": "string", "default": "", "enum": ["", "a"]}, 3)["default"] == ""
    assert field({"type": "object", "additionalProperties": False}, 3)["additionalProperties"] is False
    named = {"type": "object", "properties": {"default": {"type": "string"}, "$ref": {"type": "string"}}}
    assert field(named, 3) == named
    assert field(named, 2) == named


def nested(depth: int, name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"x-kubernetes-int-or-string": True, "x-kubernetes-embedded-resource": True}
    for _ in range(depth):
        schema = {"type": "object", name: {"a": schema} if name == "properties" else [schema]}
    return schema


@pytest.mark.parametrize(
    ("schema", "published_as"),
    [
        ({"type": "array", "items": [{"type": "string"}]}, None),
        ({"type": "array", "items": None}, None),
        (nested(110, "allOf"), None),
        (nested(98, "allOf"), "allOf"),
        (nested(98, "properties"), "properties"),
        ({"type": "string", "minLength": -5, "maxLength": 2**63 - 1, "minimum": 1e308}, "minLength"),
        ({"type": "object", "default": {"$ref": "#/components/schemas/nowhere"}}, "default"),
    ],
)
def test_no_definition_keeps_the_others_from_being_told(schema: Any, published_as: str | None) -> None:
    """Whatever is stored, the documents can be made; what no schema can be is not told of."""
    openapi = OpenAPI(ResourceTable(), Stored(crd({"type": "object", "properties": {"it": schema}})))
    protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    assert openapi.answer(parse("GET", "/openapi/v2"), {}, protobuf).status == 200
    for flavour, path in ((2, "/openapi/v2"), (3, "/openapi/v3/apis/example.com/v1")):
        whole = get(path, openapi)
        found = whole["definitions"] if flavour == 2 else whole["components"]["schemas"]
        listed = found["com.example.v1.Widget"].get("properties", {})
        assert ("it" in listed) == (published_as is not None)
        if flavour == 3 and published_as is not None:
            assert published_as in listed["it"]


def test_schemas_of_stored_definitions_are_there_before_they_are_served() -> None:
    stored = Stored()
    table = builtin_table()
    openapi = OpenAPI(table, stored)
    before = get("/openapi/v3", openapi)["paths"]
    stored.crds.append(crd(SIZED))
    after = get("/openapi/v3", openapi)["paths"]
    assert after.keys() - before.keys() == {"apis/example.com/v1"}
    assert {name: after[name] for name in before} == before
    whole = get(after["apis/example.com/v1"]["serverRelativeURL"], openapi)
    assert whole["info"] == {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
    assert whole["paths"] == {}
    assert {"com.example.v1.Widget", "com.example.v1.WidgetList", META} <= set(whole["components"]["schemas"])
    assert "com.example.v1.Widget" in get("/openapi/v2", openapi)["definitions"]
    stored.crds.clear()
    assert get("/openapi/v3", openapi)["paths"] == before
    assert "com.example.v1.Widget" not in get("/openapi/v2", openapi)["definitions"]


def test_documents_are_made_anew_only_where_something_changed() -> None:
    other = crd(SIZED, group="other.example")
    stored = Stored(crd(SIZED), other)
    openapi = OpenAPI(builtin_table(), stored)
    for path in ("/openapi/v3", "/openapi/v3", "/openapi/v3/apis/example.com/v1", "/openapi/v2"):
        get(path, openapi)
    assert stored.asked == 2
    core = openapi.answer(parse("GET", "/openapi/v3/api/v1"), {}).body
    hashes = get("/openapi/v3", openapi)["paths"]
    stored.crds[0] = crd({"type": "object", "properties": {"colour": {"type": "string"}}})
    assert openapi.answer(parse("GET", "/openapi/v3/api/v1"), {}).body is core
    now = get("/openapi/v3", openapi)["paths"]
    assert [name for name in now if now[name] != hashes[name]] == ["apis/example.com/v1"]
    assert stored.asked == 3
    found = get("/openapi/v2", openapi)["definitions"]["com.example.v1.Widget"]["properties"]
    assert "colour" in found
    assert "size" not in found


def test_custom_types_that_are_served_have_paths() -> None:
    table = builtin_table()
    openapi = OpenAPI(table, Stored(crd(SIZED, list_kind="WidgetSet")))
    table.add(widget())
    for path in ("/openapi/v2", "/openapi/v3/apis/example.com/v1"):
        paths = {path: each for path, each in get(path, openapi)["paths"].items() if "example.com" in path}
        one = "/apis/example.com/v1/namespaces/{namespace}/widgets"
        assert set(paths) == {
            one, f"{one}/{{name}}", f"{one}/{{name}}/scale", f"{one}/{{name}}/status", "/apis/example.com/v1/widgets"
        }  # fmt: skip
        patch = paths[f"{one}/{{name}}"]["patch"]
        taken = patch.get("consumes") or list(patch["requestBody"]["content"])
        assert "application/strategic-merge-patch+json" not in taken
        assert "application/apply-patch+yaml" in taken
        assert patch["x-kubernetes-group-version-kind"] == KIND
        assert paths[one]["get"]["operationId"] == "listExampleComV1NamespacedWidget"
        listed = json.dumps(paths[one]["get"]["responses"]["200"])
        assert "com.example.v1.WidgetSet" in listed
        assert "protobuf" not in json.dumps(paths)
    whole = get("/openapi/v3/apis/example.com/v1", openapi)["components"]["schemas"]
    assert "io.k8s.api.autoscaling.v1.Scale" in whole
    index = get("/openapi/v3", openapi)["paths"]
    assert "apis/example.com" not in index


def test_a_custom_type_that_is_served_without_a_definition_is_an_object() -> None:
    table = builtin_table()
    openapi = OpenAPI(table)
    before = get("/openapi/v3", openapi)["paths"]
    table.add(widget())
    after = get("/openapi/v3", openapi)["paths"]
    assert {name: after[name] for name in before} == before
    whole = get("/openapi/v3/apis/example.com/v1", openapi)["components"]["schemas"]
    assert whole["com.example.v1.Widget"] == {"type": "object", "x-kubernetes-group-version-kind": [KIND]}
