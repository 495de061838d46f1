"""Strategies of kinds with a spec, and small variations that many kinds share.

`SpecStrategy` is what most built-in kinds do beyond the generic strategy; the area modules derive from it.
"""

from __future__ import annotations

from typing import Any

from kube32_sim.api.strategies.base import Context, Strategy

JsonObject = dict[str, Any]


def keep_all_but_status(obj: JsonObject, old: JsonObject, *locked: str) -> None:
    """What a write to the status subresource leaves of `obj`: its status and metadata, the rest is the old object's.

    locked: keys of metadata that stay the old object's too.
    """
    for key in obj.keys() - old.keys() - {"status", "apiVersion", "kind"}:
        del obj[key]
    for key in old.keys() - {"metadata", "status", "apiVersion", "kind"}:
        obj[key] = old[key]
    obj.setdefault("status", {})
    metadata, before = obj["metadata"], old["metadata"]
    for key in ("generation", *locked):
        if key in before:
            metadata[key] = before[key]
        else:
            metadata.pop(key, None)


class SpecStrategy(Strategy):
    """A kind with a spec: it is always there, and a status write may change metadata besides the status."""

    #: numbers that a new object's status shows, all 0.
    counters: tuple[str, ...] = ()
    #: keys of metadata that a write to the status subresource does not change.
    status_locks: tuple[str, ...] = ()
    #: a change of the annotations is a new generation too.
    annotations_count = False

    def default(self, obj: JsonObject) -> None:
        self.default_spec(obj, obj.setdefault("spec", {}))

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        """Fill in the defaults of the spec."""

    def reset_status(self, obj: JsonObject) -> None:
        obj["status"] = dict.fromkeys(self.counters, 0)

    def prepare_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        super().prepare_update(obj, old, context)
        before = old["metadata"]
        if "generation" not in before:
            obj["metadata"].pop("generation", None)
        elif self.annotations_count and obj["metadata"]["generation"] == before["generation"]:
            changed = (obj["metadata"].get("annotations") or {}) != (before.get("annotations") or {})
            obj["metadata"]["generation"] += changed

    def prepare_status_update(self, obj: JsonObject, old: JsonObject, context: Context) -> None:
        keep_all_but_status(obj, old, *self.status_locks)


#: what a write to /status leaves alone where upstream resets all metadata (`ResetObjectMetaForStatus`).
ALL_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")


class Unversioned(SpecStrategy):
    """A kind that insists on a resourceVersion in a PUT."""

    unconditional_update = False


class CreatedByPut(SpecStrategy):
    """A kind that a PUT creates."""

    create_on_update = True
