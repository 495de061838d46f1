"""Operations, filter and score, rule by rule."""

import pytest

from kube32_sim.kestrel import run
from tests.kestrel.shorthand import UNSCHEDULABLE, last, log, node, placed, pod

INVALID = "error: invalid arguments"
GPU = [{"key": "hw", "value": "gpu", "effect": "NoSchedule"}]


# What teams reported


def test_a_limit_beyond_the_node_does_not_count():
    operations = [node("n", 4000, 8192), pod("batch", 3000, 1024, limits={"cpu": 6000, "mem": 1024})]
    assert run([*operations, ["node_status", "n"]])[1:] == [
        "n",
        {"cpu_used": 3000, "mem_used": 1024, "pods": ["batch"]},
    ]


@pytest.mark.parametrize("toleration", [{"key": "hw", "operator": "Exists"}, {"key": "", "operator": "Exists"}])
def test_exists_tolerates_any_value(toleration):
    assert placed(node("n", taints=GPU), pod("p", tolerations=[toleration])) == ["n"]


def test_every_entry_of_a_selector_has_to_match():
    both = {"disk": "ssd", "zone-class": "a"}
    assert placed(node("a", labels={"disk": "ssd"}), node("b", labels=both), pod("p", selector=both)) == ["b"]
    assert placed(node("a", labels={"disk": "ssd"}), pod("p", selector=both)) == [UNSCHEDULABLE]


@pytest.mark.parametrize("names", [("n-1", "n-2"), ("n-2", "n-1")])
def test_equal_scores_go_by_name_whatever_the_order_of_adding(names):
    assert placed(*map(node, names), pod("p")) == ["n-1"]


def test_the_emptiest_is_so_in_percent_of_its_own_size():
    # 2 of 10 leave 80 %, 2 of 20 leave 90 %, though 6 of 20 are used up before.
    assert placed(node("a", 10, 10), node("b", 20, 20), pod("p", 2, 2)) == ["b"]
    assert placed(node("b", 20, 20), pod("p", 6, 6), node("a", 10, 10), pod("q", 2, 2)) == ["b", "a"]


# Filter


def test_the_worked_example_of_filters():
    half = {"requests": {"cpu": 1000, "mem": 1024}, "limits": {"cpu": 2000, "mem": 2048}}
    operations = [
        node("n-b", 4000, 8192),
        node("n-a", 4000, 8192, "b"),
        node("gpu-1", 8000, 16384, labels={"hw": "gpu"}, taints=GPU),
        ["submit", "api-1", half],
        ["submit", "api-2", half],
        pod("train", 6000, 4096, selector={"hw": "gpu"}, tolerations=[{"key": "hw", "operator": "Exists"}]),
        pod("train-2", 6000, 4096, selector={"hw": "gpu"}),
        ["where", "train"],
    ]
    assert run(operations) == [True, True, True, "n-a", "n-b", "gpu-1", UNSCHEDULABLE, "gpu-1"]


@pytest.mark.parametrize(("cpu", "mem", "expected"), [(10, 5, "n"), (5, 10, "n"), (11, 5, None), (5, 11, None)])
def test_an_exact_fit_is_a_fit(cpu, mem, expected):
    assert placed(node("n"), pod("p", cpu, mem)) == [expected or UNSCHEDULABLE]


def test_usage_is_the_sum_of_requests():
    assert placed(node("n"), pod("p", 6, 1), pod("q", 4, 1), pod("r", 1, 1)) == ["n", "n", UNSCHEDULABLE]


def test_requests_of_nothing_fit_on_a_full_node():
    assert placed(node("n"), pod("p", 10, 10), pod("q", 0, 0)) == ["n", "n"]


@pytest.mark.parametrize("selector", [{}, {"disk": ""}])
def test_selectors_that_match(selector):
    assert placed(node("n", labels={"disk": "", "rack": "1"}), pod("p", selector=selector)) == ["n"]


