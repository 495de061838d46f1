"""Boards report what they measure as free and refuse what they cannot run; the preview knows of both."""

from dataclasses import replace
from typing import Any

import pytest

from kube32_sim.commands.verify import differences
from kube32_sim.kubelet.boards import profiles
from kube32_sim.kubelet.node_object import amounts, node_labels
from kube32_sim.preview.boards import at_rest
from kube32_sim.preview.kestrel import KestrelPlacer
from kube32_sim.preview.kube32 import Kube32Placer
from kube32_sim.preview.placements import ClusterState, WantedPod

JsonObject = dict[str, Any]
S3 = profiles()["esp32-s3"]


def board(name: str, revision: int = 5, **free: str) -> JsonObject:
    """An ESP32-S3 with less free than it has at rest."""
    return {
        "metadata": {"name": name, "labels": dict(node_labels(name, S3)), "resourceVersion": str(revision)},
        "spec": {},
        "status": {
            "capacity": amounts(S3.capacity()),
            "allocatable": {
                **amounts(S3.allocatable()),
                **{f"esp32.io/{k}" if k != "memory" else k: v for k, v in free.items()},
            },
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name: str, node: str = "", revision: int = 1, phase: str = "Running", **asked: str) -> JsonObject:
    requests = {
        key if key in ("memory", "cpu") else f"esp32.io/{key.replace('_', '-')}": text for key, text in asked.items()
    }
    made: JsonObject = {
        "metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": str(revision)},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]},
    }
    if node:
        made["spec"]["nodeName"] = node
        made["status"] = {"phase": phase}
    return made


def new(name: str, **asked: str) -> JsonObject:
    return {**pod(name, **asked), "metadata": {"name": name, "namespace": "default"}}


def allocatable(state: ClusterState) -> JsonObject:
    found: JsonObject = state.nodes[0]["status"]["allocatable"]
    return found


def test_replaced_pods_leave_their_boards_report() -> None:
    running = pod("a", "b0", memory="40Ki", gpio_5="1", gpio_6="1")
    starting = pod("b", "b0", phase="Pending", memory="40Ki")
    state = ClusterState([board("b0", memory="248Ki", gpio="32")], [], replaced=[running, starting])
    relieved = allocatable(at_rest(state, "kube32"))
    assert relieved["memory"] == str(288 * 1024), "the second pod is not in the report"
    assert relieved["esp32.io/gpio"] == "34"
    assert allocatable(state)["memory"] == "248Ki", "what was read stays as it is"


def test_when_some_have_gone_the_boards_report_is_of_that_moment() -> None:
    """Pods that run are in it, also those that were written after the last one: they are not counted twice."""
    stays, goes = pod("a", "b0", 9, memory="40Ki"), pod("b", "b0", 8, memory="40Ki")
    state = ClusterState([board("b0", memory="208Ki")], [stays], replaced=[goes])
    placer = Kube32Placer(state)
    assert placer.place(WantedPod(new("c", memory="248Ki")), details=False).node == "b0"


def test_pods_that_stay_are_in_the_report_for_kube32_and_counted_by_kestrel() -> None:
    state = ClusterState([board("b0", memory="248Ki")], [pod("a", "b0", memory="40Ki")])
    assert allocatable(at_rest(state, "kube32"))["memory"] == "248Ki"
    assert allocatable(at_rest(state, "kestrel"))["memory"] == str(288 * 1024)
    wanted = [WantedPod(pod("new", memory="248Ki")), WantedPod(pod("more", memory="1"))]
    for placer in (
        Kube32Placer(state),
        KestrelPlacer(state, wanted),
    ):
        assert [placer.place(one, details=False).node for one in wanted] == ["b0", ""], placer.profile


def test_a_node_that_is_no_board_reports_what_it_can_give_to_all_its_pods() -> None:
    node = {
        "metadata": {"name": "vm", "labels": {}, "resourceVersion": "5"},
        "status": {"allocatable": {"memory": "100Ki", "cpu": "1"}, "capacity": {"memory": "100Ki", "cpu": "1"}},
    }
    state = ClusterState([node], [pod("a", "vm", memory="40Ki")])
    assert allocatable(at_rest(state, "kestrel"))["memory"] == "100Ki"


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"gpio_99": "1"}, "OutOfesp32.io/gpio-99"),
        ({"gpio_5": "1"}, "OutOfesp32.io/gpio-5"),
        ({"gpio_6": "1"}, ""),
        ({"memory": "1Ki"}, ""),
    ],
)
def test_what_the_board_would_refuse_is_told(asked: dict[str, str], reason: str) -> None:
    state = ClusterState(
        [board("b0")], [pod("holds", "b0", gpio_5="1"), pod("done", "b0", phase="Succeeded", gpio_6="1")]
    )
    placement = Kube32Placer(state).place(WantedPod(pod("new", **asked)), details=False)
    assert placement.node == "b0"
    assert placement.note == (f"b0 refuses it: {reason}" if reason else "")


