"""Bulk operations: their parameters, what they add and what they tell."""

import hashlib

import pytest

from kube32_sim.kestrel import run
from tests.kestrel.shorthand import LONG, UNSCHEDULABLE, last, node, pod, term

INVALID = "error: invalid arguments"
NODES = {"prefix": "n", "count": 3, "zones": 2, "cpu": 10, "mem": 10}
PODS = {"prefix": "p", "count": 12, "seed": 7, "groups": 8, "cpu": 5, "mem": 5, "priorities": [0, 1, 2]}
NOT_INT = [True, None, 1.0, "1", [], {}]


def sha256(text):
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def nodes(**changes):
    return ["bulk_nodes", {**NODES, **changes}]


def pods(**changes):
    return ["bulk_submit", {**PODS, **changes}]


def draws(seed, *limits):
    """What the documented generator draws first."""
    state = (seed * 2862933555777941757 + 3037000493) % 2**64
    for n in limits:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield (state >> 33) % n


# Parameters

RANGES = {"count": 0, "zones": 1, "groups": 1, "cpu": 1, "mem": 1, "seed": 0}


@pytest.mark.parametrize("operation", [nodes(), pods()], ids=["bulk_nodes", "bulk_submit"])
def test_parameters_are_checked(operation):
    name, params = operation
    wrong = [None, [], "x", {}, {**params, "more": 1}]
    wrong += [{key: value for key, value in params.items() if key != left_out} for left_out in params]
    wrong += [{**params, "prefix": value} for value in ["", *NOT_INT[:3], [], {}]]
    wrong += [
        {**params, key: value} for key, least in RANGES.items() if key in params for value in [least - 1, *NOT_INT]
    ]
    for some in wrong:
        assert last([name, some]) == INVALID, some


@pytest.mark.parametrize("priorities", [None, [], {}, 1, "0", *([0, value] for value in NOT_INT)])
def test_priorities_are_some_integers(priorities):
    assert last(pods(priorities=priorities)) == INVALID


def test_parameters_come_before_names():
    assert last(nodes(), nodes(zones=0)) == INVALID
    assert last(nodes(), pods(), pods(groups=0)) == INVALID


# Nodes


def test_nodes_are_named_by_number_and_dealt_to_zones():
    apart = {"app": "x", "apart": [term("zone", app="x")]}
    operations = [nodes(count=5), *(pod(f"p{i}", **apart) for i in range(3))]
    assert run(operations) == [5, "n-0", "n-1", UNSCHEDULABLE]
    assert last(nodes(count=12), pod("p"), pod("q"), pod("r")) == "n-10"


def test_nodes_have_neither_labels_nor_taints_and_the_capacity_asked_for():
    assert last(nodes(), pod("p", selector={"zone": "zone-0"})) == UNSCHEDULABLE
    assert run([nodes(cpu=3, mem=4, count=1), pod("p", 3, 5), pod("p", 4, 4), pod("p", 3, 4)])[1:] == [
        UNSCHEDULABLE,
        UNSCHEDULABLE,
        "n-0",
    ]


def test_the_zones_are_those_of_other_nodes():
    there = [nodes(count=1), node("m", zone="zone-0"), pod("p", app="x"), pod("q", apart=[term("zone", app="x")])]
    assert last(*there) == UNSCHEDULABLE


def test_one_name_taken_and_none_is_added():
    assert run([node("n-2"), nodes(), ["node_status", "n-0"]])[1:] == ["error: node exists", "error: no such node"]
    assert last(node("n-2"), nodes(count=2)) == 2
    assert last(node("n-02"), nodes()) == 3
    assert last(nodes(count=0), nodes(count=0)) == 0


# Pods


def test_a_pod_as_it_is_generated():
    """The only pod of a group of its own fills a node as drawn."""
    cpu, mem = (1 + drawn for drawn in list(draws(7, 8, 5, 5, 3))[1:3])
    result = run([nodes(count=1), pods(count=1), ["node_status", "n-0"]])
    assert result[2] == {"cpu_used": cpu, "mem_used": mem, "pods": ["p-0"]}
    assert result[1] == {
        "bound": 1,
        "unschedulable": 0,
        "evictions": 0,
        "pending": 0,
        "digest": sha256("p-0=n-0\n"),
        "final": sha256("p-0=n-0\n"),
    }


