"""Protobuf bodies: those of a real kubectl, round trips of every kind, and bytes that are none."""

from __future__ import annotations

import subprocess
import sys
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube32_sim.api import schema
from kube32_sim.api.decode import decode_value
from kube32_sim.api.errors import ApiError
from kube32_sim.api.protobuf import decode, encode
from kube32_sim.api.protobuf.messages import Field, _table, fields_of, message_for

JsonObject = dict[str, Any]
BODIES = orjson.loads((Path(__file__).parent / "protobuf_bodies.json").read_bytes())
"""What `kubectl COMMAND` (1.37) sends, and the object it prints with `--dry-run=client -o json`."""


@pytest.mark.parametrize("sent", BODIES, ids=lambda sent: sent["command"].partition(" --")[0])
def test_bodies_of_kubectl(sent: JsonObject) -> None:
    api_version, kind, obj = decode(b64decode(sent["body"]))
    wanted = sent["object"]
    assert (api_version, kind) == (wanted["apiVersion"], wanted["kind"])
    group, _, version = api_version.rpartition("/")
    key = schema.key_for(group, version, kind)
    assert key is not None
    made, unknown = decode_value(obj, key)
    assert ({name: value for name, value in made.items() if value is not None}, unknown) == (wanted, [])


def there_and_back(api_version: str, kind: str, obj: JsonObject) -> JsonObject:
    found_version, found_kind, found = decode(encode(api_version, kind, obj))
    assert (found_version, found_kind) == (api_version, kind)
    assert (found.pop("apiVersion"), found.pop("kind")) == (api_version, kind)
    return found


SCHEMA_VERSIONS = [
    {
        "name": "v1",
        "schema": {
            "openAPIV3Schema": {
                "$schema": "s",
                "$ref": "r",
                "type": "object",
                "properties": {
                    "a": {
                        "items": {"type": "string"},
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["k"],
                    },
                    "b": {"items": [{"type": "string"}, {"type": "integer"}]},
                    "c": {"additionalProperties": False, "default": {"x": [1, None]}, "enum": ["p", 1, None]},
                    "d": {"additionalProperties": {"type": "string"}, "x-kubernetes-preserve-unknown-fields": True},
                    "e": {
                        "additionalProperties": True,
                        "maximum": 10,
                        "minimum": 0.5,
                        "x-kubernetes-int-or-string": True,
                    },
                    "f": {
                        "dependencies": {"x": ["y"], "z": {"type": "object"}},
                        "x-kubernetes-embedded-resource": True,
                    },
                    "g": {"x-kubernetes-validations": [{"rule": "self"}], "x-kubernetes-map-type": "atomic"},
                },
            }
        },
        "subresources": {"status": {}},
    }
]


