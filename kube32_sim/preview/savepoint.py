"""What is free on the nodes of a scheduler's picture may be changed for a while, and is then as it was before."""

from __future__ import annotations

from kube32_controllers.scheduler_cache import SchedulerCache

from kube32_sim.kestrel.models import Amounts, Node


class Savepoint:
    """cache: the picture.  Only its nodes are changed, and only through this."""

    def __init__(self, cache: SchedulerCache) -> None:
        self.cache = cache
        self._before: dict[str, tuple[Node | None, Amounts]] = {}

    def take(self, name: str, amounts: Amounts) -> None:
        """A pod comes to a node; nothing where there is no such node."""
        node = self._remembered(name)
        if node is not None:
            self.cache.table.take(node, amounts)

    def give(self, name: str, amounts: Amounts) -> None:
        node = self._remembered(name)
        if node is not None:
            self.cache.table.give(node, amounts)

    def put(self, node: Node) -> None:
        """A node is added, or takes the place of the one of its name."""
        self._remembered(node.name)
        self.cache.table.put(node)

    def rollback(self) -> None:
        table = self.cache.table
        for name, (node, free) in self._before.items():
            if node is None:
                table.drop(name)
            elif table.nodes.get(name) is node:
                table.give(node, tuple(map(int.__sub__, free, node.free)))
            else:
                node.free = free
                table.put(node)
        self._before.clear()

    def _remembered(self, name: str) -> Node | None:
        node = self.cache.table.nodes.get(name)
        self._before.setdefault(name, (node, node.free if node is not None else ()))
        return node
