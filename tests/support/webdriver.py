"""A real browser: Debian's chromium, without a window, driven by its own chromedriver over the WebDriver protocol.

    python3 -m tests.support.webdriver     install it, where apt-get and leave to use it are there; any Python will do

Tests that need one are skipped where there is none, except with CI set: there it has to be.  The protocol (W3C
WebDriver) is a handful of JSON requests, so no library is needed for it.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.waiting import until

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRIVER = "chromedriver"
PACKAGES = ("chromium", "chromium-driver")
INSTALL_PATIENCE = 600.0
ANSWER_PATIENCE = 60.0
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--lang=en",
)  # fmt: skip
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""Under which the protocol hands over elements."""
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Space": "\ue00d", "Home": "\ue011", "End": "\ue010"}
KEYS |= {"ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015", "Shift": "\ue008"}


def installed() -> tuple[str, str] | None:
    """(browser, driver); None where one of them is missing."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which(DRIVER)
    return (browser, driver) if browser and driver else None


class Browser:
    """One window.  Failures are AssertionErrors with what the driver says."""

    def __init__(self, port: int, driver: int, browser: str, profile: Path, size: tuple[int, int]) -> None:
        self.driver = driver
        """The process of chromedriver, whose child the browser is."""
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_PATIENCE)
        arguments = [*FLAGS, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"]
        chrome = {"binary": browser, "args": arguments}
        wanted = {"browserName": "chrome", "goog:chromeOptions": chrome, "goog:loggingPrefs": {"browser": "ALL"}}
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{made['sessionId']}"

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        value = json.loads(answer.read())["value"]
        assert answer.status == 200, f"{path}: {value.get('error')}: {value.get('message', '').splitlines()[:1]}"
        return value

    def _do(self, path: str, **body: Any) -> Any:
        return self._ask("POST", self._session + path, body)

    def close(self) -> None:
        self._ask("DELETE", self._session)
        self._connection.close()

    def open(self, url: str) -> None:
        self._do("/url", url=url)

    @property
    def url(self) -> str:
        return str(self._ask("GET", f"{self._session}/url"))

    def run(self, script: str, *arguments: Any) -> Any:
        """What the body of a function answers."""
        return self._do("/execute/sync", script=script, args=arguments)

    def run_async(self, script: str, *arguments: Any) -> Any:
        """What the body of an asynchronous function answers."""
        done = "const done = arguments[arguments.length - 1]; const all = Array.from(arguments).slice(0, -1);"
        wrapped = (
            f"{done} (async function () {{ {script} }})(...all).then((v) => done([0, v]), (e) => done([1, String(e)]))"
        )
        failed, value = self._do("/execute/async", script=wrapped, args=arguments)
        assert not failed, value
        return value

    def new_tab(self) -> Callable[[], None]:
        """Go on in a tab of its own; what is answered closes it, wherever one is.  `to_first_tab` goes back."""
        handle = self._do("/window/new", type="tab")["handle"]
        self._do("/window", handle=handle)

        def close() -> None:
            self._do("/window", handle=handle)
            self._ask("DELETE", f"{self._session}/window")
            self.to_first_tab()

        return close

    def to_first_tab(self) -> None:
        self._do("/window", handle=self._ask("GET", f"{self._session}/window/handles")[0])

    def wait(self, expression: str, what: str = "") -> Any:
        """Until an expression is true."""
        return until(lambda: self.run(f"return {expression}"), what or expression)

    def text(self, selector: str) -> str:
        """What is to be read there; "" where there is nothing."""
        return str(self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def texts(self, selector: str) -> list[str]:
        found = self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.innerText)", selector)
        return list(found)

    def click(self, selector: str) -> None:
        self._do(f"/element/{self._find(selector)}/click")

    def type(self, selector: str, text: str) -> None:
        """In place of what is there."""
        element = self._find(selector)
        self._do(f"/element/{element}/clear")
        self._do(f"/element/{element}/value", text=text)

    def _find(self, selector: str) -> str:
        return str(self._do("/element", using="css selector", value=selector)[ELEMENT])

    def press(self, *keys: str) -> None:
        """Keys together, by their names in KEYS or as characters."""
        codes = [KEYS.get(key, key) for key in keys]
        steps = [{"type": "keyDown", "value": code} for code in codes]
        steps += [{"type": "keyUp", "value": code} for code in reversed(codes)]
        self._do("/actions", actions=[{"type": "key", "id": "keyboard", "actions": steps}])

    def focused(self) -> str:
        """What has the focus, as a screen reader would name it: its label, or its text, or its id."""
        script = """
            const one = document.activeElement;
            const by = (one.getAttribute("aria-labelledby") ?? "").split(" ").filter(Boolean);
            const told = by.map((id) => document.getElementById(id).textContent).join(" ");
            const name = told || one.getAttribute("aria-label") || one.labels?.[0]?.textContent;
            return name || one.textContent || one.id"""
        return str(self.run(script)).strip()

    def size(self, width: int, height: int) -> None:
        self._do("/window/rect", width=width, height=height)

    def emulate(self, **features: str) -> None:
        """What the system prefers: prefers_color_scheme="dark"; nothing: as it is."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.devtools("Emulation.setEmulatedMedia", features=named)

    def devtools(self, command: str, **parameters: Any) -> Any:
        return self._do("/goog/cdp/execute", cmd=command, params=parameters)

    def screenshot(self) -> bytes:
        return base64.b64decode(self._ask("GET", f"{self._session}/screenshot"))

    def complaints(self) -> list[str]:
        """What the browser's console has been told since it was asked last, but for failed requests."""
        told = [entry["message"] for entry in self._do("/se/log", type="browser")]
        return [message for message in told if "Failed to load resource" not in message and "net::ERR_" not in message]


@contextmanager
def running_browser(profile: Path, width: int = 1280, height: int = 900) -> Iterator[Browser]:
    """A browser with a profile of its own until the block ends; skips the test where there is none."""
    found = installed()
    if found is None:
        import pytest  # which is not there yet when a browser is installed

        if os.environ.get("CI"):
            pytest.fail("no chromium with chromedriver: `python -m tests.support.webdriver` installs them")
        pytest.skip("no chromium with chromedriver: `apt-get install chromium chromium-driver`")
    binary, driver = found
    with subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            ports = (re.search(r"started successfully on port (\d+)", line) for line in process.stdout)
            port = next((int(found[1]) for found in ports if found), 0)
            assert port, "chromedriver does not start"
            browser = Browser(port, process.pid, binary, profile, (width, height))
            try:
                yield browser
            finally:
                browser.close()
        finally:
            process.terminate()


def install() -> None:
    """Unless it is there.  Exit code 1, and why on stderr, where it is not to be had, but has to be (CI)."""
    if installed() is not None:
        return
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        told = f"browser: install {' and '.join(PACKAGES)}: there is no apt-get here, or no leave to use it"
        if os.environ.get("CI"):
            sys.exit(told)
        print(f"{told}; tests that need them are skipped", file=sys.stderr)
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in ([apt, "update", "-q"], [apt, "install", "-q", "-y", "--no-install-recommends", *PACKAGES]):
        print("browser:", *command, file=sys.stderr, flush=True)
        done = subprocess.run(command, env=environment, stdout=sys.stderr, check=False, timeout=INSTALL_PATIENCE)
        if done.returncode:
            sys.exit(f"browser: {' '.join(command)} failed")
    if installed() is None:
        sys.exit("browser: installed, and not there")


if __name__ == "__main__":
    install()
