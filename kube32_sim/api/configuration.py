"""The body of a server-side apply: an object in YAML (or JSON) that says only what its manager wants."""

from __future__ import annotations

from typing import Any

from kube32_sim.api import errors, jsontext, strictness
from kube32_sim.api.confidential import is_confidential, without_values
from kube32_sim.api.customs.decoding import decode_custom
from kube32_sim.api.decode import DecodeError, cannot_be_handled, decode_value
from kube32_sim.api.resources import ResourceType

JsonObject = dict[str, Any]


def _read(data: bytes) -> tuple[Any, list[str]]:
    """The document, and texts for keys that occur twice; most are JSON, which is read sooner as such."""
    from kube32_sim.api import yamltext

    try:
        if data.lstrip().startswith(b"{"):
            value = jsontext.loads(data)
            if not jsontext.may_repeat(data, jsontext.check_extent(value)):
                return value, []
    except jsontext.JsonError as error:
        if str(error) == jsontext.TOO_DEEP:
            raise _not_read(error) from None
    try:
        value, repeated = yamltext.loads(data)
        jsontext.check_extent(value)
    except (yamltext.YamlError, jsontext.JsonError) as error:
        raise _not_read(error) from None
    return value, repeated


def _not_read(error: Exception) -> errors.ApiError:
    converting = "error converting YAML to JSON: " if str(error).startswith("yaml: ") else ""
    return errors.bad_request(f"error decoding YAML: {converting}{error}")


def _no_object(value: Any) -> errors.ApiError:
    names = {list: "array", str: "string", bool: "bool"}
    why = f"cannot unmarshal {names.get(value.__class__, 'number')} into Go value of type map[string]interface {{}}"
    return errors.bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: json: {why}")


def _repeats(repeated: list[str]) -> errors.ApiError:
    told = "".join(f"\n  {each}" for each in repeated)
    why = f"error converting YAML to JSON: yaml: unmarshal errors:{told}"
    return errors.bad_request(f"error strict decoding YAML: {why}")


class Configuration:
    """value: the object without apiVersion and kind.  warnings: keys that occur twice, where that is only warned of."""

    def __init__(self, data: bytes, row: ResourceType, field_validation: str) -> None:
        """Raises ApiError 400: no YAML, an object of another type, a key twice where that is refused."""
        try:
            value, repeated = _read(data)
        except errors.ApiError as error:
            raise errors.bad_request(without_values(error.message) if is_confidential(row) else error.message) from None
        if value is not None and not isinstance(value, dict):
            raise _no_object(value)
        if repeated and field_validation == strictness.STRICT:
            raise _repeats(repeated)
        self.value: JsonObject = value or {}
        self.warnings: list[str] = [] if field_validation == strictness.IGNORE else list(repeated)
        self._row = row
        self._check_type(self.value.pop("apiVersion", ""), self.value.pop("kind", ""))

    def _check_type(self, api_version: Any, kind: Any) -> None:
        row = self._row
        of, name = (part if isinstance(part, str) else "" for part in (api_version, kind))
        if (of, name) != (row.api_version, row.kind):
            group, _, version = of.rpartition("/")
            raise errors.bad_request(f"invalid object type: {group}/{version}, Kind={name}")

    def decoded(self, obj: JsonObject) -> JsonObject:
        """What applying it has made, in the row's form; raises ApiError 400 where a value is none of its type."""
        row = self._row
        if not row.schema:
            return decode_custom(obj, row.kind, row)[0]
        try:
            return decode_value(obj, row.schema)[0]
        except DecodeError as error:
            raise cannot_be_handled(row.kind, row.version, row.kind, str(error)) from None
