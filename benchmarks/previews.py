"""Previews over the API: CPU of one pod's over 1,000 boards, with what each of them says."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from benchmarks.bodies import NODES, PODS, create, pod
from benchmarks.load import ask, drive, request
from benchmarks.measuring import Bench, Figure
from benchmarks.processes import Process

PREVIEWS = "/apis/sim.kube32.io/v1alpha1/schedulingpreviews"
BOARDS = 1000
TAKING = 2000
"""Pods that are there, of many sizes: so no more than a few boards are in the same state."""
GOAL = 10.0


def boards() -> Iterator[bytes]:
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
    for number in range(BOARDS):
        name = f"esp32-{number}"
        room = {"cpu": "2", "memory": "288Ki", "esp32.io/gpio": "34", "esp32.io/i2c": "2", "esp32.io/uart": "2"}
        labels = {"kubernetes.io/hostname": name, "esp32.io/board": "esp32-s3"}
        status = {"capacity": {**room, "memory": "384Ki"}, "allocatable": room, "conditions": [ready]}
        obj = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}
        yield create(NODES, obj)


def taking() -> Iterator[bytes]:
    for number in range(TAKING):
        obj = pod(f"there-{number}", node=f"esp32-{number * 7 % BOARDS}", bulk=1)
        asked = {"memory": f"{8 + number % 97}Ki", "esp32.io/gpio": str(number % 5)}
        obj["spec"]["containers"][0]["resources"] = {"requests": asked}
        yield create(PODS, obj)


def preview(run: int, number: int, profile: str, memory: str) -> bytes:
    obj = pod(f"wanted-{run}-{number}")
    for container in obj["spec"]["containers"]:
        container["resources"] = {"requests": {"memory": memory}}
    spec = {"profile": profile, "pods": [obj]}
    body = {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "SchedulingPreview", "spec": spec}
    return request("POST", PREVIEWS, orjson.dumps(body))


async def each(bench: Bench, server: Process, profile: str, memory: str, usual: int) -> float:
    """CPU milliseconds."""
    count = bench.amount(usual)
    answer = await ask(server.port, preview(0, 0, profile, memory))
    if answer.count(b'"feasible"') != BOARDS:
        raise RuntimeError(f"not every board is in the answer: {answer[:500]!r}")

    def wanted(run: int) -> Iterator[bytes]:
        return (preview(run, number, profile, memory) for number in range(count))

    return (await bench.repeated(server, wanted, 1)).each


async def previews(bench: Bench) -> list[Figure]:
    async with bench.server() as server:
        await drive(server.port, boards(), 8)
        await drive(server.port, taking(), 8)
        await bench.settle(1.0)
        fits = await each(bench, server, "kube32", "20Ki", 400)
        nowhere = await each(bench, server, "kube32", "200Ki", 400)
        kestrel = await each(bench, server, "kestrel", "20Ki", 100)
    what = f"preview of one pod, {BOARDS:,} boards in many states"
    note = f"fits nowhere {nowhere:.1f} ms; by the profile kestrel {kestrel:.1f} ms"
    return [Figure("preview-api", what, fits, "ms", GOAL, note=note)]
