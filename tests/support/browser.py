"""A real browser: Debian's chromium, without a window, driven by its own chromedriver.

    python -m tests.support.browser     install it, where apt-get and leave to use it are there

Tests that need one are skipped where there is none, except with CI set: there it has to be.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRIVER = "chromedriver"
PACKAGES = ("chromium", "chromium-driver")
INSTALL_PATIENCE = 600.0
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-device-scale-factor=1",
    "--hide-scrollbars", "--lang=en",
)  # fmt: skip


def installed() -> tuple[str, str] | None:
    """(browser, driver); None where one of them is missing."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which(DRIVER)
    return (browser, driver) if browser and driver else None


def wanted() -> tuple[str, str]:
    """The same; skips the test where there is no browser and none has to be."""
    found = installed()
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium with chromedriver: `python -m tests.support.browser` installs them")
        pytest.skip("no chromium with chromedriver: `apt-get install chromium chromium-driver`")
    return found


@contextmanager
def running_browser(profile: Path, width: int = 1280, height: int = 900) -> Iterator[Chrome]:
    """A browser with a profile of its own until the block ends.  It downloads nothing."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    browser, driver = wanted()
    options = ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = Chrome(options, Service(driver, env={**os.environ, "SE_OFFLINE": "true"}))
    try:
        chrome.set_page_load_timeout(60)
        yield chrome
    finally:
        chrome.quit()


def install() -> None:
    """Exit code 1, and why on stderr, where it is not to be had."""
    if installed() is not None:
        return
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        sys.exit(f"browser: install {' and '.join(PACKAGES)}: there is no apt-get here, or no leave to use it")
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
