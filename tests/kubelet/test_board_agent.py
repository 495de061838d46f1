"""Boards at work: the agent against the real API layer in this process, on a virtual clock."""

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from kube32_sim.client import EVENTS, LEASES, NODES, PODS
from kube32_sim.clock import VirtualClock, parse_time
from kube32_sim.cluster import Cluster
from kube32_sim.kubelet.agent import Board
from kube32_sim.kubelet.boards import profiles
from kube32_sim.options import ServeOptions

NODE = "bench-0"


class Bench:
    """One board on an API server without loops, and short words for what the tests ask of it."""

    def __init__(self, cluster: Cluster) -> None:
        assert isinstance(cluster.clock, VirtualClock)
        self.clock = cluster.clock
        self.client = cluster.client
        self.ids = cluster.ids
        self.board = self.new_board()

    def new_board(self) -> Board:
        return Board(self.client, self.clock, self.ids, NODE, profiles()["esp32-s3"])

    async def run_pod(self, name: str, annotations: dict[str, str] | None = None, **spec: Any) -> None:
        """Create a pod bound to the board, and let what follows happen.  annotations: without their prefix."""
        requests = spec.pop("requests", {"memory": "32Ki"})
        container = {"name": "app", "image": "app:1", "resources": {"requests": requests, "limits": requests}}
        noted = {f"sim.kube32.io/{key}": value for key, value in (annotations or {}).items()}
        metadata = {"name": name, "annotations": noted, **spec.pop("metadata", {})}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"nodeName": NODE, "containers": [container], **spec},
        }
        await self.client.create(PODS, "default", pod)
        await self.clock.settle()

    async def pod(self, name: str) -> dict[str, Any]:
        return await self.client.get(PODS, "default", name)

    async def phase(self, name: str) -> str:
        found = await self.client.list(PODS, "default", field_selector=f"metadata.name={name}")
        return str(found.items[0]["status"]["phase"]) if found.items else "gone"

    async def delete(self, name: str) -> None:
        await self.client.delete(PODS, "default", name)
        await self.clock.settle()

    async def node(self) -> dict[str, Any]:
        return await self.client.get(NODES, "", NODE)

    async def free(self, resource: str = "memory") -> str:
        return str((await self.node())["status"]["allocatable"][resource])

    async def renewed(self) -> float:
        lease = await self.client.get(LEASES, "kube-node-lease", NODE)
        return parse_time(lease["spec"]["renewTime"])

    async def annotate(self, fault: str | None) -> None:
        await self.client.patch(NODES, "", NODE, {"metadata": {"annotations": {"sim.kube32.io/fault": fault}}})
        await self.clock.settle()

    async def events(self, name: str) -> list[tuple[str, int]]:
        found = await self.client.list(EVENTS, "default")
        return sorted((e["reason"], e["count"]) for e in found.items if e["involvedObject"]["name"] == name)


@pytest_asyncio.fixture
async def bench() -> AsyncIterator[Bench]:
    options = ServeOptions(port=0, clock="virtual", nodes=0, controllers="none")
    async with Cluster(options) as cluster:
        bench = Bench(cluster)
        bench.board.start()
        await bench.clock.settle()
        yield bench
        await bench.board.stop()


async def test_a_board_registers_and_renews_its_lease_every_five_seconds(bench: Bench) -> None:
    node = await bench.node()
    assert node["metadata"]["labels"]["esp32.io/board"] == "esp32-s3"
    assert await bench.renewed() == bench.clock.now()
    lease = await bench.client.get(LEASES, "kube-node-lease", NODE)
    assert lease["spec"]["leaseDurationSeconds"] == 15
    assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]
    for _ in range(20):
        await bench.clock.advance(5.0)
        assert bench.clock.now() - await bench.renewed() <= 5.0


async def test_it_reports_at_least_every_ten_seconds(bench: Bench) -> None:
    for _ in range(10):
        await bench.clock.advance(10.0)
        (ready,) = [c for c in (await bench.node())["status"]["conditions"] if c["type"] == "Ready"]
        assert bench.clock.now() - parse_time(ready["lastHeartbeatTime"]) <= 10.0


