"""How admission refuses: 403 with the name the object has, or will have."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.errors import ApiError, forbidden
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]


def refuse(context: Context, obj: JsonObject, why: str) -> ApiError:
    metadata = obj.get("metadata") or {}
    name = context.name or metadata.get("name") or metadata.get("generateName") or "Unknown"
    return forbidden(context.row.group, context.row.plural, name, why)
