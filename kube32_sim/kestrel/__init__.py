"""Kestrel, the scheduling core: exact, incremental, over integers; knows no Kubernetes, no I/O, no clock.

`run(operations)` replays operations against an empty cluster.  The simulator's scheduler and the preview use its parts:
`profiles`, `nodes`, `choosing`.
"""

from kube32_sim.kestrel.operations import run

__all__ = ["run"]