def test_pods_of_the_preview_hold_their_pins() -> None:
    placer = Kube32Placer(ClusterState([board("b0")], []))
    notes = [placer.place(WantedPod(pod(name, gpio_5="1")), details=False).note for name in ("a", "b")]
    assert notes == ["", "b0 refuses it: OutOfesp32.io/gpio-5"]


def test_a_pod_with_a_node_name_is_bound_there_and_counts() -> None:
    placer = Kube32Placer(ClusterState([board("b0", memory="100Ki")], []))
    bound = pod("a", "b0", memory="80Ki")
    del bound["status"]
    assert placer.place(WantedPod(bound), details=False).message == "spec.nodeName is set: the scheduler is not asked"
    assert placer.place(WantedPod(pod("b", memory="30Ki")), details=False).node == ""
    too_much = placer.place(WantedPod({**pod("c", "b0", memory="1Mi"), "status": {}}), details=False)
    assert too_much.note == "b0 refuses it: OutOfmemory"


def test_pods_that_wait_already_are_told_of() -> None:
    waiting = [{**pod(f"w{number}"), "status": {"phase": "Pending"}} for number in range(5)]
    placer = Kube32Placer(ClusterState([board("b0")], waiting))
    (warning,) = placer.warnings
    names = ", ".join(f"default/w{number}" for number in range(5))
    assert warning == f"{names}: without a node, and left out, but may take a place first"
    assert Kube32Placer(ClusterState([board("b0")], [])).warnings == ()


def test_a_cluster_without_boards_is_told_what_does_not_count() -> None:
    node = {"metadata": {"name": "vm"}, "status": {"allocatable": {"memory": "100Ki", "cpu": "1"}}}
    (warning,) = Kube32Placer(ClusterState([node], [])).warnings
    assert warning.startswith("no node is a board")


def test_a_node_that_is_no_board_gets_nothing_back() -> None:
    room = {"memory": "100Ki"}
    node = {
        "metadata": {"name": "vm", "resourceVersion": "5"},
        "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    placer = Kube32Placer(ClusterState([node], [], replaced=[pod("a", "vm", memory="40Ki")]))
    assert placer.place(WantedPod(pod("b", memory="120Ki")), details=False).node == ""


@pytest.mark.parametrize("revisions", [(0, 0), (5, 5)])
async def test_verification_counts_pods_as_old_as_their_node_as_the_preview_does(revisions: tuple[int, int]) -> None:
    """In a file nothing need say which was written first; a report that was made up is as old as the last pod."""
    of_node, of_pod = revisions
    nodes = [board("b0", of_node, memory="100Ki"), board("b1", of_node, memory="90Ki")]
    state = ClusterState(nodes, [pod("stays", "b0", of_pod, memory="40Ki")])
    wanted = WantedPod(new("new", memory="80Ki"))
    placement = Kube32Placer(state).place(wanted, details=False)
    assert placement.node == "b0"
    assert await differences([placement], state) == []


async def test_verification_of_replaced_pods() -> None:
    stays, goes = pod("a", "b0", 9, memory="40Ki"), pod("b", "b0", 8, memory="40Ki")
    state = ClusterState([board("b0", memory="208Ki")], [stays], replaced=[goes])
    placement = Kube32Placer(state).place(WantedPod(new("c", memory="248Ki")), details=False)
    assert placement.node == "b0"
    assert await differences([placement], state) == []


async def test_verification_refuses_what_has_no_namespace() -> None:
    wanted = WantedPod({**new("c"), "metadata": {"name": "c", "namespace": "mine"}})
    state = ClusterState([board("b0")], [], namespaces=["default"])
    placement = Kube32Placer(state).place(wanted, details=False)
    assert await differences([placement], state) == ['mine/c: refused: namespaces "mine" not found']
    assert await differences([placement], replace(state, namespaces=["mine"])) == []
    assert await differences([placement], replace(state, namespaces=None)) == []


def test_a_node_that_is_named_and_not_there() -> None:
    placer = Kube32Placer(ClusterState([board("b0")], []))
    placement = placer.place(WantedPod(pod("a", "nowhere")), details=False)
    assert (placement.node, placement.message) == ("", "spec.nodeName is set, and there is no node nowhere")
