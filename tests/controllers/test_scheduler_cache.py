"""The scheduler's picture of the cluster against the plain rule, recomputed from the objects each time."""

import random
from collections import Counter

import pytest
from kube32_controllers.scheduler_cache import Decision, SchedulerCache
from kube32_controllers.scheduler_figures import node_figures, pod_request
from scheduling_objects import container, node, pod

from kube32_sim.kestrel import choosing, ranking
from kube32_sim.kestrel.filters import evaluate, no_fit
from kube32_sim.kestrel.profiles import KUBE32
from kube32_sim.kestrel.score import rank

ROOM = {"memory": "100Ki", "esp32.io/gpio": "10"}


def unreported(pod_obj, pod_revision, node_revision):
    """Contract: bound, not Succeeded or Failed, that are Pending, or waiting, or newer than the node."""
    status = pod_obj["status"]
    if not pod_obj["spec"].get("nodeName") or status["phase"] in ("Succeeded", "Failed"):
        return False
    waiting = any("waiting" in c["state"] for c in status.get("containerStatuses", ()))
    return status["phase"] == "Pending" or waiting or pod_revision > node_revision


def plain_decision(nodes, pods, spec):
    """nodes, pods: key -> (object, revision)."""
    request, scores, reasons = pod_request(spec), [], Counter()
    for name, (obj, revision) in nodes.items():
        figures = node_figures(obj)
        for other, other_revision in pods.values():
            if other["spec"].get("nodeName") == name and unreported(other, other_revision, revision):
                taken = pod_request(other["spec"]).amounts
                figures.free = tuple(have - take for have, take in zip(figures.free, taken, strict=True))
        verdict = evaluate(KUBE32, request, figures)
        if isinstance(verdict, str):
            reasons[verdict] += 1
        else:
            scores.append((name, verdict))
    best = min(scores, key=lambda one: rank(*one), default=None)
    return Decision(best[0], score=best[1]) if best else Decision(None, no_fit(reasons, len(nodes)))


