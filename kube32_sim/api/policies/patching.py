"""What an evaluated mutation makes of an object: server-side apply without owners, or a JSON patch.

Words are upstream's `apiserver/pkg/admission/plugin/policy/mutating/patch`.  Objects carry apiVersion and kind, as a
version shows them; none is changed.
"""

from __future__ import annotations

from typing import Any

import orjson

from kube32_sim.api.decode import DecodeError, decode_value
from kube32_sim.api.errors import ApiError
from kube32_sim.api.managed.checking import faults
from kube32_sim.api.managed.comparing import child_of, kind_of
from kube32_sim.api.managed.manager import shape_of_row
from kube32_sim.api.managed.merging import merged
from kube32_sim.api.managed.shapes import FREE_SHAPE, LEAF, Shape
from kube32_sim.api.patch import apply_json_patch
from kube32_sim.api.policies.expressions import Fault
from kube32_sim.api.policies.literals import plain, type_faults
from kube32_sim.api.resources import ResourceType

JsonObject = dict[str, Any]


def apply_configuration(row: ResourceType, shown: JsonObject, value: Any) -> JsonObject:
    """The object with what an `Object{...}` says; raises Fault.  row: its type."""
    _check_types(value)
    config = {**_json(value), "apiVersion": shown["apiVersion"], "kind": shown["kind"]}
    shape = shape_of_row(row)
    if found := faults(shape, config):
        why = found[0] if len(found) == 1 else "\n".join(["errors:", *(f"  {fault}" for fault in found)])
        raise Fault(f"error applying patch: failed to convert patch object to typed object: {why}")
    if whole := _atomic(shape, config, ""):
        what = f"may not mutate atomic arrays, maps or structs: {', '.join(whole)}"
        raise Fault(f"error applying patch: invalid ApplyConfiguration: {what}")
    made: JsonObject = merged(shape, shown, config)
    return made


def _atomic(shape: Shape, value: Any, path: str) -> list[str]:
    """The paths of lists and maps that are managed as a whole: whoever names a part of one would lose the rest."""
    if not isinstance(value, dict | list):
        return []
    if kind_of(shape, value) == LEAF:
        return [path]
    if isinstance(value, dict):
        return [one for name, item in value.items() for one in _atomic(child_of(shape, name), item, f"{path}.{name}")]
    of_items = shape.item or FREE_SHAPE
    return [one for index, item in enumerate(value) for one in _atomic(of_items, item, f"{path}[{index}]")]


def apply_operations(row: ResourceType, shown: JsonObject, value: Any) -> JsonObject:
    """The object with the operations of a list of `JSONPatch{...}`; raises Fault.

    An operation `test` that fails is no fault: the object is answered as it was.
    """
    made: Any = shown
    for operation in value:
        if "value" in operation:
            _check_types(operation["value"])
        try:
            made = apply_json_patch(made, [_json(operation)])
        except ApiError:
            if operation.get("op") == "test":
                return shown
            raise Fault(_does_not_apply(operation)) from None
    if not isinstance(made, dict) or not made.get("kind"):
        raise Fault(f"Object 'Kind' is missing in '{orjson.dumps(made).decode()}'")
    _check_known(row, made)
    return made


def _does_not_apply(operation: JsonObject) -> str:
    name, path = operation.get("op", ""), operation.get("path", "")
    if name not in ("add", "remove", "replace", "move", "copy"):
        return f"JSONPath: Unexpected kind: {name}"
    if name in ("move", "copy"):
        return f"JSONPath: {name} operation does not apply: doc is missing from path: {operation.get('from', '')}"
    shown = f'"{path}"' if name != "replace" else path
    return f"JSONPath: {name} operation does not apply: doc is missing path: {shown}: missing value"


def _check_types(value: Any) -> None:
    if found := type_faults(value):
        raise Fault(f"type mismatch: {chr(10).join(found)}")


def _check_known(row: ResourceType, made: JsonObject) -> None:
    if not row.schema:
        return
    try:
        unknown = decode_value(made, row.schema)[1]
    except DecodeError as error:
        raise Fault(str(error)) from None
    if unknown:
        raise Fault("strict decoding error: " + ", ".join(f'unknown field "{path}"' for path in unknown))


def _json(value: Any) -> JsonObject:
    """A value as JSON has it; times become their texts."""
    try:
        made: JsonObject = orjson.loads(orjson.dumps(plain(value), option=orjson.OPT_UTC_Z))
    except orjson.JSONEncodeError as error:
        raise Fault(f"a value of the patch could not be marshalled to JSON: {error}") from None
    return made
