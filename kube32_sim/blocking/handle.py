"""A running cluster as programs hold it that are not in its event loop: those that wait, and those that await."""

from __future__ import annotations

import asyncio
import atexit
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from kube32_sim.api.errors import ApiError
from kube32_sim.blocking.acting import Acts, Running
from kube32_sim.blocking.loop import BackgroundLoop, lease, release
from kube32_sim.kubeconfig import full_path, write_kubeconfig
from kube32_sim.local_client import LocalClient
from kube32_sim.options import ServeOptions

P = ParamSpec("P")
T = TypeVar("T")

ANSWERS = (AssertionError, TimeoutError, ApiError, ValueError)
"""What tells the caller something: where in here it was raised is of no interest."""


def _blocking(
    act: Callable[Concatenate[Acts, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BlockingCluster, P], T]:
    @wraps(act)
    def method(self: BlockingCluster, *args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return self.run(act(self.acts, *args, **kwargs))
        except ANSWERS as error:
            raise error.with_traceback(None) from None

    return method  # type: ignore[return-value]  # to mypy a named self is another signature


def _elsewhere(
    act: Callable[Concatenate[Acts, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[AsyncCluster, P], Coroutine[Any, Any, T]]:
    @wraps(act)
    async def method(self: AsyncCluster, *args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return await self.run(act(self.acts, *args, **kwargs))
        except ANSWERS as error:
            raise error.with_traceback(None) from None

    return method  # type: ignore[return-value]  # to mypy a named self is another signature


def _in_process(
    call: Callable[Concatenate[LocalClient, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BlockingClient, P], T]:
    @wraps(call)
    def method(self: BlockingClient, *args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return self.cluster.run(call(self.cluster.cluster.client, *args, **kwargs))
        except ANSWERS as error:
            raise error.with_traceback(None) from None

    return method  # type: ignore[return-value]  # to mypy a named self is another signature


class BlockingClient:
    """The verbs of `kube32_sim.client.Client` without `await`, for types such as `kube32_sim.client.PODS`."""

    def __init__(self, cluster: BlockingCluster) -> None:
        self.cluster = cluster

    get = _in_process(LocalClient.get)
    list = _in_process(LocalClient.list)
    create = _in_process(LocalClient.create)
    update = _in_process(LocalClient.update)
    patch = _in_process(LocalClient.patch)
    delete = _in_process(LocalClient.delete)


class AsyncCluster:
    """The methods of `BlockingCluster` for an event loop of asyncio that must go on meanwhile."""

    def __init__(self, acts: Acts, loop: BackgroundLoop) -> None:
        self.acts, self._loop = acts, loop

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """A coroutine in the cluster's own event loop, awaited from this one."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            work.close()
            raise RuntimeError("this event loop is not asyncio's: use the methods without aio, in a thread") from None
        return await asyncio.wrap_future(self._loop.submit(work))

    settle = _elsewhere(Acts.settle)
    advance = _elsewhere(Acts.advance)
    get = _elsewhere(Acts.get)
    list = _elsewhere(Acts.list)
    create = _elsewhere(Acts.create)
    apply = _elsewhere(Acts.apply)
    patch = _elsewhere(Acts.patch)
    delete = _elsewhere(Acts.delete)
    events = _elsewhere(Acts.events)
    fault = _elsewhere(Acts.fault)
    heal = _elsewhere(Acts.heal)
    wait_for = _elsewhere(Acts.wait_for)
    wait_for_watch = _elsewhere(Acts.wait_for_watch)
    assert_object = _elsewhere(Acts.assert_object)


class BlockingCluster:
    """A cluster that has been started in the background; `close` stops it.

    Every method waits for its answer and may be called from any thread, but not from the cluster's own.  In a coroutine
    it holds up the event loop; `aio` has the same methods to be awaited.  cluster: the `Cluster` itself, whose
    coroutines only `run` may run.
    """

    def __init__(self, cluster: Running) -> None:
        """Start it; raises what `Cluster.start` raises, and leaves nothing running."""
        self.cluster = cluster
        self.acts = Acts(cluster)
        self._folder: str | None = None
        self._closed = False
        self._loop = lease()
        try:
            self._loop.run(self._start())
        except BaseException:
            release()
            raise
        atexit.register(self.close)  # of who forgets it, as notebooks do
        self.aio = AsyncCluster(self.acts, self._loop)
        self.client = BlockingClient(self)

    def __repr__(self) -> str:
        return f"<cluster at {self.url}, {self.options.clock} clock{', closed' * self._closed}>"

    async def _start(self) -> None:
        await self.cluster.start()
        if self.cluster.clock.mode == "Virtual":
            await self.cluster.settle()

    def close(self) -> None:
        """Stop it: its port is free from then on.  A second time does nothing."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        try:
            self._loop.run(self.cluster.stop())
        finally:
            release()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """A coroutine in the cluster's own event loop: `kube32.run(kube32.cluster.settle())`."""
        __tracebackhide__ = True
        if self._closed:
            work.close()
            raise RuntimeError("this cluster is closed")
        return self._loop.run(work)

    @property
    def options(self) -> ServeOptions:
        return self.cluster.options

    @property
    def url(self) -> str:
        return self.cluster.url

    @property
    def port(self) -> int:
        return self.cluster.port

    @property
    def now(self) -> datetime:
        """The cluster's time."""
        return datetime.fromtimestamp(self.cluster.clock.now(), UTC)

    @property
    def kubeconfig(self) -> Path:
        """A file for clients: that of the options, or one that is written when it is asked for, and goes at the end."""
        if self.options.kubeconfig is not None:
            return full_path(self.options.kubeconfig)
        if self._folder is None:
            folder = tempfile.mkdtemp(prefix="kube32-sim-")
            self._folder = folder
            write_kubeconfig(Path(folder) / "kubeconfig", self.cluster.access)
        return Path(self._folder) / "kubeconfig"

    settle = _blocking(Acts.settle)
    advance = _blocking(Acts.advance)
    get = _blocking(Acts.get)
    list = _blocking(Acts.list)
    create = _blocking(Acts.create)
    apply = _blocking(Acts.apply)
    patch = _blocking(Acts.patch)
    delete = _blocking(Acts.delete)
    events = _blocking(Acts.events)
    fault = _blocking(Acts.fault)
    heal = _blocking(Acts.heal)
    wait_for = _blocking(Acts.wait_for)
    wait_for_watch = _blocking(Acts.wait_for_watch)
    assert_object = _blocking(Acts.assert_object)


def entered(cluster: Running) -> BlockingCluster:
    """What `with Cluster(...) as cluster` answers."""
    return BlockingCluster(cluster)
