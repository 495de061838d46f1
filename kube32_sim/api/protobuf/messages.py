"""The messages of Kubernetes' wire format, from the table `fields.json`: field numbers, names and types.

From the table come descriptors for the `protobuf` runtime, made when a kind is first met, for it and the messages in it
only.  Descriptors know fields by number alone (`f3`); what a field is called in JSON is said by `Field.name`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import orjson

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
    from google.protobuf.message import Message

META = "k8s.io.apimachinery.pkg.apis.meta.v1"
RUNTIME = "k8s.io.apimachinery.pkg.runtime"
EXTENSIONS = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1"

#: Groups whose messages are not in the package `k8s.io.api.` and the group's first word.
_PACKAGES = {
    "": "k8s.io.api.core",
    "apidiscovery.k8s.io": "k8s.io.api.apidiscovery",
    "meta.k8s.io": "k8s.io.apimachinery.pkg.apis.meta",
    "apiextensions.k8s.io": "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions",
    "apiregistration.k8s.io": "k8s.io.kube_aggregator.pkg.apis.apiregistration",
}
_GROUPS = frozenset(
    {"apps", "autoscaling", "batch", "policy", "flowcontrol.apiserver.k8s.io", "rbac.authorization.k8s.io"}
    | {f"{name}.k8s.io" for name in ("admissionregistration", "authentication", "authorization", "certificates")}
    | {f"{name}.k8s.io" for name in ("coordination", "discovery", "events", "networking", "node", "resource")}
    | {f"{name}.k8s.io" for name in ("scheduling", "storage")}
)
#: Kinds that belong to every group.
_EVERYWHERE = frozenset(
    {
        "CreateOptions",
        "DeleteOptions",
        "GetOptions",
        "ListOptions",
        "PatchOptions",
        "Status",
        "UpdateOptions",
        "WatchEvent",
    }
)
#: Kinds of discovery that say no group, and some of them no version either.
_UNGROUPED = frozenset({"APIGroup", "APIGroupList", "APIResourceList", "APIVersions"})

#: Structs that Go embeds: a message of their own on the wire, but in JSON their fields stand beside the others.
_EMBEDDED = frozenset(
    {
        "deviceConfiguration",
        "ephemeralContainerCommon",
        "handler",
        "ingressRuleValue",
        "localObjectReference",
        "persistentVolumeSource",
        "rule",
        "ruleWithOperations",
        "volumeSource",
    }
)
#: Names that differ in JSON, by the last part of the message's name ("" for all messages) and the name in the table.
_RENAMED = {
    ("", "Expression"): "expression",
    ("", "Name"): "name",
    ("", "Webhooks"): "webhooks",
    ("", "aPIGroup"): "apiGroup",
    ("", "uID"): "uid",
    ("JSONSchemaProps", "ref"): "$ref",
    ("JSONSchemaProps", "schema"): "$schema",
    ("JSONSchemaProps", "xKubernetesEmbeddedResource"): "x-kubernetes-embedded-resource",
    ("JSONSchemaProps", "xKubernetesIntOrString"): "x-kubernetes-int-or-string",
    ("JSONSchemaProps", "xKubernetesListMapKeys"): "x-kubernetes-list-map-keys",
    ("JSONSchemaProps", "xKubernetesListType"): "x-kubernetes-list-type",
    ("JSONSchemaProps", "xKubernetesMapType"): "x-kubernetes-map-type",
    ("JSONSchemaProps", "xKubernetesPreserveUnknownFields"): "x-kubernetes-preserve-unknown-fields",
    ("JSONSchemaProps", "xKubernetesValidations"): "x-kubernetes-validations",
}

#: Old versions of kinds that are still taken or given; their message is that of the new one.
_ALIASES = {
    ("policy/v1beta1", "Eviction"): "k8s.io.api.policy.v1.Eviction",
    ("meta.k8s.io/v1beta1", "PartialObjectMetadata"): f"{META}.PartialObjectMetadata",
    ("apidiscovery.k8s.io/v2beta1", "APIGroupDiscoveryList"): "k8s.io.api.apidiscovery.v2.APIGroupDiscoveryList",
}

Shape = Literal["one", "list", "map", "embedded"]


@dataclass(frozen=True, slots=True)
class Field:
    """name: in JSON.  type: of the value, of an item, of a map's values: a scalar type or a message's full name."""

    number: int
    name: str
    shape: Shape
    type: str

    @property
    def scalar(self) -> bool:
        return "." not in self.type


@cache
def _table() -> dict[str, list[tuple[int, str, str]]]:
    table: dict[str, list[tuple[int, str, str]]] = orjson.loads((Path(__file__).parent / "fields.json").read_bytes())[
        "messages"
    ]
    return table


@cache
def fields_of(message: str) -> tuple[Field, ...]:
    last = message.rpartition(".")[2]
    return tuple(_field(last, number, name, kind) for number, name, kind in _table()[message])


def _field(message: str, number: int, name: str, kind: str) -> Field:
    renamed = _RENAMED.get((message, name)) or _RENAMED.get(("", name)) or name
    if kind.startswith("repeated "):
        return Field(number, renamed, "list", kind.removeprefix("repeated "))
    if kind.startswith("map<string,"):
        return Field(number, renamed, "map", kind.removeprefix("map<string,").removesuffix(">"))
    return Field(number, renamed, "embedded" if name in _EMBEDDED and "." in kind else "one", kind)


def message_for(api_version: str, kind: str) -> str | None:
    """The message that carries a kind, where there is one."""
    group, _, version = api_version.rpartition("/")
    package = _PACKAGES.get(group) or (f"k8s.io.api.{group.partition('.')[0]}" if group in _GROUPS else None)
    message = f"{package}.{version}.{kind}"
    if package is not None and message in _table():
        return message
    if kind in _EVERYWHERE or (kind in _UNGROUPED and api_version in ("v1", "")):
        return f"{META}.{kind}"
    return _ALIASES.get((api_version, kind))


_classes: dict[str, type[Message]] = {}
_describing = Lock()
"""Large answers are encoded in threads."""


def message_class(message: str) -> type[Message]:
    found = _classes.get(message)
    if found is None:
        from google.protobuf.message_factory import GetMessageClass

        with _describing:
            if message not in _files().described:
                _files().describe(message)
            found = _classes[message] = GetMessageClass(_files().pool.FindMessageTypeByName(_flat(message)))
    return found


class _Files:
    """The descriptors made so far.  One file for each kind asked for, with the messages no file has yet."""

    def __init__(self) -> None:
        from google.protobuf.descriptor_pool import DescriptorPool

        self.pool: Any = DescriptorPool()
        self.described: set[str] = set()
        self._names: list[str] = []

    def describe(self, message: str) -> None:
        from google.protobuf.descriptor_pb2 import Edition, FileDescriptorProto

        file = FileDescriptorProto(name=f"{message}.proto", dependency=self._names)
        # As Go has it: presence of scalars is kept, and strings are UTF-8 (proto2 would let other bytes pass).
        file.syntax, file.edition = "editions", Edition.EDITION_2023
        missing = [message]
        while missing:
            name = missing.pop()
            if name not in self.described:
                self.described.add(name)
                _describe(file, name)
                missing += [field.type for field in fields_of(name) if not field.scalar]
        self.pool.Add(file)
        self._names.append(file.name)


@cache
def _files() -> _Files:
    return _Files()


def _flat(message: str) -> str:
    return message.replace(".", "_")


def _describe(file: FileDescriptorProto, message: str) -> None:
    described = file.message_type.add(name=_flat(message))
    for field in fields_of(message):
        if field.shape == "map":
            _describe_map(described, field)
        else:
            _add(described, field.number, f"f{field.number}", field.type, repeated=field.shape == "list")


def _describe_map(described: DescriptorProto, field: Field) -> None:
    """A map is a list of entries on the wire."""
    entry = described.nested_type.add(name=f"F{field.number}Entry")
    entry.options.map_entry = True
    _add(entry, 1, "key", "string")
    _add(entry, 2, "value", field.type)
    added = _add(described, field.number, f"f{field.number}", "", repeated=True)
    added.type_name = f".{described.name}.{entry.name}"


def _add(described: DescriptorProto, number: int, name: str, kind: str, *, repeated: bool = False) -> Any:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Described

    added = described.field.add(number=number, name=name)
    added.label = Described.LABEL_REPEATED if repeated else Described.LABEL_OPTIONAL
    if kind and "." not in kind:
        added.type = Described.Type.Value(f"TYPE_{kind.upper()}")
    else:
        added.type = Described.TYPE_MESSAGE
        added.type_name = f".{_flat(kind)}"
    return added
