"""No request that schemathesis makes of the published OpenAPI is answered with a 500, or otherwise than they say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tests.openapi.asking import ask_everything
from tests.support.servers import Server

StartServer = Callable[..., AbstractContextManager[Server]]
BARE = ("--controllers", "none", "--nodes", "0")


def test_hundreds_of_requests(start_server: StartServer) -> None:
    with start_server(*BARE) as server:
        report = ask_everything(server.url, 120, lambda _, address: "coordination.k8s.io/v1" in address)
    assert not report.faults, str(report)
    assert report.statuses[200] > 10, str(report)


@pytest.mark.soak
@pytest.mark.parametrize("half", [0, 1])
def test_ten_thousand_requests(half: int, start_server: StartServer) -> None:
    """Five thousand of every other document, so that two processors share them."""
    with start_server(*BARE) as server:
        report = ask_everything(server.url, 5_000, lambda number, _: number % 2 == half)
    print(report)
    assert not report.faults, str(report)
    assert len(report.asked) > 150, str(report)
