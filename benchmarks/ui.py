"""The page at /ui/ with 500 boards: until it is there, until it shows a change, and what it costs at rest.

Needs chromium and chromedriver (`python -m tests.support.webdriver` installs them).  The browser has no GPU, so
drawing is in its CPU time.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.load import ask, request
from benchmarks.measuring import Bench, Figure
from benchmarks.processes import Process

if TYPE_CHECKING:
    from tests.support.webdriver import Browser

BOARDS = 500
CHANGES = 20
REST_SECONDS = 30.0
SETTLED = 15.0
"""Seconds until what starts together has come apart."""
_TICKS = os.sysconf("SC_CLK_TCK")
PAINTED = """
    const [name] = all;
    const card = document.getElementById(`board-${name}`).closest(".board");
    window.seen = new Promise((resolve) => new MutationObserver((_, observer) => {
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => resolve(performance.timeOrigin + performance.now())));
    }).observe(card, { subtree: true, childList: true, characterData: true, attributes: true }));"""


def family(pid: int) -> dict[int, str]:
    """A process and all below it, by what they are: `renderer`, `browser`, `rest`."""
    parents, found = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
            parents[int(path.parent.name)] = int(text.rpartition(")")[2].split()[1])
        except OSError:
            continue
    below = {pid}
    while more := {child for child, parent in parents.items() if parent in below} - below:
        below |= more
    for each in below:
        try:
            line = Path(f"/proc/{each}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        kind = re.search(r"--type=(\w+)", line)
        found[each] = "renderer" if kind and kind[1] == "renderer" else "rest" if kind else "browser"
    return found


def cpu(pids: list[int]) -> float:
    """CPU seconds of processes so far."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def opened(browser: Browser, url: str) -> float:
    """Seconds until all is there."""
    started = time.perf_counter()
    browser.open(url)
    browser.wait("document.body.dataset.connection === 'live' && document.querySelectorAll('.board').length >= 2")
    return time.perf_counter() - started


async def changes(bench: Bench, server: Process, browser: Browser) -> list[float]:
    """Milliseconds from a request to what it has changed having been drawn."""
    took = []
    for number in range(3 if bench.quick else CHANGES):
        name = f"esp32-{number % 2}"
        browser.run_async(PAINTED, name)
        body = b'{"spec":{"unschedulable":%s}}' % (b"null" if number % 4 > 1 else b"true")
        path = f"/api/v1/nodes/{name}"
        started = time.time()
        await ask(server.port, request("PATCH", path, body, "application/merge-patch+json"))
        took.append(await asyncio.to_thread(browser.run_async, "return await window.seen") - 1000 * started)
    return took


async def rest(bench: Bench, server: Process, kinds: dict[int, str]) -> tuple[float, dict[str, float]]:
    """(cores of the server, cores of other processes by their kinds)."""
    groups = {kind: [pid for pid, its in kinds.items() if its == kind] for kind in sorted(set(kinds.values()))}
    seconds = 3.0 if bench.quick else REST_SECONDS
    before, of_server = {kind: cpu(pids) for kind, pids in groups.items()}, server.cpu()
    await asyncio.sleep(seconds)
    found = {kind: (cpu(pids) - before[kind]) / seconds for kind, pids in groups.items()}
    return (server.cpu() - of_server) / seconds, found


async def page(bench: Bench) -> list[Figure]:
    """All of it."""
    from tests.support.webdriver import installed, running_browser

    if installed() is None:
        raise RuntimeError("no chromium with chromedriver: `python -m tests.support.webdriver` installs them")
    count = 20 if bench.quick else BOARDS
    async with bench.server("--nodes", str(count)) as server:
        await bench.settle(SETTLED)
        alone, _ = await rest(bench, server, {})
        with tempfile.TemporaryDirectory() as folder, running_browser(Path(folder) / "profile", 1440, 1000) as browser:
            url = f"http://127.0.0.1:{server.port}/ui/"
            opening = [await asyncio.to_thread(opened, browser, url) for _ in range(bench.runs)]
            await bench.settle(SETTLED)
            of_server, of_browser = await rest(bench, server, family(browser.driver))
            took = await changes(bench, server, browser)
    told = ", ".join(f"{kind} {cores:.3f}" for kind, cores in of_browser.items())
    note = f"server {of_server:.3f} (alone {alone:.3f}), {told}"
    what = f"page of {count} boards"
    spread = f"median of {len(took)}; most {max(took):.0f} ms"
    return [
        Figure("ui-open", f"{what}, until it is live", min(opening), "s"),
        Figure("ui-change", f"{what}, until a change is drawn", statistics.median(took), "ms", 200.0, note=spread),
        Figure("ui-rest", f"{what}, at rest", of_server + sum(of_browser.values()), "cores", 0.1, note=note),
    ]
