"""Snapshots: 100,000 objects saved by the command, and loaded into an empty server, from its start to its end."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from benchmarks.measuring import Bench, Figure
from benchmarks.processes import ROOT, Process

JsonObject = dict[str, object]

OBJECTS = 100_000
TIME = "2026-01-01T00:00:00Z"
NAMESPACES, NODES = 100, 1000
GOAL = 5.0


def objects(count: int) -> Iterator[JsonObject]:
    """As many, of which 30 % are pods that run, 40 % ConfigMaps, 20 % Secrets, and the rest Events."""
    for number in range(NAMESPACES):
        spec = {"finalizers": ["kubernetes"]}
        yield _object("Namespace", f"ns-{number}", number, spec=spec, status={"phase": "Active"})
    left = count - NAMESPACES
    for number in range(left):
        part = 10 * number // left
        if part < 3:
            yield _pod(number)
        elif part < 7:
            yield _object("ConfigMap", f"config-{number}", number, data={"settings": "x" * 300})
        elif part < 9:
            yield _object("Secret", f"secret-{number}", number, type="Opaque", data={"key": "c2VzYW1z" * 20})
        else:
            yield _event(number)


def _object(kind: str, name: str, number: int, **rest: object) -> JsonObject:
    metadata: JsonObject = {"name": name, "creationTimestamp": TIME, "labels": {"app": "web"}}
    code = sum(map(ord, kind))
    metadata["uid"] = f"{code:08d}-0000-4000-8000-{number:012d}"
    if kind != "Namespace":
        metadata["namespace"] = f"ns-{number % NAMESPACES}"
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **rest}


def _pod(number: int) -> JsonObject:
    container = {"name": "web", "image": "web:1", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}
    spec = {"nodeName": f"node-{number % NODES}", "containers": [container], "restartPolicy": "Always"}
    address = f"10.1.{number // 250 % 250}.{number % 250 + 1}"
    ready = [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": TIME}
        for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    runs = {"name": "web", "image": "web:1", "imageID": "web", "ready": True, "restartCount": 0, "started": True}
    state = {"state": {"running": {"startedAt": TIME}}, "lastState": {}}
    status = {"phase": "Running", "conditions": ready, "podIP": address, "podIPs": [{"ip": address}]}
    return _object("Pod", f"pod-{number}", number, spec=spec, status=status | {"containerStatuses": [runs | state]})


def _event(number: int) -> JsonObject:
    about = {"kind": "Pod", "name": f"pod-{number}", "namespace": f"ns-{number % NAMESPACES}"}
    told = {"reason": "Started", "message": "Started container web", "type": "Normal", "count": 1}
    return _object(
        "Event", f"event-{number}", number, involvedObject=about, firstTimestamp=TIME, lastTimestamp=TIME, **told
    )


async def snapshots(bench: Bench) -> list[Figure]:
    """The commands' own time is in it: starting Python, reading and writing the file."""
    count = max(2 * NAMESPACES, bench.amount(OBJECTS))
    loads, saves = list[tuple[float, float]](), list[tuple[float, float]]()
    with tempfile.TemporaryDirectory(prefix="snapshots-") as folder:
        file = Path(folder) / "state.jsonl"
        file.write_bytes(b"".join(orjson.dumps(one, option=orjson.OPT_APPEND_NEWLINE) for one in objects(count)))
        size = file.stat().st_size / 1e6
        for _ in range(min(3, bench.runs)):
            async with bench.server("--nodes", "0") as server:
                loads.append(await _timed(server, "load", str(file)))
                await bench.settle(3)
                saves.append(await _timed(server, "save", str(Path(folder) / "saved.jsonl")))
                resident = server.memory()[0]
    goal = GOAL * count / OBJECTS
    note = f"{count:,} objects, {size:.0f} MB; {min(loads)[1]:.1f} s CPU of the server; resident {resident:.0f} MB"
    return [
        Figure("snapshot", "loading a snapshot", min(loads)[0], "s", goal, note=note),
        Figure("snapshot", "saving it", min(saves)[0], "s", goal, note=f"{min(saves)[1]:.1f} s CPU of the server"),
    ]


async def _timed(server: Process, *arguments: str) -> tuple[float, float]:
    """(seconds that the command took, CPU seconds of the server)."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "controllers")))}
    where = ("--server", f"http://127.0.0.1:{server.port}")
    before, start = server.cpu(), time.perf_counter()
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kube32_sim", "snapshot", *arguments, *where,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment,
    )  # fmt: skip
    _, told = await child.communicate()
    if child.returncode:
        raise RuntimeError(told.decode())
    return time.perf_counter() - start, server.cpu() - before
