"""ResourceQuota: a namespace's objects and what its pods ask for stay within what its quotas allow.

Usage is counted from the objects that are there when something new comes: it does not depend on what the status of the
quotas says.  Where nobody counts (`by_status`, a bare API server), the status is what there is: a quota without one
allows everything, as upstream's does that no controller has looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kube32_sim.api.admission.refusal import refuse
from kube32_sim.api.admission.usage import (
    CLAIMS,
    PODS,
    SERVICES,
    ZERO,
    Amounts,
    covers,
    hard_limits,
    share,
    total,
    unspecified,
)
from kube32_sim.api.quantity import add, parse_all, sub
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]

QUOTAS = ("", "resourcequotas")
_CHANGING = (SERVICES, CLAIMS)
"""Types that may count for more after an update."""


def check(obj: JsonObject, old: JsonObject | None, context: Context, *, by_status: bool) -> None:
    """403 where a new object, or one that grows, exceeds a quota of its namespace; old: what it was."""
    storage = context.row.storage
    if old is not None and storage not in _CHANGING:
        return
    concerned: list[tuple[JsonObject, Amounts, Amounts]] = []
    for quota in context.cluster.list(QUOTAS, context.namespace):
        hard = parse_all((quota.get("status") or {}).get("hard")) if by_status else hard_limits(quota)
        wanted = share(quota.get("spec") or {}, sorted(hard), storage, obj)
        figures = _figures(quota, hard, obj, context)
        if figures:
            raise refuse(context, obj, f"failed quota: {quota['metadata']['name']}: must specify {figures}")
        if wanted:
            concerned.append((quota, hard, wanted))
    for quota, hard, wanted in concerned:
        _check_quota(quota, hard, _more(quota, wanted, old, context), obj, context, by_status=by_status)


def _figures(quota: JsonObject, hard: Amounts, obj: JsonObject, context: Context) -> str:
    """What the containers of a pod should have said."""
    if context.row.storage != PODS or not covers(quota.get("spec") or {}, PODS, obj):
        return ""
    missing = unspecified(hard, obj["spec"])
    return "; ".join(f"{resource} for: {','.join(containers)}" for resource, containers in missing.items())


def _more(quota: JsonObject, wanted: Amounts, old: JsonObject | None, context: Context) -> Amounts:
    """What an object counts for beyond what it counted for already."""
    had = {} if old is None else share(quota.get("spec") or {}, wanted, context.row.storage, old)
    more = {name: sub(amount, had.get(name, ZERO)) for name, amount in wanted.items()}
    return {name: amount for name, amount in more.items() if amount.nanos > 0}


def _check_quota(
    quota: JsonObject, hard: Amounts, wanted: Amounts, obj: JsonObject, context: Context, *, by_status: bool
) -> None:
    storage, name = context.row.storage, quota["metadata"]["name"]
    if by_status:
        used = parse_all((quota.get("status") or {}).get("used"))
        if unknown := [resource for resource in wanted if resource not in used]:
            raise refuse(context, obj, f"status unknown for quota: {name}, resources: {','.join(unknown)}")
    else:
        used = total(quota["spec"], wanted, storage, context.cluster.list(storage, context.namespace))
    over = [name for name in wanted if used[name].nanos + wanted[name].nanos > hard[name].nanos]
    if over:
        why = (
            f"exceeded quota: {name}, requested: {_shown(over, wanted)}, "
            f"used: {_shown(over, used)}, limited: {_shown(over, hard)}"
        )
        raise refuse(context, obj, why)


def _shown(names: Iterable[str], amounts: Amounts) -> str:
    return ",".join(f"{name}={amounts[name].text}" for name in names)


def charged(quota: JsonObject, storage: tuple[str, str], obj: JsonObject) -> JsonObject | None:
    """A quota's status with what a new object counts for added to what is used; None where that is nothing."""
    status = quota.get("status") or {}
    counted = share(quota.get("spec") or {}, sorted(status.get("hard") or ()), storage, obj)
    if not counted:
        return None
    used = parse_all(status.get("used"))
    more = {name: add(used.get(name, ZERO), amount).text for name, amount in counted.items()}
    return {**status, "used": {**(status.get("used") or {}), **more}}
