"""How the problems of a load are told: some of them, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence

from kube32_sim.api.errors import ApiError, FieldError

MOST_TOLD = 20
"""Problems of a load, and names in a note, that are told."""


def refusal(failures: Sequence[FieldError], code: int, what: str) -> ApiError:
    causes = [{"reason": one.reason, "message": one.message, "field": one.field} for one in failures[:MOST_TOLD]]
    more = f" (and {len(failures) - MOST_TOLD} more)" if len(failures) > MOST_TOLD else ""
    told = "; ".join(one.message for one in failures[:3]) + (" ..." if len(failures) > 3 else "")
    reason = "Conflict" if code == 409 else "Invalid"
    details = {"group": "sim.kube32.io", "kind": "snapshots", "causes": causes}
    return ApiError(code, reason, f"{what}: {told}{more}", details)


def some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_TOLD])
    return f"{shown} and {len(names) - MOST_TOLD} more" if len(names) > MOST_TOLD else shown