class Cluster:
    """Random changes, told to the cache as a store would, and kept for the plain rule."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.cache = SchedulerCache()
        self.nodes, self.pods, self.revision = {}, {}, 0

    def random_spec(self):
        rng = self.rng
        spec = {
            "containers": [
                container({"memory": f"{rng.choice((5, 20, 40))}Ki", "esp32.io/gpio": str(rng.randrange(4))})
            ]
        }
        if rng.random() < 0.4:
            spec["nodeSelector"] = {"zone": rng.choice("abc")}
        return spec

    def change_node(self):
        rng, name = self.rng, f"n{self.rng.randrange(6)}"
        self.revision += 1
        if name in self.nodes and rng.random() < 0.2:
            del self.nodes[name]
            self.cache.drop_node(name)
            return
        room = {"memory": f"{rng.choice((60, 100, 120))}Ki", "esp32.io/gpio": str(rng.choice((6, 10)))}
        flags = {"ready": rng.random() < 0.85, "unschedulable": rng.random() < 0.1}
        obj = node(name, allocatable=room, capacity=ROOM, labels={"zone": rng.choice("ab")}, **flags)
        self.nodes[name] = (obj, self.revision)
        self.cache.put_node(obj, self.revision)

    def change_pod(self):
        rng, name = self.rng, f"p{self.rng.randrange(12)}"
        key = f"default/{name}"
        self.revision += 1
        old = self.pods.get(key)
        if old is not None and rng.random() < 0.25:
            del self.pods[key]
            self.cache.drop_pod(key)
            return
        obj = pod(name, **(self.random_spec() if old is None else {"containers": old[0]["spec"]["containers"]}))
        where = rng.choice(("", *(f"n{i}" for i in range(7))))
        if where:
            obj["spec"]["nodeName"] = where
        obj["status"]["phase"] = rng.choice(("Pending", "Running", "Running", "Succeeded", "Failed"))
        if rng.random() < 0.3:
            obj["status"]["containerStatuses"] = [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]
        self.pods[key] = (obj, self.revision)
        self.cache.put_pod(obj, self.revision)


WAYS = {"one by one": (99, 10**9), "ranked": (0, 10**9), "all at once": (0, 0)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(25))
def test_decisions_agree_with_the_plain_rule_after_every_change(seed, way, monkeypatch):
    few, patience = WAYS[way]
    monkeypatch.setattr(choosing, "FEW", few)
    monkeypatch.setattr(choosing, "PATIENCE", patience)
    monkeypatch.setattr(choosing, "numpy_loaded", lambda: False)
    cluster = Cluster(seed)
    for _ in range(120):
        cluster.rng.choice((cluster.change_node, cluster.change_pod))()
        spec = cluster.random_spec()
        expected = plain_decision(cluster.nodes, cluster.pods, spec)
        assert cluster.cache.decide(pod_request(spec)) == expected


def test_waiting_pods_are_those_without_node_that_are_ours():
    cache = SchedulerCache()
    cache.put_pod(pod("a"), 1)
    cache.put_pod(pod("gated", schedulingGates=[{"name": "x"}]), 2)
    cache.put_pod(pod("foreign", schedulerName="other"), 3)
    cache.put_pod(pod("bound", node_name="n"), 4)
    cache.put_pod(pod("done", phase="Failed"), 5)
    leaving = pod("leaving")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    cache.put_pod(leaving, 6)
    assert list(cache.waiting) == ["default/a"]
    cache.put_pod(pod("a", node_name="n"), 7)
    assert not cache.waiting


def test_a_pod_of_the_same_name_is_a_new_pod():
    cache = SchedulerCache()
    cache.put_node(node("n", allocatable=ROOM), 1)
    cache.put_pod(pod("a", {"memory": "20Ki"}, node_name="n"), 2)
    again = pod("a", {"memory": "50Ki"}, node_name="n")
    again["metadata"]["uid"] = "another"
    cache.put_pod(again, 3)
    assert cache.table.nodes["n"].free[0] == 50 * 1024


def test_known_limitation_any_write_to_a_node_ends_the_subtraction():
    cache = SchedulerCache()
    cache.put_node(node("n", allocatable=ROOM), 1)
    cache.put_pod(pod("a", {"memory": "20Ki"}, node_name="n", phase="Running"), 2)
    assert cache.table.nodes["n"].free[0] == 80 * 1024
    cache.put_node(node("n", allocatable=ROOM, labels={"just": "a label"}), 3)
    assert cache.table.nodes["n"].free[0] == 100 * 1024


def test_heartbeats_are_no_news():
    cache = SchedulerCache()
    cache.put_node(node("n", allocatable=ROOM), 1)
    before = cache.position
    cache.put_node(node("n", allocatable=ROOM), 2)
    assert cache.position == before
    assert cache._revisions["n"] == 2


def asked_of(cache, monkeypatch):
    """Names of the nodes that are asked one by one from now on."""
    asked = []
    for module in (choosing, ranking):
        monkeypatch.setattr(module, "evaluate", lambda p, r, n: asked.append(n.name) or evaluate(p, r, n))
    return asked


def test_equal_pods_look_only_at_the_nodes_that_changed(monkeypatch):
    cache = SchedulerCache()
    for number in range(300):
        cache.put_node(node(f"n{number:03}", allocatable=ROOM), number + 1)
    asked, places = asked_of(cache, monkeypatch), []
    for number in range(100):
        new = pod(f"p{number:03}", {"memory": "3Ki"})
        places.append(cache.decide(pod_request(new["spec"])).node)
        new["spec"]["nodeName"] = places[-1]
        cache.put_pod(new, 1000 + number)
    before_it_pays = 300 // 128 + 3
    assert len(asked) <= 300 * before_it_pays + 100
    assert places == [f"n{number:03}" for number in range(100)]


class Beat:
    """An event of a heartbeat of a node."""

    type, heartbeat, storage = "MODIFIED", "2026-01-01T00:00:00Z", ("", "nodes")

    def __init__(self, obj, revision):
        self.stored, self.key, self.revision = self, obj["metadata"]["name"], revision
        self.object = lambda: obj


@pytest.mark.parametrize("way", ["report", "heartbeat"])
def test_a_report_that_is_taken_back_brings_the_pods_back_that_it_included(way):
    cache = SchedulerCache()
    room = {"memory": "100Ki", "esp32.io/gpio": "10"}
    obj = node("n", allocatable=room, capacity=room)
    bound = pod("a", containers=[container({"memory": "60Ki"})], nodeName="n")
    bound["status"]["phase"] = "Running"
    wanted = pod_request({"containers": [container({"memory": "60Ki"})]})
    cache.put_node(obj, 1)
    cache.put_pod(bound, 2)
    assert cache.decide(wanted).node is None
    cache.put_node(obj, 3)  # it says what is free with the pod in it
    assert cache.decide(wanted).node == "n"
    if way == "report":
        cache.put_node(obj, 1)
    else:
        cache.observe(Beat(obj, 1))
    assert cache.decide(wanted).node is None
    cache.drop_pod("default/a")
    assert cache.decide(wanted).node == "n"
