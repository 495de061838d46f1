"""A machine whose clock is set back, as by NTP: what waits on it has waited as long as it would have, and goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kube32_sim.client import LEASES, NODES
from kube32_sim.clock import VirtualClock, parse_time
from kube32_sim.cluster import Cluster
from kube32_sim.local_client import LocalClient

HOUR = 3600.0


class SetBack(VirtualClock):
    """Tells the time as `RealClock` does on such a machine: waiting goes by another clock, which nobody sets."""

    behind = 0.0

    def now(self) -> float:
        return super().now() - self.behind

    def call_at(self, when: float, callback: Callable[[], None]) -> Callable[[], None]:
        return super().call_at(when + self.behind, callback)

    async def sleep(self, seconds: float) -> None:
        signal = self.signal()
        cancel = self.call_at(self.now() + seconds, signal.set)
        try:
            await signal.wait()
        finally:
            cancel()


@pytest.fixture(params=["pulses", "no pulses"])
def heartbeats(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kube32_sim.ground.VirtualClock", SetBack)
    if request.param == "no pulses":
        monkeypatch.setattr(LocalClient, "pulse", lambda *_: None)


def set_back(cluster: Cluster) -> None:
    assert isinstance(cluster.clock, SetBack)
    cluster.clock.behind += HOUR


async def renewed(cluster: Cluster, name: str) -> float:
    lease = await cluster.client.get(LEASES, "kube-node-lease", name)
    return parse_time(lease["spec"]["renewTime"])


async def ready(cluster: Cluster, name: str) -> tuple[str, str]:
    """(status, lastHeartbeatTime) of the Node's condition Ready."""
    node = await cluster.client.get(NODES, "", name)
    (found,) = [one for one in node["status"]["conditions"] if one["type"] == "Ready"]
    return found["status"], found["lastHeartbeatTime"]


@pytest.mark.usefixtures("heartbeats")
async def test_boards_go_on_renewing_and_reporting() -> None:
    async with Cluster(nodes=2, clock="virtual") as cluster:
        await cluster.advance(60)
        set_back(cluster)
        before = await ready(cluster, "esp32-0")
        for _ in range(6):
            await cluster.advance(10)
            status, told = await ready(cluster, "esp32-0")
            assert status == "True"
            assert told != before[1]
            assert 0 <= cluster.clock.now() - await renewed(cluster, "esp32-0") <= 5
            before = status, told


@pytest.mark.usefixtures("heartbeats")
@pytest.mark.parametrize("silent", [0.0, 7.0])
async def test_a_board_lost_around_that_time_is_found_no_later(silent: float) -> None:
    """silent: seconds before the clock is set back."""
    async with Cluster(nodes=2, clock="virtual") as cluster:
        await cluster.advance(60)
        patch = {"metadata": {"annotations": {"sim.kube32.io/fault": "partitioned"}}}
        await cluster.client.patch(NODES, "", "esp32-0", patch)
        await cluster.advance(silent)
        set_back(cluster)
        await cluster.advance(31)  # two lease durations: what was seen before no longer counts
        assert (await ready(cluster, "esp32-0"))[0] == "Unknown"
        assert (await ready(cluster, "esp32-1"))[0] == "True"


@pytest.mark.usefixtures("heartbeats")
async def test_a_board_lost_later_is_found_as_ever() -> None:
    async with Cluster(nodes=2, clock="virtual") as cluster:
        await cluster.advance(60)
        set_back(cluster)
        await cluster.advance(60)
        patch = {"metadata": {"annotations": {"sim.kube32.io/fault": "partitioned"}}}
        await cluster.client.patch(NODES, "", "esp32-0", patch)
        await cluster.advance(16)
        assert (await ready(cluster, "esp32-0"))[0] == "Unknown"
        assert (await ready(cluster, "esp32-1"))[0] == "True"
