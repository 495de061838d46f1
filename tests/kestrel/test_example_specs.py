"""What makes a spec of a node or a pod valid."""

import pytest

from tests.kestrel.shorthand import last

NODE = {"cpu": 10, "mem": 10, "zone": "a"}
POD = {"requests": {"cpu": 1, "mem": 1}}
NOT_INT = [True, False, None, 1.0, "1", [], {}]
NOT_STR = [None, True, 1, 1.5, [], {}, ["x"]]
NOT_LABELS = [None, [], "x", 0, *({"key": value} for value in NOT_STR)]
NOT_LIST = [None, {}, "x", 0, True]


def add(spec):
    return last(["add_node", "n", spec])


def submit(spec):
    return last(["add_node", "n", NODE], ["submit", "p", spec])


def refused_node(spec):
    return add(spec) == "error: invalid node spec"


def refused_pod(spec):
    return submit(spec) == "error: invalid pod spec"


def without(spec, key):
    return {other: value for other, value in spec.items() if other != key}


# Nodes


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"cpu": 1},
        {"mem": 10**30},
        {"labels": {}},
        {"labels": {"": ""}},
        {"taints": []},
        {"taints": [{"key": "k", "effect": "NoSchedule"}]},
        {"taints": [{"key": "k", "value": "", "effect": "NoExecute"}]},
    ],
)
def test_valid_nodes(more):
    assert add({**NODE, **more}) is True


@pytest.mark.parametrize("spec", [None, [], "n", 1, {}, *(without(NODE, key) for key in NODE)])
def test_nodes_need_their_keys(spec):
    assert refused_node(spec)


def test_nodes_have_no_other_keys():
    assert refused_node({**NODE, "Labels": {}})


@pytest.mark.parametrize("key", ["cpu", "mem"])
@pytest.mark.parametrize("value", [0, -1, *NOT_INT])
def test_capacities_are_above_zero(key, value):
    assert refused_node({**NODE, key: value})


@pytest.mark.parametrize("zone", ["", *NOT_STR])
def test_a_zone_has_a_name(zone):
    assert refused_node({**NODE, "zone": zone})


@pytest.mark.parametrize("labels", NOT_LABELS)
def test_labels_are_strings(labels):
    assert refused_node({**NODE, "labels": labels})
    assert refused_pod({**POD, "labels": labels})


@pytest.mark.parametrize("taints", [*NOT_LIST, [None], [[]], ["k"], [{}]])
def test_taints_are_a_list_of_taints(taints):
    assert refused_node({**NODE, "taints": taints})


@pytest.mark.parametrize(
    "change",
    [
        *({"key": value} for value in ["", *NOT_STR]),
        *({"value": value} for value in NOT_STR),
        *({"effect": value} for value in ["", "noschedule", "PreferNoSchedule", *NOT_STR]),
        {"operator": "Equal"},
    ],
)
def test_invalid_taints(change):
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    assert refused_node({**NODE, "taints": [taint, {**taint, **change}]})


@pytest.mark.parametrize("key", ["key", "effect"])
def test_taints_need_key_and_effect(key):
    assert refused_node({**NODE, "taints": [without({"key": "k", "effect": "NoSchedule"}, key)]})


# Pods


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"requests": {"cpu": 0, "mem": 0}},
        {"limits": {}},
        {"limits": {"cpu": 1}},
        {"limits": {"mem": 10**30}},
        {"priority": -(10**30)},
        {"priority": 0},
        {"selector": {}},
        {"labels": {"": ""}},
        {"tolerations": []},
        {"affinity": {}},
        {"affinity": {"pod_affinity": []}},
        {"affinity": {"pod_affinity": [], "pod_anti_affinity": [{"match": {}, "topology": "node"}]}},
        {"preemption": "PreemptLowerPriority"},
        {"preemption": "Never"},
    ],
)
def test_valid_pods(more):
    assert submit({**POD, **more}) == "n"


@pytest.mark.parametrize("spec", [None, [], "p", 1, {}, {"labels": {}}])
def test_pods_need_requests(spec):
    assert refused_pod(spec)


@pytest.mark.parametrize("key", ["request", "Labels", "zone", "affinities", ""])
def test_pods_have_no_other_keys(key):
    assert refused_pod({**POD, key: {}})


