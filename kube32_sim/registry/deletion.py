"""What a DELETE does to an object: graceful end, finalizers, preconditions.  Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kube32_sim.api import errors
from kube32_sim.api.options import DeleteOptions
from kube32_sim.api.resources import ResourceType
from kube32_sim.clock import parse_time, rfc3339
from kube32_sim.storage.interface import JsonObject

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
LAST_TIME = 253_402_300_799.0
"""9999-12-31T23:59:59Z, the last moment that RFC 3339 can tell; a pod's grace may be longer."""


def check_preconditions(row: ResourceType, name: str, metadata: JsonObject, options: DeleteOptions) -> None:
    if options.uid is not None and options.uid != metadata.get("uid"):
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata.get('uid')}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(row.group, row.kind, name, why)
    if options.resource_version is not None and options.resource_version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({metadata['resourceVersion']}). The object might have been modified"
        )
        raise errors.conflict(row.group, row.kind, name, why)


def _wanted_finalizers(finalizers: list[str], row: ResourceType, options: DeleteOptions) -> list[str]:
    """The garbage collector's finalizers as the propagation policy wants them; the others as they are."""
    propagation = options.propagation
    if not propagation:
        if ORPHAN in finalizers or FOREGROUND in finalizers:
            return finalizers
        propagation = "Orphan" if row.strategy.orphans_by_default else "Background"
    others = [finalizer for finalizer in finalizers if finalizer not in (FOREGROUND, ORPHAN)]
    added = {"Foreground": [FOREGROUND], "Orphan": [ORPHAN]}.get(propagation, [])
    return others + added


def plan_deletion(
    row: ResourceType, current: JsonObject, options: DeleteOptions, now: float
) -> tuple[JsonObject, bool]:
    """What DELETE makes of an object: (its next state, whether it goes then).

    Kinds without a graceful end that nothing holds back go as they are: their next state is `current` itself.
    """
    old: dict[str, Any] = current["metadata"]
    metadata = dict(old)
    obj = {**current, "metadata": metadata}
    finalizers = _wanted_finalizers(list(metadata.get("finalizers", [])), row, options)
    if "deletionTimestamp" not in old:
        finalizers += [each for each in row.strategy.deletion_finalizers(current) if each not in finalizers]
    metadata.pop("finalizers", None)
    if finalizers:
        metadata["finalizers"] = finalizers
    grace = row.strategy.grace_period(current, options.grace)
    graceful = grace is not None
    if not graceful and not finalizers and row.strategy.releasable(current):
        return current, True
    seconds = grace or 0
    if "deletionTimestamp" in old:
        before = old.get("deletionGracePeriodSeconds", 0)
        if options.grace is None or seconds >= before:
            seconds = before
        else:
            metadata["deletionTimestamp"] = _after(parse_time(old["deletionTimestamp"]) - before, seconds, now)
    else:
        metadata["deletionTimestamp"] = _after(now, seconds, now)
        if "generation" in metadata and (row.generation or graceful) and row.strategy.counts_deletion:
            metadata["generation"] += 1
    if row.strategy.counts_deletion:
        metadata["deletionGracePeriodSeconds"] = seconds
    row.strategy.mark_deleting(obj)
    gone = not finalizers and seconds == 0 and row.strategy.releasable(obj)
    return obj, gone


def _after(start: float, seconds: int, now: float) -> str:
    """The time some seconds after a start, or after now where a start was beyond what can be written."""
    return rfc3339(min((start if start > 0 else now) + seconds, LAST_TIME))


def success(row: ResourceType, name: str, obj: JsonObject) -> JsonObject:
    """The Status that tells of an object's end."""
    details = {"name": name, **({"group": row.group} if row.group else {})}
    details |= {"kind": row.plural, "uid": obj["metadata"].get("uid", "")}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def background(options: DeleteOptions) -> DeleteOptions:
    """kube32's rule while its garbage collector runs: dependents go unless they are explicitly kept."""
    return options if options.propagation else replace(options, propagation="Background")
