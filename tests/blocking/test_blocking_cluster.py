"""A cluster for programs that do not await: `with Cluster(...) as cluster`."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kube32_sim import Cluster
from kube32_sim.api.errors import ApiError
from kube32_sim.blocking import BlockingCluster, lease, release
from kube32_sim.blocking.loop import NAME
from kube32_sim.client import PODS
from kube32_sim.http_client import HttpClient
from kube32_sim.kubeconfig import read_access
from kube32_sim.options import OptionError, ServeOptions
from tests.support.definitions import definition
from tests.support.servers import command_environment
from tests.support.waiting import until

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "led", "labels": {"app": "led"}},
    "spec": {"containers": [{"name": "led", "image": "blinky:1.4"}]},
}
WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        },
    },
}


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == NAME]


@pytest.fixture(scope="module")
def loop() -> Iterator[None]:
    lease()
    yield
    release()


@pytest.fixture
def cluster(loop: None) -> Iterator[BlockingCluster]:
    with Cluster(clock="virtual") as cluster:
        yield cluster


def test_time_is_driven_without_await(cluster: BlockingCluster) -> None:
    cluster.apply(WEB)
    cluster.advance("5s")
    assert [pod["status"]["phase"] for pod in cluster.list("pods", labels="app=web")] == ["Running"] * 2
    assert cluster.now == datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)


def test_a_wait_moves_time_no_further_than_necessary(cluster: BlockingCluster) -> None:
    metadata = {"name": "led", "annotations": {"sim.kube32.io/run-seconds": "90"}}
    cluster.apply({**POD, "metadata": metadata, "spec": {**POD["spec"], "restartPolicy": "Never"}})
    (pod,) = cluster.wait_for("pod/led", "jsonpath={.status.phase}=Succeeded")
    assert pod["status"]["phase"] == "Succeeded"
    assert 90 <= (cluster.now - datetime(2026, 1, 1, tzinfo=UTC)).total_seconds() < 92


def test_all_of_a_type_are_waited_for(cluster: BlockingCluster) -> None:
    cluster.apply(WEB)
    found = cluster.wait_for("pods", "condition=Ready", labels="app=web")
    assert len(found) == 2
    cluster.delete("deploy/web")
    cluster.wait_for("pods", "delete", labels="app=web")
    assert cluster.list("pods") == []


def test_a_wait_in_vain_ends_at_its_limit(cluster: BlockingCluster) -> None:
    cluster.apply(POD)
    with pytest.raises(TimeoutError, match=r"pod/led in default: condition=Blue is not met within 1m30s"):
        cluster.wait_for("pod/led", "condition=Blue", timeout="90s")
    assert cluster.now == datetime(2026, 1, 1, 0, 1, 30, tzinfo=UTC)
    with pytest.raises(TimeoutError, match="last seen: nothing; there are: led\n  nobody outside watches"):
        cluster.wait_for("pod/leg", "create", timeout=1)


def test_a_real_clock_is_waited_for_too(loop: None) -> None:
    with Cluster(nodes=1) as cluster:
        cluster.apply(POD)
        cluster.wait_for("pod/led", lambda pod: pod["status"]["phase"] == "Running")
        with pytest.raises(TimeoutError, match=r"within 50ms \(real time\)"):
            cluster.wait_for("pod/led", "delete", timeout=0.05)


def test_a_lost_board(cluster: BlockingCluster) -> None:
    (pod,) = cluster.apply(POD)
    lost = pod["spec"]["nodeName"]
    cluster.wait_for("pod/led", "condition=Ready")
    cluster.fault(lost)
    cluster.wait_for(f"node/{lost}", "condition=Ready=Unknown")
    cluster.wait_for("pod/led", lambda pod: pod["spec"]["nodeName"] != lost and pod["status"]["phase"] == "Running")
    cluster.heal(lost)
    cluster.wait_for(f"node/{lost}", "condition=Ready")
    with pytest.raises(ValueError, match="no fault 'burnt'; there are: partitioned, stopped"):
        cluster.fault(lost, "burnt")
    with pytest.raises(ApiError, match='nodes "esp32-9" not found'):
        cluster.fault("esp32-9")


def test_manifests_of_every_form(cluster: BlockingCluster, tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {0}}}\ndata: {{key: value}}\n"
    file = tmp_path / "one.yaml"
    file.write_text(text.format("c"))
    cluster.apply(text.format("a") + "---\n" + text.format("b"))
    cluster.apply(file)
    cluster.apply([str(tmp_path), {"apiVersion": "v1", "kind": "List", "items": [POD]}])
    assert {"a", "b", "c"} <= {found["metadata"]["name"] for found in cluster.list("cm")}
    assert cluster.get("pod/led")["spec"]["nodeName"]
    for wrong, why in (
        ({"kind": "Pod"}, "an object without apiVersion"),
        ({**POD, "kind": "Pot"}, "no type Pot of v1"),
        ({**POD, "metadata": {}}, "metadata.name is missing"),
        ("a: [\n", "document 1: "),
        (tmp_path / "missing.yaml", "missing.yaml"),
        ("-", "nothing is read from standard input"),
    ):
        with pytest.raises(ValueError, match=why):
            cluster.apply(wrong)  # type: ignore[arg-type]


def test_what_the_schema_does_not_know_is_refused(cluster: BlockingCluster) -> None:
    with pytest.raises(ApiError, match="field not declared in schema"):
        cluster.apply({**POD, "spec": {**POD["spec"], "colour": "red"}})
    with pytest.raises(ApiError, match=r'unknown field "spec.colour"'):
        cluster.create({**POD, "spec": {**POD["spec"], "colour": "red"}})
    assert cluster.list("pods") == []


def test_custom_types_with_their_definition(cluster: BlockingCluster) -> None:
    made = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **definition("widgets")}
    version, group = made["spec"]["versions"][0]["name"], made["spec"]["group"]
    custom = {"apiVersion": f"{group}/{version}", "kind": made["spec"]["names"]["kind"], "metadata": {"name": "one"}}
    cluster.apply([made, custom])
    assert cluster.get("widget/one") == cluster.get(f"widgets.{group}/one")
    cluster.delete("widget/one")
    cluster.wait_for("widgets", "delete")
    named = cluster.create({**custom, "metadata": {"generateName": "some-"}})["metadata"]["name"]
    assert named.startswith("some-")


def test_events_are_told_by_object(cluster: BlockingCluster) -> None:
    cluster.apply([POD, WEB])
    cluster.advance(5)
    assert [event["reason"] for event in cluster.events("pod/led")] == ["Scheduled", "Pulled", "Created", "Started"]
    assert {event["involvedObject"]["kind"] for event in cluster.events()} == {"Pod", "Deployment", "Node"}
    assert [event["reason"] for event in cluster.events("node/esp32-0", None)] == ["Starting"]


def test_the_client_of_the_library(cluster: BlockingCluster) -> None:
    made = cluster.client.create(PODS, "default", POD)
    assert cluster.client.get(PODS, "default", "led")["metadata"]["uid"] == made["metadata"]["uid"]
    assert len(cluster.client.list(PODS).items) == 1


async def test_in_a_loop_that_runs_as_in_a_notebook() -> None:
    with Cluster(clock="virtual", nodes=1) as cluster:
        cluster.apply(POD)
        assert cluster.wait_for("pod/led", "condition=Ready")[0]["metadata"]["name"] == "led"
        found = await asyncio.gather(cluster.aio.get("pod/led"), cluster.aio.list("nodes"))
        assert found[0]["spec"]["nodeName"] == found[1][0]["metadata"]["name"]


async def test_a_wait_that_is_cancelled_ends() -> None:
    with Cluster(nodes=0, controllers="none") as cluster:
        waiting = asyncio.create_task(cluster.aio.wait_for("pod/led", "create"))
        await cluster.aio.list("pods")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

        async def others() -> bool:
            return any("Acts.wait_for" in repr(task) for task in asyncio.all_tasks())

        until(lambda: not cluster.run(others()), "nobody waits any more")


async def test_a_program_outside_gives_time_its_pace(loop: None) -> None:
    """Somebody who watches, and answers a while later, does not find that ten minutes have gone."""
    with Cluster(clock="virtual", nodes=1) as cluster:

        async def operate() -> None:
            async with HttpClient(read_access([cluster.kubeconfig])) as client, client.watch(PODS, "default") as events:
                async for event in events:
                    if event.object.get("status", {}).get("phase") == "Running":
                        for _ in range(20):
                            await client.list(PODS, "default")
                        patch = {"metadata": {"annotations": {"seen": "true"}}}
                        await client.patch(PODS, "default", "led", patch)
                        return

        operator = asyncio.create_task(operate())
        await cluster.aio.wait_for_watch("pods")
        await cluster.aio.apply(POD)
        await cluster.aio.wait_for("pod/led", "jsonpath={.metadata.annotations.seen}=true")
        await operator
    with pytest.raises(RuntimeError, match="this cluster is closed"):
        cluster.list("pods")


def test_what_is_not_there_yet_is_waited_for(cluster: BlockingCluster) -> None:
    """A function need not ask whether there is a status; what it raised is told where it never comes."""
    cluster.apply(WEB)
    cluster.wait_for("deployment/web", lambda web: web["status"]["readyReplicas"] == 2)
    with pytest.raises(TimeoutError, match="last seen: KeyError: 'colour'; status is"):
        cluster.wait_for("deployment/web", lambda web: web["status"]["colour"] == "red", timeout=1)
    with pytest.raises(AttributeError):
        cluster.wait_for("deployment/web", lambda web: web.status)  # type: ignore[attr-defined]


def test_nobody_watches(cluster: BlockingCluster) -> None:
    with pytest.raises(TimeoutError, match="nobody outside watches pods"):
        cluster.wait_for_watch("pods", timeout=0.01)


def test_its_kubeconfig_is_a_file_that_goes(tmp_path: Path) -> None:
    with Cluster(nodes=0) as cluster:
        path = cluster.kubeconfig
        assert read_access([path]).server == cluster.url
    assert not path.parent.exists()
    with Cluster(nodes=0, kubeconfig=tmp_path / "mine") as cluster:
        assert cluster.kubeconfig == tmp_path / "mine"
        assert read_access([tmp_path / "mine"]).server == cluster.url


def test_a_file_is_gone_on_from(tmp_path: Path) -> None:
    """Objects and virtual time of a store in a file."""
    options = ServeOptions(port=0, nodes=0, clock="virtual", store=f"sqlite:{tmp_path / 'store'}")
    with Cluster(options) as cluster:
        cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}})
        cluster.advance("100s")
    with Cluster(options) as cluster:
        assert cluster.get("configmap/kept")["metadata"]["name"] == "kept"
        assert cluster.now == datetime(2026, 1, 1, 0, 1, 40, tzinfo=UTC)


async def test_permissions_and_tls() -> None:
    """The kubeconfig is an administrator's; what a test does is not asked for permissions."""
    with Cluster(nodes=1, clock="virtual", tls_self_signed=True, authorization_mode="RBAC") as cluster:
        await cluster.aio.apply(POD)
        await cluster.aio.wait_for("pod/led", "condition=Ready")
        access = read_access([cluster.kubeconfig])
        assert access.server.startswith("https://")
        async with HttpClient(access) as client:
            assert (await client.get(PODS, "default", "led"))["status"]["phase"] == "Running"
        with pytest.raises(ApiError, match="Unauthorized"):
            async with HttpClient(replace(access, token="another")) as client:
                await client.get(PODS, "default", "led")


