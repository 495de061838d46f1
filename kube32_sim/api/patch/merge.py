"""JSON Merge Patch (RFC 7396): objects merge, null deletes, everything else replaces."""

from __future__ import annotations

from typing import Any

from kube32_sim.api.decode.diagnose import describe
from kube32_sim.api.errors import bad_request


def apply_merge_patch(obj: dict[str, Any], patch: Any) -> dict[str, Any]:
    """`obj` with the patch merged in; neither is changed, untouched parts are shared.  Raises ApiError 400."""
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        why = f"json: cannot unmarshal {describe(patch)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding patch: {why}")
    try:
        return _merged(obj, patch)
    except RecursionError:
        raise bad_request("error decoding patch: exceeded max depth") from None


def _merged(target: Any, patch: dict[str, Any]) -> dict[str, Any]:
    made = target.copy() if target.__class__ is dict else {}
    for name, value in patch.items():
        if value is None:
            made.pop(name, None)
        elif value.__class__ is dict:
            made[name] = _merged(made.get(name), value)
        else:
            made[name] = value
    return made
