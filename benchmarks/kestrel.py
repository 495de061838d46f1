"""Kestrel: replays against the plain implementation of the tests, large clusters, and a choice inside the simulator.

Everything but whole commands runs in this process, which measures its own CPU.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from kube32_controllers.scheduler_cache import SchedulerCache
from kube32_controllers.scheduler_figures import pod_request

from benchmarks.measuring import Bench, Figure
from kube32_sim.kestrel import run

Operations = list[Any]
Measure = Callable[[Bench], Awaitable[list[Figure]]]

GOLDEN = Path(__file__).parent.parent / "tests" / "kestrel" / "golden" / "bulk"
REPLAY = "replay-100n-1500p"
PRIORITIES = [0, 10, 100, 1000]
CAPACITY = {100: 750.0, 1000: 480.0}
"""Equal pods a second that cluster-capacity places on so many nodes, start included, on two such cores."""
GROWTH, PLAIN_GROWTH = (100, 300, 1000, 3000, 5000), (100, 300)
WARM_UP = 2000


def cpu_of(work: Callable[[], object], runs: int) -> float:
    """CPU seconds of the cheapest run."""
    used = []
    for _ in range(runs):
        before = time.process_time()
        work()
        used.append(time.process_time() - before)
    return min(used)


def cluster(nodes: int, pods: int, *, cpu: int, mem: int, groups: int = 48) -> Operations:
    """Nodes of 4 cores and 8 GiB in twenty zones, and pods of up to so many millicores and MiB."""
    bulk = {"prefix": "p", "count": pods, "seed": 7, "groups": groups, "cpu": cpu, "mem": mem, "priorities": PRIORITIES}
    return [
        ["bulk_nodes", {"prefix": "n", "count": nodes, "zones": 20, "cpu": 4000, "mem": 8192}],
        ["bulk_submit", bulk],
    ]


async def golden(bench: Bench) -> list[Figure]:
    """The bulk cases whose results are known, and one of them beside the plain implementation."""
    from tests.kestrel.reference import run as plain

    cases = {path.stem: json.loads(path.read_text()) for path in sorted(GOLDEN.glob("*.json"))}
    used = {name: cpu_of(lambda case=case: run(case["ops"]), bench.runs) for name, case in cases.items()}  # type: ignore[misc]
    slow = cpu_of(lambda: plain(cases[REPLAY]["ops"]), 1)
    note = f"plain implementation: {slow:.1f} s; here {1000 * used[REPLAY]:.0f} ms"
    pods = "100 nodes, 1,500 pods"
    return [
        Figure("golden", "replays with known results, all six", sum(used.values()), "s", 3, note="10,900 pods"),
        Figure("replay", f"replay of {pods}: times as fast as plain", slow / used[REPLAY], "x", 100, True, note=note),
    ]


def large(name: str, what: str, nodes: int, pods: int, size: int) -> Measure:
    async def measure(bench: Bench) -> list[Figure]:
        count = bench.amount(pods)
        results: list[Any] = []
        operations = cluster(nodes, count, cpu=size, mem=2 * size)
        used = cpu_of(lambda: results.extend(run(operations)), 1)
        found = results[1]
        note = f"{1e6 * used / count:.0f} µs a pod; {found['bound']:,} bound, {found['evictions']:,} evicted"
        return [Figure(name, what, used, "s", 15, note=note)]

    return measure


async def growth(bench: Bench) -> list[Figure]:
    """Cost of one more pod, on clusters filled alike (two pods a node), from 100 to 5,000 nodes."""
    from tests.kestrel.reference import run as plain

    cost = {nodes: _cost_of_one_more(run, nodes, bench.amount(2000), bench.runs) for nodes in GROWTH}
    slow = {nodes: _cost_of_one_more(plain, nodes, 30, 1) for nodes in PLAIN_GROWTH}
    note = ", ".join(f"{nodes:,}: {1e6 * each:.0f} µs" for nodes, each in cost.items())
    note += "; plain implementation: " + ", ".join(f"{nodes:,}: {1e3 * each:.0f} ms" for nodes, each in slow.items())
    ratio = cost[GROWTH[-1]] / cost[GROWTH[0]]
    return [Figure("growth", "cost of a pod, 5,000 nodes to 100", ratio, "x", 5, note=note)]


def _cost_of_one_more(implementation: Callable[[Operations], object], nodes: int, count: int, runs: int) -> float:
    before = cluster(nodes, 2 * nodes, cpu=600, mem=1200)
    more = {**cluster(0, count, cpu=60, mem=120)[1][1], "prefix": "more"}
    base = cpu_of(lambda: implementation(before), runs)
    return (cpu_of(lambda: implementation([*before, ["bulk_submit", more]]), runs) - base) / count


def equal_pods(nodes: int) -> Operations:
    spec = {"requests": {"cpu": 150, "mem": 100}}
    bulk = {"prefix": "n", "count": nodes, "zones": 4, "cpu": 32000, "mem": 65536}
    return [["bulk_nodes", bulk], *(["submit", f"p-{number}", spec] for number in range(1500))]


async def equal(bench: Bench) -> list[Figure]:
    """1,500 equal pods: by the library, and by the command from its start to its end."""
    figures = []
    for nodes, peer in CAPACITY.items():
        operations = equal_pods(nodes)
        used = cpu_of(lambda operations=operations: run(operations), bench.runs)  # type: ignore[misc]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(operations, file)
            file.flush()
            whole = wall_of("preview", "--operations", file.name, runs=2 * bench.runs)
        what = f"1,500 equal pods, {nodes:,} nodes"
        note = f"the command, start included: {1500 / whole:,.0f} pods/s ({1500 / whole / peer:.0f} x)"
        real = f"{peer:,.0f} pods/s"
        figures.append(Figure(f"equal-{nodes}", what, 1500 / used, "pods/s", 20 * peer, True, real=real, note=note))
    return figures


def wall_of(*arguments: str, runs: int) -> float:
    """Seconds that a command takes, the fastest of some."""
    times = []
    for _ in range(runs):
        before = time.perf_counter()
        subprocess.run([sys.executable, "-m", "kube32_sim", *arguments], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - before)
    return min(times)


async def choose(bench: Bench) -> list[Figure]:
    """The simulator's scheduler: which of so many boards, for a pod unlike all others; binding it counts too."""
    figures = []
    for nodes, goal in ((1000, 0.2), (5000, 0.6)):
        count = bench.amount(2000)
        used = 1000 * (_cost_of_choices(nodes, WARM_UP + count) - _cost_of_choices(nodes, WARM_UP)) / count
        what = f"choose one of {nodes:,} nodes in the simulator, pods all different"
        figures.append(Figure(f"choose-{nodes}", what, used, "ms", goal))
    return figures