def test_one_that_is_forgotten_ends_with_the_interpreter(tmp_path: Path) -> None:
    program = "from kube32_sim import Cluster\nprint(Cluster(clock='virtual').__enter__().kubeconfig)"
    command = [sys.executable, "-W", "error", "-c", program]
    environment = command_environment(TMPDIR=str(tmp_path))
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=60)
    assert done.stdout.startswith(str(tmp_path))
    assert (done.stderr, list(tmp_path.iterdir())) == ("", [])


def test_the_end_leaves_no_port_and_no_thread() -> None:
    before, ports = threads(), []

    def fail(cluster: BlockingCluster) -> None:
        ports.append(cluster.port)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"), Cluster(nodes=0) as cluster:
        fail(cluster)
    with socket.socket() as one, pytest.raises(ConnectionRefusedError):
        one.connect(("127.0.0.1", ports[0]))
    assert threads() == before
    cluster.close()  # a second time


def test_a_start_that_fails_leaves_nothing() -> None:
    before = threads()
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="address already in use"):
        Cluster(port=taken.getsockname()[1]).__enter__()
    assert threads() == before
    with pytest.raises(OptionError, match="--nodes: -1"):
        Cluster(ServeOptions(nodes=-1))


def test_several_share_one_thread() -> None:
    with Cluster(nodes=0) as one, Cluster(nodes=0) as other:
        assert one.port != other.port
        assert len(threads()) == 1


def test_its_own_loop_is_not_held_up(cluster: BlockingCluster) -> None:
    with pytest.raises(RuntimeError, match="own event loop"):
        cluster.wait_for("node/esp32-0", lambda node: cluster.list("pods"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_a_thread_of_its_own(cluster: BlockingCluster) -> None:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with Cluster(nodes=1, clock="virtual") as other:
                code = 0 if len(other.list("nodes")) == 1 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(cluster.list("nodes")) == 2
