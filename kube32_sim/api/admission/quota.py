"""ResourceQuota: a namespace's objects and what its pods ask for stay within what its quotas allow.

Usage is counted from the objects that are there when something new comes: it does not depend on what the status of the
quotas says.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kube32_sim.api.admission.refusal import refuse
from kube32_sim.api.admission.usage import Amounts, hard_limits, share, total
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]

QUOTAS = ("", "resourcequotas")


def check(obj: JsonObject, context: Context) -> None:
    """403 where a new object exceeds a quota of its namespace."""
    storage = context.row.storage
    for quota in context.cluster.list(QUOTAS, context.namespace):
        hard = hard_limits(quota)
        wanted = share(quota.get("spec") or {}, sorted(hard), storage, obj)
        if wanted:
            _check_quota(quota, hard, wanted, obj, context)


def _check_quota(quota: JsonObject, hard: Amounts, wanted: Amounts, obj: JsonObject, context: Context) -> None:
    storage = context.row.storage
    used = total(quota["spec"], wanted, storage, context.cluster.list(storage, context.namespace))
    over = [name for name in wanted if used[name].nanos + wanted[name].nanos > hard[name].nanos]
    if over:
        why = (
            f"exceeded quota: {quota['metadata']['name']}, requested: {_shown(over, wanted)}, "
            f"used: {_shown(over, used)}, limited: {_shown(over, hard)}"
        )
        raise refuse(context, obj, why)


def _shown(names: Iterable[str], amounts: Amounts) -> str:
    return ",".join(f"{name}={amounts[name].text}" for name in names)
