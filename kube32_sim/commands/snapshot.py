"""`kube32-sim snapshot save|load`: arguments in, an exit code out.

Exit codes: 0 done, also where something was left out, which is told on stderr; 1 not done.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from kube32_sim.api.errors import ApiError
from kube32_sim.client import Unreachable
from kube32_sim.http_client import HttpClient
from kube32_sim.ids import Ids
from kube32_sim.kubeconfig import Access, find_access
from kube32_sim.options import CommandError
from kube32_sim.progress import progress_bar
from kube32_sim.snapshot import files
from kube32_sim.snapshot.loading import Loaded, Options, load
from kube32_sim.snapshot.reading import Objects, read
from kube32_sim.snapshot.saving import ATTEMPTS, SECRETS, Expired, Saved, Saving, save
from kube32_sim.terminal import printable, tell


def run(parsed: argparse.Namespace) -> int:
    """The exit code; CommandError where it cannot be done."""
    access = find_access(parsed.server, parsed.kubeconfig)
    try:
        if parsed.action == "save":
            without = frozenset((SECRETS,)) if parsed.without_secrets else frozenset()
            _report_saved(asyncio.run(_save(access, parsed.file, Saving, without)), parsed.file)
        else:
            objects = read(parsed.files)
            options = Options(parsed.on_conflict.capitalize(), parsed.strict, parsed.leave_nodes, parsed.dry_run)
            loaded = asyncio.run(_load(access, objects, options))
            _report_loaded(loaded, options)
            _check_any(loaded, objects, options)
    except Unreachable as error:
        raise CommandError(f"cannot reach the server: {error}") from error
    except ApiError as error:
        raise CommandError(_refusal(access.server, parsed.action, error)) from error
    return 0


def _refusal(server: str, action: str, error: ApiError) -> str:
    if error.code == 404 and action == "load":
        return f"{server} takes no snapshots: it is no simulator, or one of an older version"
    if error.code == 413:
        return f"{server}: an object is too large to be sent: {error.message}"
    return f"{server}: {error.message}"


async def _save(access: Access, file: str, reading: type[Saving], without: frozenset) -> Saved:  # type: ignore[type-arg]
    async with HttpClient(access, timeout=None) as client:
        for _ in range(ATTEMPTS):
            try:
                return await _saved(reading(client, without), file)
            except Expired:
                if files.is_stream(file):
                    break
        raise CommandError(f"{access.server} forgets what it was faster than it can be read; try again when it is calm")


async def _saved(saving: Saving, file: str) -> Saved:
    with files.writing(file) as writer, progress_bar(100, "percent of all types") as progress:
        shown = 0

        def show(types: int, done: int) -> None:
            nonlocal shown
            percent = 100 * done // max(1, types)
            progress(percent - shown)
            shown = percent

        return await save(saving, writer.write, show)


async def _load(access: Access, objects: Objects, options: Options) -> Loaded:
    for warning in objects.warnings:
        tell(f"kube32-sim: {warning}")
    name = f"load-{Ids().suffix(10)}"
    async with HttpClient(access, timeout=None) as client:
        with progress_bar(len(objects.lines), "objects") as progress:
            return await load(client, name, objects, options, progress)


def _report_saved(saved: Saved, file: str) -> None:
    for warning in saved.warnings:
        tell(f"kube32-sim: {warning}")
    where = "" if file == files.STANDARD else f" in {file}"
    tell(f"{saved.objects} objects as of {saved.header['spec']['time']} saved{where}")


def _report_loaded(loaded: Loaded, options: Options) -> None:
    for note in loaded.notes:
        tell(f"kube32-sim: {note}")
    done = "would be loaded" if options.dry_run else "loaded"
    instead = f", {loaded.replaced} of them in the place of others" if loaded.replaced else ""
    if sys.stdout is not None:
        print(printable(f"{loaded.loaded} objects {done}{instead}"))


def _check_any(loaded: Loaded, objects: Objects, options: Options) -> None:
    """A load of which nothing is left is none; but where what is there is to be kept, all may be there."""
    if objects.lines and not loaded.loaded and options.on_conflict != "Skip":
        raise CommandError(f"none of the {len(objects.lines)} objects can be loaded: nothing was loaded")
