"""`python -m benchmarks`: run benchmarks one after the other, print each figure when it is there, then the table."""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import uvloop

from benchmarks import (
    at_rest,
    boards,
    clock,
    customs,
    durability,
    etcd,
    fixtures,
    forks,
    lists,
    metrics,
    overload,
    previews,
    rbac,
    replicas,
    requests,
    scheduling,
    snapshots,
    ui,
    watches,
)
from benchmarks.kestrel import KESTREL
from benchmarks.measuring import Bench, Figure
from benchmarks.table import amount, table, to_json

Benchmark = Callable[[Bench], Awaitable[list[Figure]]]
BENCHMARKS: dict[str, Benchmark] = {
    "start": at_rest.start,
    "memory": at_rest.memory,
    "pod-memory": at_rest.pod_memory,
    "get": requests.get,
    "create-configmap": requests.create_configmap,
    "create-pod": requests.create_pod,
    "list": lists.lists,
    "patch-status": requests.patch_status,
    "apply": requests.apply,
    "lease": requests.lease_put,
    "delete": requests.delete,
    "custom-served": customs.served,
    "create-custom": customs.create_custom,
    "definitions": customs.many,
    "watch-all": watches.watch_all,
    "watch-node": watches.watch_node,
    "schedule-100": scheduling.schedule(100),
    "schedule-1000": scheduling.schedule(1000),
    "schedule-5000": scheduling.schedule(5000),
    "schedule-kestrel": scheduling.schedule(100, "kestrel"),
    "deployment": scheduling.deployment,
    "boards": boards.boards,
    "day": clock.day,
    "failure": clock.failure,
    "snapshot": snapshots.snapshots,
    "metrics": metrics.metrics,
    "fixture": fixtures.fixtures,
    "forks": forks.forks,
    "rbac": rbac.decisions,
    "preview-api": previews.previews,
    "durable": durability.durable,
    "durable-start": durability.durable_start,
    "overload": overload.overload,
    "etcd-writes": etcd.writes,
    "etcd-lag": etcd.lag,
    "etcd-reads": etcd.reads,
    "replicas-read": replicas.reads,
    "replicas-lag": replicas.lag,
    "replicas-boards": replicas.boards,
    "replicas-takeover": replicas.takeover,
    "ui": ui.page,
    **KESTREL,
}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    made.add_argument("--only", nargs="+", metavar="NAME", choices=list(BENCHMARKS), help=", ".join(BENCHMARKS))
    made.add_argument("--quick", action="store_true", help="a small part of the work: for trying out, not for figures")
    made.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return made


async def run(names: Sequence[str], quick: bool) -> tuple[list[Figure], list[str]]:
    """(what was measured, what could not be)."""
    bench = Bench(quick)
    figures, failed = [], []
    try:
        for name in names:
            try:
                measured = await BENCHMARKS[name](bench)
            except (OSError, RuntimeError, TimeoutError) as error:
                failed.append(f"{name}: {error or type(error).__name__}")
                print(failed[-1], file=sys.stderr, flush=True)
                continue
            for figure in measured:
                print(f"{figure.what}: {amount(figure.value, figure.unit)}  {figure.note}", file=sys.stderr, flush=True)
            figures += measured
    finally:
        await bench.close()
    return figures, failed


def main(arguments: Sequence[str] | None = None) -> None:
    parsed = parser().parse_args(arguments)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    figures, failed = uvloop.run(run(parsed.only or list(BENCHMARKS), parsed.quick))
    print(table(figures))
    if parsed.json is not None:
        parsed.json.write_bytes(to_json(figures))
    if failed:
        sys.exit("not measured: " + "; ".join(failed))


if __name__ == "__main__":
    main()
