"""For tests: the plugin for pytest (fixtures `kube32`, `kube32_session`, `kube32_factory`), and what tests import.

    from kube32_sim.testing import Kube32, matching

`Kube32` is the type of the fixtures, for annotations; `matching` compares objects by the fields that are named.
Importing this module imports no simulator yet: pytest does so in every project beside which it is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kube32_sim.blocking import BlockingCluster as Kube32
    from kube32_sim.blocking import matching

__all__ = ["Kube32", "matching"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from kube32_sim import blocking

        return blocking.BlockingCluster if name == "Kube32" else blocking.matching
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
