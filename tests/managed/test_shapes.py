"""What the schemas say is managed as a whole, by keys, or field by field."""

from __future__ import annotations

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.managed.manager import empty, shape_of_row
from kube32_sim.api.managed.shapes import FREE, KEYED, LEAF, MAP, SET, custom_shape, shape_of

TABLE = builtin_table()


def shape_at(kind, path):
    row = next(row for row in TABLE if row.kind == kind and row.stored)
    shape = shape_of_row(row)
    for name in path.split("."):
        shape = shape.item if name == "*" else shape.child(name)
    return shape


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        ("Pod", "spec.containers", KEYED),
        ("Pod", "spec.containers.*.command", LEAF),
        ("Pod", "spec.containers.*.resources.limits", MAP),
        ("Pod", "spec.nodeSelector", LEAF),
        ("Pod", "spec.tolerations", LEAF),
        ("Pod", "spec.hostAliases", KEYED),
        ("Pod", "metadata.labels", MAP),
        ("Pod", "metadata.finalizers", SET),
        ("Pod", "metadata.ownerReferences.*", LEAF),
        ("Pod", "spec.initContainers.*.resources.claims", KEYED),
        ("Deployment", "spec.selector", LEAF),
        ("Node", "spec.podCIDRs", SET),
        ("Node", "status.capacity", MAP),
        ("Service", "spec.selector", LEAF),
        ("PersistentVolume", "spec.claimRef", MAP),
        ("RoleBinding", "subjects", LEAF),
        ("ConfigMap", "data", MAP),
    ],
)
def test_the_kind_of_a_field(kind, path, expected):
    assert shape_at(kind, path).kind == expected


def test_ports_are_tcp_where_they_do_not_say():
    ports = shape_at("Pod", "spec.containers.*.ports")
    assert (ports.keys, ports.defaults) == (("containerPort", "protocol"), {"protocol": "TCP"})


def test_every_stored_kind_has_a_shape_and_an_empty_object():
    for row in TABLE:
        if row.stored:
            assert shape_of_row(row).kind == MAP
            assert empty(row)["metadata"] == {}


def test_a_schema_may_contain_itself():
    props = shape_at("CustomResourceDefinition", "spec.versions").kind
    assert props == LEAF  # atomic; what is in it is never walked


def test_custom_resources_are_free_but_for_their_metadata():
    shape = custom_shape()
    assert shape.child("spec").kind == FREE
    assert shape.child("metadata").child("finalizers").kind == SET


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, MAP),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-map-type": "atomic"}, LEAF),
        ({"x-kubernetes-int-or-string": True}, LEAF),
        ({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}, SET),
        ({"type": "array", "items": {"type": "string"}}, LEAF),
    ],
)
def test_schemas_of_custom_resources(schema, kind):
    assert shape_of(schema).kind == kind


def test_defaults_of_keys_come_from_the_schema():
    item = {"type": "object", "properties": {"port": {"type": "integer"}, "net": {"type": "string", "default": "udp"}}}
    listed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "net"]}
    assert shape_of({**listed, "items": item}).defaults == {"net": "udp"}
