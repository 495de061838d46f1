"""The OpenAPI definitions and what they say about fields."""

from __future__ import annotations

import sys

import pytest

from kube32_sim.api import schema

POD_SPEC = "io.k8s.api.core.v1.PodSpec"


def test_definitions_are_read_without_importing_the_package() -> None:
    sys.modules.pop("kubernetes_validate", None)
    schema.all_definitions.cache_clear()
    assert "io.k8s.api.core.v1.Pod" in schema.all_definitions()
    assert "kubernetes_validate" not in sys.modules


@pytest.mark.parametrize(
    ("gvk", "key"),
    [
        (("", "v1", "Pod"), "io.k8s.api.core.v1.Pod"),
        (("apps", "v1", "Deployment"), "io.k8s.api.apps.v1.Deployment"),
        (("policy", "v1", "Eviction"), "io.k8s.api.policy.v1.Eviction"),
        (("storage.k8s.io", "v1", "DeleteOptions"), "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"),
        (("apps", "v1", "Pod"), None),
    ],
)
def test_kinds_have_a_definition(gvk: tuple[str, str, str], key: str | None) -> None:
    assert schema.key_for(*gvk) == key
    assert schema.is_registered(*gvk) is (key is not None)


def test_what_a_list_says() -> None:
    containers = schema.properties(POD_SPEC)["containers"]
    assert schema.json_type(containers) == "array"
    assert schema.list_type(containers) == "map"
    assert schema.list_map_keys(containers) == ("name",)
    assert schema.patch_merge_key(containers) == "name"
    assert schema.patch_strategies(containers) == {"merge"}
    volumes = schema.properties(POD_SPEC)["volumes"]
    assert schema.patch_strategies(volumes) == {"merge", "retainKeys"}


def test_what_a_plain_list_says() -> None:
    args = schema.properties("io.k8s.api.core.v1.Container")["args"]
    assert schema.list_type(args) == "atomic"
    assert schema.list_map_keys(args) == ()
    assert schema.patch_merge_key(args) is None
    assert schema.patch_strategies(args) == frozenset()


def test_references_resolve() -> None:
    affinity = schema.properties(POD_SPEC)["affinity"]
    assert schema.reference(affinity) == "io.k8s.api.core.v1.Affinity"
    assert "nodeAffinity" in schema.resolved(affinity)["properties"]
    assert schema.resolved({"type": "string"}) == {"type": "string"}
    assert schema.short_name("io.k8s.api.core.v1.Affinity") == "v1.Affinity"


def test_an_unknown_definition_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        schema.definition("io.k8s.nothing")
