"""The shape of a custom resource: what of it is managed by itself, and what only as a whole."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.managed.shapes import FREE_SHAPE, MAP, Shape, custom_shape, shape_of
from kube32_sim.api.structural.embedded import is_embedded
from kube32_sim.api.structural.values import additional, items_of
from kube32_sim.api.structural.visiting import visitor_of

JsonObject = dict[str, Any]

_META: JsonObject = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"$ref": "#/$defs/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
}


def shape_of_object(schema: JsonObject) -> Shape:
    """Of a whole object; its metadata is typed, whatever the schema says of it."""
    if not schema:
        return custom_shape()
    typed = _with_typed_metadata(schema)
    inner = shape_of({key: value for key, value in typed.items() if key != "x-kubernetes-map-type"})
    keeps = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("additionalProperties") is not None
    item = inner.item or FREE_SHAPE if keeps else None
    return Shape(MAP, properties={**(typed.get("properties") or {}), **_META}, item=item)


def _with_typed_metadata(schema: JsonObject) -> JsonObject:
    """A schema whose embedded resources, however deep, have typed metadata; itself where there are none."""
    if visitor_of(schema, is_embedded) is None:
        return schema
    made = dict(schema)
    properties = {name: _with_typed_metadata(each) for name, each in (schema.get("properties") or {}).items()}
    if is_embedded(schema):
        properties |= _META
    if properties:
        made["properties"] = properties
    more, items = additional(schema), items_of(schema)
    if more is not None:
        made["additionalProperties"] = _with_typed_metadata(more)
    if items is not None:
        made["items"] = _with_typed_metadata(items)
    return made
