"""Kestrel, the scheduling core: exact, incremental, over integers; knows no Kubernetes, no I/O, no clock.

`run(operations)` replays operations against an empty cluster.  Who keeps a picture of a cluster of his own, as the
simulator's scheduler does, takes `profiles`, `models`, `nodes`, `choosing` and `filters`; `cluster` adds what happens
to pods: affinity, preemption, a log.
"""

from kube32_sim.kestrel.operations import run

__all__ = ["run"]
