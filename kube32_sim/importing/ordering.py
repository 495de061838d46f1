"""In which order objects are stored: what others need comes before them.

Where nobody has a turn meanwhile that matters little.  Where loops see the writes one by one, an object whose owner is
not there yet would be garbage.
"""

from __future__ import annotations

from collections.abc import Sequence

from kube32_sim.api.customs.naming import DEFINITIONS
from kube32_sim.api.resources import ResourceType
from kube32_sim.importing.judging import Judged
from kube32_sim.importing.translating import NODES
from kube32_sim.storage.interface import Storage

NAMESPACES: Storage = ("", "namespaces")
_FIRST: Sequence[Storage] = (
    NAMESPACES,
    ("networking.k8s.io", "servicecidrs"),
    ("networking.k8s.io", "ipaddresses"),
    NODES,
)
_LAST: Sequence[Storage] = (("", "pods"), ("", "events"))
_REST = len(_FIRST)


def rank(row: ResourceType) -> int:
    """Of a type: the least is stored first."""
    if row.storage == DEFINITIONS:
        return -1
    if row.storage in _FIRST:
        return _FIRST.index(row.storage)
    return 1 + _REST + _LAST.index(row.storage) if row.storage in _LAST else _REST


def waves(objects: Sequence[Judged]) -> list[list[Judged]]:
    """Those that may be stored at the same time: each after its owners, and after what is of a lesser rank.

    Of owners that own each other in a circle one has to come first.
    """
    by_uid = {judged.uid: judged for judged in objects if judged.uid}
    levels: dict[str, int] = {}

    def level(judged: Judged) -> int:
        owners = (levels[uid] for uid in judged.owners if uid in levels)
        return max(rank(judged.row), 1 + max(owners, default=-1))

    for uid in by_uid:
        path = {uid: None} if uid not in levels else {}
        while path:  # up to the last owner, and back
            current = by_uid[next(reversed(path))]
            above = (one for one in current.owners if one in by_uid and one not in levels and one not in path)
            if (higher := next(above, None)) is not None:
                path[higher] = None
            else:
                levels[current.uid] = level(current)
                path.popitem()
    found: dict[int, list[Judged]] = {}
    for judged in objects:
        found.setdefault(levels[judged.uid] if judged.uid else level(judged), []).append(judged)
    return [found[each] for each in sorted(found)]
