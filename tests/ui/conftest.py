"""One browser for all tests of the page, and a server on a virtual clock, where nothing happens by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fake_api import FakeApi, fake_api
from tests.support.http import Http
from tests.support.servers import Server, running_server
from tests.support.webdriver import Browser, running_browser

CLEAN = "sessionStorage.clear(); localStorage.clear();"


@pytest.fixture(scope="session")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with running_browser(tmp_path_factory.mktemp("browser") / "profile") as running:
        yield running


@pytest.fixture
def browser(window: Browser) -> Iterator[Browser]:
    """Without anything that an earlier test has left; nothing in it may go wrong unseen."""
    window.complaints()
    yield window
    complaints = window.complaints()
    window.emulate()
    if window.url.startswith("http"):
        window.run(CLEAN)
    window.open("about:blank")
    assert not complaints


@pytest.fixture(scope="session")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Three boards and an ordinary node, on a clock that stands still; shared."""
    nodes = "esp32-s3=2,esp32-s3-psram8=1,linux=1"
    with running_server(tmp_path_factory.mktemp("ui"), "--nodes", nodes, "--clock", "virtual") as server:
        yield server


@pytest.fixture
def api(standing: Server) -> Iterator[Http]:
    """A client of the shared server; no pod outlives the test."""
    client = standing.http()
    yield client
    client("DELETE", "/api/v1/namespaces/default/pods?gracePeriodSeconds=0")
    client.close()


@pytest.fixture
def page(browser: Browser, standing: Server) -> Browser:
    """The page of the shared server, live."""
    return opened(browser, standing.url)


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    with fake_api() as running:
        yield running


def opened(browser: Browser, url: str, state: str = "live") -> Browser:
    browser.open(f"{url}/ui/")
    browser.wait(f"document.body.dataset.connection === '{state}'")
    return browser
