"""What definitions of the simulator's own types are made of, in the form of `schema.all_definitions`."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]

GROUP = "sim.kube32.io"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
PREFIX = "io.kube32.sim.v1alpha1"

META = "io.k8s.apimachinery.pkg.apis.meta.v1"


def flag(description: str) -> JsonObject:
    return {"description": description, "type": ["boolean", "null"]}


def number(description: str) -> JsonObject:
    return {"description": description, "format": "int32", "type": ["integer", "null"]}


def text(description: str) -> JsonObject:
    return {"description": description, "type": ["string", "null"]}


def reference(key: str, description: str) -> JsonObject:
    return {"$ref": f"#/$defs/{key}", "description": description}


def own(name: str, description: str) -> JsonObject:
    return reference(f"{PREFIX}.{name}", description)


def part(description: str, properties: JsonObject) -> JsonObject:
    return {"description": description, "properties": properties, "type": ["object", "null"]}


def kind(name: str, description: str, **parts: JsonObject) -> JsonObject:
    identity = {
        "apiVersion": {**text("Which version of which group the object is written in."), "enum": [API_VERSION]},
        "kind": {**text("What the object is."), "enum": [name]},
        "metadata": reference(f"{META}.ObjectMeta", "Standard metadata."),
    }
    named = [{"group": GROUP, "kind": name, "version": VERSION}]
    return {**part(description, {**identity, **parts}), "x-kubernetes-group-version-kind": named}


def list_of(name: str) -> JsonObject:
    items = {"description": "The objects.", "items": {"$ref": f"#/$defs/{PREFIX}.{name}"}, "type": "array"}
    made = kind(f"{name}List", f"A list of objects of kind {name}.", items=items)
    made["properties"]["metadata"] = reference(f"{META}.ListMeta", "Standard metadata of lists.")
    return {**made, "required": ["items"]}
