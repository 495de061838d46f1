"""Every kind that is served, with every field filled, says the same in protobuf as in JSON.

The objects come from the OpenAPI definitions and are written by a small encoder of the wire format here, so that
neither the project's writer nor its list of names and shapes has a part in it.
"""

from __future__ import annotations

import struct
from base64 import b64decode
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import orjson
import pytest

from kube32_sim.api import protobuf, schema
from kube32_sim.api.bodies import decode_body, expected
from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.protobuf import messages

JsonObject = dict[str, Any]
MESSAGES = orjson.loads((Path(messages.__file__).parent / "fields.json").read_bytes())["messages"]
NUMBERS = count(1)


# objects


def full(key: str, within: tuple[str, ...] = ()) -> Any:
    """A value with every field filled, but None for what would hold itself."""
    fixed = FIXED.get(key.rpartition(".")[2])
    if fixed is not None:
        return fixed
    if key in within:
        return None
    made = {}
    for name, property_ in schema.all_definitions()[key]["properties"].items():
        value = filled(name, property_, (*within, key))
        if value is not None and name not in ("apiVersion", "kind"):
            made[name] = value
    return made


FIXED: JsonObject = {
    "Quantity": "1500m",
    "IntOrString": "25%",
    "Time": "2026-01-02T03:04:05Z",
    "MicroTime": "2026-01-02T03:04:05.000250Z",
    "RawExtension": {"apiVersion": "x/v1", "kind": "X"},
    "FieldsV1": {"f:a": {}},
    "JSON": {"j": [1, None, "x"]},
    "JSONSchemaPropsOrArray": {"type": "a"},
    "JSONSchemaPropsOrBool": {"type": "b"},
    "JSONSchemaPropsOrStringArray": {"type": "c"},
    "CustomResourceSubresourceStatus": {},
}


def filled(name: str, property_: JsonObject, within: tuple[str, ...]) -> Any:
    if "$ref" in property_:
        return full(property_["$ref"].rpartition("/")[2], within)
    kinds = property_.get("type", "object")
    kind = kinds if isinstance(kinds, str) else kinds[0]
    if kind == "array":
        item = filled(name, property_["items"], within)
        return None if item is None else [item]
    if kind == "object":
        item = filled(name, property_["additionalProperties"], within)
        return None if item is None else {f"key{next(NUMBERS)}": item}
    if kind == "string":
        return "AAH/" if property_.get("format") == "byte" else f"{name}{next(NUMBERS)}"
    if kind == "integer":
        return next(NUMBERS) + (2**33 if property_.get("format") == "int64" else 0)
    return next(NUMBERS) + 0.5 if kind == "number" else True


# the wire


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    made = b""
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])


def delimited(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def encoded(message: str, value: Any) -> bytes:
    special = SPECIAL.get(message.rpartition(".")[2])
    if special is not None:
        return special(value)
    return b"".join(field(number, name, kind, value) for number, name, kind in MESSAGES[message])


def field(number: int, name: str, kind: str, value: JsonObject) -> bytes:
    """A field of an object; what Go embeds has no name in it."""
    found = next((key for key in value if key.lower().replace("-", "").replace("$", "") == name.lower()), None)
    kind = kind.removeprefix("repeated ")
    if found is None:
        inner = encoded(kind, value) if (kind, name) in EMBEDDED else b""
        return delimited(number, inner) if inner else b""
    item = value[found]
    if kind.startswith("map<string,"):
        kind = kind.removeprefix("map<string,").removesuffix(">")
        return b"".join(delimited(number, delimited(1, k.encode()) + one(2, kind, v)) for k, v in item.items())
    many = isinstance(item, list) and not kind.endswith(("Verbs", "ExtraValue"))
    return b"".join(one(number, kind, each) for each in item) if many else one(number, kind, item)


def one(number: int, kind: str, value: Any) -> bytes:
    if kind in ("int32", "int64", "bool"):
        return varint(number << 3) + varint(int(value))
    if kind == "double":
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if kind in ("string", "bytes"):
        return delimited(number, value.encode() if kind == "string" else b64decode(value))
    return delimited(number, encoded(kind, value))


def moment(text: str) -> bytes:
    when = datetime.fromisoformat(text)
    return one(1, "int64", int(when.timestamp())) + one(2, "int32", when.microsecond * 1000)


def schema_of(number: int) -> Any:
    props = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    return lambda value: delimited(number, encoded(props, value))


def as_json(value: Any) -> bytes:
    return delimited(1, orjson.dumps(value))


def as_items(value: Any) -> bytes:
    return b"".join(delimited(1, item.encode()) for item in value)


SPECIAL: dict[str, Any] = {
    "Quantity": lambda value: delimited(1, value.encode()),
    "IntOrString": lambda value: one(1, "int64", 1) + delimited(3, value.encode()),
    "Time": moment,
    "MicroTime": moment,
    "RawExtension": as_json,
    "FieldsV1": as_json,
    "JSON": as_json,
    "JSONSchemaPropsOrArray": schema_of(1),
    "JSONSchemaPropsOrBool": lambda value: one(1, "bool", 1) + schema_of(2)(value),
    "JSONSchemaPropsOrStringArray": schema_of(1),
    "Verbs": as_items,
    "ExtraValue": as_items,
}
CORE, ADMISSION = "k8s.io.api.core.v1", "k8s.io.api.admissionregistration.v1"
EMBEDDED = {
    (f"{CORE}.VolumeSource", "volumeSource"),
    (f"{CORE}.PersistentVolumeSource", "persistentVolumeSource"),
    (f"{CORE}.ProbeHandler", "handler"),
    (f"{CORE}.LocalObjectReference", "localObjectReference"),
    (f"{CORE}.EphemeralContainerCommon", "ephemeralContainerCommon"),
    ("k8s.io.api.networking.v1.IngressRuleValue", "ingressRuleValue"),
    ("k8s.io.api.resource.v1.DeviceConfiguration", "deviceConfiguration"),
    (f"{ADMISSION}.Rule", "rule"),
    (f"{ADMISSION}.RuleWithOperations", "ruleWithOperations"),
}


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    named = delimited(1, api_version.encode()) + delimited(2, kind.encode())
    return b"k8s\0" + delimited(1, named) + delimited(2, raw)


ROWS = sorted(
    {(row.group, row.version, row.kind) for row in builtin_table() if row.group != "sim.kube32.io"}
    | {("autoscaling", "v1", "Scale"), ("policy", "v1", "Eviction"), ("authentication.k8s.io", "v1", "TokenRequest")}
)


@pytest.mark.parametrize(("group", "version", "kind"), ROWS, ids=lambda part: part or "core")
def test_a_full_object_says_the_same_in_protobuf_and_in_json(group: str, version: str, kind: str) -> None:
    row = expected(group, version, kind)
    obj = full(row.schema)
    message = messages.message_for(row.api_version, kind)
    assert message is not None
    raw = body(row.api_version, kind, encoded(message, obj))
    text = orjson.dumps({"apiVersion": row.api_version, "kind": kind, **obj})
    wanted, unknown = decode_body(text, "json", row, "Strict")
    assert unknown == []
    assert decode_body(raw, "protobuf", row, "Strict") == (wanted, [])
    assert protobuf.decode(protobuf.encode(row.api_version, kind, obj))[2] == protobuf.decode(raw)[2]