@pytest.mark.parametrize(
    ("api_version", "kind", "obj"),
    [
        # Structs that Go embeds.
        (
            "v1",
            "Pod",
            {"spec": {"volumes": [{"name": "v", "secret": {"secretName": "s"}}, {"name": "e", "emptyDir": {}}]}},
        ),
        (
            "v1",
            "Pod",
            {"spec": {"containers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}]}},
        ),
        ("v1", "Pod", {"spec": {"ephemeralContainers": [{"name": "d", "tty": True, "targetContainerName": "t"}]}}),
        ("v1", "PersistentVolume", {"spec": {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/p"}}}),
        ("networking.k8s.io/v1", "Ingress", {"spec": {"rules": [{"host": "h"}, {"http": {"paths": [{"path": "/"}]}}]}}),
        (
            "admissionregistration.k8s.io/v1",
            "ValidatingAdmissionPolicy",
            {
                "spec": {
                    "matchConstraints": {
                        "resourceRules": [{"resourceNames": ["n"], "operations": ["*"], "apiGroups": [""]}]
                    }
                }
            },
        ),
        # Shapes that differ from their message.
        ("v1", "Pod", {"spec": {"containers": [{"livenessProbe": {"httpGet": {"port": "web"}, "periodSeconds": 5}}]}}),
        ("v1", "Pod", {"spec": {"containers": [{"livenessProbe": {"tcpSocket": {"port": 0}}}]}}),
        ("v1", "Secret", {"data": {"k": "AAH/", "empty": ""}}),
        (
            "v1",
            "Pod",
            {"metadata": {"creationTimestamp": "2024-02-29T12:00:00Z", "managedFields": [{"fieldsV1": {"f:a": {}}}]}},
        ),
        ("v1", "Pod", {"metadata": {"creationTimestamp": "1960-01-01T00:00:00Z"}}),
        (
            "coordination.k8s.io/v1",
            "Lease",
            {"spec": {"renewTime": "2026-01-01T00:00:00.000250Z", "leaseDurationSeconds": 15}},
        ),
        ("apps/v1", "ControllerRevision", {"data": {"spec": {"a": [1, 2.5, None]}}, "revision": 3}),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", {"spec": {"versions": SCHEMA_VERSIONS}}),
        ("authorization.k8s.io/v1", "SubjectAccessReview", {"spec": {"user": "u", "extra": {"k": ["a", "b"]}}}),
        (
            "admissionregistration.k8s.io/v1",
            "MutatingWebhookConfiguration",
            {"webhooks": [{"name": "w", "clientConfig": {"caBundle": "QQ=="}}]},
        ),
        # Empty strings and zeros that mean something: which of them do is for the JSON decoder to say.
        ("v1", "PersistentVolumeClaim", {"spec": {"storageClassName": "", "volumeName": ""}}),
        # Kinds of every group, and of subresources.
        (
            "v1",
            "DeleteOptions",
            {"gracePeriodSeconds": 0, "preconditions": {"uid": "u"}, "propagationPolicy": "Foreground"},
        ),
        ("apps/v1", "DeleteOptions", {"orphanDependents": False}),
        ("example.com/v1", "DeleteOptions", {"dryRun": ["All"]}),
        ("meta.k8s.io/v1", "DeleteOptions", {}),
        ("v1", "Status", {"metadata": {}, "status": "Failure", "details": {"causes": [{"field": "f"}]}, "code": 404}),
        ("policy/v1", "Eviction", {"metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": 5}}),
        ("policy/v1beta1", "Eviction", {"metadata": {"name": "p"}}),
        ("autoscaling/v1", "Scale", {"spec": {"replicas": 3}}),
        ("v1", "Binding", {"target": {"kind": "Node", "name": "n"}}),
        ("authentication.k8s.io/v1", "TokenRequest", {"spec": {"audiences": ["a"], "boundObjectRef": {"uid": "u"}}}),
        ("v1", "PodList", {"metadata": {"resourceVersion": "1"}, "items": [{"metadata": {"name": "a"}}]}),
    ],
)
def test_there_and_back(api_version: str, kind: str, obj: JsonObject) -> None:
    assert there_and_back(api_version, kind, obj) == obj


def test_what_json_leaves_out() -> None:
    obj = {"metadata": {"name": None, "unheard": 1, "labels": {}, "finalizers": []}, "unheard": {}}
    assert there_and_back("v1", "ConfigMap", obj) == {"metadata": {}}


def test_an_empty_time_is_no_time() -> None:
    """Go writes its zero time as an empty message: field 8 of the metadata, with length 0."""
    metadata = b"\x42\x00"
    assert decode(body("v1", "ConfigMap", b"\x0a\x02" + metadata))[2]["metadata"] == {}
    moment = b"\x42\x04\x08\x00\x10\x00"
    assert decode(body("v1", "ConfigMap", b"\x0a\x06" + moment))[2]["metadata"] == {
        "creationTimestamp": "1970-01-01T00:00:00Z"
    }


def field(number: int, data: bytes) -> bytes:
    length, rest = bytearray(), len(data)
    while rest > 127:
        length.append(rest & 127 | 128)
        rest >>= 7
    return bytes([number << 3 | 2, *length, rest]) + data


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    """A body put together by hand."""
    type_meta = field(1, api_version.encode()) + field(2, kind.encode())
    return b"k8s\0" + field(1, type_meta) + field(2, raw) + field(3, b"") + field(4, b"")


def test_an_embedded_object_in_protobuf() -> None:
    inner = body("v1", "Pod", field(1, field(1, b"p")))
    revision = field(2, field(1, inner))
    data = decode(body("apps/v1", "ControllerRevision", revision))[2]["data"]
    assert data == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}


def test_fields_of_later_versions_are_passed_over() -> None:
    assert decode(body("v1", "Pod", field(9, b"x") + field(1, field(1, b"p"))))[2]["metadata"] == {"name": "p"}


def test_a_body_that_names_no_kind_is_of_the_kind_expected() -> None:
    raw = field(1, field(1, b"p"))
    found = decode(body("", "", raw), ("v1", "Pod"))
    assert found == ("v1", "Pod", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the object provided is unrecognized (must be of type Pod): empty data (<empty>)"),
        (b"k8s\0", "the object provided is unrecognized (must be of type Pod): empty body (6b387300)"),
        (
            b'{"kind":"Pod"}',
            "the object provided is unrecognized (must be of type Pod): provided data does not appear to be a protobuf "
            "message, expected prefix [107 56 115 0] (7b226b696e64223a22506f64227d)",
        ),
        (b"k8s\0\xff\xff", "the object provided is unrecognized (must be of type Pod): "),
        (
            body("v1", "Pood", b""),
            'Pood in version "v1" cannot be handled as a Pod: no kind "Pood" is registered for version "v1"',
        ),
        (
            body("apps.example.com/v1", "Deployment", b""),
            'Deployment in version "v1" cannot be handled as a Pod: no kind',
        ),
        (body("v1", "Pod", b"\x0a\x05p"), 'Pod in version "v1" cannot be handled as a Pod: '),
        (body("v1", "Pod", field(1, field(1, b"\xff"))), 'Pod in version "v1" cannot be handled as a Pod: '),
        (
            body("v1", "ConfigMap", field(2, field(1, b"\xff"))),
            'ConfigMap in version "v1" cannot be handled as a Pod: ',
        ),
        (body("apps/v1", "ControllerRevision", field(2, field(1, b"{"))), "ControllerRevision in version"),
        (body("apps/v1", "ControllerRevision", field(2, field(1, b"k8s\0"))), "ControllerRevision in version"),
        (
            b"k8s\0" + field(3, b"gzip"),
            "the object provided is unrecognized (must be of type Pod): unsupported content",
        ),
    ],
)
def test_bytes_that_are_no_body(data: bytes, message: str) -> None:
    with pytest.raises(ApiError) as refusal:
        decode(data, ("v1", "Pod"))
    assert refusal.value.code == 400
    assert refusal.value.message.startswith(message)


def test_a_body_without_a_kind() -> None:
    with pytest.raises(ApiError, match=r"Object 'Kind' is missing") as refusal:
        decode(body("v1", "", b""))
    assert refusal.value.code == 400


def test_a_time_out_of_range() -> None:
    seconds = b"\x08" + b"\xff" * 8 + b"\x7f"  # 2**63 - 1
    with pytest.raises(ApiError, match="a time outside of the years 1 to 9999"):
        decode(body("v1", "ConfigMap", field(1, field(8, seconds))))


def test_bodies_in_bodies_without_end() -> None:
    data = b"{}"
    for _ in range(1000):
        data = body("apps/v1", "ControllerRevision", field(2, field(1, data)))
    with pytest.raises(ApiError, match="exceeded max depth"):
        decode(data)


@pytest.mark.parametrize(("api_version", "kind"), [("v9", "Pod"), ("v1", "Widget"), ("core/v1", "Pod"), ("", "Pod")])
def test_kinds_that_cannot_be_encoded(api_version: str, kind: str) -> None:
    with pytest.raises(ValueError, match="no kind"):
        encode(api_version, kind, {})


@pytest.mark.parametrize(
    "obj",
    [{"data": {"k": 5}}, {"data": "x"}, {"metadata": {"generation": "x"}}, {"metadata": {"creationTimestamp": "x"}}],
)
def test_values_that_do_not_fit(obj: JsonObject) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the runtime's own words
        encode("v1", "ConfigMap", obj)


def kinds() -> list[tuple[str, str]]:
    """Every kind that the schemas and the table both know."""
    found = {(f"{group}/{version}" if group else version, kind) for group, version, kind in schema.kinds()}
    return sorted(pair for pair in found if message_for(*pair) is not None)


def test_every_kind_of_the_served_groups_has_a_message() -> None:
    found = kinds()
    for pair in (
        ("v1", "Pod"),
        ("apps/v1", "Deployment"),
        ("apiregistration.k8s.io/v1", "APIService"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ):
        assert pair in found
    assert len({kind for _, kind in found}) > 120


def test_names_are_those_of_the_schemas() -> None:
    """Every field has the name that the OpenAPI document gives it."""
    definitions = schema.all_definitions()
    wrong = []
    for message in _table():
        key = message.replace("k8s.io", "io.k8s", 1).replace("_", "-")
        properties = definitions.get(key, {}).get("properties")
        if properties:
            names = [(message, field.name) for field in fields_of(message) if field.shape != "embedded"]
            wrong += [(message, name) for message, name in names if name not in properties]
    assert wrong == []


TIMES = st.datetimes().map(lambda moment: moment.replace(microsecond=0).isoformat() + "Z")
TEXT = st.text(st.characters(codec="utf-8"), max_size=5)
JSON = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=3,
)
LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "bytes": st.binary(max_size=4).map(lambda data: b64encode(data).decode()),
    "double": st.integers(-(2**52), 2**52) | st.sampled_from([0.5, -1.25]),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "string": TEXT,
    "ExtraValue": st.lists(TEXT, max_size=2),
    "Verbs": st.lists(TEXT, max_size=2),
    "Quantity": st.sampled_from(["0", "100m", "1Gi", "5"]),
    "IntOrString": st.integers(-(2**31), 2**31 - 1) | TEXT,
    "Duration": st.sampled_from(["0s", "1h0m0s", "1.5s", "3m20s"]),
    "FieldsV1": st.dictionaries(TEXT, JSON, max_size=2),
    "JSON": JSON,
    "RawExtension": st.dictionaries(TEXT, JSON, max_size=2),
    "JSONSchemaPropsOrArray": st.just({"type": "a"}) | st.just([{"type": "a"}, {}]),
    "JSONSchemaPropsOrBool": st.booleans() | st.just({"type": "a"}),
    "JSONSchemaPropsOrStringArray": st.just({"type": "a"}) | st.just(["a"]),
    "Time": TIMES,
    "MicroTime": st.datetimes().map(lambda moment: moment.isoformat(timespec="microseconds") + "Z"),
}


@st.composite
def values(draw: st.DrawFn, kind: str, depth: int) -> Any:
    leaf = LEAVES.get(kind.rpartition(".")[2])
    if leaf is not None:
        return draw(leaf)
    made: JsonObject = {}
    fields = fields_of(kind)
    chosen = draw(st.lists(st.sampled_from(fields), max_size=4, unique=True)) if fields and depth else []
    for one in chosen:
        made.update(draw(field_values(one, depth - 1)))
    return made


@st.composite
def field_values(draw: st.DrawFn, one: Field, depth: int) -> JsonObject:
    value = values(one.type, depth)
    if one.shape == "embedded":
        found: JsonObject = draw(value)
        return found
    if one.shape == "list":
        return {one.name: draw(st.lists(value, min_size=1, max_size=2))}
    if one.shape == "map":
        return {one.name: draw(st.dictionaries(TEXT, value, min_size=1, max_size=2))}
    return {one.name: draw(value)}


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data())
def test_any_object_there_and_back(data: st.DataObject) -> None:
    api_version, kind = data.draw(st.sampled_from(kinds()))
    message = message_for(api_version, kind)
    assert message is not None
    obj = data.draw(values(message, 6))
    for name in ("apiVersion", "kind"):  # some kinds have such fields of their own, but JSON has one place for them
        obj.pop(name, None)
    assert there_and_back(api_version, kind, obj) == obj


