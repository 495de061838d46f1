"""Custom types and their definitions: when they are served, under which names and versions, and how they end."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import NAMESPACES, Resource
from kube32_sim.cluster import Cluster
from tests.support.definitions import CRDS, custom, definition, object_schema, served, version
from tests.support.objects import MAPS, config_map

JsonObject = dict[str, Any]
WIDGETS = served()
API_SERVICES = Resource("apiregistration.k8s.io", "v1", "apiservices")


async def refused(work: Awaitable[Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await work
    return caught.value


async def define(cluster: Cluster, *versions: JsonObject, **more: Any) -> JsonObject:
    return await cluster.client.create(CRDS, "", definition("widgets", "Widget", *versions, **more))


async def conditions(cluster: Cluster, name: str = "widgets.example.com") -> dict[str, str]:
    crd = await cluster.client.get(CRDS, "", name)
    return {each["type"]: f"{each['status']} {each['reason']}" for each in crd["status"]["conditions"]}


async def test_a_type_is_served_when_the_create_of_its_definition_is_answered(cluster: Cluster) -> None:
    assert (await refused(cluster.client.create(WIDGETS, "default", custom("a")))).code == 404
    await define(cluster)
    made = await cluster.client.create(WIDGETS, "default", custom("a", spec={"n": 1}))
    assert made["spec"] == {"n": 1}
    assert made["metadata"]["generation"] == 1
    assert await conditions(cluster) == {
        "NamesAccepted": "True NoConflicts",
        "Established": "True InitialNamesAccepted",
    }
    assert (await cluster.client.get(API_SERVICES, "", "v1.example.com"))["spec"]["groupPriorityMinimum"] == 1000


async def test_a_definition_goes_with_its_last_object(cluster: Cluster) -> None:
    await define(cluster)
    held = custom("held", metadata={"finalizers": ["example.com/wait"]})
    await cluster.client.create(WIDGETS, "default", held)
    await cluster.client.create(WIDGETS, "default", custom("free"))
    await cluster.client.delete(CRDS, "", "widgets.example.com")
    assert (await conditions(cluster))["Terminating"] == "True InstanceDeletionInProgress"
    assert [each["metadata"]["name"] for each in (await cluster.client.list(WIDGETS)).items] == ["held"]

    error = await refused(cluster.client.create(WIDGETS, "default", custom("late")))
    assert (error.code, error.message) == (
        405,
        "create not allowed while custom resource definition is terminating",
    )
    await cluster.client.patch(WIDGETS, "default", "held", {"metadata": {"finalizers": None}})
    await cluster.settle()
    assert (await refused(cluster.client.get(CRDS, "", "widgets.example.com"))).code == 404
    assert (await refused(cluster.client.list(WIDGETS))).code == 404
    assert (await refused(cluster.client.get(API_SERVICES, "", "v1.example.com"))).code == 404

    assert cluster.registry.table.by_storage(("example.com", "widgets")).custom is None, "its schema is forgotten"

    await define(cluster, scope="Cluster")
    assert (await cluster.client.list(WIDGETS)).items == []
    await cluster.client.create(WIDGETS, "", custom("again"))


async def test_a_definition_whose_finalizers_somebody_takes_away_is_served_no_more(cluster: Cluster) -> None:
    await define(cluster)
    held = custom("held", metadata={"finalizers": ["example.com/wait"]})
    await cluster.client.create(WIDGETS, "default", held)
    await cluster.client.delete(CRDS, "", "widgets.example.com")
    await cluster.client.patch(CRDS, "", "widgets.example.com", {"metadata": {"finalizers": None}})
    assert (await refused(cluster.client.list(WIDGETS))).code == 404


@pytest.mark.parametrize(("plural", "kind"), [("leases", "Rent"), ("rents", "Lease")])
async def test_what_the_server_has_itself_stays_as_it_is(cluster: Cluster, plural: str, kind: str) -> None:
    leases, group = Resource("coordination.k8s.io", "v1", "leases"), "coordination.k8s.io"
    await cluster.client.create(leases, "default", {"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}})
    crd = definition(plural, kind, version(schema=object_schema()), group=group)
    crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, to see what happens"}
    await cluster.client.create(CRDS, "", crd)
    assert (await conditions(cluster, f"{plural}.{group}"))["Established"] == "True InitialNamesAccepted"
    assert (await cluster.client.get(leases, "default", "a"))["spec"] == {"holderIdentity": "me"}
    await cluster.client.delete(CRDS, "", f"{plural}.{group}")
    assert (await refused(cluster.client.get(CRDS, "", f"{plural}.{group}"))).code == 404
    assert (await cluster.client.get(leases, "default", "a"))["kind"] == "Lease"
    lease = cluster.registry.table.by_kind(group, "v1", "Lease")
    assert lease is not None
    assert lease.plural == "leases"


async def test_a_definition_that_somebody_else_holds_goes_on(cluster: Cluster) -> None:
    crd = definition()
    crd["metadata"]["finalizers"] = ["example.com/mine"]
    await cluster.client.create(CRDS, "", crd)
    await cluster.client.create(WIDGETS, "default", custom("a"))
    await cluster.client.delete(CRDS, "", "widgets.example.com")
    assert (await conditions(cluster))["Terminating"] == "False InstanceDeletionCompleted"
    assert (await cluster.client.list(WIDGETS)).items == []
    await cluster.client.create(WIDGETS, "default", custom("b"))


async def test_a_name_that_is_taken_is_had_when_it_becomes_free(cluster: Cluster) -> None:
    await define(cluster, names={"shortNames": ["x"]})
    other = definition("gizmos", "Widget")
    await cluster.client.create(CRDS, "", other)
    assert (await conditions(cluster, "gizmos.example.com"))["NamesAccepted"] == "False ListKindConflict"
    assert (await refused(cluster.client.list(served("gizmos")))).code == 404
    await cluster.client.delete(CRDS, "", "widgets.example.com")
    assert (await conditions(cluster, "gizmos.example.com"))["Established"] == "True InitialNamesAccepted"
    assert (await cluster.client.list(served("gizmos"))).items == []


SPEC = {"type": "object", "properties": {"size": {"type": "integer"}, "color": {"type": "string"}}}
NARROW = {"type": "object", "properties": {"size": {"type": "integer"}}}


async def test_an_object_of_another_version_has_the_defaults_of_the_stored_one(cluster: Cluster) -> None:
    """Upstream adds them when it reads what is stored; those of the version asked for come into what is written."""
    both, text = {"type": "string", "default": "new"}, {"type": "string", "default": "added"}
    old = version("v1beta1", schema=object_schema(spec=object_schema(both={**both, "default": "old"})), stored=False)
    await define(cluster, old, version(schema=object_schema(spec=object_schema(both=both, more=text))))
    written = custom("a", api_version="example.com/v1beta1", spec={})
    assert (await cluster.client.create(served(name="v1beta1"), "default", written))["spec"] == {"both": "old"}
    assert (await cluster.client.get(WIDGETS, "default", "a"))["spec"] == {"both": "old", "more": "added"}


async def test_versions_show_the_same_objects(cluster: Cluster) -> None:
    old = version("v1beta1", schema=object_schema(spec=NARROW), stored=False, deprecated=True)
    await define(cluster, version(schema=object_schema(spec=SPEC)), old)
    await cluster.client.create(WIDGETS, "default", custom("a", spec={"size": 1, "color": "red"}))
    older = await cluster.client.get(served(name="v1beta1"), "default", "a")
    assert (older["apiVersion"], older["spec"]) == ("example.com/v1beta1", {"size": 1})
    older["spec"]["size"] = 2
    changed = await cluster.client.update(served(name="v1beta1"), "default", older)
    assert changed["spec"] == {"size": 2}
    assert (await cluster.client.get(WIDGETS, "default", "a"))["spec"] == {"size": 2}, "lost, as with conversion None"


async def test_a_version_that_is_served_no_more(cluster: Cluster) -> None:
    await define(cluster, version(), version("v2", stored=False))
    await cluster.client.create(served(name="v2"), "default", custom("a", api_version="example.com/v2"))
    crd = await cluster.client.get(CRDS, "", "widgets.example.com")
    crd["spec"]["versions"][0]["served"] = False
    await cluster.client.update(CRDS, "", crd)
    assert (await refused(cluster.client.get(WIDGETS, "default", "a"))).code == 404
    assert (await cluster.client.get(served(name="v2"), "default", "a"))["apiVersion"] == "example.com/v2"
    assert (await refused(cluster.client.get(API_SERVICES, "", "v1.example.com"))).code == 404


async def test_a_new_schema_counts_for_what_is_stored(cluster: Cluster) -> None:
    await define(cluster, version(schema=object_schema(spec=SPEC)))
    before = await cluster.client.create(WIDGETS, "default", custom("a", spec={"size": 1, "color": "red"}))
    crd = await cluster.client.get(CRDS, "", "widgets.example.com")
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"] = {
        "size": {"type": "integer"},
        "more": {"type": "string", "default": "d"},
    }
    await cluster.client.update(CRDS, "", crd)
    after = await cluster.client.get(WIDGETS, "default", "a")
    assert after["spec"] == {"size": 1, "more": "d"}
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"], "nobody has written it"


async def test_selectable_fields_of_what_was_there_before_them(cluster: Cluster) -> None:
    await define(cluster, version(schema=object_schema(spec=SPEC)))
    for name, color in (("a", "red"), ("b", "blue")):
        await cluster.client.create(WIDGETS, "default", custom(name, spec={"color": color}))
    error = await refused(cluster.client.list(WIDGETS, field_selector="spec.color=red"))
    assert error.message == "field label not supported: spec.color"
    crd = await cluster.client.get(CRDS, "", "widgets.example.com")
    crd["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": ".spec.color"}]
    await cluster.client.update(CRDS, "", crd)
    found = await cluster.client.list(WIDGETS, field_selector="spec.color=red")
    assert [each["metadata"]["name"] for each in found.items] == ["a"]


async def test_generation_moves_with_all_that_is_no_status(cluster: Cluster) -> None:
    await define(cluster)
    await cluster.client.create(WIDGETS, "default", custom("a", spec={"n": 1}, status={"s": 1}))
    changed = await cluster.client.patch(WIDGETS, "default", "a", {"status": {"s": 2}})
    assert changed["metadata"]["generation"] == 2, "without a subresource the status is a field like any other"
    await cluster.client.delete(CRDS, "", "widgets.example.com")
    await define(cluster, version(subresources={"status": {}}))
    made = await cluster.client.create(WIDGETS, "default", custom("a", spec={"n": 1}, status={"s": 1}))
    assert "status" not in made
    told = {"metadata": {"labels": {"by": "status"}}, "spec": {"n": 9}, "status": {"s": 2}}
    changed = await cluster.client.patch(WIDGETS, "default", "a", told, subresource="status")
    assert (changed["status"], changed["spec"], changed["metadata"]["generation"]) == ({"s": 2}, {"n": 1}, 1)
    assert "labels" not in changed["metadata"]
    changed = await cluster.client.patch(WIDGETS, "default", "a", {"spec": {"n": 2}, "status": {"s": 3}})
    assert (changed["status"], changed["metadata"]["generation"]) == ({"s": 2}, 2)


async def test_objects_go_with_their_namespace_and_owners() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster:
        await define(cluster)
        await cluster.client.create(NAMESPACES, "", {"metadata": {"name": "ns"}})
        await cluster.client.create(WIDGETS, "ns", custom("inside"))
        owner = await cluster.client.create(WIDGETS, "default", custom("owner"))
        reference = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "owner", "uid": owner["metadata"]["uid"]}
        owned = config_map("owned")
        owned["metadata"]["ownerReferences"] = [reference]
        await cluster.client.create(MAPS, "default", owned)
        below = custom("below", metadata={"ownerReferences": [reference]})
        await cluster.client.create(WIDGETS, "default", below)
        await cluster.client.delete(NAMESPACES, "", "ns")
        await cluster.client.delete(WIDGETS, "default", "owner")
        await cluster.advance("5s")
        assert (await cluster.client.list(WIDGETS)).items == []
        assert (await refused(cluster.client.get(NAMESPACES, "", "ns"))).code == 404
        assert (await refused(cluster.client.get(MAPS, "default", "owned"))).code == 404
        cluster.store.check()


RULED = {
    **SPEC,
    "required": ["size"],
    "x-kubernetes-validations": [
        {"rule": "self.size < 5", "message": "too big"},
        {"rule": "self.size >= oldSelf.size"},
    ],
}


async def test_rules_are_evaluated_unless_something_else_is_wrong(cluster: Cluster) -> None:
    await define(cluster, version(schema=object_schema(spec=RULED)))
    error = await refused(cluster.client.create(WIDGETS, "default", custom("a", spec={"size": 7})))
    assert error.message == 'Widget.example.com "a" is invalid: spec: Invalid value: "object": too big'
    error = await refused(cluster.client.create(WIDGETS, "default", custom("a", spec={"color": "red"})))
    assert "spec.size: Required value" in error.message
    assert "some validation rules were not checked because the object was invalid" in error.message
    await cluster.client.create(WIDGETS, "default", custom("a", spec={"size": 3}))
    error = await refused(cluster.client.patch(WIDGETS, "default", "a", {"spec": {"size": 2}}))
    assert error.message.endswith("failed rule: self.size >= oldSelf.size")
    await cluster.client.patch(WIDGETS, "default", "a", {"spec": {"size": 4}})


async def test_a_rule_that_does_not_compile_is_refused_with_its_definition(cluster: Cluster) -> None:
    rules = [{"rule": "self.nothing == 1"}]
    error = await refused(
        define(cluster, version(schema=object_schema(spec=SPEC | {"x-kubernetes-validations": rules})))
    )
    assert error.code == 422
    assert "compilation failed: ERROR: <input>:1:5: undefined field 'nothing'" in error.message
    assert (await refused(cluster.client.list(WIDGETS))).code == 404


async def test_defaults_that_multiply_are_refused(cluster: Cluster) -> None:
    fields = {f"f{number}": {"type": "string", "default": "x"} for number in range(100)}
    items = {"type": "array", "items": {"type": "object", "properties": fields}}
    await define(cluster, version(schema=object_schema(items=items)))
    error = await refused(cluster.client.create(WIDGETS, "default", custom("a", items=[{}] * 50_000)))
    assert (error.code, error.message) == (413, "the object would be too large with its defaults")
    await cluster.client.create(WIDGETS, "default", custom("a", items=[{}] * 1000))


async def test_an_embedded_object_that_is_none_is_refused(cluster: Cluster) -> None:
    inner = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    await define(cluster, version(schema=object_schema(spec=object_schema(inner=inner))))
    bad = custom("a", spec={"inner": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": 5}}})
    assert (await refused(cluster.client.create(WIDGETS, "default", bad))).code == 400
