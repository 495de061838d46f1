"""Fixtures for every test: servers in processes of their own, kubectl, a cluster in this process on a virtual clock.

Servers that many tests share are started once; a test that shares one works in a `namespace` of its own and leaves
nothing else behind.
"""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.support.etcd import Etcd, running_etcd
from tests.support.http import Http
from tests.support.kubectl import Kubectl
from tests.support.servers import ADMIN_TOKEN, Server, admin_token_file, running_server

if TYPE_CHECKING:
    from kube32_sim.cluster import Cluster  # a test of one small module does not pay for importing everything


FAST = ("--reconcile-interval", "100ms", "--lease-check-interval", "100ms")


def pytest_collection_finish() -> None:
    """What collecting made stays to the end: spare the garbage collector looking at it, an eighth of all CPU time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(scope="session")
def full_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """All loops and two boards, quick on their feet; shared."""
    with running_server(tmp_path_factory.mktemp("full"), *FAST) as server:
        yield server


@pytest.fixture(scope="session")
def bare_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An API server and nothing else, which asks for tokens; shared."""
    directory = tmp_path_factory.mktemp("bare")
    options = ("--controllers", "none", "--nodes", "0", "--token-file", str(admin_token_file(directory)))
    with running_server(directory, *options, token=ADMIN_TOKEN) as server:
        yield server


@pytest.fixture
def start_server(tmp_path: Path) -> Callable[..., AbstractContextManager[Server]]:
    """`with start_server("--nodes", "1") as server`: one for this test alone."""
    return partial(running_server, tmp_path)


@pytest.fixture(scope="session")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    """A real etcd; shared: each test works under a prefix of its own."""
    with running_etcd(tmp_path_factory.mktemp("etcd")) as running:
        yield running


@pytest.fixture
def http(full_server: Server) -> Iterator[Http]:
    """A plain client of the shared full server."""
    client = full_server.http()
    yield client
    client.close()


@pytest.fixture
def namespace(request: pytest.FixtureRequest, http: Http) -> Iterator[str]:
    """A new namespace on the shared full server, its ServiceAccount there; deleted after the test."""
    made = http.post("/api/v1/namespaces", {"metadata": {"generateName": "test-"}})
    name: str = made["metadata"]["name"]
    yield name
    http("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def kubectl(full_server: Server, namespace: str, tmp_path: Path) -> Kubectl:
    """kubectl for the shared full server, in the test's namespace."""
    home = tmp_path / "home"
    home.mkdir()
    return Kubectl(full_server.kubeconfig, home, namespace)


@pytest_asyncio.fixture
async def virtual_cluster() -> AsyncIterator[Cluster]:
    """Two boards and all loops in this process; time moves only when the test advances it."""
    from kube32_sim.cluster import Cluster
    from kube32_sim.options import ServeOptions

    async with Cluster(ServeOptions(port=0, clock="virtual")) as cluster:
        yield cluster
