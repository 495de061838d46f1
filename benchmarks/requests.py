"""Single requests: reading, creating, patching, renewing, deleting one object, mostly over 32 connections."""

from __future__ import annotations

import re
from collections.abc import Iterator

import orjson

from benchmarks.bodies import (
    APPLY,
    APPS,
    CONFIG_MAPS,
    LEASES,
    MERGE,
    PODS,
    application,
    config_map,
    create,
    create_nodes,
    lease,
    pod,
    status_patch,
)
from benchmarks.load import Load, Source, ask, connect, drive, request
from benchmarks.measuring import Bench, Cost, Figure, cheapest, cost

VERSION = re.compile(rb'"resourceVersion":"(\d+)"')


async def get(bench: Bench) -> list[Figure]:
    """GET of one pod."""
    async with bench.server() as server:
        await drive(server.port, create_nodes(1), 1)
        await ask(server.port, create(PODS, pod("one", node="node-0000")))
        wanted = request("GET", f"{PODS}/one")
        size = len(await ask(server.port, wanted))
        bound = await bench.bound_get(size)
        best = await bench.repeated(server, lambda run: [wanted] * bench.amount(6000))
    what = f"GET one pod ({size / 1000:.1f} KB), 32 connections"
    return [Figure("get", what, best.each, "ms", 0.10, bound=bound, real="2,440/s, 0.65 ms", note=best.note)]


async def create_configmap(bench: Bench) -> list[Figure]:
    """POST of a small ConfigMap, over 32 connections and over one."""
    size = len(create(CONFIG_MAPS, config_map("x")))

    def bodies(prefix: str, count: int) -> list[bytes]:
        return [create(CONFIG_MAPS, config_map(f"{prefix}-{number}")) for number in range(count)]

    async with bench.server() as server:
        bound = await bench.bound_post(size)
        many = await bench.repeated(server, lambda run: bodies(f"many-{run}", bench.amount(4000)))
        bound_one = await bench.bound_post(size, connections=1)
        one = await bench.repeated(server, lambda run: bodies(f"one-{run}", bench.amount(2000)), 1)
    p50 = 1000 * one.load.quantile(0.5)
    return [
        Figure(
            "create-configmap",
            "create ConfigMap, 32 connections",
            many.each,
            "ms",
            0.20,
            bound=bound,
            real="1,790/s, 0.99 ms",
            note=many.note,
        ),
        Figure(
            "create-configmap-1",
            "create ConfigMap, 1 connection, p50",
            p50,
            "ms",
            0.5,
            bound=None,
            real="529/s, p50 about 1.9 ms",
            note=f"{one.note}, {one.each:.3f} ms CPU ({one.each / bound_one:.1f} x bound)",
        ),
    ]


async def create_pod(bench: Bench) -> list[Figure]:
    """POST of a 2.5 KB pod that is scheduled within the request, 100 nodes."""
    async with bench.server() as server:
        await drive(server.port, create_nodes(100), 8)
        count = bench.amount(3000)
        bound = await bench.bound_post()

        def bodies(run: int) -> Iterator[bytes]:
            return (create(PODS, pod(f"pod-{run}-{number}")) for number in range(count))

        best = await bench.repeated(server, bodies)
        answer = await ask(server.port, request("GET", f"{PODS}/pod-0-0"))
        if b'"nodeName":"node-' not in answer:
            raise RuntimeError(f"the pod was not scheduled: {answer.decode()}")
    what = "create Pod, scheduled on 100 nodes, 32 connections"
    return [Figure("create-pod", what, best.each, "ms", 0.5, bound=bound, real="670/s, 2.7 ms", note=best.note)]


