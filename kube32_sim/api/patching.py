"""A PATCH request: its body read, applied to an object, and the result decoded again.

The arithmetic of the three kinds of patch is in `patch/`; here are their media types and errors.
"""

from __future__ import annotations

from typing import Any

import orjson

from kube32_sim.api import errors, groupkinds, jsontext, strictness
from kube32_sim.api.confidential import REDACTED, cleaned, is_confidential, without_values
from kube32_sim.api.customs.decoding import decode_custom
from kube32_sim.api.decode import DecodeError, decode_value
from kube32_sim.api.decode.diagnose import describe
from kube32_sim.api.errors import ApiError
from kube32_sim.api.patch import apply_json_patch, apply_merge_patch, apply_strategic
from kube32_sim.api.patch.gomap import go_text
from kube32_sim.api.patch.json import takes_along, unknown_members
from kube32_sim.api.resources import ResourceType

JsonObject = dict[str, Any]

_KINDS = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}


class Patcher:
    """One patch, to be applied to whatever the object turns out to be (again, when it changed meanwhile)."""

    def __init__(self, data: bytes, content_type: str, row: ResourceType) -> None:
        """Raises ApiError 415 for another media type."""
        kind = _KINDS.get(content_type.partition(";")[0].strip())
        if kind is None or (kind == "strategic" and not row.schema):
            raise _unsupported(row, known=kind is not None)
        self.kind = kind
        self._data = data
        self._row = row
        self.reveals = False
        """Whether what is said of the result may quote what was confidential: it was put elsewhere."""

    def apply(self, current: JsonObject, field_validation: str, subresource: str = "") -> tuple[JsonObject, list[str]]:
        """The patched object, decoded, and texts of warnings; raises ApiError.  `current` is not changed.

        Both objects are without apiVersion and kind; the patch sees them all the same.  subresource: of a
        patch to `status`, what it leaves alone of anything else (but the metadata) is that of `current` itself.
        """
        row = self._row
        patch, repeated = self._patch(field_validation)
        self.reveals = self.kind == "json" and is_confidential(row) and takes_along(patch)
        document = {"apiVersion": row.api_version, "kind": row.kind, **current}
        try:
            patched = self._applied(document, patch)
        except ApiError as error:
            raise (cleaned(error) if is_confidential(row) else error) from None
        api_version, kind = patched.pop("apiVersion", None), patched.pop("kind", None)
        shown = _Shown(row, self.kind, patch, patched, api_version, kind)
        kept = {}
        if subresource == "status":
            kept = {n: v for n, v in patched.items() if v is current.get(n) and n not in ("metadata", "status")}
        obj, unknown = self._decoded({n: v for n, v in patched.items() if n not in kept}, shown)
        obj |= kept
        faults = [*repeated, *map(strictness.unknown_field, unknown)]
        if field_validation == strictness.IGNORE or not faults:
            return obj, []
        if field_validation == strictness.STRICT:
            raise shown.refused(strictness.strict_error(faults))
        return obj, faults

    def _patch(self, field_validation: str) -> tuple[Any, list[str]]:
        """The patch as a JSON value, and texts for its faults: keys that occur twice, unknown ones of operations."""
        try:
            patch = jsontext.loads(self._data)
            encoded = jsontext.check_extent(patch)
        except jsontext.JsonError as error:
            raise errors.bad_request(
                str(error) if self.kind == "strategic" else f"error decoding patch: {error}"
            ) from None
        if field_validation == strictness.IGNORE:
            return patch, []
        unknown = unknown_members(patch) if self.kind == "json" else []
        if not unknown and not jsontext.may_repeat(self._data, encoded):
            return patch, []
        faults = strictness.faults(self._data, unknown)
        return patch, [f"json patch {fault}" for fault in faults] if self.kind == "json" else faults

    def _applied(self, document: JsonObject, patch: Any) -> JsonObject:
        if self.kind == "json":
            patched = apply_json_patch(document, patch)
        elif self.kind == "merge":
            patched = apply_merge_patch(document, patch)
        else:
            patched = apply_strategic(document, patch, self._row.schema)
        if not isinstance(patched, dict):
            raise errors.bad_request("the patched document is no object")
        return patched

    def _decoded(self, patched: JsonObject, shown: _Shown) -> tuple[JsonObject, list[str]]:
        row = self._row
        try:
            jsontext.check_extent(patched)
            if not row.schema:
                return decode_custom(patched, shown.kind_of(row), row)
            self._check_type(shown)
            obj, unknown = decode_value(patched, row.schema, converting=self.kind == "strategic")
        except (DecodeError, jsontext.JsonError) as error:
            raise shown.refused(str(error)) from None
        return obj, unknown

    def _check_type(self, shown: _Shown) -> None:
        """A patch may not make the object into something else (a strategic one is not asked, as upstream)."""
        row = self._row
        api_version, kind = shown.version_of(row), shown.kind_of(row)
        if self.kind == "strategic" or (api_version == row.api_version and kind == row.kind):
            return
        why = groupkinds.mismatch(api_version, kind, row.group, row.kind)
        if why is not None:
            raise shown.refused(why)
        raise groupkinds.other_version(api_version, row.api_version)


class _Shown:
    """What a refusal shows: the patched document, or for a strategic merge patch the patch."""

    def __init__(
        self, row: ResourceType, patch_kind: str, patch: Any, patched: JsonObject, api_version: Any, kind: Any
    ) -> None:
        self._hidden = is_confidential(row)
        self._patch_kind = patch_kind
        self._patch = patch
        self._patched = patched
        self._api_version = api_version
        self._kind = kind

    def version_of(self, row: ResourceType) -> str:
        return self._text("apiVersion", self._api_version) or row.api_version

    def kind_of(self, row: ResourceType) -> str:
        return self._text("kind", self._kind) or row.kind

    def _text(self, name: str, value: Any) -> str:
        if value is None or isinstance(value, str):
            return value or ""
        why = f"json: cannot unmarshal {describe(value)} into Go struct field .{name} of type string"
        raise self.refused(f"couldn't get version/kind; json parse error: {why}")

    def refused(self, why: str) -> ApiError:
        """422 for a result that is no object of the type."""
        if self._hidden:
            value, why = REDACTED, without_values(why)
        elif self._patch_kind == "strategic":
            value = go_text(self._patch)
        else:
            named = {"apiVersion": self._api_version, "kind": self._kind, **self._patched}
            value = _encoded({name: item for name, item in named.items() if item is not None})
        return errors.invalid("", "", "", [errors.invalid_value("patch", value, why)])


def _encoded(value: JsonObject) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:
        return "{}"


def _unsupported(row: ResourceType, *, known: bool) -> ApiError:
    if known or not row.schema:
        accepted = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
        return errors.unsupported_media_type(
            f"the body of the request was in an unknown format - accepted media types include: {accepted}"
        )
    return ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
