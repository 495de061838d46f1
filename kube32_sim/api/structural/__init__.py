"""What one version's openAPIV3Schema does to a custom resource: prune, default, validate, and say who owns what."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError
from kube32_sim.api.managed.shapes import Shape, custom_shape

JsonObject = dict[str, Any]


class StructuralSchema:
    """One compiled schema."""

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema

    def prune(self, obj: JsonObject, *, preserve: bool = False) -> tuple[JsonObject, list[str]]:
        """A new object without what the schema does not know, and the paths of that.

        Raises decode.DecodeError where an embedded resource has metadata that cannot be decoded.
        """
        return dict(obj), []

    def default(self, obj: JsonObject) -> None:
        """In place: nulls that may not be there go, defaults come."""

    def validate(self, obj: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
        """All failures but those of CEL rules."""
        return []

    def shape(self) -> Shape:
        return custom_shape()

    @property
    def has_defaults(self) -> bool:
        return False
