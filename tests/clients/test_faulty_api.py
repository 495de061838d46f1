"""Real clients on an API with faults: they wait, list and watch anew, try again, and come to the same end."""

from __future__ import annotations

import asyncio
import json
import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kopf
import pytest
from kubernetes import client, config
from kubernetes.informer import ADDED, DELETED, SharedInformer

from kube32_sim.cluster import Cluster
from tests.support.faults import SCENARIO, rule, scenario
from tests.support.http import Http
from tests.support.kubectl import Kubectl
from tests.support.objects import MAPS
from tests.support.servers import Server, running_server
from tests.support.waiting import PATIENCE, eventually

JsonObject = dict[str, Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An API server and nothing else."""
    with running_server(tmp_path_factory.mktemp("faulty"), "--controllers", "none", "--nodes", "0") as running:
        yield running


@pytest.fixture
def http(server: Server) -> Iterator[Http]:
    """Takes its scenario away in the end."""
    made = server.http()
    yield made
    made.request("DELETE", SCENARIO)
    for one in made.get("/api/v1/namespaces/default/configmaps")["items"]:
        made("DELETE", f"/api/v1/namespaces/default/configmaps/{one['metadata']['name']}")
    made.close()


def hits(http: Http) -> dict[str, int]:
    return {counts["name"]: counts["hit"] for counts in http.get(SCENARIO)["status"]["rules"]}


@pytest.mark.parametrize("effect", [{"status": 429, "retryAfter": 1}, {"status": 503, "retryAfter": 1}])
def test_kubectl_waits_as_it_is_told_and_asks_again(
    server: Server, http: Http, tmp_path: Path, effect: JsonObject
) -> None:
    http("PUT", SCENARIO, scenario(rule("busy", effect, {"resources": ["configmaps"]}, times=2)))
    kubectl = Kubectl(server.kubeconfig, tmp_path)
    assert kubectl("get", "configmaps", "-o", "name") == ""
    assert hits(http) == {"busy": 2}


def test_kubectl_tells_a_failure_in_its_own_words(server: Server, http: Http, tmp_path: Path) -> None:
    http("PUT", SCENARIO, scenario(rule("broken", {"status": 500}, {"resources": ["configmaps"]})))
    told = Kubectl(server.kubeconfig, tmp_path).fails("get", "configmaps")
    assert told == "Error from server (InternalError): Internal error occurred: etcdserver: leader changed\n"


def test_kubectl_sets_and_takes_away_a_scenario_itself(server: Server, http: Http, tmp_path: Path) -> None:
    kubectl = Kubectl(server.kubeconfig, tmp_path)
    file = tmp_path / "faults.yaml"
    file.write_text(json.dumps(scenario(rule())))
    assert kubectl("apply", "-f", str(file)) == "faultscenario.sim.kube32.io/cluster created\n"
    assert kubectl("apply", "-f", str(file)) == "faultscenario.sim.kube32.io/cluster unchanged\n"
    file.write_text(file.read_text().replace("503", "504"))
    assert kubectl("apply", "-f", str(file)) == "faultscenario.sim.kube32.io/cluster configured\n"
    assert kubectl("get", "faultscenarios", "-o", "jsonpath={.items[0].spec.rules[0].effect.status}") == "504"
    assert "afterEvents" in kubectl("explain", "faultscenario.spec.rules.effect.watch")
    file.write_text(file.read_text().replace("effect", "effects"))
    assert 'unknown field "spec.rules[0].effects"' in kubectl.fails("replace", "-f", str(file))
    assert "deleted" in kubectl("delete", "faultscenario", "cluster")
    assert kubectl("get", "faultscenarios", "--ignore-not-found") == ""


@pytest.mark.parametrize("ending", ["Close", "Reset", "Expired"])
def test_an_informer_goes_on_after_its_watch_was_cut(server: Server, http: Http, ending: str) -> None:
    # it has an end in any case: an informer that is stopped between two watches waits for that of the next one
    cut = rule("cut", {"watch": {"afterEvents": 2, "after": "500ms", "ending": ending}}, {"verbs": ["watch"]})
    compacted = rule("compacted", {"status": 410}, {"verbs": ["watch"]}, every=2, times=2)
    http("PUT", SCENARIO, scenario(compacted, cut))
    with config.new_client_from_config(str(server.kubeconfig)) as api:
        core = client.CoreV1Api(api)
        informer = SharedInformer(core.list_namespaced_config_map, namespace="default")
        heard: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        for kind in (ADDED, DELETED):
            informer.add_event_handler(kind, lambda obj, kind=kind: heard.put((kind, obj.metadata.name)))
        informer.start()
        try:
            for number in range(6):
                name = f"map-{number}"
                core.create_namespaced_config_map("default", {"metadata": {"name": name}})
                while heard.get(timeout=PATIENCE) != (ADDED, name):
                    pass
            core.delete_namespaced_config_map("map-0", "default")
            while heard.get(timeout=PATIENCE) != (DELETED, "map-0"):
                pass
            assert sorted(one.metadata.name for one in informer.cache.list()) == [f"map-{n}" for n in range(1, 6)]
        finally:
            informer.stop()
    assert hits(http)["cut"] > 1


async def test_an_operator_of_kopf_handles_everything_all_the_same() -> None:
    """Its watches are cut, its patches are lost, it is throttled: every object is handled in the end, and told so."""
    async with Cluster(nodes=0, controllers="none") as cluster:
        only = {"userAgents": ["kopf/*"]}
        cluster.faults.set(
            scenario(
                rule("compacted", {"status": 410}, only, every=3),
                rule("cut", {"watch": {"afterEvents": 2}}, only),
                rule("busy", {"status": 429}, {**only, "verbs": ["patch"]}, every=4),
                rule("lost", {"status": 500, "when": "After"}, {**only, "verbs": ["patch"]}, probability=0.3),
                rule("reset", {"reset": True}, {**only, "verbs": ["list"]}, every=5),
                seed=3,
            )
        )
        handled: set[str] = set()
        registry, stop = kopf.OperatorRegistry(), asyncio.Event()

        @kopf.on.login(registry=registry)  # type: ignore[arg-type]
        def login(**_: Any) -> kopf.ConnectionInfo:
            return kopf.ConnectionInfo(server=cluster.access.server)

        @kopf.on.create("configmaps", registry=registry)  # type: ignore[arg-type]
        async def made(name: str, **_: Any) -> None:
            handled.add(name)

        settings = kopf.OperatorSettings()
        settings.networking.error_backoffs = [0.05] * 20
        settings.watching.reconnect_backoff = 0.05
        settings.posting.enabled = False
        running = asyncio.create_task(
            kopf.operator(registry=registry, settings=settings, namespaces=["default"], standalone=True, stop_flag=stop)
        )
        names = {f"map-{number}" for number in range(12)}
        for name in names:
            await cluster.client.create(MAPS, "default", {"metadata": {"name": name}})
        done = "kopf.zalando.org/last-handled-configuration"

        def all_done() -> bool:
            stored = [cluster.store.get(("", "configmaps"), f"default/{name}") for name in names]
            return all(one and done in one.object()["metadata"].get("annotations", {}) for one in stored)

        await eventually(all_done, "every object is handled", 2 * PATIENCE)
        stop.set()
        await running
        assert handled == names
        happened = {counts["name"]: counts["hit"] for counts in next(iter(cluster.faults.objects()))["status"]["rules"]}
        assert all(happened[name] for name in ("cut", "busy", "lost")), happened
        cluster.store.check()
