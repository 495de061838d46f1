"""Files of nodes: taken as a server would take them, or refused with a line for each problem."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kube32_sim import Cluster, ServeOptions
from kube32_sim.client import NODES, PODS
from kube32_sim.http_client import HttpClient
from kube32_sim.preview.placements import PreviewError
from kube32_sim.preview.state import read_cluster, read_file
from tests.support import objects

JsonObject = dict[str, Any]


def node(name: str = "n1", **more: Any) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, **more}


def pod(**more: Any) -> JsonObject:
    spec = {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec, **more}


def file(directory: Path, *objects: JsonObject) -> str:
    path = directory / "nodes.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def test_pods_are_in_a_namespace_and_quantities_are_text(tmp_path: Path) -> None:
    state = read_file(file(tmp_path, node(status={"allocatable": {"cpu": 2}}), pod()))
    assert state.nodes[0]["status"]["allocatable"] == {"cpu": "2"}
    assert state.pods[0]["metadata"]["namespace"] == "default"
    assert state.warnings == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (node(status="text"), "json: cannot unmarshal string into Go struct field Node.status"),
        ({**node(), "metadata": {"name": "n1", "labels": ["a"]}}, "cannot unmarshal array into Go struct field"),
        (node(status={"allocatable": {"memory": "1Mb"}}), "quantities must match the regular expression"),
        ({**node(), "metadata": {"name": "my node"}}, 'metadata.name: Invalid value: "my node"'),
        ({**node(), "apiVersion": "v2"}, 'no matches for kind "Node" in version "v2"'),
        (
            objects.service("s", {}) | {"apiVersion": "v1", "kind": "Service"},
            "--nodes takes objects of the kinds Node,",
        ),
    ],
)
def test_what_is_no_state_is_told(tmp_path: Path, wrong: JsonObject, said: str) -> None:
    with pytest.raises(PreviewError) as caught:
        read_file(file(tmp_path, node("other"), wrong))
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{tmp_path}/nodes.yaml, document 2 (")
    assert said in line


def test_an_object_is_there_once(tmp_path: Path) -> None:
    with pytest.raises(PreviewError, match=r"document 3 \(Node n1\): the same object as in .*document 1"):
        read_file(file(tmp_path, node(), node("n2"), node()))


def test_fields_that_are_not_known_are_warned_of(tmp_path: Path) -> None:
    (warning,) = read_file(file(tmp_path, node(status={"allocateable": {"cpu": 2}}))).warnings
    assert warning == f'{tmp_path}/nodes.yaml, document 1 (Node n1): unknown field "status.allocateable"'


def test_a_state_has_nodes(tmp_path: Path) -> None:
    with pytest.raises(PreviewError, match="there is no Node in it"):
        read_file(file(tmp_path, pod()))


async def test_pods_are_read_as_of_the_moment_of_the_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod that comes in between is in neither list."""
    async with Cluster(ServeOptions(port=0, nodes=0, controllers="none", clock="virtual")) as cluster:
        await cluster.client.create(NODES, "", {"metadata": {"name": "n"}})
        await cluster.client.create(PODS, "default", objects.pod("before"))
        listing = HttpClient.list

        async def slow(self: HttpClient, resource: Any, *given: Any, **options: Any) -> Any:
            found = await listing(self, resource, *given, **options)
            if resource == NODES:
                await cluster.client.create(PODS, "default", objects.pod("between"))
            return found

        monkeypatch.setattr(HttpClient, "list", slow)
        state = await read_cluster(cluster.access)
    assert [one["metadata"]["name"] for one in state.pods] == ["before"]
    assert set(state.namespaces or ()) >= {"default", "kube-system"}
