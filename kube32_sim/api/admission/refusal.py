"""How admission refuses: 403 with the name the object has, or will have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.errors import ApiError, forbidden
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]


def refuse(context: Context, obj: JsonObject, why: str) -> ApiError:
    metadata = obj.get("metadata") or {}
    name = context.name or metadata.get("name") or metadata.get("generateName") or "Unknown"
    return forbidden(context.row.group, context.row.plural, name, why)


def aggregate(reasons: Sequence[str]) -> str:
    """Several reasons as Go prints them: one as it is, more in brackets, none twice."""
    unique = list(dict.fromkeys(reasons))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
