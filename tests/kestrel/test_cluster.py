"""The state of a replay from inside: what it may cost, what its profile switches off, what a submit answers."""

import random
from dataclasses import replace

import pytest

from kube32_sim.kestrel import candidates, choosing, columns, preemption, run
from kube32_sim.kestrel.cluster import Cluster
from kube32_sim.kestrel.generator import node_params, nodes, pod_params, pods
from kube32_sim.kestrel.models import Node, PodSpec, Term, fit
from kube32_sim.kestrel.profiles import KESTREL
from tests.kestrel.reference import run as plain

OWN = (("app", "web"),)


def cluster_of(count, *, profile=KESTREL, cpu=10, zones=3):
    made = Cluster(profile)
    for node in nodes(node_params({"prefix": "n", "count": count, "zones": zones, "cpu": cpu, "mem": cpu})):
        made.add_node(node)
    return made


def spec(cpu, priority=0, **more):
    return PodSpec(fit((cpu, cpu)), priority, **more)


def check(cluster):
    """Everything that is kept true, derived anew from the pods."""
    used = {name: [0, 0] for name in cluster.table.nodes}
    for pod in cluster.pods.values():
        if pod.node is None:
            assert pod in cluster.pending()
            continue
        assert cluster.pods_on(pod.node.name)[pod.name] is pod
        for place, amount in enumerate(pod.spec.request.amounts):
            used[pod.node.name][place] += amount
    for name, node in cluster.table.nodes.items():
        assert node.free == tuple(have - taken for have, taken in zip(node.capacity, used[name], strict=True))
        on_it = cluster.pods_on(name).values()
        assert sorted(on_it, key=lambda pod: (pod.spec.priority, -pod.seq)) == cluster._bindings.cheapest_first(name)
    hosts = {}
    for pod in cluster.pods.values():
        if pod.node is not None:
            places = hosts.setdefault(pod.spec.labels, {}).setdefault(pod.node.zone, {})
            places[pod.node.name] = places.get(pod.node.name, 0) + 1
    for labels, label_set in cluster.affinity._label_sets.items():
        assert label_set.hosts.zones == hosts.get(labels, {})
        assert label_set.hosts.total == sum(n for places in hosts.get(labels, {}).values() for n in places.values())


@pytest.mark.parametrize("seed", range(6))
def test_what_is_kept_is_true_after_every_pod(seed):
    rng = random.Random(seed)
    cluster = cluster_of(rng.choice((5, 20)), cpu=2500)
    params = {"prefix": "p", "count": 150, "seed": seed, "groups": 6, "cpu": 900, "mem": 900, "priorities": [0, 1, 2]}
    for name, wanted in pods(pod_params(params)):
        cluster.submit(name, wanted)
        if rng.random() < 0.2:
            cluster.delete(cluster.pods[rng.choice(list(cluster.pods))])
        if rng.random() < 0.05:
            cluster.retry_pending()
        check(cluster)


def test_a_submit_answers_what_became_of_its_victims():
    cluster = cluster_of(2)
    assert cluster.submit("low", spec(6)).victims == ()
    cluster.submit("mid", spec(10, 1))
    bound = cluster.submit("high", spec(10, 2))
    assert (bound.node.name, [(victim.name, victim.node) for victim in bound.victims]) == ("n-0", [("low", None)])
    assert cluster.submit("none", spec(10, 2, preempts=False)) is None
    assert "none" not in cluster.pods


def test_pods_that_are_there_already_count_from_the_start():
    cluster = cluster_of(1)
    cluster.enter("old", spec(6), cluster.table.nodes["n-0"])
    check(cluster)
    assert cluster.submit("new", spec(5)) is None
    assert [victim.name for victim in cluster.submit("high", spec(5, 1)).victims] == ["old"]
    assert cluster.log == ["bind old n-0", "evict old n-0 for high", "bind high n-0", "pending old"]


# profiles


def test_a_profile_may_do_without_preemption():
    cluster = cluster_of(1, profile=replace(KESTREL, preemption=False))
    cluster.submit("low", spec(10))
    assert cluster.submit("high", spec(10, 5)) is None


def test_a_profile_may_do_without_affinity():
    apart = {"labels": OWN, "anti_terms": (Term(OWN, "zone"),)}
    assert cluster_of(1).submit("a", spec(1, **apart)) is not None
    cluster = cluster_of(1, profile=replace(KESTREL, affinity=False))
    assert [cluster.submit(name, spec(1, **apart)) is not None for name in "ab"] == [True, True]
    strict = cluster_of(1)
    assert [strict.submit(name, spec(1, **apart)) is not None for name in "ab"] == [True, False]


# what it may cost


@pytest.fixture
def judged(monkeypatch):
    """Names of the nodes that preemption judges exactly."""
    names = []
    by_size, among = preemption.Preemption._victims_by_size, preemption.Preemption._victims_among_friends
    monkeypatch.setattr(choosing, "PATIENCE", 0)
    monkeypatch.setattr(
        preemption.Preemption,
        "_victims_by_size",
        lambda self, pod, name: names.append(name) or by_size(self, pod, name),
    )
    monkeypatch.setattr(
        preemption.Preemption,
        "_victims_among_friends",
        lambda self, pod, name: names.append(name) or among(self, pod, name),
    )
    return names


def full(count, cpu=10, **more):
    cluster = cluster_of(count, cpu=cpu)
    for number in range(count):
        assert cluster.submit(f"low-{number}", spec(cpu, **more)) is not None
    return cluster