@pytest.mark.parametrize("selector", [{"zone": "a"}, {"disk": ""}, {"name": "n"}])
def test_selectors_look_at_labels_only_and_a_missing_one_is_not_an_empty_one(selector):
    assert placed(node("n"), pod("p", selector=selector)) == [UNSCHEDULABLE]


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_both_effects_keep_pods_away(effect):
    assert placed(node("n", taints=[{"key": "k", "effect": effect}]), pod("p")) == [UNSCHEDULABLE]


def test_every_taint_needs_a_toleration():
    tainted = node("n", taints=[{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoSchedule"}])
    assert placed(tainted, pod("p", tolerations=[{"key": "a"}])) == [UNSCHEDULABLE]
    assert placed(tainted, pod("p", tolerations=[{"key": "a"}, {"key": "b"}])) == ["n"]


@pytest.mark.parametrize(
    ("toleration", "covers"),
    [
        ({"key": "hw", "value": "gpu"}, True),
        ({"key": "hw", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}, True),
        ({"key": "hw", "value": "gpu", "effect": ""}, True),
        ({"key": "hw", "value": "gpu", "effect": "NoExecute"}, False),
        ({"key": "hw"}, False),
        ({"key": "hw", "value": "GPU"}, False),
        ({"key": "h", "value": "gpu"}, False),
        ({"key": "h", "operator": "Exists"}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "hw", "operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_what_a_toleration_covers(toleration, covers):
    assert placed(node("n", taints=GPU), pod("p", tolerations=[toleration])) == ["n" if covers else UNSCHEDULABLE]


@pytest.mark.parametrize("taint", [{}, {"value": ""}])
@pytest.mark.parametrize("toleration", [{}, {"value": ""}])
def test_a_value_left_out_is_the_empty_one(taint, toleration):
    tainted = node("n", taints=[{"key": "k", "effect": "NoExecute", **taint}])
    assert placed(tainted, pod("p", tolerations=[{"key": "k", **toleration}])) == ["n"]


# Score


def test_percentages_are_floored():
    # 66 of 100 and 67 of 101: 66 % on both, so the name decides.
    assert placed(node("a", 100, 100), node("b", 101, 101), pod("p", 34, 34)) == ["a"]
    assert placed(node("a", 100, 100), node("b", 104, 104), pod("p", 34, 34)) == ["b"]


def test_percentages_are_floored_before_their_mean():
    # a has 66.6 % and 66.6 %, b has 66.9 % and 67.3 %: the means are 66 and 66.
    assert placed(node("a", 990, 980), node("b", 1000, 1000), pod("p", 331, 327)) == ["a"]


def test_the_mean_is_floored():
    # a has 90 % and 90 %, b has 90 % and 91 %, then 92 %.
    assert placed(node("a"), node("b", 10, 12), pod("p", 1, 1)) == ["a"]
    assert placed(node("a"), node("b", 10, 13), pod("p", 1, 1)) == ["b"]


def test_both_resources_count():
    assert placed(node("a", 10, 100), node("b", 100, 10), pod("p", 0, 5), pod("q", 5, 0)) == ["a", "b"]


def test_usage_before_the_pod_and_its_own_request_count():
    assert placed(node("a"), node("b"), pod("p", 1), pod("q", 1), pod("r", 1)) == ["a", "b", "a"]


@pytest.mark.parametrize("power", [53, 63, 64, 100])
def test_amounts_are_not_rounded(power):
    huge = 2**power
    assert placed(node("n", huge + 1, 1), pod("p", huge), pod("q", 2), pod("r", 1)) == ["n", UNSCHEDULABLE, "n"]
    # A little less than half is 49 %, and loses against the 50 % of b.
    assert placed(node("a", huge, 1), node("b", 4, 1), pod("p", huge // 2 - 1), pod("q", 2)) == ["a", "b"]
    assert last(node("n", huge + 1, 1), pod("p", huge + 1), ["node_status", "n"])["cpu_used"] == huge + 1


@pytest.mark.parametrize(
    "names",
    [
        ("n-10", "n-9"),
        ("N", "n"),
        ("n", "n\0"),
        ("n", "n "),
        ("\uffff", "\U0001f600"),
        ("\ud83d", "\uffff"),
        ("e\u0301", "é"),
        ("-", "0"),
    ],
)
def test_names_are_compared_by_code_points(names):
    first, second = names
    assert placed(node(second), node(first), pod("p"), pod("q")) == [first, second]
    operations = [node("n"), pod(second), pod(first), ["node_status", "n"]]
    assert last(*operations)["pods"] == [first, second]


# Operations


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("pending", INVALID),
        ([], INVALID),
        ([None], INVALID),
        ([["pending"]], INVALID),
        ([True, 1], INVALID),
        (["Pending"], "error: unknown operation"),
        (["nothing", 1, 2, 3], "error: unknown operation"),
        (["pending", 1], INVALID),
        (["submit", "p"], INVALID),
        (["submit", "p", {}, {}], INVALID),
        (["add_node", "", {}], INVALID),
        (["add_node", None, {}], INVALID),
        (["submit", "", {}], INVALID),
        (["submit", ["p"], {}], INVALID),
        (["add_node", "n", {}], "error: invalid node spec"),
        (["submit", "p", {}], "error: invalid pod spec"),
        (["events", True], INVALID),
        (["events", 1.0], INVALID),
        (["events", -1], INVALID),
        (["events", None], INVALID),
    ],
)
def test_first_failure_wins(operation, expected):
    """`n` and `p` exist, so that the last check would fail as well."""
    assert last(node("n"), pod("p"), operation) == expected


def test_names_that_are_taken():
    taken = [node("n"), pod("p")]
    assert last(*taken, node("n", 5)) == "error: node exists"
    assert last(*taken, pod("p", 5)) == "error: pod exists"
    assert last(*taken, node("n", 5), ["node_status", "n"], pod("q", 9)) == "n"


def test_pods_and_nodes_have_names_of_their_own():
    assert placed(node("same"), pod("same")) == ["same"]
    assert last(node("n"), pod("p"), ["node_status", "p"]) == "error: no such node"


def test_a_refused_pod_leaves_its_name_free():
    assert placed(node("n"), pod("p", 11), pod("p", 10)) == [UNSCHEDULABLE, "n"]


@pytest.mark.parametrize("name", ["refused", "deleted", "never", "n", "", None, 0, True, 1.5, [], {}, ["bound"]])
@pytest.mark.parametrize("operation", ["where", "delete_pod"])
def test_no_such_pod(operation, name):
    there = [node("n"), pod("bound"), pod("refused", 11), pod("deleted"), ["delete_pod", "deleted"]]
    assert last(*there, [operation, name]) == "error: no such pod"


@pytest.mark.parametrize("name", ["p", "", None, 0, False, [], {}, ["n"]])
def test_no_such_node(name):
    assert last(node("n"), pod("p"), ["node_status", name]) == "error: no such node"


def test_a_deleted_pod_frees_what_it_requested_and_its_name():
    operations = [node("n"), pod("p", 10, 10), ["delete_pod", "p"], ["node_status", "n"], pod("p", 9, 9)]
    assert run(operations)[2:] == [True, {"cpu_used": 0, "mem_used": 0, "pods": []}, "n"]


def test_the_names_of_a_node_are_sorted():
    assert last(node("n"), pod("b"), pod("a"), pod("a-"), ["node_status", "n"])["pods"] == ["a", "a-", "b"]


def test_what_is_logged():
    refused = [node("n"), pod("p", 11), ["delete_pod", "x"], pod("q", -1), ["retry_pending"]]
    assert log(node("n"), pod("p"), pod("q r"), ["delete_pod", "p"], *refused) == ["bind p n", "bind q r n", "delete p"]


@pytest.mark.parametrize(("count", "expected"), [(0, []), (1, ["bind q n"]), (2, ["bind p n", "bind q n"])])
def test_the_last_events_come_oldest_first(count, expected):
    assert last(node("n"), pod("p"), pod("q"), ["events", count]) == expected


@pytest.mark.parametrize("count", [3, 2**63, 10**30])
def test_more_events_than_there_are(count):
    assert last(node("n"), pod("p"), ["events", count]) == ["bind p n"]


def test_a_cluster_without_nodes():
    assert run([pod("p"), ["pending"], ["retry_pending"], ["events", 9]]) == [UNSCHEDULABLE, [], [], []]
    assert run([]) == []
