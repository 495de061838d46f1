"""What `top` shows of a picture: pure text, of every width."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from kube32_sim.client import WatchEvent
from kube32_sim.top.drawing import View, amount, plain, room, screen
from kube32_sim.top.picture import PINS, Picture

JsonObject = dict[str, Any]


def node(name: str, revision: int = 1, *, memory: str = "300Ki", gpio: str = "30", **more: Any) -> JsonObject:
    capacity = {"memory": "400Ki", "esp32.io/gpio": "40"}
    ready = {"type": "Ready", "status": more.pop("ready", "True")}
    labels = {"esp32.io/board": "esp32-s3"}
    metadata = {"name": name, "resourceVersion": str(revision), "labels": labels, **more}
    allocatable = {"memory": memory, "esp32.io/gpio": gpio}
    return {"metadata": metadata, "status": {"conditions": [ready], "capacity": capacity, "allocatable": allocatable}}


def pod(name: str, on: str = "", *, revision: int = 1, namespace: str = "default", message: str = "") -> JsonObject:
    conditions = [{"type": "Ready", "status": "True"}] if on else []
    if message:
        conditions.append({"type": "PodScheduled", "status": "False", "message": message})
    resources = {"requests": {"memory": "100Ki"}}
    return {
        "metadata": {"name": name, "namespace": namespace, "resourceVersion": str(revision), "uid": name},
        "spec": {"nodeName": on, "containers": [{"name": "c", "resources": resources}]},
        "status": {"phase": "Running" if on else "Pending", "conditions": conditions},
    }


def picture(nodes: list[JsonObject], pods: list[JsonObject] = [], namespace: str = "") -> Picture:  # noqa: B006
    made = Picture(namespace)
    made.list_nodes(nodes)
    made.list_pods(pods)
    return made


def drawn(shown: Picture, view: View) -> list[str]:
    console = Console(file=io.StringIO(), width=view.width, height=view.height, color_system=None, markup=False)
    console.print(screen(shown, view))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().rstrip("\n").split("\n")


def test_a_table_for_pipes() -> None:
    nodes = [node("esp32-2"), node("esp32-10", ready="Unknown"), node("a")]
    found = plain(picture(nodes, [pod("p", "a"), pod("vast", message="0/3 nodes")]), "name")
    assert found == (
        "BOARD      STATUS     HEAP-FREE   HEAP%   PSRAM-FREE   PSRAM%   PINS-FREE   PINS%   PODS\n"
        "a          Ready      300Ki       25%     -            -        30          25%     1/1\n"
        "esp32-2    Ready      300Ki       25%     -            -        30          25%     0/0\n"
        "esp32-10   NotReady   300Ki       25%     -            -        30          25%     0/0\n"
        "\n"
        "PENDING        MESSAGE\n"
        "default/vast   0/3 nodes\n"
    )


def test_no_boards_at_all() -> None:
    assert plain(picture([]), "name") == "No boards.\n"


@pytest.mark.parametrize(
    ("sort", "expected"),
    [("name", ["a", "b", "c"]), ("heap", ["b", "a", "c"]), ("pins", ["c", "a", "b"]), ("pods", ["a", "b", "c"])],
)
def test_what_has_least_left_comes_first(sort: str, expected: list[str]) -> None:
    nodes = [node("c", gpio="1"), node("b", memory="10Ki"), node("a")]
    found = picture(nodes, [pod("p", "a")]).boards(sort)
    assert [board.name for board in found] == expected


def test_free_is_what_the_scheduler_counts() -> None:
    shown = picture([node("a", 5)], [pod("p", "a", revision=9)])
    assert shown.boards()[0].free["memory"] == 200 * 1024
    shown.hear_node(WatchEvent("MODIFIED", node("a", 10)))
    assert shown.boards()[0].free["memory"] == 300 * 1024
    shown.hear_pod(WatchEvent("DELETED", pod("p", "a", revision=11)))
    assert (shown.boards()[0].free["memory"], shown.boards()[0].pods) == (300 * 1024, 0)


def test_a_heartbeat_is_nothing_to_be_drawn() -> None:
    shown = picture([node("a", 5)])
    before = shown.changes
    shown.hear_node(WatchEvent("MODIFIED", node("a", 6)))
    assert shown.changes == before
    shown.hear_node(WatchEvent("MODIFIED", node("a", 7, ready="False")))
    assert shown.changes == before + 1


def test_what_is_listed_again_is_the_whole_truth() -> None:
    shown = picture([node("a"), node("b")], [pod("p", "a"), pod("q", message="why")])
    shown.list_nodes([node("b", 9), node("c", 9)])
    shown.list_pods([])
    assert [board.name for board in shown.boards()] == ["b", "c"]
    assert (shown.pending(), shown.pods()) == ([], (0, 0))


def test_pods_of_one_namespace_are_told_of_and_all_are_counted() -> None:
    pods = [pod("p", "a", namespace="x", revision=9), pod("q", "a", revision=9), pod("r", namespace="y", message="m")]
    shown = picture([node("a", 5)], pods, "x")
    (board,) = shown.boards()
    assert (board.pods, shown.pending(), board.free["memory"]) == (1, [], 100 * 1024)


def test_status_says_what_is_wrong() -> None:
    broken = node("a", annotations={"sim.kube32.io/fault": "stopped"})
    broken["spec"] = {"unschedulable": True}
    assert picture([broken]).boards()[0].status == "Ready,SchedulingDisabled,stopped"


@pytest.mark.parametrize("width", [200, 120, 100, 80, 60, 40, 20])
@pytest.mark.parametrize("height", [50, 24, 8, 3])
def test_no_line_is_too_long_and_none_too_many(width: int, height: int) -> None:
    nodes = [node(f"esp32-with-a-long-name-{number}") for number in range(40)]
    pods = [pod(f"waiting-{number}", message="0/40 nodes are available: " * 9) for number in range(9)]
    view = View(width, height, clock="2026-01-01T00:00:00Z", trouble="x" * 300)
    lines = drawn(picture(nodes, pods), view)
    assert max(map(len, lines)) <= width
    assert len(lines) == max(height, 5)
    assert room(view, 9) >= 1


def test_wide_screens_have_bars_and_narrow_ones_figures() -> None:
    shown = picture([node("a")])
    wide, middle, narrow = (drawn(shown, View(width, 10)) for width in (120, 60, 50))
    assert "■■········ 300Ki" in wide[3]
    assert wide[3].rstrip().endswith("esp32-s3")
    assert "300Ki" in middle[3]
    assert "■···· 300Ki" in middle[3], "as long as there is room"
    assert "PINS" in middle[2]
    assert narrow[2].split() == ["BOARD", "STATUS", "HEAP", "PODS"]


def test_terminals_without_such_characters_get_others() -> None:
    assert "##........ 300Ki" in drawn(picture([node("a")]), View(120, 10, ascii=True))[3]


def test_a_long_list_is_scrolled() -> None:
    shown = picture([node(f"n{number}") for number in range(30)])
    lines = drawn(shown, View(100, 10, offset=4))
    assert [line.split()[0] for line in lines[3:9]] == ["n4", "n5", "n6", "n7", "n8", "n9"]
    assert lines[-1].startswith("5-10 of 30   sorted by name")


def test_names_from_outside_stay_on_their_line_and_command_no_terminal() -> None:
    evil = "\x1b[2J[red]x\n\u202ey"
    shown = picture([node(evil)], [pod(evil, message=evil)])
    for text in ("\n".join(drawn(shown, View(100, 10, trouble=evil))), plain(shown, "name")):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "[red]" in text, "nothing is markup"
    assert len(drawn(shown, View(100, 10))) == 10


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (1536, "1.5Ki"), (245760, "240Ki"), (8 << 20, "8Mi"), (-1024, "-1Ki")]
)
def test_amounts_are_short(value: int, text: str) -> None:
    assert amount("memory", value) == text
    assert amount(PINS, 1536) == "1536"
