"""The table of nodes and its journal."""

from dataclasses import replace

from kube32_sim.kestrel import nodes
from kube32_sim.kestrel.models import Node
from kube32_sim.kestrel.nodes import NodeTable
from kube32_sim.kestrel.profiles import KESTREL


def node(name, free=(5, 5), **labels):
    return Node(name, "z", labels, (), (9, 9), free)


def test_the_journal_names_what_changed_once():
    table = NodeTable(KESTREL)
    table.put(node("a"))
    table.put(node("b"))
    start = table.position
    assert list(table.changed_since(start)) == []
    table.take(table.nodes["b"], (1, 2))
    table.give(table.nodes["b"], (1, 0))
    table.put(node("a", (1, 1)))
    table.drop("a")
    assert list(table.changed_since(start)) == ["b", "a"]
    assert table.nodes["b"].free == (5, 3)


def test_a_node_that_is_put_again_unchanged_is_no_news():
    table = NodeTable(KESTREL)
    table.put(node("a"))
    position, layout = table.position, table.layout
    table.put(node("a"))
    assert (table.position, table.layout) == (position, layout)
    table.put(node("a", (4, 4)))
    assert (table.position, table.layout) == (position + 1, layout)


def test_only_additions_and_removals_change_the_layout():
    table = NodeTable(KESTREL)
    table.put(node("a"))
    assert table.layout == 1
    table.drop("a")
    table.drop("a")
    assert table.layout == 2


def test_the_journal_is_bounded():
    table = NodeTable(KESTREL)
    table.put(node("a"))
    start = table.position
    for _ in range(4000):
        table.take(table.nodes["a"], (0, 0))
    assert table.changed_since(start) is None
    assert len(table._journal) < 2000
    assert list(table.changed_since(table.position - 1)) == ["a"]


def test_the_journal_tells_all_since_a_position_or_that_it_has_forgotten(monkeypatch):
    monkeypatch.setattr(nodes, "KEPT", 6)
    table = NodeTable(KESTREL)
    for name in "abc":
        table.put(node(name))
    changes = list("abc")
    for number in range(60):
        changes.append("abc"[number % 3])
        table.take(table.nodes[changes[-1]], (0, 0))
        assert table.position == len(changes)
        for position in range(len(changes) + 1):
            found = table.changed_since(position)
            assert found is None or list(found) == list(dict.fromkeys(changes[position:]))
        assert table.changed_since(max(0, len(changes) - 5)) is not None
    assert table.changed_since(0) is None


def test_a_node_that_moves_to_another_zone_is_a_change_of_the_layout():
    table = NodeTable(KESTREL)
    table.put(node("a"))
    layout = table.layout
    table.put(replace(node("a"), zone="y"))
    assert table.layout == layout + 1


def test_nodes_are_found_by_the_rarest_label():
    table = NodeTable(KESTREL)
    table.put(node("a", os="linux", gpu="yes"))
    table.put(node("b", os="linux"))
    assert table.labelled((("os", "linux"), ("gpu", "yes"))) == {"a"}
    assert table.labelled((("os", "linux"), ("tpu", "yes"))) == set()
    table.put(node("a", os="linux"))
    assert table.labelled((("gpu", "yes"),)) == set()
    table.drop("b")
    assert table.labelled((("os", "linux"),)) == {"a"}
