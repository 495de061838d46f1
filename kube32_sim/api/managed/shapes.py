"""What of an object is managed by itself, and what only as a whole: compiled from OpenAPI schemas.

A shape is of one of five kinds:

    LEAF   a scalar, or a list or map that is managed as a whole (`x-kubernetes-list-type: atomic`, which is what a list
           is that says nothing; `x-kubernetes-map-type: atomic`)
    MAP    a struct (`fields`), a map (`item`), or both
    KEYED  a list of objects told apart by `keys`
    SET    a list of scalars told apart by their values
    FREE   no schema: maps are MAPs of FREE, everything else is a LEAF

What a list or map that is managed as a whole may consist of is told too (`item`, `fields`): it is checked all the same.
The definitions' shapes are made when first asked for and kept; a struct may contain itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from kube32_sim.api import schema
from kube32_sim.api.managed.fieldset import field

JsonObject = dict[str, Any]

LEAF, MAP, KEYED, SET, FREE = range(5)

_PREFIX = "io.k8s.apimachinery.pkg."
_SCALARS = frozenset(
    _PREFIX + name
    for name in ("api.resource.Quantity", "util.intstr.IntOrString", "apis.meta.v1.Time", "apis.meta.v1.MicroTime")
)
_KEY_DEFAULTS = {
    ("io.k8s.api.core.v1.ContainerPort", "protocol"): "TCP",
    ("io.k8s.api.core.v1.ServicePort", "protocol"): "TCP",
    ("io.k8s.api.core.v1.LocalObjectReference", "name"): "",
}
"""What a key is that an item leaves out: the definitions that we have do not tell."""


class Shape:
    """kind: see the module.  expects: what a LEAF must be: `string`, `number`, `boolean`, `scalar`, `list`, `map`, or
    "" for anything.  elements: room for the path elements of items, by their keys' values.
    """

    __slots__ = ("_fields", "_properties", "defaults", "elements", "expects", "item", "keys", "kind")

    def __init__(
        self,
        kind: int,
        *,
        expects: str = "",
        properties: Mapping[str, JsonObject] | None = None,
        item: Shape | None = None,
        keys: tuple[str, ...] = (),
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        self.kind = kind
        self.expects = expects
        self.item = item
        self.keys = keys
        self.defaults = defaults or {}
        self.elements: dict[Any, str] = {}
        self._properties = properties or {}
        self._fields: dict[str, tuple[str, Shape]] | None = None

    @property
    def fields(self) -> dict[str, tuple[str, Shape]]:
        """name -> (path element, shape) of the fields of a struct."""
        found = self._fields
        if found is None:
            found = {name: (field(name), shape_of(schema)) for name, schema in self._properties.items()}
            self._fields = found
        return found

    def child(self, name: str) -> Shape | None:
        """The shape of what is under a name in a MAP; None: nothing may be there."""
        entry = self.fields.get(name)
        return self.item if entry is None else entry[1]


FREE_SHAPE = Shape(FREE)
ANYTHING = Shape(LEAF)
_LEAVES = {name: Shape(LEAF, expects=name) for name in ("string", "number", "boolean", "scalar")}
_LEAF_OF = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}


def shape_of(found: JsonObject) -> Shape:
    """The shape of a field by its OpenAPI schema, which may refer to a definition."""
    key = schema.reference(found)
    for part in found.get("allOf", ()):
        key = key or schema.reference(part)
    map_type = found.get("x-kubernetes-map-type")
    if key is None:
        return _inline(found, map_type)
    if map_type is None:
        return shape_of_definition(key)
    return _inline(schema.definition(key), map_type)


@cache
def shape_of_definition(key: str) -> Shape:
    """The shape of a definition such as `io.k8s.api.core.v1.Pod`; KeyError where there is none."""
    if key in _SCALARS:
        return _LEAVES["scalar"]
    definition = schema.definition(key)
    if not definition.get("properties") and "additionalProperties" not in definition:
        return ANYTHING
    return _inline(definition, definition.get("x-kubernetes-map-type"))


def _inline(found: JsonObject, map_type: str | None) -> Shape:
    if found.get("x-kubernetes-int-or-string"):
        return _LEAVES["scalar"]
    kind = schema.json_type(found)
    if kind in _LEAF_OF:
        return _LEAVES[_LEAF_OF[kind]]
    if kind == "array":
        return _list(found)
    if kind not in ("object", None):
        return ANYTHING
    made = _map(found)
    if map_type == "atomic":
        return Shape(
            LEAF,
            expects="map",
            properties=found.get("properties"),
            item=FREE_SHAPE if made is FREE_SHAPE else made.item,
        )
    return made


def _map(found: JsonObject) -> Shape:
    properties, more = found.get("properties"), found.get("additionalProperties")
    item = shape_of(more) if isinstance(more, dict) and more else None
    if item is None and (more is not None or found.get("x-kubernetes-preserve-unknown-fields")):
        item = FREE_SHAPE
    if not properties and (item is None or (item is FREE_SHAPE and schema.json_type(found) is None)):
        return FREE_SHAPE
    return Shape(MAP, properties=properties, item=item)


def _list(found: JsonObject) -> Shape:
    kind, item = schema.list_type(found), found.get("items") or {}
    if kind == "set":
        return Shape(SET, item=shape_of(item))
    if kind != "map":
        return Shape(LEAF, expects="list", item=shape_of(item))
    keys, properties = schema.list_map_keys(found), schema.resolved(item).get("properties", {})
    defaults = {}
    for name in keys:
        if "default" in properties.get(name, {}):
            defaults[name] = properties[name]["default"]
        elif (schema.reference(item) or "", name) in _KEY_DEFAULTS:
            defaults[name] = _KEY_DEFAULTS[schema.reference(item) or "", name]
    return Shape(KEYED, item=shape_of(item), keys=keys, defaults=defaults)


@cache
def custom_shape() -> Shape:
    """A custom resource whose schema nobody told: its metadata is typed, the rest is as it is."""
    meta = {"$ref": f"#/$defs/{_PREFIX}apis.meta.v1.ObjectMeta"}
    text = {"type": "string"}
    return Shape(MAP, properties={"apiVersion": text, "kind": text, "metadata": meta}, item=FREE_SHAPE)
