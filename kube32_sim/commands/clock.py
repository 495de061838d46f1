"""`kube32-sim clock`: what time it is in a running simulator, and moving it on."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from kube32_sim.api.errors import ApiError
from kube32_sim.api.own import API_VERSION
from kube32_sim.client import CLOCKS, Client, JsonObject
from kube32_sim.clock import RealClock, parse_time
from kube32_sim.commands.answering import as_document, say
from kube32_sim.commands.asking import ask
from kube32_sim.durations import format_duration
from kube32_sim.kubeconfig import find_access
from kube32_sim.progress import progress_bar, somebody_watches
from kube32_sim.registry.clocks import NAME

GLANCE = 0.5
"""Seconds between two looks at how far an advance has come, for who watches."""

Work = Callable[[Client], Coroutine[Any, Any, JsonObject]]


def run(parsed: argparse.Namespace) -> int:
    """The exit code; CommandError where there is no answer."""
    access = find_access(parsed.server, parsed.kubeconfig)
    work = _show if parsed.action == "show" else _advance(parsed.duration)
    obj = ask(access, work, lambda error: _refusal(access.server, error), timeout=None)
    say(_rendered(obj, parsed.output))
    return 0


def _refusal(server: str, error: ApiError) -> str:
    if error.code == 409:
        return f"the clock of {server} is real: time moves by itself; `serve --clock virtual` has one to advance"
    if error.code == 404:
        return f"{server} has no clock to look at: it is no simulator, or one of an older version"
    return ""


async def _show(client: Client) -> JsonObject:
    return await client.get(CLOCKS, "", NAME)


def _advance(seconds: float) -> Work:
    async def work(client: Client) -> JsonObject:
        spec = {"duration": format_duration(seconds)}
        body = {"apiVersion": API_VERSION, "kind": "ClockAdvance", "spec": spec}
        if not somebody_watches():
            return await client.create(CLOCKS, "", body, subresource="advance", name=NAME)
        real = RealClock()
        watching = real.spawn(_watch(client, seconds, real), "progress")
        try:
            return await client.create(CLOCKS, "", body, subresource="advance", name=NAME)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    return work


async def _watch(client: Client, seconds: float, real: RealClock) -> None:
    """Show how far the clock has come, again and again."""
    start = await _time(client)
    shown = 0
    with progress_bar(int(seconds), "seconds") as progress:
        while True:
            await real.sleep(GLANCE)
            passed = int(await _time(client) - start)
            progress(passed - shown)
            shown = passed


async def _time(client: Client) -> float:
    return parse_time((await _show(client))["status"]["now"])


def _rendered(obj: JsonObject, output: str) -> str:
    if output:
        return as_document(obj, output)
    status = obj["status"]
    later = f", {obj['spec']['duration']} later" if obj["kind"] == "ClockAdvance" else ""
    return f"{status['mode'].lower()} clock, {status['now']}{later}\n"
