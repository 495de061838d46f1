"""The built-in rows: complete, consistent with the schema definitions, and as a 1.36 server has them."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api import own
from kube32_sim.api.builtin import builtin_table, deprecation, plural_of
from kube32_sim.api.meta import at, field_reader, field_text, object_key
from kube32_sim.api.resources import ResourceType
from kube32_sim.api.schema import all_definitions, key_for, kinds

TABLE = builtin_table()


def row(group: str, plural: str, version: str = "v1") -> ResourceType:
    found = TABLE.by_path(group, version, plural)
    assert found is not None
    return found


NOT_SERVED = {"APIGroup", "APIVersions", "Status", "Scale", "TokenRequest", "Eviction"}
"""Stable kinds that are answers or subresources, not types with a path of their own."""


def test_every_stable_kind_of_the_definitions_is_served() -> None:
    stable = {
        kind
        for kind, key in kinds().items()
        if "alpha" not in kind[1]
        and "beta" not in kind[1]
        and key.rpartition(".")[2] == kind[2]
        and len(all_definitions()[key]["x-kubernetes-group-version-kind"]) == 1
        and not kind[2].endswith("List")
        and kind[2] not in NOT_SERVED
    }
    assert stable == {(r.group, r.version, r.kind) for r in TABLE if r.group != own.GROUP}


def test_every_row_has_its_definition() -> None:
    for r in TABLE:
        assert r.schema == key_for(r.group, r.version, r.kind)
        if "list" in r.verbs:
            assert f"{r.schema}List" in all_definitions()
        if r.subresource("status") is not None:
            assert "status" in all_definitions()[r.schema]["properties"]


def test_two_views_share_one_storage() -> None:
    assert TABLE.by_storage(("", "events")) is row("", "events")
    assert row("events.k8s.io", "events").storage == ("", "events")
    assert TABLE.by_storage(("autoscaling", "horizontalpodautoscalers")).version == "v2"
    assert row("autoscaling", "horizontalpodautoscalers").storage == ("autoscaling", "horizontalpodautoscalers")
    assert not row("authorization.k8s.io", "subjectaccessreviews").stored


def test_pods() -> None:
    pods = row("", "pods")
    assert pods.indexed == ("spec.nodeName",)
    assert set(pods.indexed) <= set(pods.fields)
    assert pods.generation
    eviction = pods.subresource("eviction")
    assert eviction is not None
    assert (eviction.kind, eviction.group, eviction.verbs) == ("Eviction", "policy", ("create",))


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Pod", "pods"),
        ("Endpoints", "endpoints"),
        ("NetworkPolicy", "networkpolicies"),
        ("Ingress", "ingresses"),
        ("PriorityClass", "priorityclasses"),
        ("IPAddress", "ipaddresses"),
    ],
)
def test_plurals(kind: str, plural: str) -> None:
    assert plural_of(kind) == plural


def test_deprecated_types_say_so() -> None:
    text = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    assert deprecation(row("", "endpoints")) == text
    assert deprecation(row("", "pods")) is None


def test_tables_are_independent() -> None:
    one, other = builtin_table(), builtin_table()
    pods = one.by_path("", "v1", "pods")
    assert pods is not None
    one.remove(pods)
    assert other.by_path("", "v1", "pods") is not None


def field_values(row: ResourceType, obj: Any) -> dict[str, str]:
    return dict(zip(row.fields, field_reader(row)(obj), strict=True))


def test_field_values() -> None:
    node = field_values(row("", "nodes"), {"spec": {}})
    assert node == {"spec.unschedulable": "false"}
    assert field_values(row("", "nodes"), {"spec": {"unschedulable": True}}) == {"spec.unschedulable": "true"}
    assert field_values(row("", "secrets"), {"type": "Opaque"}) == {"type": "Opaque"}
    assert field_values(row("batch", "jobs"), {"status": {"succeeded": 3}}) == {"status.successful": "3"}
    assert field_values(row("", "configmaps"), {"data": {}}) == {}
    pod = {"spec": {"nodeName": "n", "hostNetwork": True}, "status": {"podIPs": [{"ip": "10.0.0.1"}]}}
    values = field_values(row("", "pods"), pod)
    assert (values["spec.nodeName"], values["spec.hostNetwork"], values["status.phase"]) == ("n", "true", "")
    assert values["status.podIPs"] == ""
    for event, source in (
        ({"source": {"component": "kubelet"}, "reportingComponent": "c"}, "kubelet"),
        ({"source": {}, "reportingComponent": "c"}, "c"),
    ):
        assert field_values(row("", "events"), event)["source"] == source


def test_small_helpers() -> None:
    assert object_key(row("", "pods"), "ns", "p") == "ns/p"
    assert object_key(row("", "nodes"), "", "n") == "n"
    assert at({"a": {"b": 1}}, "a.b") == 1
    assert at({"a": []}, "a.b") is None
    assert [field_text(v) for v in ("x", True, 5, None, [])] == ["x", "true", "5", "", ""]
