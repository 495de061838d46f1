"""`kube32-sim top`: what boards have left and what runs on them, once or live."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING, Any

from kube32_sim.api.errors import ApiError
from kube32_sim.client import Unreachable
from kube32_sim.commands.answering import as_document, check_output, say
from kube32_sim.http_client import HttpClient
from kube32_sim.kubeconfig import Access, find_access
from kube32_sim.options import CommandError
from kube32_sim.top.following import Following
from kube32_sim.top.picture import Picture

if TYPE_CHECKING:
    from rich.console import Console


def run(parsed: argparse.Namespace) -> int:
    """The exit code; CommandError where there is no answer."""
    check_output()
    access = find_access(parsed.server, parsed.kubeconfig)
    asyncio.run(_work(access, parsed))
    return 0


async def _work(access: Access, parsed: argparse.Namespace) -> None:
    console = None if parsed.once or parsed.output else _terminal()
    async with HttpClient(access) as client:
        picture = Picture(parsed.namespace)
        following = Following(client, picture)
        try:
            await following.begin()
        except Unreachable as error:
            raise CommandError(f"cannot reach the simulator: {error}") from error
        except ApiError as error:
            raise CommandError(f"{access.server}: {error.message}") from error
        if console is not None:
            from kube32_sim.top.live import show

            await show(picture, following, console, parsed.sort)
            return
    say(_rendered(picture, following, parsed.sort, parsed.output))


def _terminal() -> Console | None:
    """Where something can be drawn again and again; None where it cannot."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    console = Console(highlight=False, emoji=False, markup=False)
    return None if console.is_dumb_terminal else console


def _rendered(picture: Picture, following: Following, sort: str, output: str) -> str:
    if not output:
        from kube32_sim.top.drawing import plain

        return plain(picture, sort)
    return as_document(_document(picture, following, sort), output)


def _document(picture: Picture, following: Following, sort: str) -> dict[str, Any]:
    """Amounts are bytes, or pieces of what is counted."""
    boards = [
        {
            "name": board.name,
            "kind": board.kind,
            "status": board.status,
            "free": board.free,
            "capacity": board.capacity,
            "pods": board.pods,
            "running": board.running,
        }
        for board in picture.boards(sort)
    ]
    pending = [{"pod": one.pod, "message": one.message} for one in picture.pending()]
    return {"now": following.now(), "boards": boards, "pending": pending}