@pytest.mark.parametrize("seed", [0, 1, 7, 2**63, 2**64 + 7, 10**30])
def test_bulk_is_a_series_of_submits(seed):
    specs, stream = [], draws(seed, *(8, 5, 5, 3) * 12)
    for i, (group, cpu, mem, priority) in enumerate(zip(*[stream] * 4, strict=True)):
        app = f"p-g{group}"
        terms = [
            {},
            {"apart": [term("zone", app=app)]},
            {"apart": [term("node", app=app)]},
            {"near": [term("zone", app=app)]},
        ]
        more = {"app": app, "priority": PODS["priorities"][priority], **terms[group % 4]}
        specs.append(pod(f"p-{i}", 1 + cpu, 1 + mem, **more))
    *results, events, pending = run([nodes(), *specs, ["events", LONG], ["pending"]])
    result, *same = run([nodes(), pods(seed=seed), ["events", LONG], ["pending"]])[1:]
    assert same == [events, pending]
    told = "".join(f"p-{i}={node}\n" for i, node in enumerate(results[1:]))
    wheres = run([nodes(), *specs, *(["where", f"p-{i}"] for i in range(12))])[13:]
    final = "".join(f"p-{i}={'-' if where.startswith('error') else where}\n" for i, where in enumerate(wheres))
    assert result == {
        "bound": 12 - results.count(UNSCHEDULABLE),
        "unschedulable": results.count(UNSCHEDULABLE),
        "evictions": sum(event.startswith("evict") for event in events),
        "pending": len(pending),
        "digest": sha256(told),
        "final": sha256(final),
    }


def test_evictions_are_those_of_this_operation_and_pending_is_of_the_cluster():
    evicted = [node("n"), pod("old", 10), pod("boss", 10, priority=1), ["delete_pod", "boss"]]
    result = last(*evicted, pods(count=1))
    assert (result["evictions"], result["pending"]) == (0, 1)


def test_bound_counts_who_was_evicted_later():
    # Equal pods that fill the node, dearer with each draw.
    fills = {"count": 30, "groups": 1, "cpu": 1, "mem": 1, "priorities": [0, 5]}
    result = last(node("n", 1, 1), pods(**fills))
    assert result["bound"] == 2
    assert (result["evictions"], result["pending"], result["unschedulable"]) == (1, 1, 28)


def test_one_name_taken_and_nothing_is_submitted():
    refused = [nodes(), pod("p-11"), pods(), ["events", LONG]]
    assert run(refused)[2:] == ["error: pod exists", ["bind p-11 n-0"]]
    pending = [node("n"), pod("p-3", 10), pod("boss", 10, priority=1)]
    assert last(*pending, pods()) == "error: pod exists"
    assert last(*pending, pods(count=3)) != "error: pod exists"
    assert last(*pending, ["delete_pod", "p-3"], pods()) != "error: pod exists"


def test_a_taken_name_is_noticed_however_many_are_asked_for():
    assert last(node("n-2"), nodes(count=10**30)) == "error: node exists"
    assert last(node("n"), pod("p-3"), pods(count=10**30)) == "error: pod exists"


def test_no_pods_at_all():
    nothing = sha256("")
    assert last(pods(count=0)) == {
        "bound": 0,
        "unschedulable": 0,
        "evictions": 0,
        "pending": 0,
        "digest": nothing,
        "final": nothing,
    }


def test_without_nodes_everything_is_refused():
    result = last(pods(count=2))
    assert result["digest"] == sha256(f"p-0={UNSCHEDULABLE}\np-1={UNSCHEDULABLE}\n")
    assert result["final"] == sha256("p-0=-\np-1=-\n")


@pytest.mark.parametrize("prefix", ["\ud83d", "é", "a\nb", "-"])
def test_odd_prefixes(prefix):
    result = last(nodes(prefix=prefix), pods(prefix=prefix, count=1))
    assert result["digest"] == sha256(f"{prefix}-0={prefix}-0\n")


def test_groups_are_by_prefix():
    """The only pod is alone in its zone, as far as its own application goes."""
    seed = next(seed for seed in range(99) if next(draws(seed, 8)) == 1)
    alone = pods(seed=seed, count=1)
    assert run([nodes(zones=1), alone, pod("same", app="p-g1"), pod("other", app="q-g1")])[2] == UNSCHEDULABLE
    assert last(nodes(zones=1), alone, pod("same", app="p-g1"), pod("other", app="q-g1")).startswith("n-")


DIGITS = "9" * 5000


@pytest.mark.parametrize("name", [f"b-{DIGITS}", "b-\u00b2", "b-007", "b-+1", "b- 1", "b-1_0", "b-"])
def test_names_that_only_look_as_if_they_were_in_the_way(name):
    nodes = [["add_node", f"x{number}", {"cpu": 1, "mem": 1, "zone": "z"}] for number in range(3)]
    spec = {"cpu": 1, "mem": 1, "zone": "z"}
    many = {"prefix": "b", "count": 40, "zones": 1, "cpu": 1, "mem": 1}
    assert run([*nodes, ["add_node", name, spec], ["bulk_nodes", many]])[-1] == 40


def test_a_name_of_thousands_of_digits_may_be_in_the_way():
    spec = {"cpu": 1, "mem": 1, "zone": "z"}
    count = int("1" + "0" * 4000) * 10**1500
    many = {"prefix": "b", "count": count, "zones": 1, "cpu": 1, "mem": 1}
    assert run([["add_node", f"b-{DIGITS}", spec], ["bulk_nodes", many]])[-1] == "error: node exists"


def test_a_limit_below_a_request_of_thousands_of_digits():
    spec = {"requests": {"cpu": 10**5000, "mem": 0}, "limits": {"cpu": 1}}
    assert run([["submit", "p", spec]]) == ["error: invalid pod spec"]