def _cost_of_choices(nodes: int, pods: int) -> float:
    cache = SchedulerCache()
    for number in range(nodes):
        cache.put_node(_board(f"n{number:05}"), number + 1)
    requests = [pod_request(_spec(number)) for number in range(pods)]
    before = time.process_time()
    for request in requests:
        node = cache.decide(request).node
        assert node is not None
        cache.table.take(cache.table.nodes[node], request.amounts)
    return time.process_time() - before


def _board(name: str) -> dict[str, Any]:
    room = {"memory": "320Mi", "esp32.io/gpio": "34", "esp32.io/psram": "8Mi"}
    status = {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}, "status": status}


def _spec(number: int) -> dict[str, Any]:
    return {"containers": [{"name": "app", "resources": {"requests": {"memory": str(20_000 + number)}}}]}


async def command(bench: Bench) -> list[Figure]:
    """`preview -f` of ten pods against a running simulator, and what importing Kestrel takes."""
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 10, "selector": {"matchLabels": {"app": "web"}}, "template": _template()},
    }
    async with bench.server("--nodes", "2") as server:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(manifest, file)
            file.flush()
            url = f"http://127.0.0.1:{server.port}"
            whole = wall_of("preview", "-f", file.name, "--server", url, runs=2 * bench.runs)
    bare = min(_seconds("pass") for _ in range(2 * bench.runs))
    imported = min(_seconds("from kube32_sim.kestrel import run") for _ in range(2 * bench.runs)) - bare
    return [
        Figure("preview", "preview of a manifest of 10 pods, start to end", whole, "s", 0.5),
        Figure("import", "import of kube32_sim.kestrel", imported, "s", 0.15, note=f"Python itself: {bare:.3f} s"),
    ]


def _template() -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}


def _seconds(code: str) -> float:
    before = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - before


KESTREL: dict[str, Measure] = {
    "kestrel-golden": golden,
    "kestrel-overload": large("overload", "1,000 nodes, 20,000 pods, 48 groups, overloaded", 1000, 20_000, 1000),
    "kestrel-large": large("large", "5,000 nodes, 50,000 pods", 5000, 50_000, 300),
    "kestrel-growth": growth,
    "kestrel-equal": equal,
    "kestrel-choose": choose,
    "preview": command,
}
