"""`kube32-sim diff`: two states of a cluster, compared.

Exit codes: 0 nothing is different, 1 something is, 2 they could not be compared.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from kube32_sim.api.errors import ApiError
from kube32_sim.client import FORKS, Unreachable
from kube32_sim.clock import parse_time
from kube32_sim.commands.answering import as_document, say
from kube32_sim.commands.fork import access_of
from kube32_sim.comparing.comparison import compare
from kube32_sim.comparing.states import State, is_kubeconfig, of_file, of_server
from kube32_sim.comparing.telling import lines
from kube32_sim.http_client import HttpClient
from kube32_sim.kubeconfig import Access, find_access, read_access
from kube32_sim.options import CommandError
from kube32_sim.progress import progress_bar
from kube32_sim.snapshot.files import STANDARD
from kube32_sim.terminal import tell

ITSELF = (".", "main")
TROUBLE = 2


def run(parsed: argparse.Namespace) -> int:
    try:
        found = compare(_state(parsed.first, parsed), _state(parsed.second, parsed))
        if parsed.output in ("json", "yaml"):
            say(as_document(found.object(), parsed.output))
        else:
            say("\n".join([*lines(found, wide=parsed.output == "wide"), ""]))
    except CommandError as error:
        for line in str(error).splitlines():
            tell(f"kube32-sim: {line}")
        return TROUBLE
    return 0 if found.equal else 1


def _state(name: str, parsed: argparse.Namespace) -> State:
    if "://" in name:
        return asyncio.run(_read(name, find_access(name)))
    if name not in ITSELF and (name == STANDARD or Path(name).expanduser().is_file()):
        if name != STANDARD and is_kubeconfig(name):
            return asyncio.run(_read(name, read_access([Path(name).expanduser()])))
        return of_file(name)
    if name in ITSELF:
        return asyncio.run(_read(name, find_access(parsed.server, parsed.kubeconfig)))
    try:
        access = find_access(parsed.server, parsed.kubeconfig)
    except CommandError as error:
        raise CommandError(f"{name}: there is no such file, and no simulator to ask for a fork: {error}") from error
    return asyncio.run(_fork(name, access))


async def _fork(name: str, access: Access) -> State:
    async with HttpClient(access, timeout=None) as client:
        try:
            fork = await client.get(FORKS, "", name)
        except Unreachable as error:
            raise CommandError(f"{name}: there is no such file, and no simulator to ask for a fork: {error}") from error
        except ApiError as error:
            if error.code != 404:
                raise CommandError(f"{name}: {access.server}: {error.message}") from error
            raise CommandError(f"{name}: there is no such file, and no such fork of {access.server}") from error
    state = await _read(name, access_of(access, fork))
    state.begun = parse_time(fork["status"]["forkedAt"])
    return state


async def _read(name: str, access: Access) -> State:
    with progress_bar(100, f"percent of {name}") as progress:
        shown = 0

        def show(types: int, done: int) -> None:
            nonlocal shown
            percent = 100 * done // max(1, types)
            progress(percent - shown)
            shown = percent

        async with HttpClient(access, timeout=None) as client:
            try:
                return await of_server(name, client, show)
            except Unreachable as error:
                raise CommandError(f"{name}: cannot reach the server: {error}") from error
            except ApiError as error:
                where = name if name == access.server else f"{name}: {access.server}"
                raise CommandError(f"{where}: {error.message}") from error
