"""CustomResourceDefinitions for tests, small and valid."""

from __future__ import annotations

from typing import Any

from kube32_sim.client import Resource

JsonObject = dict[str, Any]

CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
GROUP = "example.com"


def object_schema(**properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties}


ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def version(name: str = "v1", *, schema: JsonObject | None = None, stored: bool = True, **more: Any) -> JsonObject:
    schema = object_schema(spec=ANYTHING, status=ANYTHING) if schema is None else schema
    return {"name": name, "served": True, "storage": stored, "schema": {"openAPIV3Schema": schema}, **more}


def definition(
    plural: str = "widgets",
    kind: str = "Widget",
    *versions: JsonObject,
    group: str = GROUP,
    scope: str = "Namespaced",
    names: JsonObject | None = None,
) -> JsonObject:
    spec = {
        "group": group,
        "scope": scope,
        "names": {"plural": plural, "kind": kind, **(names or {})},
        "versions": list(versions) or [version()],
    }
    return {"metadata": {"name": f"{plural}.{group}"}, "spec": spec}


def served(plural: str = "widgets", name: str = "v1", group: str = GROUP) -> Resource:
    return Resource(group, name, plural)


def custom(name: str, kind: str = "Widget", api_version: str = f"{GROUP}/v1", **parts: Any) -> JsonObject:
    metadata = {"name": name, **parts.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}
