"""Names, labels, annotations, owners and finalizers, on creation and on change."""

from __future__ import annotations

from typing import Any

import pytest
from strategy_objects import TABLE

from kube32_sim.api.resources import ResourceType
from kube32_sim.api.validation import names
from kube32_sim.api.validation.meta import (
    validate_metadata,
    validate_metadata_update,
    validate_template_metadata,
)

JsonObject = dict[str, Any]

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def row(group: str, version: str, kind: str) -> ResourceType:
    found = TABLE.by_kind(group, version, kind)
    assert found is not None
    return found


CONFIG_MAP = row("", "v1", "ConfigMap")
DEPLOYMENT = row("apps", "v1", "Deployment")


def failures(**metadata: Any) -> list[str]:
    full = {"name": "a", "namespace": "ns", **metadata}
    return [str(failure) for failure in validate_metadata(full, CONFIG_MAP)]


@pytest.mark.parametrize("name", ["a", "a.b-c", "0", "x" * 253])
def test_good_subdomains(name: str) -> None:
    assert not names.dns1123_subdomain(name)


@pytest.mark.parametrize("name", ["Upper", "under_score", "-dash", "dash-", "a..b", "a/b", "has space", "a\n", "", "é"])
def test_bad_subdomains(name: str) -> None:
    assert names.dns1123_subdomain(name) == [SUBDOMAIN]


def test_a_prefix_may_end_in_a_dash() -> None:
    assert not names.dns1123_subdomain("gen-", prefix=True)
    assert not names.dns1123_label("gen-", prefix=True)
    assert names.dns1123_subdomain("Bad_", prefix=True) == [SUBDOMAIN]
    assert names.dns1123_subdomain("gen--", prefix=True) == []
    assert names.dns1123_subdomain(".-", prefix=True) == []  # masked to a letter, as upstream does


def test_lengths() -> None:
    assert names.dns1123_subdomain("x" * 254) == ["must be no more than 253 characters"]
    assert names.dns1123_label("x" * 64) == ["must be no more than 63 characters"]
    assert names.label_value("x" * 64) == ["must be no more than 63 bytes"]
    assert names.qualified_name(f"a.b/{'x' * 64}") == ["name part must be no more than 63 bytes"]


def test_a_label_that_is_a_subdomain_has_dots() -> None:
    assert names.dns1123_label("a.b") == ["must not contain dots"]


@pytest.mark.parametrize("key", ["a", "A_b.c-d", "example.com/a", "a/B", "x" * 63])
def test_good_qualified_names(key: str) -> None:
    assert not names.qualified_name(key)


@pytest.mark.parametrize(
    ("key", "starts"),
    [
        ("bad key", ["name part must consist"]),
        ("UPPER.example/k", ["prefix part a lowercase RFC 1123 subdomain"]),
        ("a/b/c", ["a valid label key must consist"]),
        ("/a", ["prefix part must be non-empty"]),
        ("example.com/", ["name part must be non-empty", "name part must consist"]),
        ("", ["name part must be non-empty", "name part must consist"]),
    ],
)
def test_bad_qualified_names(key: str, starts: list[str]) -> None:
    found = names.qualified_name(key)
    assert len(found) == len(starts)
    assert all(text.startswith(start) for text, start in zip(found, starts, strict=True))


def test_path_segments() -> None:
    assert names.path_segment("system:node") == []
    assert names.path_segment("..") == ["may not be '..'"]
    assert names.path_segment("a/b%") == ["may not contain '/'", "may not contain '%'"]


def test_ordinary_metadata_is_fine() -> None:
    assert not failures(labels={"app": "web", "example.com/x": ""}, annotations={"UPPER/k": "any thing"}, generation=7)


def test_a_name_is_required() -> None:
    assert failures(name="") == ["metadata.name: Required value: name or generateName is required"]
    assert failures(namespace="") == ["metadata.namespace: Required value"]


def test_cluster_scoped_objects_have_no_namespace() -> None:
    found = validate_metadata({"name": "n", "namespace": "ns"}, row("", "v1", "Node"))
    assert [str(each) for each in found] == ["metadata.namespace: Forbidden: not allowed on this type"]


def test_a_bad_prefix_is_told_beside_the_bad_name() -> None:
    found = failures(generateName="Bad_", name="Bad_x7z2p")
    assert found == [
        f'metadata.generateName: Invalid value: "Bad_": {SUBDOMAIN}',
        f'metadata.name: Invalid value: "Bad_x7z2p": {SUBDOMAIN}',
    ]


