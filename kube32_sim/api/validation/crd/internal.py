"""A definition's spec the way upstream's internal type has it, which is the one that is validated.

What all versions have in common stands there once, beside `versions` and not in them; paths in messages follow from it
(`spec.validation.openAPIV3Schema` and not `spec.versions[0].schema.openAPIV3Schema`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

JsonObject = dict[str, Any]

_MOVABLE = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_LISTS = ("additionalPrinterColumns", "selectableFields")


class InternalSpec(NamedTuple):
    """spec: as it was sent.  versions: without what stands beside them.  version: the name of the first."""

    spec: JsonObject
    versions: list[JsonObject]
    version: str
    validation: JsonObject | None
    subresources: JsonObject | None
    columns: list[JsonObject]
    selectable: list[JsonObject]

    def subresources_of(self, version: JsonObject) -> JsonObject | None:
        """The subresources that count for one of `versions`."""
        if any(each.get("subresources") is not None for each in self.versions):
            return version.get("subresources")
        return self.subresources


def internal(spec: JsonObject) -> InternalSpec:
    versions = spec.get("versions") or []
    common = _common(versions)
    return InternalSpec(
        spec,
        [{key: value for key, value in each.items() if key not in common} for each in versions],
        versions[0].get("name", "") if versions else "",
        common.get("schema"),
        common.get("subresources"),
        common.get("additionalPrinterColumns") or [],
        common.get("selectableFields") or [],
    )


def _common(versions: list[JsonObject]) -> JsonObject:
    """What is the same in all versions, by field; selectable fields move only along with the schema."""
    found: JsonObject = {}
    for field in _MOVABLE if versions else ():
        value = _value(versions[0], field)
        if all(_value(each, field) == value for each in versions[1:]):
            found[field] = value
    if "schema" not in found:
        found.pop("selectableFields", None)
    return found


def _value(version: JsonObject, field: str) -> Any:
    """An empty list is as good as none."""
    return version.get(field) or None if field in _LISTS else version.get(field)
