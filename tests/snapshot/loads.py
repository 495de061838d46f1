"""Saving and loading in tests: between clusters of this process, over HTTP, as the command does it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from kube32_sim import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.snapshot.loading import Loaded, Options, load
from kube32_sim.snapshot.reading import Objects, Source, read
from kube32_sim.snapshot.saving import Saving, save

JsonObject = dict[str, Any]

KIND = str(Path(__file__).with_name("kind.yaml"))
COMPUTED = ("Endpoints", "EndpointSlice")


async def load_files(cluster: Cluster, *files: str, **options: Any) -> Loaded:
    return await _load(cluster, read(files), Options(**options))


async def load_objects(
    cluster: Cluster, objects: Iterable[JsonObject], header: JsonObject | None = None, **options: Any
) -> Loaded:
    """header: what a snapshot says of itself; without it they are of somewhere else."""
    lines = [orjson.dumps(obj) for obj in objects]
    sources = [Source("test.jsonl", line=number) for number, _ in enumerate(lines, 1)]
    return await _load(cluster, Objects(lines, sources, header or {}), Options(**options))


async def _load(cluster: Cluster, objects: Objects, options: Options) -> Loaded:
    async with HttpClient(cluster.access) as client:
        return await load(client, "test", objects, options, lambda sent: None)


async def save_all(cluster: Cluster) -> list[JsonObject]:
    """The header, and all objects."""
    found: list[JsonObject] = []
    async with HttpClient(cluster.access) as client:
        await save(Saving(client), found.append, lambda types, done: None)
    return found


def by_identity(objects: Sequence[JsonObject]) -> dict[tuple[str, str, str], JsonObject]:
    """Without the header, resourceVersions, and what is computed."""
    found = {}
    for obj in objects:
        if obj["kind"] in (*COMPUTED, "Snapshot"):
            continue
        metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
        key = (obj["kind"], metadata.get("namespace", ""), metadata["name"])
        found[key] = {**obj, "metadata": metadata}
    return found


def config_map(name: str, namespace: str = "default", uid: str = "", **metadata: Any) -> JsonObject:
    metadata = {"name": name, "namespace": namespace, **metadata, **({"uid": uid} if uid else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}


def owner_reference(name: str, uid: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}