async def test_what_others_write_into_its_report_is_put_right_by_the_next(bench: Bench) -> None:
    await bench.clock.advance(20.0)
    before = (await bench.node())["status"]
    ready = {"type": "Ready", "status": "True", "message": "says somebody"}
    for status in ({"allocatable": {"memory": "1Ki", "esp32.io/gpio": None}}, {"conditions": [ready]}):
        await bench.client.patch(NODES, "", NODE, {"status": status}, subresource="status", kind="strategic")
        await bench.clock.advance(10.0)
        after = (await bench.node())["status"]
        assert after["allocatable"] == before["allocatable"]
        assert [one["message"] for one in after["conditions"]] == [one["message"] for one in before["conditions"]]


async def test_a_pod_runs_and_the_board_has_less_to_give(bench: Bench) -> None:
    assert await bench.free() == "288Ki"
    await bench.run_pod("a", requests={"memory": "32Ki", "esp32.io/gpio": "4"})
    status = (await bench.pod("a"))["status"]
    assert status["phase"] == "Running"
    assert status["podIP"].startswith("10.")
    assert status["hostIP"] == (await bench.node())["status"]["addresses"][0]["address"]
    assert await bench.free() == "256Ki"
    assert await bench.free("esp32.io/gpio") == "30"
    assert await bench.events("a") == [("Created", 1), ("Pulled", 1), ("Started", 1)]


async def test_the_report_is_newer_than_what_it_counts(bench: Bench) -> None:
    await bench.run_pod("a")
    pod, node = await bench.pod("a"), await bench.node()
    assert int(node["metadata"]["resourceVersion"]) > int(pod["metadata"]["resourceVersion"])


async def test_a_quiet_board_writes_only_heartbeats(bench: Bench) -> None:
    await bench.run_pod("a")
    before = (await bench.pod("a"))["metadata"]["resourceVersion"]
    await bench.clock.advance(120.0)
    assert (await bench.pod("a"))["metadata"]["resourceVersion"] == before


async def test_pods_have_addresses_of_their_own_and_those_are_used_again(bench: Bench) -> None:
    for name in ("a", "b"):
        await bench.run_pod(name)
    first, second = [(await bench.pod(name))["status"]["podIP"] for name in ("a", "b")]
    assert first != second
    await bench.delete("a")
    await bench.run_pod("c")
    assert (await bench.pod("c"))["status"]["podIP"] == first


async def test_a_deleted_pod_is_stopped_and_removed(bench: Bench) -> None:
    await bench.run_pod("a")
    await bench.delete("a")
    assert await bench.phase("a") == "gone"
    assert await bench.free() == "288Ki"
    assert ("Killing", 1) in await bench.events("a")


async def test_a_pod_with_a_finalizer_stays_until_that_is_gone(bench: Bench) -> None:
    await bench.run_pod("a", metadata={"finalizers": ["example.com/hold"]})
    await bench.delete("a")
    assert await bench.phase("a") == "Failed"
    assert await bench.free() == "288Ki"
    await bench.client.patch(PODS, "default", "a", {"metadata": {"finalizers": None}})
    assert await bench.phase("a") == "gone"


async def test_a_pod_ends_when_its_annotation_says_so(bench: Bench) -> None:
    await bench.run_pod("a", {"run-seconds": "30", "ready-after-seconds": "10"}, restartPolicy="Never")
    for seconds, phase, ready in ((9.0, "Running", False), (1.0, "Running", True), (20.0, "Succeeded", False)):
        await bench.clock.advance(seconds)
        status = (await bench.pod("a"))["status"]
        assert (status["phase"], status["containerStatuses"][0]["ready"]) == (phase, ready)
    assert await bench.free() == "288Ki"


async def test_a_pod_that_is_told_to_end_while_it_runs_ends_then_and_not_before(bench: Bench) -> None:
    await bench.run_pod("a")
    await bench.clock.advance(100)
    told = bench.clock.now()
    annotations = {"sim.kube32.io/run-seconds": "1", "sim.kube32.io/exit-code": "1"}
    await bench.client.patch(PODS, "default", "a", {"metadata": {"annotations": annotations}})
    await bench.clock.settle()
    (status,) = (await bench.client.get(PODS, "default", "a"))["status"]["containerStatuses"]
    assert status["restartCount"] == 1
    assert parse_time(status["lastState"]["terminated"]["finishedAt"]) == told
    assert parse_time(status["state"]["running"]["startedAt"]) == told