async def patch_status(bench: Bench) -> list[Figure]:
    """Merge patch of a running pod's status: each changes something."""
    async with bench.server() as server:
        await drive(server.port, create_nodes(10), 8)
        pods = 500
        await drive(server.port, (create(PODS, pod(f"pod-{n}", node=f"node-{n % 10:04}")) for n in range(pods)), 8)
        count = bench.amount(4000)
        bound = await bench.bound_post(len(status_patch(0)))

        def bodies(run: int) -> Iterator[bytes]:
            for number in range(count):
                body = status_patch(run * count + number)
                yield request("PATCH", f"{PODS}/pod-{number % pods}/status", body, MERGE)

        best = await bench.repeated(server, bodies)
    what = "merge patch of a pod's status, 32 connections"
    return [Figure("patch-status", what, best.each, "ms", 0.5, bound=bound, real="467/s, 4.1 ms", note=best.note)]


async def apply(bench: Bench) -> list[Figure]:
    """Server-side apply of one of 200 Deployments: with another image, and with nothing new."""
    names = 200

    def applied(number: int, image: int) -> bytes:
        body = orjson.dumps(application(f"app-{number % names}", f"v{image}"))
        return request("PATCH", f"{APPS}/app-{number % names}?fieldManager=bench", body, APPLY)

    async with bench.server("--controllers", "none") as server:
        count = bench.amount(2000)
        bound = await bench.bound_post(len(applied(0, 0)))
        changing = await bench.repeated(server, lambda run: (applied(n, 1 + run * count + n) for n in range(count)))
        await drive(server.port, (applied(number, 0) for number in range(names)), 8)
        same = await bench.repeated(server, lambda run: (applied(number, 0) for number in range(count)))
    what = "server-side apply of a Deployment, 32 connections"
    return [
        Figure("apply", what, changing.each, "ms", None, bound=bound, note=changing.note),
        Figure("apply-same", "the same, nothing new", same.each, "ms", None, bound=bound, note=same.note),
    ]


def renewals(versions: dict[str, str], names: list[str], seconds: range) -> Source:
    """Renews leases in turn as kubelets do: with the resourceVersion of the last answer; what has none is created."""
    steps = iter([(name, second) for second in seconds for name in names])
    asked: list[str] = []

    def source(body: bytes) -> bytes | None:
        if asked:
            found = VERSION.search(body)
            assert found is not None, body
            versions[asked.pop()] = found[1].decode()
        name, second = next(steps, ("", 0))
        if not name:
            return None
        asked.append(name)
        if name not in versions:
            return request("POST", LEASES, lease(name, second))
        return request("PUT", f"{LEASES}/{name}", lease(name, second, versions[name]))

    return source


async def lease_put(bench: Bench) -> list[Figure]:
    """PUT of a Lease as a kubelet renews it, 960 leases."""
    names = [f"node-{number}" for number in range(bench.amount(960))]
    versions: dict[str, str] = {}

    async def renew(port: int, seconds: range) -> Load:
        sources = [renewals(versions, names[place::32], seconds) for place in range(32)]
        return await (await connect(port, sources)).run()

    async with bench.server() as server:
        await renew(server.port, range(1))
        size = len(await ask(server.port, request("GET", f"{LEASES}/{names[0]}")))
        bound = await bench.bound_post(size)

        async def measure(run: int) -> Cost:
            return await cost(server, renew(server.port, range(1 + 4 * run, 5 + 4 * run)))

        best = await cheapest(bench.runs, measure)
    what = "renew a Lease (PUT), 32 connections"
    return [Figure("lease", what, best.each, "ms", 0.25, bound=bound, real="1,080/s, 1.8 ms", note=best.note)]


async def delete(bench: Bench) -> list[Figure]:
    """DELETE of a ConfigMap."""
    count = bench.amount(3000)
    async with bench.server() as server:
        bound = await bench.bound_get(200)

        async def measure(run: int) -> Cost:
            names = [f"map-{run}-{number}" for number in range(count)]
            await drive(server.port, (create(CONFIG_MAPS, config_map(name)) for name in names), 8)
            wanted = [request("DELETE", f"{CONFIG_MAPS}/{name}") for name in names]
            return await cost(server, drive(server.port, wanted, 32))

        best = await cheapest(bench.runs, measure)
    what = "delete one ConfigMap, 32 connections"
    return [Figure("delete", what, best.each, "ms", 0.25, bound=bound, real="1,460/s, 1.2 ms", note=best.note)]
