"""Wanted pods are placed by the rules of a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kube32_sim.preview.placements import ClusterState, Placement, Placer, WantedPod, best

if TYPE_CHECKING:
    from kube32_sim.translation.kubernetes import Reading

MOST_VERDICTS = 250_000
"""Of nodes about pods, in one answer: each takes some hundred bytes of it, and ten times as much memory."""
NO_CONTROLLER = frozenset(("StatefulSet", "ReplicaSet", "ReplicationController"))


def make_placer(
    profile: str, state: ClusterState, wanted: Sequence[WantedPod], reading: Reading | None = None
) -> Placer:
    """profile: kube32 or kestrel.  Raises PreviewError where the profile cannot say what there is, or is wanted.

    reading: for Kestrel, `Translations` where many placers are made of much the same pods.
    """
    if profile == "kestrel":
        from kube32_sim.preview.kestrel import KestrelPlacer

        return KestrelPlacer(state, wanted, reading)
    from kube32_sim.preview.kube32 import Kube32Placer

    return Kube32Placer(state)


def place_all(
    placer: Placer,
    wanted: Sequence[WantedPod],
    *,
    details: bool,
    limit: int = 0,
    progress: Callable[[int], object] = int,
) -> list[Placement]:
    """One after the other, each counting for the next.

    limit: with the verdicts of so many nodes at most, of the best; 0: of all.  progress: called with 1 after each.
    """
    placements = []
    for pod in wanted:
        placements.append(best(placer.place(pod, details=details), limit))
        progress(1)
    return list(placer.in_the_end(placements))


def made_by_nobody(wanted: Sequence[WantedPod], profile: str) -> Iterator[str]:
    """kube32 has no controllers for some kinds, whose pods a preview shows all the same."""
    if profile != "kube32":
        return
    owners = {pod.owner: pod.source for pod in wanted if pod.owner.partition("/")[0] in NO_CONTROLLER}
    for source in owners.values():
        yield f"{source}: kube32 runs no controller for it: on a simulator nothing makes these pods"