async def test_a_pod_in_back_off_is_not_in_the_report(bench: Bench) -> None:
    await bench.run_pod("a", {"run-seconds": "1", "exit-code": "1"})
    await bench.clock.advance(2.5)
    (container,) = (await bench.pod("a"))["status"]["containerStatuses"]
    assert container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert await bench.free() == "288Ki"
    await bench.clock.advance(9.6)
    (container,) = (await bench.pod("a"))["status"]["containerStatuses"]
    assert container["restartCount"] == 2
    assert await bench.free() == "256Ki"
    assert await bench.events("a") == [("BackOff", 1), ("Created", 3), ("Pulled", 3), ("Started", 3)]


async def test_a_pod_that_does_not_fit_fails(bench: Bench) -> None:
    await bench.run_pod("a", requests={"memory": "200Ki"})
    await bench.run_pod("b", requests={"memory": "200Ki"})
    status = (await bench.pod("b"))["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfmemory")
    assert status["message"].startswith("Pod was rejected: Node didn't have enough resource: memory, ")
    assert await bench.free() == "88Ki"
    assert await bench.events("b") == [("OutOfmemory", 1)]
    await bench.delete("b")
    assert await bench.phase("b") == "gone"


async def test_a_resized_pod_takes_what_it_asks_for_now(bench: Bench) -> None:
    await bench.run_pod("a", requests={"memory": "32Ki"})
    resources = {"requests": {"memory": "48Ki"}, "limits": {"memory": "48Ki"}}
    bigger = {"spec": {"containers": [{"name": "app", "resources": resources}]}}
    await bench.client.patch(PODS, "default", "a", bigger, subresource="resize", kind="strategic")
    await bench.clock.settle()
    assert await bench.free() == "240Ki"
    assert (await bench.pod("a"))["status"]["containerStatuses"][0]["restartCount"] == 0


async def test_a_restarted_agent_goes_on_with_its_pods(bench: Bench) -> None:
    await bench.run_pod("a", {"run-seconds": "60"}, restartPolicy="Never")
    before = await bench.pod("a")
    await bench.board.stop()
    await bench.clock.advance(20.0)
    bench.board = bench.new_board()
    bench.board.start()
    await bench.clock.settle()
    assert await bench.pod("a") == before
    assert await bench.free() == "256Ki"
    await bench.clock.advance(40.0)
    assert await bench.phase("a") == "Succeeded"


async def test_pods_that_vanish_while_the_agent_is_away_are_forgotten(bench: Bench) -> None:
    await bench.run_pod("a")
    await bench.board.stop()
    await bench.client.delete(PODS, "default", "a", options={"gracePeriodSeconds": 0})
    bench.board = bench.new_board()
    bench.board.start()
    await bench.clock.settle()
    assert await bench.free() == "288Ki"


async def test_a_pod_that_is_deleted_before_it_was_seen_is_not_started(bench: Bench) -> None:
    await bench.board.stop()
    await bench.run_pod("a")
    await bench.delete("a")
    bench.board = bench.new_board()
    bench.board.start()
    await bench.clock.settle()
    assert await bench.phase("a") == "gone"
    assert await bench.events("a") == []


async def test_a_lost_lease_is_made_anew(bench: Bench) -> None:
    await bench.client.delete(LEASES, "kube-node-lease", NODE)
    await bench.clock.advance(5.0)
    assert bench.clock.now() - await bench.renewed() <= 5.0


async def test_a_lease_that_somebody_changed_is_renewed_nevertheless(bench: Bench) -> None:
    await bench.client.patch(LEASES, "kube-node-lease", NODE, {"metadata": {"labels": {"a": "b"}}})
    await bench.clock.advance(5.0)
    assert bench.clock.now() - await bench.renewed() <= 5.0
    lease = await bench.client.get(LEASES, "kube-node-lease", NODE)
    assert lease["metadata"]["labels"] == {"a": "b"}