def test_annotations_are_at_most_256_kibibytes() -> None:
    assert not failures(annotations={"k": "x" * (256 * 1024 - 1)})
    text = "metadata.annotations: Too long: may not be more than 262144 bytes"
    assert failures(annotations={"k": "x" * (256 * 1024)}) == [text]
    assert failures(annotations={"k": "é" * (128 * 1024)}) == [text]


def test_finalizers_are_known_or_have_a_domain() -> None:
    text = "name is neither a standard finalizer name nor is it fully qualified"
    assert failures(finalizers=["noslash"]) == [f'metadata.finalizers[0]: Invalid value: "noslash": {text}']
    assert not failures(finalizers=["example.com/x", "foregroundDeletion"])
    assert failures(finalizers=["orphan", "foregroundDeletion"]) == [
        'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
        "finalizer orphan and foregroundDeletion cannot be both set"
    ]


def owner(**changes: Any) -> JsonObject:
    full = {"uid": "u", "name": "p", "kind": "Pod", "apiVersion": "v1", **changes}
    return {key: value for key, value in full.items() if value is not None}


def test_owners_are_complete() -> None:
    assert not failures(ownerReferences=[owner(controller=True), owner(uid="w")])
    assert failures(ownerReferences=[owner(uid=None, apiVersion=None)]) == [
        'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ]


def test_one_owner_controls() -> None:
    found = failures(ownerReferences=[owner(controller=True), owner(uid="w", name="q", controller=True)])
    assert found == [
        'metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":'
        'true},{"apiVersion":"v1","kind":"Pod","name":"q","uid":"w","controller":true}]: Only one reference can have '
        'Controller set to true. Found "true" in references for Pod/p and Pod/q'
    ]


def test_events_own_nothing() -> None:
    assert failures(ownerReferences=[owner(kind="Event")]) == [
        'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"p","uid":"u"}: '
        "/v1, Kind=Event is disallowed from being an owner"
    ]


def changed(old: JsonObject, **new: Any) -> list[str]:
    before = {"name": "a", "namespace": "ns", "uid": "u", "creationTimestamp": "t", **old}
    after = {**before, **new}
    return [str(failure) for failure in validate_metadata_update(after, before)]


def test_identity_does_not_change() -> None:
    assert not changed({}, labels={"a": "b"})
    assert changed({}, uid="w") == ['metadata.uid: Invalid value: "w": field is immutable']
    assert changed({}, deletionTimestamp="t") == ['metadata.deletionTimestamp: Invalid value: "t": field is immutable']


def test_no_finalizer_is_added_to_what_is_going() -> None:
    old = {"deletionTimestamp": "t", "finalizers": ["x.io/a"]}
    assert not changed(old, finalizers=[])
    assert changed(old, finalizers=["x.io/a", "x.io/b"]) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new "
        'finalizers []string{"x.io/b"}'
    ]


@pytest.mark.parametrize(("of", "times"), [(DEPLOYMENT, 3), (CONFIG_MAP, 4)])
def test_an_update_tells_bad_labels_once_a_pass(of: ResourceType, times: int) -> None:
    old = {"name": "a", "namespace": "ns"}
    found = validate_metadata_update({**old, "labels": {"bad key": "x"}}, old, of)
    assert len(found) == times
    assert len(set(found)) == 1


@pytest.mark.parametrize(("of", "times"), [(DEPLOYMENT, 1), (CONFIG_MAP, 2)])
def test_an_update_tells_bad_finalizers_once_a_pass(of: ResourceType, times: int) -> None:
    old = {"name": "a", "namespace": "ns"}
    found = validate_metadata_update({**old, "finalizers": ["nope"]}, old, of)
    assert [each.field for each in found] == ["metadata.finalizers[0]"] * times


def test_templates_show_their_labels_without_metadata() -> None:
    found = validate_template_metadata({"labels": {"a": "b c"}, "annotations": {"a b": ""}}, "spec.template")
    assert [each.field for each in found] == ["spec.template.labels", "spec.template.annotations"]


def test_a_good_key_with_a_prefix_is_told_in_one_match(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(names, "dns1123_subdomain")
    assert names.qualified_name("app.kubernetes.io/name") == []
    assert names.qualified_name("a" * 253 + "/" + "b" * 63) == []
    with pytest.raises(NameError):
        names.qualified_name("a" * 254 + "/b")
