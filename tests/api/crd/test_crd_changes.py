"""Changes of CustomResourceDefinitions: what stays, what may stay bad, and writes of their status."""

from __future__ import annotations

import copy

import pytest

from kube32_sim.api.builtin import builtin_table
from tests.api.crd_objects import AT, LOWER, change_refusals, crd, stored, version, with_fields
from tests.api.strategy_objects import changed

SCHEMA_2 = {"type": "object", "properties": {"a": {"type": "string"}}}
IMMUTABLE = "field is immutable"


@pytest.mark.parametrize(
    ("spec", "free", "established"),
    [
        ({"scope": "Cluster"}, [], [f'spec.scope: Invalid value: "Cluster": {IMMUTABLE}']),
        (
            {"names": {"plural": "widgets", "kind": "Gadget"}},
            [],
            [f'spec.names.kind: Invalid value: "Gadget": {IMMUTABLE}'],
        ),
        ({"group": "other.example.com"}, *[[f'spec.group: Invalid value: "other.example.com": {IMMUTABLE}']] * 2),
        (
            {"names": {"plural": "gadgets", "kind": "Widget"}},
            *[[f'spec.names.plural: Invalid value: "gadgets": {IMMUTABLE}']] * 2,
        ),
    ],
)
def test_what_stays(spec, free, established) -> None:
    assert change_refusals(stored(crd()), crd(**spec)) == free
    assert change_refusals(stored(crd(), "Established"), crd(**spec)) == established


def test_a_new_storage_version_is_one_that_things_are_stored_in() -> None:
    old = stored(crd())
    both = crd(versions=[version(storage=False), version("v2", SCHEMA_2, storage=True)])
    obj, failures = changed(old, both)
    assert failures == []
    assert obj["status"]["storedVersions"] == ["v1", "v2"]
    assert old["status"]["storedVersions"] == ["v1"]
    assert obj["metadata"]["generation"] == 2
    assert change_refusals(obj, crd(versions=[version("v2", SCHEMA_2, storage=True)])) == [
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage '
        "version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 "
        "and removes v1 from status.storedVersions"
    ]
    migrated = obj | {"status": obj["status"] | {"storedVersions": ["v2"]}}
    assert change_refusals(migrated, crd(versions=[version("v2", SCHEMA_2, storage=True)])) == []


def _put_into(old, schema):
    """The stored definition with a schema that no request could bring there any more."""
    obj = copy.deepcopy(old)
    obj["spec"]["versions"][0]["schema"] = schema if schema is None else {"openAPIV3Schema": schema}
    return obj


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "odd"}}},
        {
            "type": "object",
            "properties": {
                "a": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}},
            },
        },
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {"type": "object", "properties": {"k": {"type": "string"}}},
                },
            },
        },
    ],
)
def test_what_was_bad_before_may_stay(schema) -> None:
    body = crd(schema, names={"plural": "widgets", "kind": "Widget", "shortNames": ["w"]})
    assert change_refusals(stored(crd()), body)
    assert change_refusals(_put_into(stored(crd()), schema), body) == []


def test_a_definition_that_lacks_a_schema_needs_one_for_what_it_serves() -> None:
    old = _put_into(stored(crd()), None)
    body = crd(versions=[version() | {"schema": None}])
    why = "because otherwise all fields are pruned"
    assert change_refusals(old, body) == [f"spec.versions[0].schema.openAPIV3Schema: Required value: {why}"]
    body["spec"]["versions"][0]["served"] = False
    assert change_refusals(old, body) == []


def test_preserving_everything_may_stay() -> None:
    old = stored(crd())
    old["spec"] |= {"preserveUnknownFields": True}
    assert change_refusals(old, crd(preserveUnknownFields=True)) == []
    assert len(change_refusals(stored(crd()), crd(preserveUnknownFields=True))) == 1


def test_approval_is_asked_of_who_changes_it() -> None:
    def body(value: str | None):
        annotations = {} if value is None else {"api-approved.kubernetes.io": value}
        return crd(group="x.k8s.io") | {"metadata": {"name": "widgets.x.k8s.io", "annotations": annotations}}

    old = stored(body("unapproved, for now"))
    assert change_refusals(old, body("unapproved, still")) == []
    assert len(change_refusals(old, body(None))) == 1
    missing = old | {"metadata": {key: value for key, value in old["metadata"].items() if key != "annotations"}}
    assert change_refusals(missing, body(None)) == []


def test_a_change_that_changes_nothing_is_no_new_generation() -> None:
    obj, failures = changed(stored(crd()), crd())
    assert (failures, obj["metadata"]["generation"]) == ([], 1)


def test_only_formats_that_are_new_are_told() -> None:
    row = builtin_table().by_kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    assert row is not None
    old = stored(with_fields(a={"type": "string", "format": "odd"}))
    new = stored(with_fields(a={"type": "string", "format": "odd"}, b={"type": "string", "format": "new"}))
    assert row.strategy.warnings(new, old, None) == ['unrecognized format "new"']


def test_a_status_write_brings_conditions_names_and_versions() -> None:
    old = stored(crd())
    condition = {"type": "Established", "status": "True", "reason": "InitialNamesAccepted", "message": "m"}
    status = {
        "conditions": [condition | {"lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "acceptedNames": old["spec"]["names"],
        "storedVersions": ["v1"],
    }
    obj, failures = changed(old, crd(scope="Cluster") | {"status": status}, "status")
    assert failures == []
    assert (obj["status"], obj["spec"], obj["metadata"]["generation"]) == (status, old["spec"], 1)


def test_a_status_write_takes_finalizers_away() -> None:
    old = stored(crd())
    old["metadata"] |= {"finalizers": ["customresourcecleanup.apiextensions.k8s.io"]}
    obj, _ = changed(old, crd() | {"status": old["status"]}, "status")
    assert not obj["metadata"].get("finalizers")


def test_names_in_the_status_are_checked() -> None:
    body = crd() | {"status": {"acceptedNames": {"plural": "A", "kind": ""}}}
    _, failures = changed(stored(crd()), body, "status")
    assert [str(each) for each in failures] == [f'status.acceptedNames.plural: Invalid value: "A": {LOWER}']


def test_a_status_without_stored_versions_gets_the_one_that_is_stored() -> None:
    obj, failures = changed(stored(crd()), crd() | {"status": {"storedVersions": []}}, "status")
    assert (failures, obj["status"]["storedVersions"]) == ([], ["v1"])


def test_a_change_is_validated_like_a_new_one() -> None:
    body = with_fields(a={})
    assert change_refusals(stored(crd()), body) == [
        f"{AT}.properties[a].type: Required value: must not be empty for specified object fields"
    ]
