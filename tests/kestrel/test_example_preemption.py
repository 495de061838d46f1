"""Preemption, pending pods and retries, rule by rule."""

import pytest

from kube32_sim.kestrel import run
from tests.kestrel.shorthand import UNSCHEDULABLE, last, log, node, placed, pod, term

EVICTED = [node("n"), pod("old", 10), pod("boss", 10, priority=1)]
"""Leaves `old` pending and `n` full."""


def test_the_worked_example():
    operations = [
        node("n1", 4000, 8192),
        pod("old", 2500, 512),
        pod("new", 500, 512),
        node("n2", 1000, 8192, "b", taints=[{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]),
        pod("urgent", 2000, 512, priority=100),
    ]
    assert log(*operations) == [
        "bind old n1",
        "bind new n1",
        "evict old n1 for urgent",
        "bind urgent n1",
        "pending old",
    ]
    assert run([*operations, ["pending"], ["where", "old"], ["node_status", "n1"]])[5:] == [
        ["old"],
        "pending",
        {"cpu_used": 2500, "mem_used": 1024, "pods": ["new", "urgent"]},
    ]


# Who, and whom


@pytest.mark.parametrize(
    ("theirs", "ours", "evicts"), [(0, 1, True), (0, 0, False), (1, 0, False), (-2, -1, True), (2**63, 2**63 + 1, True)]
)
def test_only_strictly_lower_priorities_are_evicted(theirs, ours, evicts):
    operations = [node("n"), pod("p", 10, priority=theirs), pod("q", 10, priority=ours)]
    assert placed(*operations) == ["n", "n" if evicts else UNSCHEDULABLE]


def test_a_priority_left_out_is_0():
    assert placed(node("n"), pod("p", 10, priority=-1), pod("q", 10)) == ["n", "n"]
    assert placed(node("n"), pod("p", 10), pod("q", 10, priority=0)) == ["n", UNSCHEDULABLE]


def test_who_never_preempts_is_refused():
    assert placed(node("n"), pod("p", 10), pod("q", 10, priority=9, preemption="Never")) == ["n", UNSCHEDULABLE]


def test_who_never_preempts_can_be_evicted():
    assert placed(node("n"), pod("p", 10, preemption="Never"), pod("q", 10, priority=1)) == ["n", "n"]


def test_nobody_is_evicted_while_a_node_is_feasible():
    operations = [node("a"), node("b", 4), pod("p", 9, 9), pod("q", 4, 9, priority=9)]
    assert log(*operations) == ["bind p a", "bind q b"]


def test_a_refusal_leaves_no_trace():
    refused = [node("n"), pod("p", 10, priority=5), pod("low", 10), pod("big", 11, priority=9)]
    assert log(*refused) == ["bind p n"]
    assert run([*refused, ["pending"], ["node_status", "n"], ["where", "big"]])[4:] == [
        [],
        {"cpu_used": 10, "mem_used": 0, "pods": ["p"]},
        "error: no such pod",
    ]


# On one node


def test_evicting_does_not_help_against_selector_or_taints():
    operations = [node("n", labels={"a": "b"}, taints=[{"key": "k", "effect": "NoSchedule"}])]
    operations += [pod("p", 10, tolerations=[{"key": "k"}])]
    assert placed(*operations, pod("q", 1, priority=1)) == ["n", UNSCHEDULABLE]
    assert placed(*operations, pod("q", 1, priority=1, tolerations=[{"key": "k"}])) == ["n", "n"]
    wrong = pod("q", 1, priority=1, tolerations=[{"key": "k"}], selector={"a": "c"})
    assert placed(*operations, wrong) == ["n", UNSCHEDULABLE]


def test_the_cheapest_go_first():
    operations = [node("n"), pod("cheap", 5, priority=1), pod("dear", 5, priority=2), pod("boss", 5, priority=9)]
    assert "evict cheap n for boss" in log(*operations)


def test_the_newest_of_equal_priority_goes_first():
    assert log(node("n"), pod("a", 5), pod("b", 5), pod("boss", 5, priority=1))[2] == "evict b n for boss"


def test_memory_is_made_free_as_well():
    operations = [node("n"), pod("cpu", 9, 1), pod("mem", 1, 9, priority=1), pod("boss", 1, 9, priority=2)]
    assert log(*operations)[2:] == ["evict mem n for boss", "bind boss n", "pending mem"]


@pytest.mark.parametrize("priorities", [(2, 1, 0), (0, 0, 0)])
def test_the_dearest_and_then_the_oldest_are_given_back_first(priorities):
    # All three are removed; beside 7 of 10 there is no room for the first, and for one only of the others.
    names = [("large", 4), ("older", 3), ("newer", 3)]
    pods = [pod(name, cpu, priority=priority) for (name, cpu), priority in zip(names, priorities, strict=True)]
    operations = [node("n"), *pods, pod("boss", 7, priority=9), ["node_status", "n"]]
    assert last(*operations)["pods"] == ["boss", "older"]


def test_priority_comes_before_age_in_giving_back():
    pods = [pod("cheap", 3), pod("large", 4, priority=2), pod("dear", 3, priority=1)]
    assert last(node("n"), *pods, pod("boss", 7, priority=9), ["node_status", "n"])["pods"] == ["boss", "dear"]


def test_what_is_given_back_counts_for_what_is_given_back_later():
    # The small ones are removed first, without there being room; then large has to go and makes room for both or one.
    pods = [pod("large", 6), pod("s1", 2), pod("s2", 2)]
    assert last(node("n"), *pods, pod("boss", 5, priority=1), ["node_status", "n"])["pods"] == ["boss", "s1", "s2"]
    assert last(node("n"), *pods, pod("boss", 7, priority=1), ["node_status", "n"])["pods"] == ["boss", "s1"]


def test_repelling_pods_are_evicted():
    there = [node("n"), pod("p", app="x"), pod("q", app="y")]
    assert log(*there, pod("boss", priority=1, apart=[term("node", app="x")]))[2] == "evict p n for boss"
    there = [node("n"), pod("p", apart=[term("zone", app="z")]), pod("q", app="y")]
    assert log(*there, pod("boss", priority=1, app="z"))[2] == "evict p n for boss"


def test_pods_on_another_node_of_the_zone_stay():
    there = [node("a1"), node("a2"), pod("p", app="x"), pod("f", 10), pod("g", 9)]
    assert placed(*there) == ["a1", "a2", "a1"]
    boss = pod("boss", 10, priority=1, apart=[term("zone", app="x")])
    assert log(*there, boss)[3:5] == ["evict p a1 for boss", "evict g a1 for boss"]
    guarded = [node("a1"), node("a2"), pod("p", app="x", priority=5), pod("f", 10)]
    assert placed(*guarded, boss)[-1] == UNSCHEDULABLE


def test_removing_stops_as_soon_as_it_is_enough():
    # Removing the database as well would make the pod that needs it infeasible.
    near = pod("needs", 8, priority=1, near=[term("node", app="db")])
    assert log(node("n"), pod("db", app="db"), pod("f", 8), near)[2:4] == ["evict f n for needs", "bind needs n"]


def test_removing_can_spoil_what_it_is_for_and_no_other_choice_is_tried():
    near = pod("needs", 8, priority=1, near=[term("node", app="db")])
    assert placed(node("n"), pod("f", 8), pod("db", app="db"), near) == ["n", "n", UNSCHEDULABLE]


def test_removed_pods_do_not_count_for_the_exception():
    # With x removed nobody matches, so that the pod may start alone; x can be given back only where there is room.
    alone = pod("new", 10, app="x", priority=1, near=[term("node", app="x")])
    assert placed(node("n"), pod("x", 10, app="x"), alone) == ["n", "n"]
    elsewhere = [node("n"), node("m", 5, zone="b"), pod("x", 10, app="x"), pod("y", 1, app="x")]
    assert placed(*elsewhere, alone) == ["n", "m", UNSCHEDULABLE]


def test_giving_back_minds_affinity():
    # Both go, as small is newer; the repelling one cannot come back although it would fit.
    there = [node("n"), pod("large", 9), pod("small", 1, app="x")]
    boss = pod("boss", 9, priority=1, apart=[term("node", app="x")])
    assert log(*there, boss)[2:4] == ["evict large n for boss", "evict small n for boss"]


# The choice of a node


def choice(*operations):
    return placed(*operations, pod("boss", 10, priority=9))[-1]


def test_the_lowest_highest_victim_comes_first():
    # One victim of priority 2 on a, two of at most 1 on b.
    there = [node("a"), pod("p", 10, priority=2), node("b"), pod("q", 5, priority=1), pod("r", 5, priority=1)]
    assert choice(*there) == "b"


def test_then_the_fewest_victims():
    there = [node("a"), pod("p", 5, priority=1), pod("q", 5, priority=1), node("b"), pod("r", 10, priority=1)]
    assert choice(*there) == "b"
    there = [node("a"), pod("p", 5, priority=-3), pod("q", 5, priority=1), node("b"), pod("r", 10, priority=1)]
    assert choice(*there) == "b"


def test_then_the_smallest_name_and_no_score():
    there = [node("n-9", 90, 90), pod("p", 90), node("n-10"), pod("q", 10)]
    assert choice(*there) == "n-10"


def test_priorities_far_from_each_other_are_told_apart():
    there = [node("a"), pod("p", 10, priority=-(2**64)), node("b"), pod("q", 10, priority=-(2**64) - 1)]
    assert choice(*there) == "b"


# Eviction and requeue


def test_the_order_of_events():
    pods = [pod("a", 2, priority=1), pod("b", 3), pod("c", 2, priority=1), pod("d", 3)]
    spare = [node("m", 2, taints=[{"key": "k", "effect": "NoSchedule"}])]
    assert log(node("n"), *pods, *spare, pod("boss", 10, priority=2))[4:] == [
        "evict b n for boss",
        "evict d n for boss",
        "evict a n for boss",
        "evict c n for boss",
        "bind boss n",
        "pending a",
        "pending c",
        "pending b",
        "pending d",
    ]


def test_victims_are_placed_again_by_filter_and_score():
    operations = [node("n"), pod("a", 5), pod("b", 5), node("m", 9), pod("boss", 10, priority=1)]
    assert log(*operations)[2:] == [
        "evict a n for boss",
        "evict b n for boss",
        "bind boss n",
        "bind a m",
        "pending b",
    ]


def test_the_preemptor_counts_when_victims_are_placed_again():
    only = {"labels": {"only": "n"}}
    boss = pod("boss", 10, app="boss", priority=1, selector={"only": "n"})
    # The victim would start alone, on the emptier b1, if the preemptor were not there yet.
    friend = pod("p", 6, app="boss", near=[term("zone", app="boss")])
    others = [node("a2", 6), node("b1", zone="b")]
    assert log(node("n", **only), friend, *others, boss)[-1] == "bind p a2"
    repelled = pod("p", 6, apart=[term("zone", app="boss")])
    others = [node("a2"), node("b1", 6, zone="b")]
    assert log(node("n", **only), repelled, *others, boss)[-1] == "bind p b1"


def test_a_victim_counts_from_its_own_bind_only():
    only, boss = {"labels": {"only": "n"}}, pod("boss", 10, priority=2, selector={"only": "n"})
    # a comes first and looks in vain for b, which is off the cluster as well.
    needing = [node("n", **only), pod("b", 5, app="b"), pod("a", 5, priority=1, near=[term("zone", app="b")])]
    assert log(*needing, node("m"), boss)[-2:] == ["pending a", "bind b m"]
    needed = [node("n", **only), pod("a", 5, priority=1, app="a"), pod("b", 5, near=[term("zone", app="a")])]
    assert log(*needed, node("m"), boss)[-2:] == ["bind a m", "bind b m"]


def test_victims_do_not_preempt():
    there = [node("n", labels={"only": "n"}), pod("middle", 10, priority=5), node("m"), pod("low", 10)]
    assert placed(*there) == ["n", "m"]
    assert log(*there, pod("boss", 10, priority=9, selector={"only": "n"}))[2:] == [
        "evict middle n for boss",
        "bind boss n",
        "pending middle",
    ]


def test_a_victim_keeps_its_seq():
    # a came first, was evicted and came back after b: b is still the newer one.
    evicted = [node("n", 4), pod("a", 2), pod("boss", 4, priority=5), node("m", 4), pod("b", 2), ["retry_pending"]]
    assert log(*evicted, pod("next", 2, priority=5))[-3:] == [
        "evict b m for next",
        "bind next m",
        "pending b",
    ]


def test_a_name_used_again_is_a_new_pod():
    operations = [node("n"), pod("a", 5), pod("b", 5), ["delete_pod", "a"], pod("a", 5), pod("boss", 5, priority=1)]
    assert "evict a n for boss" in log(*operations)


def test_the_preemptor_gets_the_next_seq():
    operations = [node("n"), pod("a", 10), pod("boss", 5, priority=1), pod("later", 5, priority=1)]
    assert "evict later n for top" in log(*operations, pod("top", 5, priority=2))


# Pending pods


def test_pending_pods_are_ordered_by_priority_then_seq():
    pods = [pod("a", 3), pod("b", 3, priority=1), pod("c", 3), pod("d", 1, priority=1)]
    assert last(node("n"), *pods, pod("boss", 10, priority=2), ["pending"]) == ["b", "d", "a", "c"]


def test_pending_pods_can_be_asked_for_and_deleted():
    assert run([*EVICTED, ["where", "old"], pod("old"), ["delete_pod", "old"], ["pending"], ["where", "old"]])[3:] == [
        "pending",
        "error: pod exists",
        True,
        [],
        "error: no such pod",
    ]
    assert log(*EVICTED, ["delete_pod", "old"])[-2:] == ["pending old", "delete old"]


def test_a_pending_pod_is_not_on_its_node():
    assert last(*EVICTED, ["node_status", "n"]) == {"cpu_used": 10, "mem_used": 0, "pods": ["boss"]}


@pytest.mark.parametrize("change", [node("m"), ["delete_pod", "boss"]])
def test_nothing_is_retried_by_itself(change):
    assert run([*EVICTED, change, pod("more", 0), ["pending"], ["retry_pending"], ["pending"]])[-3:] == [
        ["old"],
        [["old", "m" if change[0] == "add_node" else "n"]],
        [],
    ]


def test_a_retry_goes_in_order_and_minds_what_it_placed_before():
    pods = [pod("a", 4), pod("b", 4, priority=1), pod("c", 2)]
    evicted = [node("n"), *pods, pod("boss", 10, priority=2), node("m", 6)]
    assert run([*evicted, ["retry_pending"], ["pending"]])[-2:] == [[["b", "m"], ["c", "m"]], ["a"]]
    assert log(*evicted, ["retry_pending"])[-2:] == ["bind b m", "bind c m"]


def test_a_retry_minds_affinity_of_what_it_placed_before():
    pods = [pod("a", 5, near=[term("node", app="x")], priority=-1), pod("x", 5, app="x")]
    operations = [node("n"), pods[1], pods[0], pod("boss", 10, priority=2), node("m"), ["retry_pending"]]
    assert last(*operations) == [["x", "m"], ["a", "m"]]


def test_who_stays_pending_in_a_retry_logs_nothing():
    assert log(*EVICTED, ["retry_pending"], ["retry_pending"]) == log(*EVICTED)
    assert last(*EVICTED, ["retry_pending"]) == []


def test_a_retry_does_not_preempt():
    operations = [node("n"), pod("old", 10, priority=5), pod("boss", 10, priority=9), ["delete_pod", "boss"]]
    assert run([*operations, pod("low", 10), ["retry_pending"], ["pending"]])[-3:] == ["n", [], ["old"]]


def test_pending_pods_do_not_hold_room():
    operations = [*EVICTED, ["delete_pod", "boss"], pod("p", 10)]
    assert last(*operations) == "n"


def test_an_evicted_pod_can_be_evicted_again():
    again = [["delete_pod", "boss"], ["retry_pending"], pod("boss", 10, priority=1)]
    assert log(*EVICTED, *again)[-4:] == ["bind old n", "evict old n for boss", "bind boss n", "pending old"]
