"""Which columns a kind has when it is printed: `columns_for`.

One module per area, each with a dict `COLUMNS` of (group, kind); a kind without an entry shows its name and when it was
made, as upstream's default does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kube32_sim.api.columns import access, autoscaling, config, network, nodes, pods, simulation, storage, workloads
from kube32_sim.api.columns.form import NAME, name_of
from kube32_sim.api.tables import Cell, ColumnDefinition, Columns


def _default(obj: dict[str, Any]) -> Sequence[Cell]:
    return name_of(obj), obj["metadata"].get("creationTimestamp")


DEFAULT = Columns((NAME, ColumnDefinition("Created At", "When the object was created.", type="date")), _default)

_BY_KIND: dict[tuple[str, str], Columns] = {
    **pods.COLUMNS,
    **nodes.COLUMNS,
    **workloads.COLUMNS,
    **autoscaling.COLUMNS,
    **network.COLUMNS,
    **config.COLUMNS,
    **storage.COLUMNS,
    **access.COLUMNS,
    **simulation.COLUMNS,
}


def columns_for(group: str, kind: str) -> Columns:
    """The columns of a built-in kind."""
    return _BY_KIND.get((group, kind), DEFAULT)
