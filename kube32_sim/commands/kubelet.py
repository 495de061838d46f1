"""`kube32-sim kubelet`: simulated boards in a process of their own."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Coroutine
from typing import Any

from kube32_sim.options import BOARDS, DEFAULT_BOARD, OptionError, check_pace


def run(parsed: argparse.Namespace) -> int:
    """The exit code, when it has been stopped."""
    work = _prepare(parsed)
    from kube32_sim.running import run_until_stopped

    run_until_stopped(work)
    return 0


def _prepare(parsed: argparse.Namespace) -> Callable[[], Coroutine[Any, Any, None]]:
    board = DEFAULT_BOARD if parsed.board is None else parsed.board
    if board not in BOARDS:
        raise OptionError(f"--board: unknown board {board!r}; there are: {', '.join(BOARDS)}")
    if parsed.count < 1:
        raise OptionError(f"--count: {parsed.count} is less than 1")
    count: int = parsed.count
    names = [parsed.name] if count == 1 else [f"{parsed.name}-{number}" for number in range(count)]
    if not all(_is_node_name(name) for name in names):
        raise OptionError(f"--name: {parsed.name!r} cannot name a node: lower-case letters, digits, '-' and '.'")
    lease, report = parsed.node_lease_duration_seconds, parsed.node_status_update_frequency
    check_pace(lease, report)
    from kube32_sim.kubeconfig import find_servers

    servers = find_servers(parsed.server, parsed.kubeconfig)

    async def work() -> None:
        from kube32_sim.kubelet.agent import Pace
        from kube32_sim.kubelet.process import run_boards

        await run_boards(servers, names, board, Pace(lease, report))

    return work


def _is_node_name(name: str) -> bool:
    """RFC 1123 subdomain, as object names are."""
    letters = set("abcdefghijklmnopqrstuvwxyz0123456789-")
    labels = name.split(".")
    return len(name) <= 253 and all(
        label and set(label) <= letters and label[0] != "-" and label[-1] != "-" for label in labels
    )
