"""Options about boards, which `serve` and `kubelet` have in common."""

from __future__ import annotations

import argparse

from kube32_sim.arguments.parser import duration
from kube32_sim.options import BOARDS, DEFAULT_BOARD, LINUX


def add_board(group: argparse._ActionsContainer) -> None:
    kinds = f"{', '.join(kind for kind in BOARDS if kind != LINUX)}; or {LINUX}, an ordinary node"
    group.add_argument("--board", metavar="NAME", help=f"kind of board: {kinds} (default: {DEFAULT_BOARD})")


def add_pace(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--node-lease-duration-seconds",
        type=int,
        default=15,
        metavar="N",
        help="how long a board's lease lasts; it is renewed three times as often (default: %(default)s)",
    )
    group.add_argument(
        "--node-status-update-frequency",
        type=duration,
        default="10s",
        metavar="D",
        help="how often a board reports its status though nothing changes (default: %(default)s)",
    )
