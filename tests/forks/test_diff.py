"""`kube32-sim diff`: what counts as a difference, which pod is which, and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from kube32_sim import cli
from kube32_sim.client import CLOCKS, DAEMONSETS, DEPLOYMENTS, NODES, PODS
from kube32_sim.cluster import Cluster
from kube32_sim.comparing.comparison import Comparison, compare
from kube32_sim.comparing.objects import MOST_FIELDS, differing
from kube32_sim.comparing.states import State, is_kubeconfig, of_file, of_server
from kube32_sim.comparing.telling import lines
from kube32_sim.http_client import HttpClient
from tests.support.objects import MAPS, config_map, node, pod
from tests.support.scenario import FAULT, template, workload

JsonObject = dict[str, Any]


async def state(cluster: Cluster, name: str = "x") -> State:
    async with HttpClient(cluster.access) as client:
        return await of_server(name, client, lambda types, done: None)


async def compared(one: Cluster, other: Cluster) -> Comparison:
    return compare(await state(one), await state(other))


def placed(name: str, where: str = "n", *, uid: str = "", at: str = "2026-01-01T00:00:00Z", **more: Any) -> JsonObject:
    metadata = {"name": name, "namespace": "d", "uid": uid or name, "creationTimestamp": at, **more}
    spec = {"nodeName": where} if where else {}
    status = {"phase": "Running" if where else "Pending"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def of(*objects: JsonObject, time: float = 0.0) -> State:
    made = State("made", time)
    made.take(objects)
    return made


def owned(kind: str, name: str) -> JsonObject:
    return {"ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": True}]}


def words(one: State, other: State) -> dict[str, str]:
    return {each.pod or each.became: each.what for each in compare(one, other).pods}


async def test_an_idle_fork_is_equal_after_any_time() -> None:
    async with Cluster(nodes=3, clock="virtual") as cluster:
        await cluster.client.create(DEPLOYMENTS, "default", workload("web", template("web"), replicas=3))
        await cluster.advance("30s")
        async with cluster.fork() as fork:
            assert (await compared(cluster, fork)).equal
            await fork.advance("20m")
            found = await compared(cluster, fork)
            assert [*lines(found, wide=True)] == ["after 20m0s: nothing is different"]


async def test_the_story_of_a_lost_board() -> None:
    async with Cluster(nodes=3, clock="virtual") as cluster:
        await cluster.client.create(DEPLOYMENTS, "default", workload("web", template("web"), replicas=3))
        await cluster.advance("30s")
        async with cluster.fork() as fork:
            await fork.client.patch(NODES, "", "esp32-1", {"metadata": {"annotations": {FAULT: "stopped"}}})
            await fork.advance("345s")
            found = await compared(cluster, fork)
        told = [*lines(found, wide=False)]
        assert told[:2] == ["after 5m45s: 1 pod moved, 0 pending, 0 lost", "since then: 1 evicted"]
        (pod_,) = found.pods
        assert (pod_.what, pod_.before, pod_.owner) == ("moved", "esp32-1", "Deployment/web")
        (change,) = found.nodes
        assert (change.name, change.before, change.after, change.fault) == ("esp32-1", "Ready", "NotReady", "stopped")
        assert found.after(change.at) == "15s"
        assert found.object()["summary"]["evicted"] == 1


async def test_restarts_and_objects_that_come_and_go() -> None:
    async with Cluster(nodes=1, clock="virtual") as cluster:
        crashes = {"sim.kube32.io/run-seconds": "20", "sim.kube32.io/exit-code": "1"}
        await cluster.client.create(PODS, "default", pod("crashes", annotations=crashes))
        for name in ("goes", "changes"):
            await cluster.client.create(MAPS, "default", config_map(name, secret="one"))
        await cluster.advance("10s")
        async with cluster.fork() as fork:
            await fork.client.create(MAPS, "default", config_map("comes"))
            await fork.client.delete(MAPS, "default", "goes")
            await fork.client.patch(MAPS, "default", "changes", {"data": {"secret": "two"}})
            await fork.advance("60s")
            found = await compared(cluster, fork)
        assert found.kinds["ConfigMap"].added == ["default/comes"]
        assert found.kinds["ConfigMap"].removed == ["default/goes"]
        assert found.kinds["ConfigMap"].changed == {"default/changes": ["data.secret"]}
        assert [(each.what, each.restarts) for each in found.pods] == [("restarted", found.restarts)]
        assert found.restarts > 0
        assert "two" not in "\n".join(lines(found, wide=True))


async def test_a_daemon_is_matched_by_its_node() -> None:
    async with Cluster(nodes=2, clock="virtual") as cluster:
        await cluster.client.create(DAEMONSETS, "default", workload("agent", template("agent")))
        await cluster.advance("30s")
        async with cluster.fork() as fork:
            for each in (await fork.client.list(PODS, "default")).items:
                await fork.client.delete(PODS, "default", each["metadata"]["name"])
            await fork.advance("60s")
            found = await compared(cluster, fork)
        assert [each.what for each in found.pods] == ["replaced", "replaced"]
        assert all(each.before == each.after for each in found.pods)


def test_pods_of_one_owner_are_matched_in_the_order_of_their_making() -> None:
    web = owned("Deployment", "web")
    one = of(
        placed("web-b", "n1", at="2026-01-01T00:00:01Z", **web), placed("web-a", "n2", at="2026-01-01T00:00:02Z", **web)
    )
    other = of(
        placed("web-x", "n1", at="2026-01-01T00:01:00Z", **web), placed("web-y", "n3", at="2026-01-01T00:02:00Z", **web)
    )
    assert words(one, other) == {"d/web-b": "replaced", "d/web-a": "moved"}
    assert words(one, of(*list(other.objects.values())[:1])) == {"d/web-b": "replaced", "d/web-a": "lost"}


def test_pods_of_nobody_are_matched_by_name_only() -> None:
    assert words(of(placed("a", "n1")), of(placed("b", "n1"))) == {"d/a": "lost", "d/b": "new"}
    assert words(of(placed("a", "n1")), of(placed("a", ""))) == {"d/a": "pending"}
    assert words(of(placed("a", "")), of(placed("a", "n1"))) == {"d/a": "placed"}
    assert words(of(), of(placed("a", ""))) == {"d/a": "pending"}
    assert words(of(placed("a", "n1")), of(placed("a", "n1", uid="other"))) == {"d/a": "replaced"}


def test_an_owner_in_a_circle_ends() -> None:
    one = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a", "namespace": "d", **owned("Deployment", "a")},
    }
    assert compare(of(one, placed("p", "n1", **owned("Deployment", "a"))), of(one)).count("lost") == 1


def test_differing_fields() -> None:
    assert differing({"a": 1}, {"a": 1}) == []
    assert differing({"a": [{"b": 1}, 2]}, {"a": [{"b": 2}, 2], "c": None}) == ["a[0].b"]
    assert differing({"a": [1]}, {"a": [1, 2]}) == ["a"]
    assert differing({"t": {"lastHeartbeatTime": 1}}, {"t": {"lastHeartbeatTime": 2}}) == []
    assert len(differing({}, {str(number): 1 for number in range(99)})) == MOST_FIELDS + 1


def test_nodes_that_come_go_and_are_closed() -> None:
    def made(name: str, **spec: Any) -> JsonObject:
        return {"apiVersion": "v1", "kind": "Node", **node(name), "spec": spec}

    found = compare(of(made("a"), made("b")), of(made("b", unschedulable=True), made("c"))).nodes
    assert [(each.name, each.before != "gone", each.after) for each in found] == [
        ("a", True, "gone"),
        ("b", True, f"{found[0].before},SchedulingDisabled"),
        ("c", False, found[0].before),
    ]


# the command

Said = tuple[int, str, str]


@pytest.fixture
def diff(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Said]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)

    def run(*arguments: str) -> Said:
        try:
            code = cli.run(["diff", *arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, *capsys.readouterr()

    return run


def saved(path: Path, *objects: JsonObject) -> str:
    header = {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "Snapshot", "spec": {"time": "2026-01-01T00:00:00Z"}}
    path.write_bytes(b"\n".join(map(orjson.dumps, [header, *objects])))
    return str(path)


def test_exit_codes(diff: Callable[..., Said], tmp_path: Path) -> None:
    one = saved(tmp_path / "one.jsonl", placed("a", "n1"))
    other = saved(tmp_path / "other.jsonl", placed("a", "n2"))
    assert diff(one, one) == (0, "after 0s: nothing is different\n", "")
    code, out, err = diff(one, other)
    assert (code, err) == (1, "")
    assert out.startswith("after 0s: 1 pod moved, 0 pending, 0 lost\n")
    code, out, _ = diff(one, other, "-o", "json")
    assert (code, json.loads(out)["summary"]["moved"]) == (1, 1)
    code, out, _ = diff(one, one, "-o", "yaml")
    assert (code, yaml.safe_load(out)["equal"]) == (0, True)
    code, out, _ = diff(one, other, "-o", "wide")
    assert "~ Pod d/a: spec.nodeName" in out


@pytest.mark.parametrize(
    ("first", "why"),
    [
        ("nobody", "nobody: there is no such file"),
        ("http://127.0.0.1:1", "cannot reach the server"),
        (".", "is a simulator running?"),
        ("{empty}", "there are no objects in it"),
        ("{broken}", "it is no JSON"),
        ("{config}", "no current-context"),
    ],
)
def test_trouble_is_a_line_and_a_2(diff: Callable[..., Said], tmp_path: Path, first: str, why: str) -> None:
    empty = saved(tmp_path / "empty.jsonl")
    one = saved(tmp_path / "one.jsonl", placed("a"))
    broken, config = tmp_path / "broken.jsonl", tmp_path / "config"
    broken.write_text('{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}\n{"kind"\n')
    config.write_text("apiVersion: v1\nkind: Config\nclusters: []\n")
    code, out, err = diff(first.format(empty=empty, broken=broken, config=config), one)
    assert (code, out) == (2, "")
    assert why in err, err
    assert "Traceback" not in err


def test_without_arguments_it_is_a_2(diff: Callable[..., Said]) -> None:
    assert diff()[0] == 2
    assert diff("a", "b", "-o", "table")[0] == 2


async def test_servers_files_and_kubeconfigs_are_told_apart(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    async with Cluster(nodes=1, clock="virtual", kubeconfig=kubeconfig) as cluster:
        assert is_kubeconfig(str(kubeconfig))
        file = saved(tmp_path / "one.jsonl", placed("a"))
        assert not is_kubeconfig(file)
        assert len(of_file(file).objects) == 1
        there = await state(cluster)
        clock = await cluster.client.get(CLOCKS, "", "cluster")
        assert clock["status"]["mode"] == "Virtual"
        assert {key.kind for key in there.objects} >= {"Node", "Namespace", "Lease"}


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        ({"apiVersion": "audit.k8s.io/v1", "kind": "Event", "auditID": "x"}, "it is a recording, which is no state"),
        ({"apiVersion": "sim.kube32.io/v1alpha1", "kind": "Recording", "spec": {}}, "it is a recording"),
        ({"apiVersion": "v1", "kind": "Event", "reason": "x"}, "metadata.name: Required value"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": []}, "cannot unmarshal array"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": []}, "field Pod.spec"),
        ({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}, "status": {"conditions": {}}}, "conditions"),
        ({"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "x", "ownerReferences": ["y"]}}, "ownerReferences"),
    ],
)
def test_a_file_of_what_is_in_no_cluster_is_refused_in_a_line(
    obj: JsonObject, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "state.jsonl"
    file.write_text(json.dumps(obj) + "\n", encoding="utf-8")
    assert cli.run(["diff", str(file), str(file)]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert "state.jsonl, line 1: " in told
    assert why in told


def test_the_time_of_a_snapshot_that_is_none_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "state.jsonl"
    header = {"apiVersion": "sim.kube32.io/v1alpha1", "kind": "Snapshot", "spec": {"time": "noon"}}
    file.write_text(f"{json.dumps(header)}\n{json.dumps(placed('x'))}\n", encoding="utf-8")
    assert cli.run(["diff", str(file), str(file)]) == 2
    assert "spec.time of the snapshot: 'noon' is no time" in capsys.readouterr().err
