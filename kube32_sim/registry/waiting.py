"""Writes that webhooks and policies are asked about before they are stored.

They may take long, and meanwhile everything else goes on.  So what they were asked about is `Admitted` for one revision
of the object only; if there is another when it is to be stored, the write begins anew (as upstream's).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

import orjson

from kube32_sim.api import errors
from kube32_sim.api.dynamic_admission.request import CREATE, DELETE, UPDATE
from kube32_sim.api.options import DeleteOptions
from kube32_sim.api.resources import ResourceType
from kube32_sim.registry.asked import Asked
from kube32_sim.registry.deletion import check_preconditions
from kube32_sim.registry.dynamic_admission import DynamicAdmission, Stage, Through, deletion_options, write_options
from kube32_sim.registry.identity import fit_namespace
from kube32_sim.registry.steps import Change, Steps, Update
from kube32_sim.storage.interface import JsonObject, KeyMissing, Store
from kube32_sim.storage.objects import StoredObject

ATTEMPTS = 100
"""How often a write begins anew because its object has changed meanwhile; then it is a conflict."""


class Moved(Exception):
    """The object is no longer in the state that everybody was asked about."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """What was asked about.  obj: what the object is to become; None: it is to go."""

    obj: JsonObject
    old: JsonObject
    revision: int
    warnings: Sequence[str]
    deletion: bool = False

    def check(self, asked: Asked, current: StoredObject, steps: Steps) -> None:
        """To be called in the moment of storing; raises Moved, and ApiError where it is not allowed any more."""
        if current.revision != self.revision:
            raise Moved
        if not self.deletion:
            steps.admit_again(asked, self.obj, self.old)


class Waiting:
    """One method a kind of write: what all who are asked make of it."""

    def __init__(self, store: Store, steps: Steps, dynamic: DynamicAdmission) -> None:
        self._store = store
        self._steps = steps
        self._dynamic = dynamic

    async def begun(self, asked: Asked, obj: JsonObject) -> tuple[Stage, Sequence[str]]:
        """The stage of a new object after all have changed it who want to, and warnings."""
        stage = self._dynamic.stage(asked, CREATE, obj, None, write_options("CreateOptions", asked.options))
        return stage, await stage.mutate(partial(self._steps.mutate_new, asked))

    async def updated(self, asked: Asked, change: Change, how: Update, through: Through | None) -> Admitted:
        """What becomes of the object as it is now.  Raises KeyMissing, ApiError."""
        seen, steps = self._current(asked), self._steps
        old = seen.object()
        obj = change(old) if how.patch else orjson.loads(orjson.dumps(change({})))  # it may be asked for again
        warnings = steps.begin_update(asked, obj, old, how)
        options = write_options("PatchOptions" if how.patch else "UpdateOptions", asked.options)
        stage = self._dynamic.stage(asked, UPDATE, obj, old, options, through=through)
        warnings += await stage.mutate(lambda changed: steps.mutate_update(asked, changed, old))
        steps.check_update(asked, stage.obj, old, how, more=True)
        warnings += await stage.validate(asked.name, stage.obj)
        return Admitted(stage.obj, old, seen.revision, warnings)

    async def deleted(self, asked: Asked, options: DeleteOptions) -> Admitted:
        """Raises KeyMissing, ApiError."""
        seen = self._current(asked)
        old = seen.object()
        check_preconditions(asked.row, asked.name, old["metadata"], options)
        self._steps.admit_deletion(asked, old)
        asked = asked._replace(dry_run=options.dry_run)
        stage = self._dynamic.stage(asked, DELETE, None, old, deletion_options(options))
        warnings = [*await stage.mutate(), *await stage.validate(asked.name, None)]
        return Admitted({}, old, seen.revision, warnings, deletion=True)

    async def posted(self, asked: Asked, operation: str, obj: JsonObject, body: ResourceType) -> JsonObject:
        """What becomes of a body that is not stored."""
        options = write_options("CreateOptions", asked.options) if operation == CREATE else None
        stage = self._dynamic.stage(asked, operation, obj, None, options, body=body)
        await stage.mutate()
        await stage.validate(asked.name, stage.obj)
        return stage.obj

    def _current(self, asked: Asked) -> StoredObject:
        seen = self._store.get(asked.row.storage, asked.key)
        if seen is None:
            raise KeyMissing(asked.key)
        return seen


async def retried(asked: Asked, write: Callable[[], Awaitable[StoredObject]]) -> StoredObject:
    """What `write` answers, as soon as it does not raise Moved; ApiError 409 where that is too often."""
    for _ in range(ATTEMPTS):
        try:
            return await write()
        except Moved:
            continue
    raise errors.conflict(asked.row.group, asked.row.plural, asked.name, errors.MODIFIED)


def named_anew(asked: Asked, obj: JsonObject) -> Asked:
    """Others may have given a new object its name, but no other namespace and no revision."""
    metadata = obj.setdefault("metadata", {})
    fit_namespace(asked, metadata)
    metadata.pop("resourceVersion", None)
    return asked._replace(name=metadata.get("name", "") or asked.name)
