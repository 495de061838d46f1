"""Why a pod took a step in a replay: what the journal of its cluster has noted of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from kube32_sim.explaining import Notes, wording
from kube32_sim.recording.history import BOUND, GONE, Step
from kube32_sim.registry.journal import CREATED, Noted


class Taken(NamedTuple):
    """A step, the uid of the pod that took it, and the revision of the write that it was taken with."""

    step: Step
    uid: str
    revision: int


def explained(taken: Sequence[Taken], journal: Iterable[Noted]) -> list[Step]:
    """The steps, with why they were taken where neither the pod nor the journal is silent about it."""
    notes = Notes(journal)
    return [one.step if one.step.why else replace(one.step, why=_why(notes, one)) for one in taken]


def _why(notes: Notes, taken: Taken) -> str:
    mine = notes.of(taken.uid)
    placed = next((one for one in mine if one.noted.revision == taken.revision), None)
    if taken.step.what == GONE and (placed is None or not placed.noted.first):  # it was asked for before
        placed = next((one for one in mine if one.noted.first), placed)
    if placed is None:
        return ""
    noted = placed.noted
    placement = noted.placement or (noted.cause.placement if noted.cause is not None else None)
    if taken.step.what == BOUND and placement is not None:
        return wording.rank(placement)
    told = wording.of_placement if noted.did == CREATED else partial(wording.of_write, predecessor=None)
    return told(noted)[2]
