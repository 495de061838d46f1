"""Object types as protobuf messages, the form in which the CEL library knows types with fields.

The checker only looks at the names and kinds of fields; no value is ever a message of these types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from google.protobuf import any_pb2, duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from kube32_sim.api.cel.types import BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT, CelType

KUBERNETES_TYPES = (
    "kubernetes.Quantity",
    "kubernetes.URL",
    "net.IP",
    "net.CIDR",
    "kubernetes.Semver",
    "kubernetes.NamedFormat",
    "kubernetes.authorization.Authorizer",
    "kubernetes.authorization.PathCheck",
    "kubernetes.authorization.GroupCheck",
    "kubernetes.authorization.ResourceCheck",
    "kubernetes.authorization.Decision",
)
"""The types of values that only Kubernetes' functions make and take."""

_KINDS = {
    BOOL.name: FieldDescriptorProto.TYPE_BOOL,
    INT.name: FieldDescriptorProto.TYPE_INT64,
    UINT.name: FieldDescriptorProto.TYPE_UINT64,
    DOUBLE.name: FieldDescriptorProto.TYPE_DOUBLE,
    STRING.name: FieldDescriptorProto.TYPE_STRING,
    BYTES.name: FieldDescriptorProto.TYPE_BYTES,
}
_MESSAGES = {TIMESTAMP.name, DURATION.name, *KUBERNETES_TYPES}
_WELL_KNOWN = (timestamp_pb2, duration_pb2, struct_pb2, wrappers_pb2, any_pb2)


def new_pool(types: Iterable[CelType], *, with_value: bool = False) -> DescriptorPool:
    """A pool of all object types that the types mention, and of Kubernetes' own.

    with_value: Kubernetes' types have a field `value` for what they stand for (running); else none (checking).
    """
    pool = DescriptorPool()
    for module in _WELL_KNOWN:
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    files: dict[str, FileDescriptorProto] = {}
    for name in KUBERNETES_TYPES:
        message = _new_message(files, name)
        if with_value:
            message.field.add(name="value", number=1, type=_KINDS[STRING.name], label=1)
    objects = all_objects(types)
    for name, found in objects.items():
        _fill(_new_message(files, name), found.fields or {})
    for file in _ordered(files, bool(objects)):
        pool.AddSerializedFile(file.SerializeToString())
    return pool


def all_objects(types: Iterable[CelType]) -> dict[str, CelType]:
    """The object types that types mention, by name."""
    found: dict[str, CelType] = {}
    waiting = list(types)
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.parameters)
        if kind.fields is not None and kind.name not in found:
            found[kind.name] = kind
            waiting.extend(kind.fields.values())
    return found


def _new_message(files: dict[str, FileDescriptorProto], name: str) -> DescriptorProto:
    package, _, short = name.rpartition(".")
    file = files.get(package)
    if file is None:
        file = files[package] = FileDescriptorProto(
            name=f"{package or 'types'}.proto", package=package, syntax="proto2"
        )
    return file.message_type.add(name=short)


def _ordered(files: Mapping[str, FileDescriptorProto], objects: bool) -> list[FileDescriptorProto]:
    """Kubernetes' own first, which the others may use."""
    own = {name.rpartition(".")[0] for name in KUBERNETES_TYPES}
    first = [file for package, file in files.items() if package in own]
    rest = [file for package, file in files.items() if package not in own]
    if objects:
        known = [module.DESCRIPTOR.name for module in _WELL_KNOWN]
        for file in first:
            file.dependency.extend(known)
        for file in rest:
            file.dependency.extend([*known, *(own_file.name for own_file in first)])
    return [*first, *rest]


def _fill(message: DescriptorProto, fields: Mapping[str, CelType]) -> None:
    """Names in JSON are given, since those that protobuf makes of field names can be the same (`a_b`, `aB`).

    What is no name in CEL, no expression can ask for: it is left out.
    """
    message.options.deprecated_legacy_json_field_conflicts = True  # or it warns on stderr
    taken = set(fields)
    named = ((name, kind) for name, kind in fields.items() if name.isascii() and name.isidentifier())
    for number, (name, kind) in enumerate(named, 1):
        if kind.name == "list":
            _set_type(message.field.add(name=name, json_name=name, number=number, label=3), kind.parameters[0])
        elif kind.name == "map" and _entry_name(name) not in taken:
            taken.add(_entry_name(name))
            _add_map(message, name, number, kind)
        else:
            _set_type(message.field.add(name=name, json_name=name, number=number, label=1), kind)


def _entry_name(field: str) -> str:
    """What protobuf calls the entries of a map field; two fields (`a_b`, `aB`) can come to the same."""
    return "".join(part[:1].upper() + part[1:] for part in field.split("_")) + "Entry"


def _add_map(message: DescriptorProto, name: str, number: int, kind: CelType) -> None:
    """A map field: protobuf wants a nested message for its entries, named after the field."""
    entry = message.nested_type.add(name=_entry_name(name))
    entry.options.map_entry = True
    _set_type(entry.field.add(name="key", number=1, label=1), kind.parameters[0])
    _set_type(entry.field.add(name="value", number=2, label=1), kind.parameters[1])
    field = message.field.add(name=name, json_name=name, number=number, label=3)
    field.type = FieldDescriptorProto.TYPE_MESSAGE
    # A name relative to this message: protobuf finds the nested one first.
    field.type_name = entry.name


def _set_type(field: FieldDescriptorProto, kind: CelType) -> None:
    """Lists and maps inside lists and maps have no protobuf form: their elements are of any type."""
    simple = _KINDS.get(kind.name)
    if simple is not None:
        field.type = simple
        return
    field.type = FieldDescriptorProto.TYPE_MESSAGE
    if kind.name == "list":
        field.type_name = ".google.protobuf.ListValue"
    elif kind.name == "map":
        field.type_name = ".google.protobuf.Struct"
    elif kind.fields is not None or kind.name in _MESSAGES:
        field.type_name = f".{kind.name}"
    else:
        field.type_name = ".google.protobuf.Value"
