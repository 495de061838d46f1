"""Affinity and anti-affinity, rule by rule."""

import pytest

from kube32_sim.kestrel import run
from tests.kestrel.shorthand import UNSCHEDULABLE, last, node, placed, pod, term

ZONES = [node("a1"), node("a2"), node("b1", zone="b")]
"""Two zones, the first with two nodes."""


def test_the_worked_example():
    database = {"app": "db", "apart": [term("zone", app="db")]}
    operations = [
        *ZONES,
        pod("db-1", **database),
        pod("db-2", **database),
        pod("db-3", **database),
        pod("cache-1", app="cache", near=[term("zone", app="db")]),
        pod("web-1", app="web", near=[term("node", app="web")]),
    ]
    assert placed(*operations) == ["a1", "b1", UNSCHEDULABLE, "a2", "a1"]


def test_apart_by_node():
    spread = {"app": "x", "apart": [term("node", app="x")]}
    assert placed(*ZONES, *(pod(f"p{i}", **spread) for i in range(4))) == ["a1", "a2", "b1", UNSCHEDULABLE]


@pytest.mark.parametrize(("topology", "expected"), [("node", "a2"), ("zone", "b1")])
def test_what_repels_need_not_have_terms_itself(topology, expected):
    assert placed(*ZONES, pod("p", app="x"), pod("q", apart=[term(topology, app="x")])) == ["a1", expected]


@pytest.mark.parametrize(("topology", "expected"), [("node", "a2"), ("zone", "b1")])
def test_who_is_bound_repels_newcomers(topology, expected):
    assert placed(*ZONES, pod("p", apart=[term(topology, app="x")]), pod("q", app="x")) == ["a1", expected]


def test_who_is_bound_repels_only_whom_its_term_matches():
    assert placed(node("n"), pod("p", apart=[term("zone", app="x")]), pod("q", app="y"), pod("r")) == ["n"] * 3


def test_affinity_is_not_symmetric():
    near = [term("node", app="x")]
    assert placed(*ZONES, pod("x", app="x"), pod("p", near=near), pod("y", app="x")) == ["a1", "a1", "a2"]


def test_every_term_has_to_hold():
    there = [*ZONES, pod("x", app="x"), pod("y", app="y"), pod("z", app="z")]
    assert placed(*there) == ["a1", "a2", "b1"]
    zone_x, zone_z, node_y = term("zone", app="x"), term("zone", app="z"), term("node", app="y")
    assert placed(*there, pod("p", near=[zone_x, node_y]))[-1] == "a2"
    assert placed(*there, pod("p", near=[zone_x, zone_z]))[-1] == UNSCHEDULABLE
    assert placed(*there, pod("p", apart=[zone_z, node_y]))[-1] == "a1"
    assert placed(*there, pod("p", near=[zone_x], apart=[node_y]))[-1] == "a1"


def test_a_match_needs_every_label():
    two = {"app": "x", "tier": "back"}
    assert placed(node("n"), pod("p", labels=two), pod("q", apart=[term("node", **two)])) == ["n", UNSCHEDULABLE]
    assert placed(node("n"), pod("p", app="x"), pod("q", apart=[term("node", **two)])) == ["n", "n"]
    assert placed(node("n"), pod("p", app="x"), pod("q", apart=[term("node", tier="")])) == ["n", "n"]


def test_an_empty_match_matches_every_pod():
    alone = {"apart": [term("node")]}
    assert placed(node("n"), pod("p", **alone), pod("q")) == ["n", UNSCHEDULABLE]
    assert placed(node("n"), pod("p"), pod("q", **alone)) == ["n", UNSCHEDULABLE]
    assert placed(*ZONES, pod("p", near=[term("zone")]), pod("q", near=[term("node")])) == ["a1", "a1"]


def test_a_pod_does_not_count_against_itself():
    assert placed(node("n"), pod("p", app="x", apart=[term("zone", app="x"), term("node")])) == ["n"]


def test_the_first_replica_starts_where_it_likes_and_the_next_go_there():
    near = {"app": "x", "near": [term("zone", app="x")]}
    nodes = [node("a1", 4), node("b1", 5, zone="b")]
    assert placed(*nodes, pod("p", 2, **near), pod("q", 3, **near), pod("r", 1, **near)) == ["b1", "b1", UNSCHEDULABLE]


