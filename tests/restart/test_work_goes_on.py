"""What was half done goes on to exactly the wanted end: workloads, deletions, what others hold, what is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import DAEMONSETS, DEPLOYMENTS, EVENTS, JOBS, NAMESPACES, NODES, PODS, SERVICES, Client, Resource
from kube32_sim.cluster import Cluster
from tests.support.objects import MAPS, config_map, pod, service
from tests.support.restarting import Outliving, contents
from tests.support.scenario import begin, suffer, template, workload

JsonObject = dict[str, Any]
QUOTAS = Resource("", "v1", "resourcequotas")
ADDRESSES = Resource("networking.k8s.io", "v1", "ipaddresses")
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets")
AT_ONCE = {"gracePeriodSeconds": 0}


async def pods_of(client: Client, app: str) -> list[JsonObject]:
    return (await client.list(PODS, "default", label_selector=f"app={app}")).items


async def there(client: Client, resource: Resource, namespace: str, name: str) -> bool:
    found = (await client.list(resource, namespace)).items
    return name in {each["metadata"]["name"] for each in found}


@pytest.mark.parametrize("cuts", [(3,), (1, 2, 1, 1, 3, 2)])
async def test_a_rollout_ends_as_wanted(tmp_path: Path, cuts: tuple[int, ...]) -> None:
    """cuts: seconds from one crash to the next."""
    async with Outliving(tmp_path, nodes=3) as kept:
        client = kept.cluster.client
        await client.create(DEPLOYMENTS, "default", workload("web", template("web"), replicas=6))
        await kept.cluster.advance("20s")
        await client.patch(DEPLOYMENTS, "default", "web", {"spec": {"template": template("web", "j"), "replicas": 5}})
        for seconds in cuts:
            await kept.cluster.advance(seconds)
            await kept.restart()
        cluster = kept.cluster
        await cluster.advance("60s")
        found = await pods_of(cluster.client, "web")
        assert [each["spec"]["containers"][0]["image"] for each in found] == ["j"] * 5
        assert len({each["metadata"]["uid"] for each in found}) == 5
        status = (await cluster.client.get(DEPLOYMENTS, "default", "web"))["status"]
        assert (status["updatedReplicas"], status["availableReplicas"], status["observedGeneration"]) == (5, 5, 2)


@pytest.mark.parametrize("cuts", [(4,), (1, 1, 4, 1, 3, 2, 1, 1)])
async def test_a_job_is_done_as_often_as_wanted(tmp_path: Path, cuts: tuple[int, ...]) -> None:
    async with Outliving(tmp_path) as kept:
        batch = template("batch", annotations={"sim.kube32.io/run-seconds": "3"}, restartPolicy="Never")
        spec = {"completions": 7, "parallelism": 2, "template": batch}
        await kept.cluster.client.create(JOBS, "default", {"metadata": {"name": "batch"}, "spec": spec})
        for seconds in cuts:
            await kept.cluster.advance(seconds)
            await kept.restart()
        cluster = kept.cluster
        await cluster.advance("60s")
        job = await cluster.client.get(JOBS, "default", "batch")
        assert (job["status"]["succeeded"], job["status"].get("failed", 0)) == (7, 0)
        assert "Complete" in {each["type"] for each in job["status"]["conditions"]}
        assert [each["status"]["phase"] for each in await pods_of(cluster.client, "batch")] == ["Succeeded"] * 7


async def test_back_off_and_failures_of_a_job_count_on(tmp_path: Path) -> None:
    async with Outliving(tmp_path) as kept:
        fails = {"sim.kube32.io/run-seconds": "1", "sim.kube32.io/exit-code": "3"}
        spec = {"backoffLimit": 2, "template": template("bad", annotations=fails, restartPolicy="Never")}
        await kept.cluster.client.create(JOBS, "default", {"metadata": {"name": "bad"}, "spec": spec})
        for _ in range(3):
            await kept.cluster.advance("8s")
            await kept.restart()
        await kept.cluster.advance("120s")
        status = (await kept.cluster.client.get(JOBS, "default", "bad"))["status"]
        assert status["failed"] == 3
        assert {each["reason"] for each in status["conditions"]} == {"BackoffLimitExceeded"}


async def test_a_daemon_set_has_one_pod_a_node(tmp_path: Path) -> None:
    async with Outliving(tmp_path, nodes=4) as kept:
        await kept.cluster.client.create(DAEMONSETS, "default", workload("agent", template("agent")))
        await kept.cluster.advance("5s")
        await kept.restart()
        await kept.cluster.client.patch(DAEMONSETS, "default", "agent", {"spec": {"template": template("agent", "j")}})
        for seconds in (2, 1, 2):
            await kept.cluster.advance(seconds)
            await kept.restart()
        await kept.cluster.advance("60s")
        found = await pods_of(kept.cluster.client, "agent")
        assert {each["spec"]["nodeName"] for each in found} == {f"esp32-{number}" for number in range(4)}
        assert [each["spec"]["containers"][0]["image"] for each in found] == ["j"] * 4


async def test_a_namespace_that_is_going_goes(tmp_path: Path) -> None:
    """One whose content somebody holds waits for him, before the restart and after it."""
    async with Outliving(tmp_path) as kept:
        client = kept.cluster.client
        for name in ("going", "held"):
            await client.create(NAMESPACES, "", {"metadata": {"name": name}})
            await client.create(PODS, name, pod("p"))
        await client.create(MAPS, "held", {**config_map("m"), "metadata": {"name": "m", "finalizers": ["me.io/x"]}})
        await kept.cluster.advance("2s")
        for name in ("going", "held"):
            await client.delete(NAMESPACES, "", name)
        client = (await kept.restart()).client
        await kept.cluster.advance("60s")
        assert not await there(client, NAMESPACES, "", "going")
        assert (await client.get(NAMESPACES, "", "held"))["status"]["phase"] == "Terminating"
        client = (await kept.restart()).client
        await client.patch(MAPS, "held", "m", {"metadata": {"finalizers": None}})
        await kept.cluster.advance("60s")
        assert not await there(client, NAMESPACES, "", "held")


@pytest.mark.parametrize(("policy", "left"), [("Foreground", 0), ("Orphan", 3), ("Background", 0)])
async def test_deletions_of_owners_go_on(tmp_path: Path, policy: str, left: int) -> None:
    async with Outliving(tmp_path) as kept:
        client = kept.cluster.client
        await client.create(DEPLOYMENTS, "default", workload("web", template("web"), replicas=3))
        await kept.cluster.advance("10s")
        await client.delete(DEPLOYMENTS, "default", "web", options={"propagationPolicy": policy})
        client = (await kept.restart()).client
        await kept.cluster.advance("60s")
        assert not await there(client, DEPLOYMENTS, "default", "web")
        found = await pods_of(client, "web")
        assert len(found) == left
        assert not any(each["metadata"].get("ownerReferences") for each in found)


async def test_addresses_and_ports_of_services_are_still_theirs(tmp_path: Path) -> None:
    async with Outliving(tmp_path, nodes=0) as kept:
        client = kept.cluster.client
        made = [
            await client.create(SERVICES, "default", service(f"s{n}", {"a": "b"}, type="NodePort")) for n in range(3)
        ]
        client = (await kept.restart()).client
        for before in made:
            assert await client.get(SERVICES, "default", before["metadata"]["name"]) == before
        taken = service("thief", {"a": "b"}, type="NodePort", clusterIP=made[0]["spec"]["clusterIP"])
        with pytest.raises(ApiError, match="provided IP is already allocated"):
            await client.create(SERVICES, "default", taken)
        ports = [{"port": 80, "nodePort": made[1]["spec"]["ports"][0]["nodePort"]}]
        with pytest.raises(ApiError, match="provided port is already allocated"):
            await client.create(SERVICES, "default", service("thief", {"a": "b"}, type="NodePort", ports=ports))


async def test_objects_of_addresses_follow_the_services_that_are_there(tmp_path: Path) -> None:
    """A process may end between the write of the one and of the other."""
    async with Outliving(tmp_path, nodes=0) as kept:
        client, store = kept.cluster.client, kept.cluster.store
        kept_one = (await client.create(SERVICES, "default", service("kept", {"a": "b"})))["spec"]["clusterIP"]
        lost = (await client.create(SERVICES, "default", service("lost", {"a": "b"})))["spec"]["clusterIP"]
        await store.delete(("networking.k8s.io", "ipaddresses"), kept_one, lambda _: None)
        await store.delete(("", "services"), "default/lost", lambda _: None)
        cluster = await kept.restart()
        await cluster.settle()
        found = {each["metadata"]["name"] for each in (await cluster.client.list(ADDRESSES)).items}
        assert kept_one in found
        assert lost not in found


@pytest.mark.parametrize("controllers", ["*", "none"])
async def test_quotas_count_right(tmp_path: Path, controllers: str) -> None:
    async with Outliving(tmp_path, nodes=0, controllers=controllers) as kept:
        client = kept.cluster.client
        await client.create(QUOTAS, "default", {"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "3"}}})
        if controllers == "none":
            status = {"hard": {"configmaps": "3"}, "used": {"configmaps": "0"}}
            await client.update(
                QUOTAS,
                "default",
                {"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "3"}}, "status": status},
                subresource="status",
            )
        await kept.cluster.advance("5s")
        await client.create(MAPS, "default", config_map("a"))
        await client.create(MAPS, "default", config_map("b"))
        client = (await kept.restart()).client
        await kept.cluster.advance("5s")
        await client.create(MAPS, "default", config_map("c"))
        with pytest.raises(ApiError, match="exceeded quota"):
            await client.create(MAPS, "default", config_map("d"))


async def test_events_end_after_their_hour(tmp_path: Path) -> None:
    async with Outliving(tmp_path) as kept:
        await kept.cluster.client.create(PODS, "default", pod("p"))
        await kept.cluster.advance("10s")
        told = {each["metadata"]["uid"] for each in (await kept.cluster.client.list(EVENTS, "default")).items}
        assert told
        await kept.restart()
        await kept.cluster.advance("30m")
        await kept.restart()
        assert told <= {each["metadata"]["uid"] for each in (await kept.cluster.client.list(EVENTS, "default")).items}
        await kept.cluster.advance("32m")
        assert not told & {
            each["metadata"]["uid"] for each in (await kept.cluster.client.list(EVENTS, "default")).items
        }


async def test_what_is_never_scheduled_is_scheduled_once_there_is_room(tmp_path: Path) -> None:
    async with Outliving(tmp_path, nodes=0) as kept:
        await kept.cluster.client.create(PODS, "default", pod("waits"))
        await kept.cluster.advance("30s")
        cluster: Cluster = await kept.restart(nodes=1)
        await cluster.advance("5s")
        found = await cluster.client.get(PODS, "default", "waits")
        assert (found["spec"]["nodeName"], found["status"]["phase"]) == ("esp32-0", "Running")


async def test_budgets_know_their_pods(tmp_path: Path) -> None:
    async with Outliving(tmp_path) as kept:
        client = kept.cluster.client
        await client.create(DEPLOYMENTS, "default", workload("web", template("web"), replicas=2))
        spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}
        await client.create(BUDGETS, "default", {"metadata": {"name": "web"}, "spec": spec})
        await kept.cluster.advance("10s")
        cluster = await kept.restart()
        await cluster.settle()
        name = (await pods_of(cluster.client, "web"))[0]["metadata"]["name"]
        with pytest.raises(ApiError, match="disruption budget"):
            await cluster.client.create(
                PODS, "default", {"metadata": {"name": name}}, subresource="eviction", name=name
            )


async def test_generations_and_managed_fields_are_what_they_were(tmp_path: Path) -> None:
    async with Outliving(tmp_path) as kept:
        client = kept.cluster.client
        await client.create(DEPLOYMENTS, "default", workload("web", template("web"), replicas=2))
        await client.patch(DEPLOYMENTS, "default", "web", {"spec": {"replicas": 3}})
        await kept.cluster.advance("30s")
        before = [*(await client.list(DEPLOYMENTS)).items, *(await client.list(PODS)).items]
        for _ in range(3):
            client = (await kept.restart()).client
            await kept.cluster.advance("3s")
        assert [*(await client.list(DEPLOYMENTS)).items, *(await client.list(PODS)).items] == before
        node = await client.get(NODES, "", "esp32-0")
        assert {entry["manager"] for entry in node["metadata"]["managedFields"]} == {"kubelet"}


async def test_the_same_story_with_the_same_restarts_is_the_same(tmp_path: Path) -> None:
    """On a virtual clock, to the byte."""

    async def story(directory: Path, port: int) -> tuple[dict[tuple[str, str, str], bytes], int]:
        async with Outliving(directory, nodes=4, port=port) as kept:
            port = kept.cluster.port
            for part in (begin, suffer):
                await part(kept.cluster.client, kept.cluster.advance)
                await kept.restart(port=port)
                await kept.cluster.advance("7s")
            await kept.cluster.settle()
            return contents(kept.cluster), port

    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    one, port = await story(tmp_path / "one", 0)
    other, _ = await story(tmp_path / "other", port)
    assert one == other