def test_preemption_judges_no_more_nodes_than_it_has_to(judged):
    cluster = full(40)
    assert cluster.submit("high", spec(10, 1)).node.name == "n-0"
    assert judged == ["n-0"]


def test_nor_where_affinity_is_in_play(judged):
    apart = {"labels": OWN, "anti_terms": (Term(OWN, "node"),)}
    cluster = full(40, **apart)
    assert cluster.submit("high", spec(10, 1, **apart)).node.name == "n-0"
    assert judged == ["n-0"]


def test_nor_where_one_node_has_very_many_pods(judged, monkeypatch):
    monkeypatch.setattr(candidates, "CELLS", 200)
    cluster = full(40)
    cluster.add_node(Node("crowded", "zone-0", {}, (), (300, 300), (300, 300)))
    for number in range(300):
        cluster.submit(f"tiny-{number}", spec(1))
    assert cluster.submit("high", spec(10, 1)).node.name == "n-0"
    assert len(judged) <= 2


# the bounds, made so small that they are reached


@pytest.mark.parametrize("seed", range(40))
def test_bounds_that_are_reached_change_nothing(seed, monkeypatch):
    rng = random.Random(seed)
    for module, name, values in (
        (candidates, "CELLS", (20, 60, 2**22)),
        (choosing, "FEW", (0, 3)),
        (choosing, "PATIENCE", (0, 10**9)),
        (choosing, "LAG", (0, 16)),
        (choosing, "REMEMBERED", (2, 1024)),
        (choosing, "ENTRIES", (10, 10**6)),
    ):
        monkeypatch.setattr(module, name, rng.choice(values))
    monkeypatch.setattr("kube32_sim.kestrel.nodes.KEPT", rng.choice((2, 10, 1024)))
    monkeypatch.setattr("kube32_sim.kestrel.columns.KEPT", rng.choice((1, 512)))
    monkeypatch.setattr("kube32_sim.kestrel.columns.LARGEST", rng.choice((12, 2**54)))
    bulk = {"count": 60, "groups": 5, "cpu": 7, "mem": 7, "priorities": [0, 1, 3]}
    operations = [["bulk_nodes", {"prefix": "n", "count": 15, "zones": 4, "cpu": 14, "mem": 15}]]
    for number in range(3):
        operations.append(["bulk_submit", {"prefix": f"p{number}", "seed": seed * 3 + number, **bulk}])
        equal = {"requests": {"cpu": 1, "mem": number}, "selector": {"disk": "ssd"} if number == 1 else {}}
        operations.append(["add_node", f"odd-{number}", {"cpu": 30, "mem": 9, "zone": "z", "labels": {"disk": "ssd"}}])
        operations += [["submit", f"e{number}-{index}", equal] for index in range(30)]
        operations += [["delete_pod", f"e{number}-{rng.randrange(30)}"] for _ in range(10)]
        operations += [["retry_pending"], ["pending"]]
    operations.append(["events", 10**6])
    assert run(operations) == plain(operations)


@pytest.mark.parametrize("seed", range(25))
def test_nodes_may_come_at_any_time(seed, monkeypatch):
    rng = random.Random(seed)
    monkeypatch.setattr(choosing, "FEW", 0)
    monkeypatch.setattr(choosing, "PATIENCE", 0)
    monkeypatch.setattr("kube32_sim.kestrel.columns.FEW", rng.choice((1, 8)))
    names = [f"n{number}" for number in range(60)]
    rng.shuffle(names)
    operations = []
    for step in range(50):
        for name in [names.pop() for _ in range(min(len(names), rng.choice((0, 0, 1, 1, 2, 12))))]:
            size = rng.choice((8, 12, 2**60 if rng.random() < 0.1 else 9))
            taints = [{"key": "t", "effect": "NoSchedule"}] if rng.random() < 0.3 else []
            labels = {"disk": rng.choice(("ssd", "hdd"))}
            node = {"cpu": size, "mem": size, "zone": rng.choice("abc"), "labels": labels, "taints": taints}
            operations.append(["add_node", name, node])
        for number in range(rng.randrange(4)):
            app = {"app": rng.choice("xy")}
            wanted = {"requests": {"cpu": rng.randrange(6), "mem": rng.randrange(6)}, "labels": app}
            wanted["priority"] = rng.randrange(3)
            if rng.random() < 0.4:
                wanted["selector"] = {"disk": "ssd"}
            if rng.random() < 0.4:
                wanted["tolerations"] = [{"operator": "Exists"}]
            if rng.random() < 0.5:
                kind = rng.choice(("pod_affinity", "pod_anti_affinity"))
                wanted["affinity"] = {kind: [{"match": app, "topology": rng.choice(("node", "zone"))}]}
            operations.append(["submit", f"p{step}-{number}", wanted])
        if rng.random() < 0.2:
            operations.append(["retry_pending"])
    operations.append(["events", 10**6])
    assert run(operations) == plain(operations)


def test_a_node_more_makes_nothing_anew(monkeypatch):
    monkeypatch.setattr(choosing, "PATIENCE", 0)
    cluster = full(40)
    assert cluster.submit("high", spec(10, 1)) is not None
    for kept in (columns.Columns, candidates.Candidates):
        monkeypatch.setattr(kept, "_build", lambda *_: pytest.fail("all rows are made anew"))
    for number in range(5):
        cluster.add_node(Node(f"m-{number}", "zone-9", {}, (), (10, 10), (10, 10)))
        assert cluster.submit(f"into-{number}", spec(10)).node.name == f"m-{number}"
        assert cluster.submit(f"high-{number}", spec(10, 1)) is not None