async def test_a_deleted_node_stays_away_until_somebody_makes_it_again(bench: Bench) -> None:
    node = await bench.node()
    await bench.client.delete(NODES, "", NODE)
    await bench.clock.advance(60.0)
    assert (await bench.client.list(NODES)).items == []
    bare = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": node["metadata"]["labels"]}}
    await bench.client.create(NODES, "", bare)
    await bench.clock.settle()
    assert (await bench.node())["status"]["nodeInfo"] == node["status"]["nodeInfo"]
    await bench.clock.advance(5.0)
    lease = await bench.client.get(LEASES, "kube-node-lease", NODE)
    assert lease["metadata"]["ownerReferences"][0]["uid"] == (await bench.node())["metadata"]["uid"]


async def test_a_board_that_finds_its_node_not_ready_says_otherwise_at_once(bench: Bench) -> None:
    unknown = {"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}}
    await bench.client.patch(NODES, "", NODE, unknown, subresource="status", kind="strategic")
    await bench.clock.settle()
    (ready,) = [c for c in (await bench.node())["status"]["conditions"] if c["type"] == "Ready"]
    assert (ready["status"], ready["reason"]) == ("True", "KubeletReady")


async def test_nothing_of_a_partitioned_board_arrives_until_it_heals(bench: Bench) -> None:
    await bench.run_pod("a", {"run-seconds": "20"}, restartPolicy="Never")
    await bench.annotate("partitioned")
    renewed = await bench.renewed()
    await bench.clock.advance(60.0)
    assert await bench.renewed() == renewed
    assert await bench.phase("a") == "Running"
    await bench.annotate(None)
    assert await bench.renewed() == bench.clock.now()
    status = (await bench.pod("a"))["status"]
    assert status["phase"] == "Succeeded"
    terminated = status["containerStatuses"][0]["state"]["terminated"]
    assert parse_time(terminated["finishedAt"]) - parse_time(terminated["startedAt"]) == 20
    assert await bench.free() == "288Ki"


async def test_a_pod_deleted_during_a_partition_goes_when_it_heals(bench: Bench) -> None:
    await bench.run_pod("a")
    await bench.annotate("partitioned")
    await bench.delete("a")
    await bench.clock.advance(40.0)
    assert await bench.phase("a") == "Running"
    await bench.annotate(None)
    assert await bench.phase("a") == "gone"


async def test_the_pods_of_a_board_that_was_off_are_gone_when_it_returns(bench: Bench) -> None:
    await bench.run_pod("a")
    await bench.run_pod("once", {"run-seconds": "20"}, restartPolicy="Never")
    await bench.run_pod("crashing", {"run-seconds": "1", "exit-code": "1"})
    await bench.run_pod("going", terminationGracePeriodSeconds=600)
    await bench.clock.advance(7.0)
    await bench.annotate("stopped")
    before = await bench.pod("a")
    await bench.delete("going")
    await bench.clock.advance(100.0)
    assert await bench.pod("a") == before
    assert [await bench.phase(name) for name in ("once", "crashing", "going")] == ["Running"] * 3
    await bench.annotate(None)
    assert [await bench.phase(name) for name in ("a", "once", "crashing", "going")] == ["gone"] * 4
    assert ("Terminated", 1) in await bench.events("a")
    assert await bench.free() == "288Ki"


async def test_a_board_that_was_off_has_what_had_ended_and_what_is_new(bench: Bench) -> None:
    await bench.run_pod("done", {"run-seconds": "1"}, restartPolicy="Never")
    await bench.run_pod("refused", requests={"memory": "1Mi"})
    await bench.clock.advance(5.0)
    ended = [await bench.pod(name) for name in ("done", "refused")]
    await bench.annotate("stopped")
    await bench.clock.advance(60.0)
    await bench.run_pod("new", {"run-seconds": "5"}, restartPolicy="Never")
    await bench.clock.advance(60.0)
    assert await bench.phase("new") == "Pending"
    await bench.annotate(None)
    assert [await bench.pod(name) for name in ("done", "refused")] == ended
    (container,) = (await bench.pod("new"))["status"]["containerStatuses"]
    assert parse_time(container["state"]["running"]["startedAt"]) == bench.clock.now()
    await bench.clock.advance(5.0)
    assert await bench.phase("new") == "Succeeded"


async def test_a_lost_pod_that_a_finalizer_holds_has_failed(bench: Bench) -> None:
    await bench.run_pod("a", metadata={"finalizers": ["example.com/hold"]})
    await bench.clock.advance(7.0)
    off = bench.clock.now()
    await bench.annotate("stopped")
    await bench.clock.advance(100.0)
    await bench.annotate(None)
    left = await bench.pod("a")
    assert left["metadata"]["deletionTimestamp"]
    assert (left["status"]["phase"], left["status"]["reason"]) == ("Failed", "Terminated")
    terminated = left["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["exitCode"], parse_time(terminated["finishedAt"])) == (255, off)
    assert await bench.free() == "288Ki"


async def test_a_board_that_comes_back_cut_off_tells_later_that_its_pods_are_gone(bench: Bench) -> None:
    await bench.run_pod("a")
    await bench.annotate("stopped")
    await bench.clock.advance(30.0)
    await bench.annotate("partitioned")
    await bench.clock.advance(30.0)
    assert await bench.phase("a") == "Running"
    await bench.annotate(None)
    assert await bench.phase("a") == "gone"


async def test_a_pod_taken_away_from_the_board_is_forgotten(bench: Bench) -> None:
    """Eviction removes spec.nodeName: to a watch by node that is the same as a deletion."""
    await bench.run_pod("a")
    await bench.client.delete(PODS, "default", "a", options={"gracePeriodSeconds": 0})
    await bench.clock.settle()
    assert await bench.free() == "288Ki"


async def test_in_a_namespace_that_is_going_pods_still_go(bench: Bench) -> None:
    from kube32_sim.client import NAMESPACES

    await bench.client.create(NAMESPACES, "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "short"}})
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"nodeName": NODE, "containers": [{"name": "app", "image": "app:1"}]},
    }
    await bench.client.create(PODS, "short", pod)
    await bench.clock.settle()
    await bench.client.delete(NAMESPACES, "", "short")
    await bench.client.delete(PODS, "short", "a")
    await bench.clock.settle()
    assert (await bench.client.list(PODS, "short")).items == []


async def complaints(bench: Bench, name: str) -> list[tuple[str, int]]:
    """(annotation complained of, how often), in the order of the events."""
    found = (await bench.client.list(EVENTS, "default")).items
    about = [e for e in found if e["reason"] == "InvalidAnnotation" and e["involvedObject"]["name"] == name]
    assert all(event["type"] == "Warning" for event in about)
    return [(event["message"].split()[1].removeprefix("sim.kube32.io/"), event["count"]) for event in about]


async def test_it_complains_of_a_pods_annotations_once_each(bench: Bench) -> None:
    await bench.run_pod("a", {"run-seconds": "soon", "run-secs": "1", "log": "x"})
    expected = [("run-seconds", 1), ("run-secs", 1)]
    assert sorted(await complaints(bench, "a")) == sorted(expected)
    later = {"metadata": {"annotations": {"sim.kube32.io/exit-code": "ok"}}}
    await bench.client.patch(PODS, "default", "a", later)
    await bench.clock.advance(60.0)
    await bench.board.stop()
    bench.board = bench.new_board()
    bench.board.start()
    await bench.clock.advance(60.0)
    assert sorted(await complaints(bench, "a")) == sorted([*expected, ("exit-code", 1)])


async def test_it_complains_of_its_nodes_annotations_when_it_can(bench: Bench) -> None:
    await bench.annotate("broken")
    await bench.clock.advance(30.0)
    assert await complaints(bench, NODE) == [("fault", 1)]
    await bench.annotate("stopped")
    unknown = {"metadata": {"annotations": {"sim.kube32.io/colour": "red"}}}
    await bench.client.patch(NODES, "", NODE, unknown)
    await bench.clock.advance(30.0)
    assert await complaints(bench, NODE) == [("fault", 1)]
    await bench.annotate(None)
    assert sorted(await complaints(bench, NODE)) == [("colour", 1), ("fault", 1)]