def code_of(data: bytes) -> int:
    try:
        orjson.dumps(decode(data, ("v1", "Pod")))
    except ApiError as error:
        return error.code
    return 200


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.sampled_from(BODIES), st.integers(0, 400), st.binary(max_size=3), st.integers(0, 3))
def test_damaged_bodies_are_refused_or_read(sent: JsonObject, at: int, put: bytes, cut: int) -> None:
    """Nothing but ApiError comes out, and what is read can be written as JSON."""
    good = b64decode(sent["body"])
    assert code_of(good[:at] + put + good[at + cut :]) in (200, 400)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.sampled_from([("v1", "Pod"), ("apps/v1", "ControllerRevision"), ("v1", "DeleteOptions")]), st.binary(max_size=40)
)
def test_any_bytes_are_refused_or_read(kind: tuple[str, str], raw: bytes) -> None:
    assert code_of(body(*kind, raw)) in (200, 400)


def test_the_runtime_is_not_loaded_before_it_is_needed() -> None:
    code = "import sys, kube32_sim.api.protobuf; sys.exit(any(name.startswith('google') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_field_of_the_schemas_is_known() -> None:
    """What the OpenAPI document says about a type, the message can carry, in a field that fits."""
    definitions = schema.all_definitions()
    wrong = []
    for message in _table():
        properties = definitions.get(message.replace("k8s.io", "io.k8s", 1).replace("_", "-"), {}).get("properties", {})
        known = {field.name: field for field in every_field(message)}
        for name, property_ in properties.items():
            found = known.get(name)
            if found is None:
                wrong += [(message, name)] if name not in ("apiVersion", "kind") else []
            elif not fits(found, property_):
                wrong.append((message, name, found))
    assert wrong == []


def every_field(message: str) -> list[Field]:
    """With those of embedded structs."""
    found = []
    for field in fields_of(message):
        found += every_field(field.type) if field.shape == "embedded" else [field]
    return found


SCALARS = {"integer": {"int32", "int64"}, "number": {"double"}, "boolean": {"bool"}, "string": {"string", "bytes"}}


def fits(field: Field, property_: JsonObject) -> bool:
    named = property_.get("$ref", "").rpartition(".")[2]
    if named:
        return field.type.rpartition(".")[2] == named
    kinds = property_.get("type", "")
    kind, form = kinds if isinstance(kinds, str) else kinds[0], property_.get("format")
    if kind in SCALARS:
        return field.type in SCALARS[kind] and (form == "byte") == (field.type == "bytes")
    return field.type.endswith(".Verbs") or field.shape == {"array": "list", "object": "map"}.get(kind, "one")
