"""A pod's log: which run of which container it is of, and how much of it is shown."""

from __future__ import annotations

from typing import Any

import pytest

from kube32_sim.api.errors import ApiError
from kube32_sim.api.options import LogOptions
from kube32_sim.client import NODES, PODS
from kube32_sim.clock import VirtualClock
from kube32_sim.cluster import Cluster
from kube32_sim.registry import logs
from kube32_sim.registry.asked import Asked
from tests.support.objects import node, pod

JsonObject = dict[str, Any]

RUNNING = {"running": {"startedAt": "2026-01-01T00:00:30Z"}}
WAITING = {"waiting": {"reason": "CrashLoopBackOff"}}
ENDED = {"terminated": {"exitCode": 1, "startedAt": "2026-01-01T00:00:10Z", "finishedAt": "2026-01-01T00:00:20Z"}}


async def make(cluster: Cluster, *states: JsonObject, text: str = "on\noff\n", **metadata: Any) -> None:
    """A pod `p` on a node, whose container `c` has the state (and last state) given."""
    made = pod("p", spec={"nodeName": "n"}, annotations={"sim.kube32.io/log": text}, **metadata)
    await cluster.client.create(NODES, "", node("n"))
    await cluster.client.create(PODS, "default", made)
    if states:
        await tell(cluster, *states)


async def tell(cluster: Cluster, state: JsonObject, last: JsonObject | None = None, restarts: int = 0) -> None:
    status = {"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": restarts}
    status |= {"state": state, "lastState": last or {}}
    await cluster.client.patch(PODS, "default", "p", {"status": {"containerStatuses": [status]}}, subresource="status")


def read(cluster: Cluster, **wanted: Any) -> logs.Log | None:
    row = cluster.registry.table.by_path("", "v1", "pods")
    assert row is not None
    return logs.read(cluster.registry, Asked(row, "default", "p", "log"), LogOptions(**wanted))


def shown(cluster: Cluster, **wanted: Any) -> str:
    log = read(cluster, **wanted)
    assert log is not None
    return log.body.decode()


def refused(cluster: Cluster, **wanted: Any) -> str:
    with pytest.raises(ApiError) as caught:
        read(cluster, **wanted)
    assert caught.value.code == 400
    return caught.value.message


@pytest.mark.parametrize(
    ("states", "started"),
    [((RUNNING,), "30"), ((RUNNING, ENDED), "30"), ((ENDED,), "10"), ((WAITING, ENDED), "10")],
    ids=["running", "restarted", "ended", "in back-off"],
)
async def test_the_latest_run_is_shown(cluster: Cluster, states: tuple[JsonObject, ...], started: str) -> None:
    await make(cluster, *states)
    stamp = f"2026-01-01T00:00:{started}.000000000Z"
    assert shown(cluster, timestamps=True) == f"{stamp} on\n{stamp} off\n"


async def test_a_container_that_never_ran_has_no_log(cluster: Cluster) -> None:
    await make(cluster)
    assert refused(cluster) == 'container "c" in pod "p" is waiting to start: ContainerCreating'
    await tell(cluster, {"waiting": {"reason": "ErrImagePull"}})
    assert refused(cluster) == 'container "c" in pod "p" is waiting to start: ErrImagePull'


@pytest.mark.parametrize("state", [RUNNING, WAITING, ENDED], ids=["running", "in back-off", "ended"])
async def test_the_previous_run_is_the_last_that_has_ended(cluster: Cluster, state: JsonObject) -> None:
    await make(cluster, state)
    assert refused(cluster, previous=True) == 'previous terminated container "c" in pod "p" not found'
    await tell(cluster, state, ENDED)
    stamp = "2026-01-01T00:00:10.000000000Z"
    assert shown(cluster, previous=True, timestamps=True, tail_lines=1) == f"{stamp} off\n"


async def test_lines_from_before_are_left_out(cluster: Cluster) -> None:
    assert isinstance(cluster.clock, VirtualClock)
    await make(cluster, RUNNING)
    await cluster.clock.advance(40.9)
    now = cluster.clock.now()
    for since, lines in ((9, ""), (10, "on\noff\n"), (2**63 - 1, "on\noff\n")):
        assert shown(cluster, since_seconds=since) == lines
    for moment, lines in ((now - 9.9, ""), (now - 10.9, "on\noff\n"), (0.0, "on\noff\n"), (now + 1e9, "")):
        assert shown(cluster, since_time=moment) == lines
    assert shown(cluster, since_seconds=9, timestamps=True) == ""


@pytest.mark.parametrize(
    ("text", "wanted", "lines"),
    [
        ("", {}, ""),
        ("\n", {}, "\n"),
        ("a", {}, "a\n"),
        ("a\n\nb\n", {"tail_lines": 2}, "\nb\n"),
        ("a\nb", {"tail_lines": 0}, ""),
        ("a\nb", {"tail_lines": 9}, "a\nb\n"),
        ("a\x0bb\x0c\u2028c\nd", {"tail_lines": 2}, "a\x0bb\x0c\u2028c\nd\n"),
        ("a\nbcd", {"limit_bytes": 4}, "a\nbc"),
        ("a\nbcd", {"tail_lines": 1, "limit_bytes": 2}, "bc"),
    ],
)
async def test_how_much_is_shown(cluster: Cluster, text: str, wanted: JsonObject, lines: str) -> None:
    await make(cluster, RUNNING, text=text)
    assert shown(cluster, **wanted) == lines


async def test_a_limit_counts_bytes(cluster: Cluster) -> None:
    await make(cluster, RUNNING, text="é")
    log = read(cluster, limit_bytes=1)
    assert log is not None
    assert log.body == "é".encode()[:1]


async def test_a_pod_without_a_node_has_no_log_yet(cluster: Cluster) -> None:
    await cluster.client.create(PODS, "default", pod("p"))
    assert read(cluster) is None


async def test_which_container_is_meant(cluster: Cluster) -> None:
    images = [{"name": name, "image": "i"} for name in ("a", "b")]
    spec = {"nodeName": "n", "containers": images, "initContainers": [{"name": "first", "image": "i"}]}
    await cluster.client.create(NODES, "", node("n"))
    await cluster.client.create(PODS, "default", pod("p", spec=spec))
    assert refused(cluster) == "a container name must be specified for pod p, choose one of: [first a b]"
    assert refused(cluster, container="x") == "container x is not valid for pod p"
    assert 'container "first"' in refused(cluster, container="first")


async def test_a_node_that_is_not_there_cannot_be_asked(cluster: Cluster) -> None:
    await make(cluster, RUNNING)
    await cluster.client.delete(NODES, "", "n")
    with pytest.raises(ApiError, match=r'^nodes "n" not found$') as caught:
        read(cluster)
    assert caught.value.code == 404


async def test_only_a_run_that_goes_on_may_write_more(cluster: Cluster) -> None:
    await make(cluster, RUNNING, ENDED)
    log = read(cluster)
    assert log is not None
    assert log.run == logs.current_run(await cluster.client.get(PODS, "default", "p"), "c")
    for wanted in ({"previous": True}, {"limit_bytes": 3}):
        log = read(cluster, **wanted)
        assert log is not None
        assert log.run is None
    await tell(cluster, RUNNING, ENDED, restarts=1)
    again = read(cluster)
    assert again is not None
    assert again.run not in (None, log.run)
    await tell(cluster, WAITING, ENDED, restarts=1)
    ended = read(cluster)
    assert ended is not None
    assert ended.run is None