@pytest.mark.parametrize(
    "requests",
    [
        *NOT_LIST,
        [],
        {"cpu": 1},
        {"mem": 1},
        {"cpu": 1, "mem": 1, "gpu": 1},
        *({"cpu": value, "mem": 1} for value in [-1, *NOT_INT]),
        *({"cpu": 1, "mem": value} for value in [-1, *NOT_INT]),
    ],
)
def test_requests_are_of_cpu_and_mem(requests):
    assert refused_pod({"requests": requests})
    assert refused_pod({"requests": requests, "limits": {"cpu": 5, "mem": 5}})


@pytest.mark.parametrize(
    "limits",
    [
        *NOT_LIST[:1],
        [],
        "x",
        {"cpu": 0},
        {"mem": 0},
        {"cpu": 5, "mem": 0},
        {"gpu": 5},
        *({"cpu": value} for value in NOT_INT),
        *({"mem": value} for value in NOT_INT),
    ],
)
def test_limits_are_no_less_than_requests(limits):
    assert refused_pod({**POD, "limits": limits})


@pytest.mark.parametrize("priority", NOT_INT)
def test_priorities_are_integers(priority):
    assert refused_pod({**POD, "priority": priority})


@pytest.mark.parametrize("selector", NOT_LABELS)
def test_selectors_are_strings(selector):
    assert refused_pod({**POD, "selector": selector})


@pytest.mark.parametrize("preemption", ["", "never", "PreemptEqualPriority", *NOT_STR])
def test_there_are_two_kinds_of_preemption(preemption):
    assert refused_pod({**POD, "preemption": preemption})


@pytest.mark.parametrize("tolerations", [*NOT_LIST, [None], [[]], ["k"], [{"operator": "Exists"}, {}]])
def test_tolerations_are_a_list_of_tolerations(tolerations):
    assert refused_pod({**POD, "tolerations": tolerations})


@pytest.mark.parametrize(
    "toleration",
    [
        {"operator": "Exists"},
        {"operator": "Exists", "key": "", "value": "", "effect": ""},
        {"operator": "Exists", "key": "k", "effect": "NoExecute"},
        {"key": "k"},
        {"operator": "Equal", "key": "k", "value": "", "effect": "NoSchedule"},
    ],
)
def test_valid_tolerations(toleration):
    assert submit({**POD, "tolerations": [toleration]}) == "n"


@pytest.mark.parametrize(
    "toleration",
    [
        {},
        {"key": ""},
        {"operator": "Equal"},
        {"value": "v", "effect": "NoSchedule"},
        {"operator": "Exists", "value": "v"},
        {"operator": "Exists", "key": "k", "value": "v"},
        {"key": "k", "seconds": 1},
        {"key": "k", "operator": ""},
        {"key": "k", "operator": "exists"},
        {"key": "k", "effect": "PreferNoSchedule"},
        *({"operator": "Exists", "key": value} for value in NOT_STR),
        *({"key": "k", "value": value} for value in NOT_STR),
        *({"key": "k", "operator": value} for value in NOT_STR),
        *({"key": "k", "effect": value} for value in NOT_STR),
    ],
)
def test_invalid_tolerations(toleration):
    assert refused_pod({**POD, "tolerations": [toleration]})


@pytest.mark.parametrize("affinity", [None, [], "x", {"node_affinity": []}])
def test_affinity_is_of_two_kinds(affinity):
    assert refused_pod({**POD, "affinity": affinity})


@pytest.mark.parametrize("kind", ["pod_affinity", "pod_anti_affinity"])
@pytest.mark.parametrize(
    "terms",
    [
        *NOT_LIST,
        [None],
        [[]],
        [{}],
        [{"match": {}}],
        [{"topology": "node"}],
        [{"match": {}, "topology": "node", "weight": 1}],
        *([{"match": labels, "topology": "node"}] for labels in NOT_LABELS),
        *([{"match": {}, "topology": topology}] for topology in ["", "host", "Zone", *NOT_STR]),
    ],
)
def test_invalid_terms(kind, terms):
    assert refused_pod({**POD, "affinity": {kind: terms}})


def test_invalid_specs_change_nothing():
    operations = [["add_node", "n", {}], ["add_node", "n", NODE], ["submit", "p", {}], ["submit", "p", POD]]
    assert last(*operations, ["events", 9]) == ["bind p n"]