def test_the_exception_is_for_who_matches_its_own_term():
    assert placed(node("n"), pod("p", app="y", near=[term("zone", app="x")])) == [UNSCHEDULABLE]
    assert placed(node("n"), pod("p", near=[term("zone", app="x")])) == [UNSCHEDULABLE]


def test_the_exception_is_decided_for_each_term_alone():
    both = {"labels": {"app": "x", "tier": "t"}, "near": [term("zone", app="x"), term("zone", tier="t")]}
    there = [*ZONES, pod("x", app="x")]
    assert placed(*there, pod("p", **both)) == ["a1", "a2"]  # nobody of the tier yet, but an x in zone a
    mixed = {"app": "y", "near": [term("zone", app="y"), term("zone", app="z")]}
    assert placed(*there, pod("p", **mixed))[-1] == UNSCHEDULABLE


def test_the_exception_looks_at_the_whole_cluster():
    full = [node("a1", 2), node("b1", 5, zone="b")]
    near = {"app": "x", "near": [term("node", app="x")]}
    operations = [*full, pod("x", 1, app="x"), pod("fill", 4), pod("p", 2, **near)]
    # x sits on b1, where nothing is free; a1 would be, but without an x.
    assert placed(*operations) == ["b1", "b1", UNSCHEDULABLE]
    assert last(*operations[:-1], ["delete_pod", "x"], operations[-1]) == "a1"


def test_deleting_ends_every_effect_at_once():
    apart = [term("zone", app="x")]
    assert placed(node("n"), pod("p", app="x"), ["delete_pod", "p"], pod("q", apart=apart)) == ["n", "n"]
    assert placed(node("n"), pod("p", apart=apart), ["delete_pod", "p"], pod("q", app="x")) == ["n", "n"]
    near = pod("q", near=[term("node", app="x")])
    assert placed(node("n"), pod("p", app="x"), ["delete_pod", "p"], near) == ["n", UNSCHEDULABLE]


def test_pending_pods_are_nowhere():
    boss = pod("boss", 10, priority=1)
    evicted = [node("n"), pod("x", app="x", apart=[term("zone", app="y")]), boss, ["delete_pod", "boss"]]
    assert last(*evicted, ["pending"]) == ["x"]
    assert last(*evicted, pod("p", app="y", apart=[term("zone", app="x")])) == "n"
    assert last(*evicted, pod("p", near=[term("zone", app="x")])) == UNSCHEDULABLE


def test_a_refused_pod_has_no_effect():
    assert placed(node("n"), pod("big", 11, app="x", apart=[term("zone")]), pod("p", app="x")) == [UNSCHEDULABLE, "n"]


def test_scores_and_names_decide_among_what_passes():
    there = [*ZONES, pod("x", 3, app="x", apart=[term("node", app="y")])]
    assert placed(*there, pod("y", app="y")) == ["a1", "a2"]
    assert placed(*there, pod("f", 2), pod("y", app="y")) == ["a1", "a2", "b1"]
    assert placed(*there, pod("f", 1), pod("g", 4), pod("y", app="y")) == ["a1", "a2", "b1", "a2"]


def test_zones_are_told_by_their_value_and_nodes_by_name():
    crossed = [node("b", zone="a"), node("a", zone="b")]
    assert placed(*crossed, pod("p", app="x"), pod("q", apart=[term("zone", app="x")])) == ["a", "b"]
    assert placed(*crossed, pod("p", app="x"), pod("q", near=[term("node", app="x")])) == ["a", "a"]


def test_a_node_added_later_joins_its_zone():
    repelling = pod("p", 10, apart=[term("zone", app="x")])
    operations = [node("a1"), repelling, node("a2"), pod("x", app="x"), node("b1", zone="b"), pod("x", app="x")]
    assert run(operations)[3::2] == [UNSCHEDULABLE, "b1"]


def test_zone_affinity_is_satisfied_by_another_node_of_the_zone():
    assert placed(*ZONES, pod("x", 10, app="x"), pod("p", 10, near=[term("zone", app="x")])) == ["a1", "a2"]
