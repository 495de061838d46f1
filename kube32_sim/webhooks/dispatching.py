"""Asking the webhooks that a request concerns: mutating ones one after the other, validating ones at the same time.

The rules of who is asked again, and of whose failures count, are upstream's `plugin/webhook/mutating` and `validating`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kube32_sim.api import errors
from kube32_sim.api.authorization import Authorizer
from kube32_sim.api.confidential import is_confidential
from kube32_sim.api.dynamic_admission.request import AdmissionRequest
from kube32_sim.api.errors import ApiError
from kube32_sim.api.patch import NotApplicable, apply_json_patch
from kube32_sim.api.resources import ResourceTable, ResourceType
from kube32_sim.api.strategies.base import Lookup
from kube32_sim.api.webhooks import review
from kube32_sim.api.webhooks.compiled import Webhook
from kube32_sim.clock import Clock
from kube32_sim.ids import Ids
from kube32_sim.storage.interface import Store
from kube32_sim.webhooks.calling import Caller
from kube32_sim.webhooks.connecting import Unreachable
from kube32_sim.webhooks.following import MUTATING, VALIDATING, Hooks

log = logging.getLogger(__name__)

NOTE = "webhooks"


@dataclass(slots=True)
class _Rounds:
    """What is remembered of a request between its two rounds.

    asked: who may be asked again.  again: who is to be.  changes: of the request, when the round was over.
    """

    asked: set[tuple[str, str]] = field(default_factory=set)
    again: set[tuple[str, str]] = field(default_factory=set)
    changes: int = 0

    def changed(self) -> None:
        """The object is another one: all who were asked before are to be asked again."""
        self.again |= self.asked
        self.asked.clear()


class Dispatcher:
    """See `registry.dynamic_admission.Webhooks`."""

    def __init__(
        self, table: ResourceTable, store: Store, cluster: Lookup, authorizer: Authorizer, clock: Clock, ids: Ids
    ) -> None:
        """authorizer: whom conditions ask.  ids: for the uids of reviews."""
        self._mutating = Hooks(table, store, MUTATING)
        self._validating = Hooks(table, store, VALIDATING)
        self._cluster = cluster
        self._authorizer = authorizer
        self._clock = clock
        self._ids = ids
        self._caller = Caller(cluster)

    async def stop(self) -> None:
        self._mutating.stop()
        self._validating.stop()
        await self._caller.close()

    @property
    def active(self) -> bool:
        return bool(self._mutating) or bool(self._validating)

    def concerns(self, row: ResourceType, subresource: str, operation: str) -> bool:
        return bool(self._mutating.of(row, subresource, operation) or self._validating.of(row, subresource, operation))

    # changing

    async def mutate(self, request: AdmissionRequest, *, again: bool) -> Sequence[str]:
        rounds: _Rounds = request.notes.setdefault(NOTE, _Rounds())
        if again and request.changes != rounds.changes:
            rounds.changed()
        found: list[str] = []
        hooks = self._mutating.of(request.row, request.subresource, request.operation)
        try:
            for hook in hooks:
                row = self._wanted(hook, request, self._mutating)
                if row is None or (again and hook.key not in rounds.again):
                    continue
                if await self._changed(hook, request, row, found):
                    rounds.changed()
                if hook.again:
                    rounds.asked.add(hook.key)
        except ApiError as error:
            error.warnings = (*found, *error.warnings)
            raise
        rounds.changes = request.changes
        return found

    async def _changed(self, hook: Webhook, request: AdmissionRequest, row: ResourceType, found: list[str]) -> bool:
        """Whether the webhook made another object of the request's."""
        answer = await self._asked(hook, request, row, mutating=True)
        if answer is None:
            return False
        found += answer.warnings
        if not answer.allowed:
            raise review.denied(hook.name, answer.status)
        if not answer.patch:
            return False
        shown = request.shown(row)
        if shown is None:
            raise review.not_patchable(hook.name)
        return request.change(_patched(shown, answer.patch), row)

    # refusing

    async def validate(self, request: AdmissionRequest) -> Sequence[str]:
        hooks = self._validating.of(request.row, request.subresource, request.operation)
        wanted = [(hook, self._wanted(hook, request, self._validating)) for hook in hooks]
        calls = [self._allowed(hook, request, row) for hook, row in wanted if row is not None]
        if not calls:
            return ()
        results = await asyncio.gather(*calls, return_exceptions=True)
        return _together(results)

    async def _allowed(self, hook: Webhook, request: AdmissionRequest, row: ResourceType) -> Sequence[str]:
        answer = await self._asked(hook, request, row, mutating=False)
        if answer is None or answer.allowed:
            return answer.warnings if answer is not None else ()
        error = review.denied(hook.name, answer.status)
        error.warnings = answer.warnings
        raise error

    # asking

    def _wanted(self, hook: Webhook, request: AdmissionRequest, hooks: Hooks) -> ResourceType | None:
        """The version in which the webhook is to be asked; None: it is not."""
        row = hook.matching.row(request, hooks.equivalents, self._cluster)
        if row is None or hook.conditions is None:
            return row
        from kube32_sim.api.policies.evaluation import Run
        from kube32_sim.api.policies.expressions import Fault

        try:
            matches = hook.conditions.match(Run(request, row, self._authorizer))
        except Fault as fault:
            raise errors.forbidden(request.row.group, request.row.plural, request.name, str(fault)) from None
        return row if matches else None

    async def _asked(
        self, hook: Webhook, request: AdmissionRequest, row: ResourceType, *, mutating: bool
    ) -> review.Answer | None:
        """None where it could not be asked, and need not be."""
        if request.dry_run and not hook.dry_run:
            raise review.no_dry_run(hook.name)
        try:
            return await self._call(hook, request, row, mutating=mutating)
        except (Unreachable, review.Unusable) as failure:
            quotes = isinstance(failure, review.Unusable) and is_confidential(request.row)
            why = "its answer cannot be used" if quotes else str(failure)
            if not hook.ignores:
                raise review.failed(hook.name, why) from None
            log.warning("failed calling webhook, failing open %s: %s", hook.name, why)
            return None

    async def _call(
        self, hook: Webhook, request: AdmissionRequest, row: ResourceType, *, mutating: bool
    ) -> review.Answer:
        if not hook.version:
            raise review.Unusable(review.UNKNOWN_VERSIONS)
        uid = self._ids.uid()
        body = review.review(uid, hook.version, request, row)
        with self._clock.outside():
            code, data = await self._caller.call(hook.client, body, hook.timeout)
        return review.read_answer(code, data, uid, hook.version, mutating=mutating)


def _patched(shown: dict[str, Any], patch: Any) -> dict[str, Any]:
    try:
        made = apply_json_patch(shown, patch)
    except NotApplicable as failure:
        raise review.not_applicable(failure.why) from None
    except ApiError as failure:
        raise review.not_applicable(failure.message) from None
    if not isinstance(made, dict):
        raise review.not_applicable("json: cannot unmarshal array into Go value of type map[string]interface {}")
    return made


def _together(results: Iterable[Sequence[str] | BaseException]) -> list[str]:
    """The warnings of all; raises the first failure, with these."""
    found: list[str] = []
    first: BaseException | None = None
    for result in results:
        if isinstance(result, BaseException):
            found += getattr(result, "warnings", ())
            first = first or result
        else:
            found += result
    if first is None:
        return found
    if isinstance(first, ApiError):
        first.warnings = tuple(found)
    raise first
