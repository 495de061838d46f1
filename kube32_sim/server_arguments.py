"""Where commands that talk to a server look for it: `--server` and `--kubeconfig`."""

from __future__ import annotations

import argparse


def add_server(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """One: both are texts, "" where not given."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--server", default="", metavar="URL", help="address of the server")
    where.add_argument("--kubeconfig", default="", metavar="FILE", help="kubeconfig that names the server")
    return where


def add_servers(parser: argparse.ArgumentParser) -> None:
    """Several of one cluster, any of which will do: both are lists of what was given."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--server",
        action="append",
        default=[],
        metavar="URL",
        help="address of the server, or of several replicas, with commas between or one in each `--server`",
    )
    where.add_argument(
        "--kubeconfig",
        action="append",
        default=[],
        metavar="FILE",
        help="kubeconfig that names the server; several for several replicas, one in each `--kubeconfig`",
    )
