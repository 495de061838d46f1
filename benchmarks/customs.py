"""Custom resources: how soon a definition serves, what an object with schema and rules costs, 500 definitions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import orjson

from benchmarks.bodies import create
from benchmarks.load import ask, drive, request
from benchmarks.measuring import BARE, Bench, Figure

JsonObject = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "bench.example.com"
RULES = (
    "self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas",
    "self.name.startsWith('w') || self.name.size() < 20",
    "self.ports.all(p, p.port > 0 && p.port < 65536)",
    "!has(self.window) || self.window.start != self.window.end",
    "self.replicas >= oldSelf.replicas || self.shrink",
)
"""Four of every write, one of updates."""


def schema(limit: int, *, ruled: bool) -> JsonObject:
    """Fifty fields of all kinds, with defaults, an enum and a pattern, perhaps with rules; each limit makes another."""
    text, number = {"type": "string", "maxLength": 40}, {"type": "integer", "minimum": 0, "maximum": 1000}
    port = {"type": "object", "required": ["port"], "properties": {"name": text, "port": {"type": "integer"}}}
    spec: JsonObject = {
        "name": {"type": "string", "maxLength": 40, "pattern": "^[a-z][-a-z0-9]*$"},
        "color": {"type": "string", "enum": ["red", "green", "blue"], "default": "red"},
        "replicas": number,
        "minReplicas": number | {"default": 1},
        "maxReplicas": number | {"default": 10},
        "shrink": {"type": "boolean", "default": False},
        "ports": {"type": "array", "maxItems": 10, "items": port},
        "window": {"type": "object", "properties": {"start": text, "end": text}},
        "labels": {"type": "object", "maxProperties": 10, "additionalProperties": text},
    }
    spec |= {f"text{n}": text for n in range(18)} | {f"number{n}": number for n in range(18)}
    rules = [{"rule": rule} for rule in RULES]
    status = {"type": "object", "properties": {"ready": {"type": "integer", "maximum": 1000 + limit}}}
    part: JsonObject = {"type": "object", "required": ["name"], "properties": spec}
    if ruled:
        part["x-kubernetes-validations"] = rules
    return {"type": "object", "properties": {"spec": part, "status": status}}


def definition(number: int, *, ruled: bool = True) -> JsonObject:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema(number, ruled=ruled)},
    }
    version["subresources"] = {"status": {}}
    names = {"plural": f"things{number}", "kind": f"Thing{number}"}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    identity = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**identity, "metadata": {"name": f"things{number}.{GROUP}"}, "spec": spec}


def thing(number: int, name: str) -> JsonObject:
    spec = {"name": "w-1", "replicas": 3, "ports": [{"name": "http", "port": 80}, {"name": "tls", "port": 443}]}
    spec |= {"window": {"start": "08:00", "end": "18:00"}, "labels": {"a": "b", "c": "d"}}
    spec |= {f"text{n}": "some text" for n in range(18)} | {f"number{n}": n for n in range(18)}
    identity = {"apiVersion": f"{GROUP}/v1", "kind": f"Thing{number}"}
    return {**identity, "metadata": {"name": name}, "spec": spec}


def objects(number: int) -> str:
    return f"/apis/{GROUP}/v1/namespaces/default/things{number}"


async def served(bench: Bench) -> list[Figure]:
    """From the request for a definition to the answer that tells of the first object, of the first types there are."""
    times = []
    async with bench.server() as server:
        for number in range(bench.runs + 1):
            begun = time.perf_counter()
            await ask(server.port, create(DEFINITIONS, definition(number)))
            await ask(server.port, create(objects(number), thing(number, "first")))
            times.append(time.perf_counter() - begun)
            await ask(server.port, request("GET", f"{objects(number)}/first"))
    what = "a definition, until its first object is stored"
    note = f"50 fields, five rules; best of {len(times)}; the very first, which loads CEL: {1000 * times[0]:.0f} ms"
    return [Figure("custom-served", what, 1000 * min(times), "ms", 100, note=note)]


async def create_custom(bench: Bench) -> list[Figure]:
    """POST of an object with 50 fields and five rules."""
    count = bench.amount(2000)
    async with bench.server() as server:
        await ask(server.port, create(DEFINITIONS, definition(0)))
        await ask(server.port, create(objects(0), thing(0, "probe")))
        await ask(server.port, request("GET", f"{objects(0)}/probe"))
        bound = await bench.bound_post(len(orjson.dumps(thing(0, "probe"))))

        def bodies(run: int) -> Iterator[bytes]:
            return (create(objects(0), thing(0, f"t-{run}-{n}")) for n in range(count))

        best = await bench.repeated(server, bodies)
    what = "create a custom object, 50 fields, five CEL rules"
    return [Figure("create-custom", what, best.each, "ms", 1.0, bound=bound, note=best.note)]


async def many(bench: Bench) -> list[Figure]:
    """500 definitions: how long until all are served, and what they take; without rules, and with five each."""
    count = bench.amount(500)
    plain, _ = await _served_all(bench, count, ruled=False)
    ruled, memory = await _served_all(bench, count, ruled=True)
    note = "one after the other, each of 50 fields"
    return [
        Figure("definitions", f"{count} definitions until all are served", plain, "s", 2.0, note=note),
        Figure("definitions-ruled", "the same, five CEL rules each", ruled, "s", note="all rules compiled and costed"),
        Figure("definition-memory", "memory per definition, five CEL rules", memory, "KB", 100),
    ]


async def _served_all(bench: Bench, count: int, *, ruled: bool) -> tuple[float, float]:
    """(seconds until all are served, KB that each takes)."""
    async with bench.server(*BARE) as server:
        await ask(server.port, create(DEFINITIONS, definition(count)))  # whatever the first one loads
        before, begun = server.memory()[0], time.perf_counter()
        await drive(server.port, (create(DEFINITIONS, definition(n, ruled=ruled)) for n in range(count)), 1)
        taken = time.perf_counter() - begun
        await ask(server.port, request("GET", objects(count - 1)))
        return taken, 1024 * (server.memory()[0] - before) / count
