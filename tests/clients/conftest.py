"""kubectl of every version that people have, against one server.

The ordinary suite takes the oldest and the newest; the others run in the soak step.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import clients
from tests.support.kubectl import Kubectl
from tests.support.servers import Server

VERSIONS = [
    pytest.param(minor, id=f"1.{minor}", marks=() if minor in clients.ORDINARY else pytest.mark.soak)
    for minor in clients.MINORS
]


@pytest.fixture(params=VERSIONS)
def kubectl(request: pytest.FixtureRequest, full_server: Server, namespace: str, tmp_path: Path) -> Kubectl:
    """One version of kubectl for the shared full server, in the test's namespace."""
    home = tmp_path / "home"
    home.mkdir()
    return Kubectl(full_server.kubeconfig, home, namespace, clients.kubectl(request.param), request.param)
