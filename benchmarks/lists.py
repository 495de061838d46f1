"""Lists of 5,000 pods of 4.4 KB on 500 nodes: whole, a page, selected, and as a Table."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.at_rest import bulk_for
from benchmarks.bodies import PODS, TABLE, create, create_nodes, pod
from benchmarks.load import ask, drive, request
from benchmarks.measuring import Bench, Figure
from benchmarks.processes import Process

NODES = 500


@dataclass(frozen=True, slots=True)
class Listing:
    """One way to list.  goal: CPU ms; count: answers a run."""

    name: str
    what: str
    query: str
    goal: float
    real: str
    count: int
    accept: str = ""


LISTINGS = (
    Listing("list", "list 5,000 pods as JSON", "", 15, "320 ms", 4),
    Listing("list-page", "the same, limit=500", "?limit=500", 2, "27 ms", 40),
    Listing("list-label", "the same, label selector of 1 %", "?labelSelector=group%3Dg7", 1, "6.8 ms", 100),
    Listing("list-field", "the same, spec.nodeName", "?fieldSelector=spec.nodeName%3Dnode-0007", 0.2, "5 ms", 400),
    Listing("list-table", "list 5,000 pods as Table", "", 40, "283 ms", 3, TABLE),
)


async def fill(bench: Bench, server: Process) -> None:
    await drive(server.port, create_nodes(NODES), 8)
    bulk = await bulk_for(server)
    pods = (
        pod(f"pod-{n:05}", node=f"node-{n % NODES:04}", labels={"group": f"g{n % 100}"}, bulk=bulk)
        for n in range(bench.amount(5000))
    )
    await drive(server.port, (create(PODS, one) for one in pods), 8)
    await bench.settle(1.0)


async def lists(bench: Bench) -> list[Figure]:
    async with bench.server() as server:
        await fill(bench, server)
        return [await one(bench, server, listing) for listing in LISTINGS]


async def one(bench: Bench, server: Process, listing: Listing) -> Figure:
    wanted = request("GET", PODS + listing.query, accept=listing.accept)
    await ask(server.port, wanted)
    count = max(2, listing.count // 4) if bench.quick else listing.count
    best = await bench.repeated(server, lambda run: [wanted] * count, 1)
    size = best.load.bytes // best.load.count
    bound = await bench.bound_get(size, count=count, connections=1)
    shown = f"{size / 1e6:.1f} MB" if size > 1e6 else f"{size / 1e3:.0f} KB"
    what = f"{listing.what} ({shown})"
    return Figure(
        listing.name, what, best.each, "ms", listing.goal, bound=bound, real=listing.real + " CPU", note=best.note
    )
