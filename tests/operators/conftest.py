"""A server that asks for permissions, and the kubectl of its administrator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.kubectl import Kubectl
from tests.support.operators import SERVING
from tests.support.servers import Server, running_server


@pytest.fixture(scope="session")
def rbac_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With two boards esp32-s3 and one esp32-c3; shared by tests whose operators have names of their own."""
    with running_server(tmp_path_factory.mktemp("rbac"), *SERVING) as server:
        yield server


@pytest.fixture
def admin(rbac_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(rbac_server.kubeconfig, tmp_path_factory.mktemp("admin"))
