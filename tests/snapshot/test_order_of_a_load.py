"""Where writes of a load are seen one by one: owners come first, or what they own would be garbage."""

from __future__ import annotations

from kube32_sim.api.builtin import builtin_table
from kube32_sim.importing.judging import Judged
from kube32_sim.importing.ordering import waves

TABLE = builtin_table()
MAPS, PODS, NODES, NAMESPACES = ("", "configmaps"), ("", "pods"), ("", "nodes"), ("", "namespaces")


def judged(name: str, *owners: str, storage: tuple[str, str] = MAPS, uid: str | None = None) -> Judged:
    return Judged(TABLE.by_storage(storage), name, name if uid is None else uid, b"{}", 0, owners)


def names(*objects: Judged) -> list[list[str]]:
    return [[one.key for one in wave] for wave in waves(objects)]


def test_types_come_in_their_order() -> None:
    found = names(judged("pod", storage=PODS), judged("map"), judged("node", storage=NODES), judged("b"))
    assert found == [["node"], ["map", "b"], ["pod"]]
    assert names(judged("map"), judged("a", storage=NAMESPACES)) == [["a"], ["map"]]


def test_owners_come_first_whatever_their_types() -> None:
    assert names(judged("c", "b"), judged("b", "a"), judged("a"), judged("d")) == [["a", "d"], ["b"], ["c"]]
    assert names(judged("map", "pod"), judged("pod", storage=PODS)) == [["pod"], ["map"]]
    assert names(judged("node", "map", storage=NODES), judged("map")) == [["map"], ["node"]]


def test_owners_that_are_not_in_the_load_or_go_in_a_circle_hold_nobody_up() -> None:
    assert names(judged("a", "elsewhere"), judged("b", uid="")) == [["a", "b"]]
    found = names(judged("a", "b"), judged("b", "a"), judged("own", "own"))
    assert sorted(name for wave in found for name in wave) == ["a", "b", "own"]


def test_a_long_line_of_owners() -> None:
    assert names(*(judged(str(n), str(n + 1)) for n in range(5000))) == [[str(n)] for n in reversed(range(5000))]


def test_objects_without_uids_come_after_their_owners() -> None:
    assert names(judged("map", "owner", uid=""), judged("owner")) == [["owner"], ["map"]]
