"""A board whose supply voltage drops: the chip resets, boots, and starts its containers again, over and over."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.client import EVENTS, LEASES, NODES, PODS
from kube32_sim.cluster import Cluster
from kube32_sim.http_client import HttpClient
from kube32_sim.ids import Ids
from kube32_sim.kubelet.agent import Board, Pace
from kube32_sim.kubelet.boards import profiles
from kube32_sim.kubelet.resets import BOOT_SECONDS
from tests.support.waiting import eventually

FAULT = "sim.kube32.io/fault"
JsonObject = dict[str, Any]


async def annotate(cluster: Cluster, fault: str | None, node: str = "esp32-0") -> None:
    await cluster.client.patch(NODES, "", node, {"metadata": {"annotations": {FAULT: fault}}})
    if cluster.clock.mode == "Virtual":
        await cluster.settle()


async def run_pod(cluster: Cluster, name: str, policy: str = "Always", **annotations: str) -> None:
    steering = {f"sim.kube32.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    spec = {"restartPolicy": policy, "nodeName": "esp32-0", "containers": [{"name": "c", "image": "i"}]}
    pod = {"metadata": {"name": name, "annotations": steering}, "spec": spec}
    await cluster.client.create(PODS, "default", pod)
    if cluster.clock.mode == "Virtual":
        await cluster.settle()


async def container(cluster: Cluster, name: str) -> JsonObject:
    pod = await cluster.client.get(PODS, "default", name)
    status: JsonObject = pod["status"]["containerStatuses"][0]
    return status


async def boot_id(cluster: Cluster) -> str:
    return str((await cluster.client.get(NODES, "", "esp32-0"))["status"]["nodeInfo"]["bootID"])


async def told(cluster: Cluster, about: str, reason: str) -> list[JsonObject]:
    found = await cluster.client.list(EVENTS, "default")
    return [one for one in found.items if one["involvedObject"]["name"] == about and one["reason"] == reason]


async def test_containers_start_again_and_say_why() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        await run_pod(cluster, "p")
        await cluster.advance(20)
        before = await boot_id(cluster)
        uid = (await cluster.client.get(PODS, "default", "p"))["metadata"]["uid"]
        await annotate(cluster, "brownout")
        assert (await container(cluster, "p"))["restartCount"] == 0  # nothing is heard of a board that boots
        await cluster.advance(BOOT_SECONDS)
        status = await container(cluster, "p")
        assert (status["restartCount"], status["ready"]) == (1, True)
        assert status["state"] == {"running": {"startedAt": "2026-01-01T00:00:23Z"}}
        last = status["lastState"]["terminated"]
        assert (last["exitCode"], last["reason"]) == (255, "Error")
        assert last["message"] == "Brownout detector was triggered"
        assert (last["startedAt"], last["finishedAt"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:20Z")
        assert (await cluster.client.get(PODS, "default", "p"))["metadata"]["uid"] == uid
        after = await boot_id(cluster)
        assert after != before
        (rebooted,) = await told(cluster, "esp32-0", "Rebooted")
        assert (rebooted["type"], rebooted["source"]["component"]) == ("Warning", "kubelet")
        assert rebooted["message"] == f"Node esp32-0 has been rebooted, boot id: {after}"
        assert await told(cluster, "p", "SandboxChanged")


@pytest.mark.parametrize(("fault", "period"), [("brownout", 60), ("brownout:20s", 20)])
async def test_it_happens_again_until_the_fault_is_gone(fault: str, period: int) -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        await run_pod(cluster, "p")
        await annotate(cluster, fault)
        boots = set()
        for number in range(1, 5):
            await cluster.advance(BOOT_SECONDS)
            assert (await container(cluster, "p"))["restartCount"] == number
            boots.add(await boot_id(cluster))
            await cluster.advance(period - BOOT_SECONDS)
        assert len(boots) == 4
        await annotate(cluster, None)  # the fifth has just begun: it boots to its end
        await cluster.advance(10 * period)
        assert (await container(cluster, "p"))["restartCount"] == 5


async def test_the_node_stays_ready_and_its_lease_is_renewed() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        await annotate(cluster, "brownout:10s")
        for _ in range(120):
            await cluster.advance(1)
            node = await cluster.client.get(NODES, "", "esp32-0")
            assert all(one["status"] == "True" for one in node["status"]["conditions"] if one["type"] == "Ready")
        lease = await cluster.client.get(LEASES, "kube-node-lease", "esp32-0")
        assert lease["spec"]["renewTime"] > "2026-01-01T00:01:50"


@pytest.mark.parametrize(
    ("policy", "phase", "restarts"), [("Always", "Running", 1), ("OnFailure", "Running", 1), ("Never", "Failed", 0)]
)
async def test_a_pod_goes_on_as_its_policy_has_it(policy: str, phase: str, restarts: int) -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        await run_pod(cluster, "p", policy)
        await annotate(cluster, "brownout")
        await cluster.advance(BOOT_SECONDS)
        pod = await cluster.client.get(PODS, "default", "p")
        assert pod["status"]["phase"] == phase
        status = pod["status"]["containerStatuses"][0]
        assert status["restartCount"] == restarts
        ended = status["state"] if policy == "Never" else status["lastState"]
        assert ended["terminated"]["exitCode"] == 255


async def test_a_crash_loop_begins_anew() -> None:
    """What waited for its back-off is started with the board, as a kubelet forgets back-offs when it is restarted."""
    async with Cluster(nodes=1, clock="virtual") as cluster:
        await run_pod(cluster, "p", run_seconds="1", exit_code="7")
        await cluster.advance(30)
        waiting = await container(cluster, "p")
        assert "waiting" in waiting["state"]
        await annotate(cluster, "brownout")
        await cluster.advance(BOOT_SECONDS)
        status = await container(cluster, "p")
        assert "running" in status["state"]
        assert status["restartCount"] == waiting["restartCount"] + 1
        assert status["lastState"]["terminated"]["exitCode"] == 7


async def test_finished_pods_stay_finished_and_deleted_ones_go() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        await run_pod(cluster, "done", "Never", run_seconds="1")
        await run_pod(cluster, "leaving")
        await cluster.advance(5)
        before = await cluster.client.get(PODS, "default", "done")
        await annotate(cluster, "brownout")
        await cluster.client.delete(PODS, "default", "leaving")
        await cluster.advance(BOOT_SECONDS)
        assert await cluster.client.get(PODS, "default", "done") == before
        with pytest.raises(ApiError, match="not found"):
            await cluster.client.get(PODS, "default", "leaving")


async def test_a_pod_that_is_bound_while_it_boots_is_started_then() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        await annotate(cluster, "brownout")
        await run_pod(cluster, "p")
        assert (await cluster.client.get(PODS, "default", "p"))["status"]["phase"] == "Pending"
        await cluster.advance(BOOT_SECONDS)
        assert (await container(cluster, "p"))["restartCount"] == 0


async def test_off_while_it_boots_is_off() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        await run_pod(cluster, "p")
        boot = await boot_id(cluster)
        await annotate(cluster, "brownout")
        await annotate(cluster, "stopped")
        await cluster.advance(300)
        assert (await container(cluster, "p"))["restartCount"] == 0
        assert await boot_id(cluster) == boot
        await annotate(cluster, None)
        await cluster.advance(5)
        with pytest.raises(ApiError, match="not found"):
            await cluster.client.get(PODS, "default", "p")


async def test_an_agent_that_is_started_anew_is_no_reboot() -> None:
    async with Cluster(nodes=0, clock="virtual") as cluster:
        made = Board(cluster.client, cluster.clock, Ids(1), "esp32-0", profiles()["esp32-s3"])
        made.start()
        await cluster.settle()
        await annotate(cluster, "brownout")
        await cluster.advance(BOOT_SECONDS)
        await annotate(cluster, None)
        boot = await boot_id(cluster)
        await made.stop()
        again = Board(cluster.client, cluster.clock, Ids(1), "esp32-0", profiles()["esp32-s3"])
        again.start()
        await cluster.advance(30)
        assert await boot_id(cluster) == boot
        await again.stop()


async def test_a_board_over_http_resets_too() -> None:
    async with Cluster(nodes=0) as cluster, HttpClient(cluster.access, program="kubelet") as client:
        board = Board(client, cluster.clock, Ids(1), "esp32-0", profiles()["esp32-s3"], Pace(report=1.0))
        board.start()
        await board.registered.wait()
        await run_pod(cluster, "p")
        boot = await boot_id(cluster)

        def status(plural: str, key: str) -> JsonObject:
            stored = cluster.store.get(("", plural), key)
            return stored.object()["status"] if stored is not None else {}

        def restarts() -> int:
            statuses = status("pods", "default/p").get("containerStatuses")
            return statuses[0]["restartCount"] if statuses else -1

        def rebooted() -> bool:
            return bool(status("nodes", "esp32-0")["nodeInfo"]["bootID"] != boot)

        await eventually(lambda: restarts() == 0, "it runs")
        await annotate(cluster, "brownout")
        await eventually(lambda: restarts() == 1, "it runs again")
        await eventually(rebooted, "its Node tells of another boot")
        await board.stop()
