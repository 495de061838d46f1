"""The nodes of a cluster, and a journal of those whose figures changed.

Whoever keeps something computed from nodes (`ranking`, `columns`, `candidates`) remembers a position in the journal and
brings itself up to date by looking at what changed since: after a binding that is one node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kube32_sim.kestrel.models import Amounts, Node
from kube32_sim.kestrel.profiles import Profile

KEPT = 1024
"""Changes that the journal keeps at least, beside some for each node, half of them for sure."""


class NodeTable:
    """nodes: by name.  barred: how many nodes take no pod at all, by the reason.

    layout: counts additions and removals of nodes, and moves to another zone; it stands still while figures change.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.nodes: dict[str, Node] = {}
        self.barred: Counter[str] = Counter()
        self.layout = 0
        self._labelled: dict[tuple[str, str], set[str]] = {}
        self._journal: list[str] = []
        self._forgotten = 0

    @property
    def position(self) -> int:
        """How many changes there have been; it stands still while nothing that matters changes."""
        return self._forgotten + len(self._journal)

    def changed_since(self, position: int) -> Iterable[str] | None:
        """Names of the nodes that changed after a position; None where that is no longer known."""
        if position < self._forgotten:
            return None
        return dict.fromkeys(self._journal[position - self._forgotten :])

    def _touch(self, name: str) -> None:
        if len(self._journal) > 4 * len(self.nodes) + KEPT:
            half = len(self._journal) // 2
            del self._journal[:half]
            self._forgotten += half
        self._journal.append(name)

    def put(self, node: Node) -> None:
        """Add a node, or let it take the place of the one of its name."""
        old = self.nodes.get(node.name)
        self.nodes[node.name] = node
        if old == node:
            return
        self._reindex(old, node)
        self.layout += old is None or old.zone != node.zone
        self._touch(node.name)

    def drop(self, name: str) -> None:
        old = self.nodes.pop(name, None)
        if old is not None:
            self._reindex(old, None)
            self.layout += 1
            self._touch(name)

    def give(self, node: Node, amounts: Amounts) -> None:
        """More is free on a node: a pod has left it."""
        node.free = tuple(map(int.__add__, node.free, amounts))
        self._touch(node.name)

    def take(self, node: Node, amounts: Amounts) -> None:
        """Less is free on a node: a pod has come."""
        node.free = tuple(map(int.__sub__, node.free, amounts))
        self._touch(node.name)

    def _reindex(self, old: Node | None, new: Node | None) -> None:
        if old is not None:
            if old.barred:
                self.barred[old.barred] -= 1
            for item in old.labels.items():
                self._labelled[item].discard(old.name)
                if not self._labelled[item]:
                    del self._labelled[item]
        if new is not None:
            if new.barred:
                self.barred[new.barred] += 1
            for item in new.labels.items():
                self._labelled.setdefault(item, set()).add(new.name)

    def labelled(self, selector: Sequence[tuple[str, str]]) -> set[str]:
        """Nodes that have the rarest of the labels: all that can match a selector of at least one are among them."""
        return min((self._labelled.get(item, set()) for item in selector), key=len)
