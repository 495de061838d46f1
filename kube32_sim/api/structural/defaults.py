"""Defaults of a schema: whether they are good ones."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import FieldError

JsonObject = dict[str, Any]


def default_faults(schema: JsonObject, path: str) -> list[FieldError]:
    """What upstream's ValidateDefaults finds."""
    return []
