"""`kube32-sim preview --explain`, `--how-many`, `--survive` as they are called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kube32_sim import cli
from tests.support.servers import running_server

JsonObject = dict[str, Any]


def node(name: str, zone: str, memory: str = "100Ki", **labels: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone, **labels}},
        "status": {
            "allocatable": {"memory": memory, "esp32.io/gpio": "8", "cpu": "2"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name: str, memory: str, **spec: Any) -> JsonObject:
    container = {"name": "c", "image": "i", "resources": {"requests": {"memory": memory}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }


def deployment(name: str, replicas: int, memory: str) -> JsonObject:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod(name, memory)["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two nodes of 100Ki, on one of which a pod of 40Ki is Pending; another pod waits; and manifests."""
    bound = {**pod("old", "40Ki", nodeName="a"), "status": {"phase": "Pending"}}
    big = {**pod("big", "120Ki"), "status": {"phase": "Pending"}}
    nodes = [node("a", "left"), node("b", "right", board="s3"), bound, big]
    write(tmp_path / "nodes.yaml", *nodes)
    write(tmp_path / "web.yaml", deployment("web", 4, "50Ki"))
    write(tmp_path / "db.yaml", deployment("db", 2, "30Ki"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, *objects: JsonObject) -> None:
    path.write_text(yaml.safe_dump_all(objects))


def preview(*arguments: str) -> int:
    return cli.run(["preview", *arguments, "--nodes", "nodes.yaml"])


def answered(capsys: pytest.CaptureFixture[str], *arguments: str) -> JsonObject:
    assert preview(*arguments, "-o", "json") == 0
    answer: JsonObject = json.loads(capsys.readouterr().out)
    assert answer["apiVersion"] == "sim.kube32.io/v1alpha1"
    return answer


# --explain


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", ["web-3", "default/web-3", "pod/web-3"])
def test_a_pod_of_the_manifests_is_explained_at_its_turn(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = answered(capsys, "-f", "web.yaml", "--explain", name)
    assert answer["kind"] == "PlacementExplanation"
    assert answer["spec"] == {"profile": "kube32", "pod": "web-3", "namespace": "default"}
    status = answer["status"]
    assert (status["fits"], status["node"]) == (False, None)
    assert status["changes"][0] == {
        "kind": "request",
        "object": "pod/default/web-3",
        "field": "spec.containers[0].resources.requests[memory]",
        "from": "50Ki",
        "to": "10Ki",
        "nodes": ["a"],
        "text": "40Ki less memory",
    }
    kinds = [change["kind"] for change in status["changes"]]
    assert kinds == ["request", "delete", "delete", "delete", "board"]
    assert status["pair"] == []


@pytest.mark.usefixtures("files")
def test_a_pod_that_fits_is_told_up_to_which_amount(capsys: pytest.CaptureFixture[str]) -> None:
    status = answered(capsys, "-f", "web.yaml", "--explain", "web-0")["status"]
    assert (status["fits"], status["node"]) == (True, "b")
    field = "spec.containers[0].resources.requests[memory]"
    assert status["limits"] == [{"field": field, "resource": "memory", "now": "50Ki", "most": "100Ki"}]
    assert preview("-f", "web.yaml", "--explain", "web-0") == 0
    assert capsys.readouterr().out.startswith("default/web-0 fits on b.\n")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("profile", ["kube32", "kestrel"])
def test_a_pending_pod_of_the_cluster(profile: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert preview("--explain", "big", "--profile", profile) == 0
    first, _, heading, change, *_ = capsys.readouterr().out.splitlines()
    assert first == "default/big does not fit: 0/2 nodes are available: 2 Insufficient memory."
    assert heading.split() == ["CHANGE", "FROM", "TO", "FITS", "ON"]
    assert change.split() == ["20Ki", "less", "memory", "120Ki", "100Ki", "b"]


def test_two_changes_where_one_is_not_enough(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = pod("huge", "900Ki", nodeSelector={"board": "p4"})
    write(files / "huge.yaml", wanted)
    status = answered(capsys, "-f", "huge.yaml", "--explain", "huge")["status"]
    assert status["changes"] == []
    assert [(change["kind"], change["to"]) for change in status["pair"]] == [("request", "100Ki"), ("selector", None)]
    assert preview("-f", "huge.yaml", "--explain", "huge") == 0
    assert "No single change helps. These two do together:" in capsys.readouterr().out


def test_a_cordoned_node_and_an_amount(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cordoned = {**node("b", "right", board="s3"), "spec": {"unschedulable": True}}
    write(files / "nodes.yaml", node("a", "left"), cordoned)
    write(files / "s3.yaml", pod("s3", "900Ki", nodeSelector={"board": "s3"}))
    for profile in ("kube32", "kestrel"):
        pair = answered(capsys, "-f", "s3.yaml", "--explain", "s3", "--profile", profile)["status"]["pair"]
        assert [change["kind"] for change in pair] == ["request", "selector"]
    write(files / "nodes.yaml", cordoned)
    for profile in ("kube32", "kestrel"):
        pair = answered(capsys, "-f", "s3.yaml", "--explain", "s3", "--profile", profile)["status"]["pair"]
        kinds = ["request", "uncordon" if profile == "kube32" else "toleration"]
        assert [(change["kind"], change["nodes"]) for change in pair] == [(kind, ["b"]) for kind in kinds]


def test_a_node_that_is_cordoned_and_not_ready(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dead = {**node("a", "left"), "spec": {"unschedulable": True}}
    dead["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    write(files / "nodes.yaml", dead)
    write(files / "huge.yaml", pod("huge", "90Ki", nodeSelector={"topology.kubernetes.io/zone": "left"}))
    (change,) = answered(capsys, "-f", "huge.yaml", "--explain", "huge")["status"]["changes"]
    assert change["text"] == "one more esp32 board in zone left"
    write(files / "huge.yaml", pod("huge", "90Ki", nodeSelector={"kubernetes.io/hostname": "a"}))
    pair = answered(capsys, "-f", "huge.yaml", "--explain", "huge")["status"]["pair"]
    assert [(change["kind"], change["object"]) for change in pair] == [("uncordon", "node/a"), ("ready", "node/a")]


def test_where_nothing_helps_that_is_told(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(files / "lost.yaml", pod("lost", "900Ki", nodeSelector={"board": "p4", "color": "red"}))
    assert preview("-f", "lost.yaml", "--explain", "lost") == 0
    assert capsys.readouterr().out.endswith("No single change helps, and no two were found that do.\n")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-f", "web.yaml", "--explain", "other"], "no pod other among those of the manifests: default/web-0, "),
        (["--explain", "other"], "no pod default/other in the cluster; Pending are default/big"),
        (["--explain", "old"], "pod default/old has a node: a"),
        (["--explain", "a/b/c"], "'a/b/c' is no pod's name: NAME, or NAMESPACE/NAME"),
        (["-f", "web.yaml", "--how-many", "--count", "cache=3"], "--count: cache: not among the manifests"),
        (["-f", "web.yaml", "--how-many", "--count", "web=0"], "--count: 0 pods are wanted, and from 1 to 50000 can"),
    ],
)
def test_what_is_not_there_is_exit_code_1(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert preview(*arguments) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_on_a_running_simulator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "web.yaml", deployment("web", 1, "100Ki"))
    with running_server(tmp_path, "--nodes", "2", "--board", "esp32-c3", "--authorization-mode", "RBAC") as server:
        http = server.http()
        http.post("/api/v1/namespaces/default/pods", pod("big", "300Ki"))
        where = ("--kubeconfig", str(server.kubeconfig))
        assert cli.run(["preview", "--explain", "pod/big", *where]) == 0
        change = capsys.readouterr().out.splitlines()[3]
        assert change.split()[:5] == ["76Ki", "less", "memory", "300Ki", "224Ki"]
        assert cli.run(["preview", "-f", str(tmp_path / "web.yaml"), "--how-many", "--survive", "node", *where]) == 0
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert lines[:2] == [["TEMPLATE", "MORE", "SURVIVE"], ["Deployment/web", "4", "2"]]
        http.close()


# --how-many


@pytest.mark.usefixtures("files")
def test_how_many_more_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert preview("-f", "web.yaml", "--how-many") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:2]] == [["TEMPLATE", "MORE"], ["Deployment/web", "3"]]
    assert lines[2] == "Stopped: too little memory on 2 nodes."
    assert lines[5].split() == ["memory", "200Ki", "160Ki", "10Ki", "95%"]


def test_pods_of_the_same_object_stay(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    owned = {**pod("web-x", "90Ki", nodeName="b"), "status": {"phase": "Pending"}}
    about = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1", "controller": True}
    owned["metadata"]["ownerReferences"] = [about]
    write(files / "nodes.yaml", node("a", "left"), node("b", "right"), owned)
    answer = answered(capsys, "-f", "web.yaml", "--how-many")
    assert answer["status"]["capacity"]["templates"][0]["more"] == 2


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("profile", ["kube32", "kestrel"])
def test_a_mix_and_how_many_are_wanted(profile: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = answered(capsys, "-f", "web.yaml", "-f", "db.yaml", "--how-many", "--count", "web=2", "--profile", profile)
    assert (answer["kind"], answer["spec"]) == ("CapacityPreview", {"profile": profile})
    capacity = answer["status"]["capacity"]
    told = [(one["name"], one["wanted"], one["fit"], one["perRound"], one["more"]) for one in capacity["templates"]]
    assert told == [("Deployment/web", 2, 2, 1, 2), ("Deployment/db", 2, 1, 1, 2)]  # in rounds they lie better
    assert capacity["stop"]["template"] == "Deployment/web"


@pytest.mark.usefixtures("files")
def test_wide_tells_of_every_node(capsys: pytest.CaptureFixture[str]) -> None:
    assert preview("-f", "web.yaml", "-f", "db.yaml", "--how-many", "--survive", "node", "-o", "wide") == 0
    out = capsys.readouterr().out
    assert "NODE   DEPLOYMENT/WEB   DEPLOYMENT/DB   MEMORY%\n" in out
    assert "WHY NOT               NODES\nInsufficient memory   2\n" in out
    assert "NODE   MOVED   STRANDED   PODS WITHOUT A NODE\n" in out


@pytest.mark.parametrize("profile", ["kube32", "kestrel"])
def test_no_bound_is_told(profile: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(files / "nodes.yaml", node("a", "left"), node("b", "right"))
    write(files / "idle.yaml", pod("idle", "0"))
    arguments = ("-f", "idle.yaml", "--how-many", "--survive", "node", "--profile", profile)
    status = answered(capsys, *arguments)["status"]
    assert (status["capacity"]["bounded"], status["capacity"]["rounds"]) == (False, None)
    assert (status["survival"]["bounded"], status["survival"]["rounds"]) == (False, None)
    assert preview(*arguments) == 0
    out = capsys.readouterr().out
    assert f"these pods use up nothing that the profile {profile} counts" in out
    assert "The loss of any node is survived with any number more" in out


@pytest.mark.parametrize("output", ["table", "wide"])
def test_names_of_zones_command_no_terminal(output: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(files / "nodes.yaml", node("a", "z\x1b[2J"), node("b", "z\x1b[2J"))
    assert preview("-f", "db.yaml", "--survive", "zone", "-o", output) == 0
    assert preview("-f", "db.yaml", "--how-many", "--survive", "zone", "-o", output) == 0
    out = capsys.readouterr().out
    assert "\\x1b[2J" in out
    assert "\x1b" not in out


# --survive


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("of", ["node", "zone"])
def test_how_many_more_survive(of: str, capsys: pytest.CaptureFixture[str]) -> None:
    survival = answered(capsys, "-f", "db.yaml", "--how-many", "--count", "db=1", "--survive", of)["status"]["survival"]
    assert (survival["of"], survival["survives"], survival["rounds"]) == (of, True, 2)
    assert survival["worst"]["stranded"]


@pytest.mark.usefixtures("files")
def test_whether_what_is_wanted_survives(capsys: pytest.CaptureFixture[str]) -> None:
    assert preview("-f", "db.yaml", "--survive", "node") == 0
    assert capsys.readouterr().out.startswith("The loss of any node is survived: all pods fit on the rest.\n")
    assert preview("-f", "web.yaml", "--survive", "zone") == 0
    out = capsys.readouterr().out
    assert out.startswith("Not all pods fit as it is: default/web-3.\nNot every loss of a zone is survived: 2 of 2")


@pytest.mark.parametrize("profile", ["kube32", "kestrel"])
def test_a_wanted_daemonset_goes_with_its_nodes(profile: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    daemonset = {**deployment("agent", 1, "20Ki"), "kind": "DaemonSet"}
    del daemonset["spec"]["replicas"]
    write(files / "agent.yaml", daemonset)
    survival = answered(capsys, "-f", "agent.yaml", "--survive", "node", "--profile", profile)["status"]["survival"]
    assert survival["survives"] is True
    assert [loss["moved"] for loss in survival["losses"]] == [1, 0]  # the pod that was there


# options


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--explain x --operations y", "--explain does not go with --operations"),
        ("--how-many --operations y", "--how-many does not go with --operations"),
        ("-f x --survive node --verify", "--verify does not go with --survive"),
        ("-f x --explain y --how-many", "--how-many does not go with --explain"),
        ("-f x --explain y --survive node", "--survive does not go with --explain"),
        ("-f x --count y=3", "--count goes with --how-many only"),
        ("-f x --how-many --count y=3 --count y=4", "--count: y is given more than once"),
        ("-f x --how-many --count y", "'y' is not NAME=N, such as web=50, with N from 0 to 50000"),
        ("-f x --how-many --count y=60000", "'y=60000': more than 50000 pods"),
        ("--how-many", "--how-many: of what? -f names manifests"),
        ("--survive node", "--survive: of what? -f names manifests"),
        ("-f x --survive rack", "invalid choice: 'rack'"),
        ("-f x --explain /", "--explain: which pod?"),
        ("-f - --how-many --nodes -", "only one of them can be read from standard input"),
    ],
)
def test_options_that_do_not_go_together(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.run(["preview", *arguments.split()])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
