"""`/metrics` of a server that has been asked for many kinds of things: 500 watches, 300 series of requests."""

from __future__ import annotations

from benchmarks.bodies import CONFIG_MAPS, NODES, PODS, create, pod
from benchmarks.load import ask, drive, request
from benchmarks.measuring import Bench, Figure

KINDS = {
    "/api/v1": ("services", "secrets", "events", "replicationcontrollers", "limitranges", "resourcequotas"),
    "/apis/apps/v1": ("deployments", "daemonsets", "replicasets", "statefulsets", "controllerrevisions"),
    "/apis/batch/v1": ("jobs", "cronjobs"),
    "/apis/networking.k8s.io/v1": ("ingresses", "networkpolicies"),
    "/apis/rbac.authorization.k8s.io/v1": ("roles", "rolebindings"),
    "/apis/policy/v1": ("poddisruptionbudgets",),
}
SAMPLES = 40


async def metrics(bench: Bench) -> list[Figure]:
    async with bench.server() as server:
        await drive(server.port, (create(PODS, pod(f"pod-{n}")) for n in range(bench.amount(200))), 8)
        for prefix, plurals in KINDS.items():
            for plural in plurals:
                await ask(server.port, request("GET", f"{prefix}/{plural}"))
                for method in ("GET", "DELETE"):
                    await ask(server.port, request(method, f"{prefix}/namespaces/default/{plural}"))
        await ask(server.port, request("GET", NODES))
        await ask(server.port, request("GET", CONFIG_MAPS))
        wanted = request("GET", "/metrics")
        best = await bench.repeated(server, lambda run: [wanted] * SAMPLES, 1)
        size = best.load.bytes // best.load.count
        return [Figure("metrics", f"GET /metrics ({size / 1e3:.0f} KB)", best.each, "ms", 5, note=best.note)]
