"""A cluster whose objects outlive it: stopped or cut off, and started again on what it has left."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from kube32_sim.cluster import Cluster
from kube32_sim.options import ServeOptions

Manner = Literal["stop", "crash"]


class Outliving:
    """On a SQLite file in a directory.  options: of every start, in the fields of `ServeOptions`."""

    cluster: Cluster

    def __init__(self, directory: Path, **options: Any) -> None:
        self._directory = directory
        self._options = {"port": 0, "clock": "virtual", **options}
        self._number = 0

    @property
    def path(self) -> Path:
        return self._directory / f"store-{self._number}"

    async def start(self, **options: Any) -> Cluster:
        """options: others from now on."""
        self._options |= options
        self.cluster = Cluster(ServeOptions(**{"store": f"sqlite:{self.path}", **self._options}))
        await self.cluster.start()
        return self.cluster

    async def restart(self, manner: Manner = "crash", **options: Any) -> Cluster:
        """crash: as by kill -9, all that is left is what is in the files once everything so far is kept."""
        left, store = self.path, self.cluster.store
        if manner == "crash":
            await store.kept(store.revision)
            self._number += 1
            for file in (left, left.with_name(f"{left.name}-wal")):
                if file.exists():
                    shutil.copy(file, file.with_name(file.name.replace(left.name, self.path.name)))
        await self.cluster.stop()
        return await self.start(**options)

    async def __aenter__(self) -> Outliving:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.cluster.stop()


def contents(cluster: Cluster) -> dict[tuple[str, str, str], bytes]:
    """(group, plural, key) -> the bytes of everything that is stored."""
    store = cluster.store
    return {(*storage, stored.key): stored.raw for storage in store.storages() for stored in store.unordered(storage)}
