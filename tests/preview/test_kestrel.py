"""The preview by Kestrel's rules: the same answers as Kestrel's own, for the same nodes and pods said in Kubernetes."""

from contextlib import suppress
from dataclasses import replace

import pytest

from kube32_sim.kestrel import run
from kube32_sim.kestrel.cluster import Cluster
from kube32_sim.kestrel.specs import InvalidSpec, parse_node, parse_pod
from kube32_sim.preview.kestrel import KestrelPlacer
from kube32_sim.preview.placements import ClusterState, PreviewError, Verdict, Victim, WantedPod
from tests.kestrel.sequences import sequence
from tests.kestrel.shorthand import node, pod, term
from tests.preview.translated import (
    REQUIRED,
    node_object,
    on_node,
    placements,
    pod_object,
    previewed,
    state_of,
    wanted_of,
)

GPU = [{"key": "hw", "value": "gpu", "effect": "NoSchedule"}]
WORKED = [
    ["add_node", "n-b", {"cpu": 4000, "mem": 8192, "zone": "a"}],
    ["add_node", "n-a", {"cpu": 4000, "mem": 8192, "zone": "b"}],
    ["add_node", "gpu-1", {"cpu": 8000, "mem": 16384, "zone": "a", "labels": {"hw": "gpu"}, "taints": GPU}],
    ["submit", "api-1", {"requests": {"cpu": 1000, "mem": 1024}, "limits": {"cpu": 2000, "mem": 2048}}],
    ["submit", "api-2", {"requests": {"cpu": 1000, "mem": 1024}, "limits": {"cpu": 2000, "mem": 2048}}],
    [
        "submit",
        "train",
        {
            "requests": {"cpu": 6000, "mem": 4096},
            "selector": {"hw": "gpu"},
            "tolerations": [{"key": "hw", "operator": "Exists"}],
        },
    ],
    ["submit", "train-2", {"requests": {"cpu": 6000, "mem": 4096}, "selector": {"hw": "gpu"}}],
]


def nodes_of(found):
    return [placement.node for placement in found]


# the worked examples


def test_filter_and_score():
    found = previewed(WORKED)
    assert nodes_of(found) == ["n-a", "n-b", "gpu-1", ""]
    assert [placement.score for placement in found] == [81, 81, 50, None]
    assert [placement.tied for placement in found] == [("n-a", "n-b"), (), (), ()]
    assert found[0].message == "Successfully assigned default/api-1 to n-a"
    reasons = "2 node(s) didn't match Pod's node affinity/selector"
    assert found[3].message == f"0/3 nodes are available: 1 node(s) had untolerated taint(s), {reasons}."


def test_affinity():
    apart = {"pod_anti_affinity": [{"match": {"app": "db"}, "topology": "zone"}]}
    near = {"pod_affinity": [{"match": {"app": "db"}, "topology": "zone"}]}
    together = {"pod_affinity": [{"match": {"app": "web"}, "topology": "node"}]}
    small = {"cpu": 500, "mem": 512}
    database = {"requests": small, "labels": {"app": "db"}, "affinity": apart}
    operations = [
        *(node(name, 4000, 8192, zone) for name, zone in (("a1", "east"), ("a2", "east"), ("b1", "west"))),
        *(["submit", f"db-{number}", database] for number in (1, 2, 3)),
        ["submit", "cache-1", {"requests": small, "labels": {"app": "cache"}, "affinity": near}],
        ["submit", "web-1", {"requests": small, "labels": {"app": "web"}, "affinity": together}],
    ]
    assert nodes_of(previewed(operations)) == ["a1", "b1", "", "a2", "a1"]
    # All four running: each of the three nodes has a db in its zone, which keeps others away.
    assert previewed(operations)[2].message == (
        "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules."
    )


def test_preemption_of_pods_of_the_cluster():
    old, new = ({"requests": {"cpu": cpu, "mem": 512}} for cpu in (2500, 500))
    state = ClusterState(
        [
            node_object("n1", {"cpu": 4000, "mem": 8192, "zone": "a"}),
            node_object(
                "n2",
                {"cpu": 1000, "mem": 8192, "zone": "b", "taints": [{"key": "dedicated", "effect": "NoSchedule"}]},
            ),
        ],
        [
            on_node(pod_object("new", new), "n1", "2026-01-01T00:00:02Z"),
            on_node(pod_object("old", old), "n1", "2026-01-01T00:00:01Z"),
        ],
    )
    urgent = pod_object("urgent", {"requests": {"cpu": 2000, "mem": 512}, "priority": 100})
    [found] = placements(state, urgent, details=True)
    assert (found.node, found.score, found.victims) == ("n1", None, (Victim("default/old", 0),))
    assert found.message == "Successfully assigned default/urgent to n1 after evicting 1 pod"
    assert found.verdicts == (
        Verdict("n1", "Insufficient cpu", detail="2 asked, 1 free of 4"),
        Verdict("n2", "node(s) had untolerated taint(s)", detail="dedicated=:NoSchedule"),
    )


def test_victims_are_in_the_order_of_their_eviction():
    operations = [
        node("n1", 10, 10),
        node("n2", 2, 10),
        pod("one", 5, priority=1),
        pod("two", 5, priority=0),
        pod("small", 2, priority=-1),
        pod("big", 10, priority=5, preemption="Never"),
        pod("bigger", 10, priority=9),
    ]
    found = previewed(operations)
    assert nodes_of(found) == ["n1", "n1", "n2", "", "n1"]
    assert found[-1].victims == (Victim("default/two", 0), Victim("default/one", 1))
    assert found[-1].message.endswith("after evicting 2 pods")


def test_a_victim_that_finds_a_place():
    moved = {"requests": {"cpu": 3, "mem": 0}}
    state = ClusterState(
        [node_object("n1", {"cpu": 10, "mem": 10, "zone": "a"}), node_object("n2", {"cpu": 4, "mem": 10, "zone": "a"})],
        [on_node(pod_object("moved", moved), "n1")],
    )
    [found] = placements(state, pod_object("big", {"requests": {"cpu": 9, "mem": 0}, "priority": 7}))
    assert (found.node, found.victims) == ("n1", (Victim("default/moved", 0, "n2"),))


# what each node says


def test_verdicts():
    spec = {"requests": {"cpu": 1500, "mem": 3000}, "labels": {"app": "web"}, "selector": {"disk": "ssd"}}
    spec["affinity"] = {"pod_anti_affinity": [{"match": {"app": "db"}, "topology": "node"}]}
    room, ssd = {"cpu": 4000, "mem": 8192, "zone": "a"}, {"disk": "ssd"}
    state = ClusterState(
        [
            node_object("small", {**room, "cpu": 1000, "labels": ssd}),
            node_object("thin", {**room, "mem": 1536, "labels": ssd}),
            node_object("free", {**room, "labels": ssd}),
            node_object("plain", room),
            node_object("taken", {**room, "labels": ssd}),
        ],
        [on_node(pod_object("db", {"requests": {"cpu": 0, "mem": 0}, "labels": {"app": "db"}}), "taken")],
    )
    [found] = placements(state, pod_object("web", spec), details=True)
    assert found.verdicts == (
        Verdict("free", score=62, percentages=(("cpu", 62), ("memory", 63))),
        Verdict("plain", "node(s) didn't match Pod's node affinity/selector", detail="disk=ssd"),
        Verdict("small", "Insufficient cpu", detail="1500m asked, 1 free of 1"),
        Verdict("taken", "node(s) didn't match pod anti-affinity rules"),
        Verdict("thin", "Insufficient memory", detail="3000Mi asked, 1536Mi free of 1536Mi"),
    )
    assert (found.node, found.score, found.tied) == ("free", 62, ())


def test_no_nodes():
    [found] = placements(ClusterState([], []), pod_object("p", {"requests": {"cpu": 1, "mem": 1}}))
    assert (found.node, found.message) == ("", "no nodes available to schedule pods")


# the same answers as Kestrel's


def runs(flavour: str, seed: int):
    """The nodes of a random sequence, and one submit for each name, of what is valid."""
    nodes, pods = {}, {}
    for operation in sequence(flavour, seed):
        with suppress(InvalidSpec):
            match operation:
                case ["add_node", str(name), spec] if parse_node(name, spec):
                    nodes.setdefault(name, operation)
                case ["submit", str(name), spec] if parse_pod(spec):
                    pods.setdefault(name, operation)
    return [*nodes.values()], [*pods.values()]


def fates(placement):
    return [f"{victim.pod.partition('/')[2]} {victim.node or 'pending'}" for victim in placement.victims]


def expected_fates(events):
    """What became of the victims of one submit, in the order of their evictions."""
    happened = [event.split(" ") for event in events]
    evicted = [name for what, name, *_ in happened if what == "evict"]
    ends = {name: rest[0] if rest else "pending" for what, name, *rest in happened if what in ("bind", "pending")}
    return [f"{name} {ends[name]}" for name in evicted]


FLAVOURS = ("preemption", "affinity", "repelled", "stacks", "lonely", "static")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_random_specs_have_the_same_answers_as_kubernetes_objects(flavour):
    placed = evicted = 0
    for seed in range(25):
        nodes, pods = runs(flavour, seed)
        results = run([*nodes, *pods])[len(nodes) :]
        found = previewed([*nodes, *pods])
        assert [placement.node or "error: unschedulable" for placement in found] == results, seed
        placed += sum(bool(placement.node) for placement in found)
        evicted += sum(len(placement.victims) for placement in found)
    assert placed > 100
    assert evicted or flavour not in ("preemption", "stacks")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_preview_may_start_anywhere(flavour):
    """Part of the pods are in the cluster already: those after them go where they would have gone."""
    evicted = 0
    for seed in range(25):
        nodes, pods = runs(flavour, seed)
        cluster = Cluster()
        for _, name, spec in nodes:
            cluster.add_node(parse_node(name, spec))
        half = len(pods) // 2
        for _, name, spec in pods[:half]:
            cluster.submit(name, parse_pod(spec))
        bound = [
            on_node(pod_object(name, spec), there.node.name, f"2026-01-01T00:00:{there.seq:02d}Z")
            for _, name, spec in pods[:half]
            if (there := cluster.pods.get(name)) is not None and there.node is not None
        ]
        wanted = wanted_of(pods[half:])
        placer = KestrelPlacer(state_of(nodes, *bound[::-1]), wanted)
        for (_, name, spec), pod_wanted in zip(pods[half:], wanted, strict=True):
            before = len(cluster.log)
            bound = cluster.submit(name, parse_pod(spec))
            node_found = bound.node if bound is not None else None
            placement = placer.place(pod_wanted, details=False)
            assert placement.node == (node_found.name if node_found else ""), (seed, name)
            assert fates(placement) == expected_fates(cluster.log[before:]), (seed, name)
            evicted += len(placement.victims)
    assert evicted or flavour not in ("preemption", "stacks")


def test_ties_and_scores_are_those_of_the_verdicts():
    """Also for equal pods one after the other, whose answers are kept."""
    operations = [node(f"n{number}", 10, 10) for number in range(4)]
    operations += [pod(f"p{number}", 1 + (number // 3) % 2, 1) for number in range(24)]
    with_details = placements(state_of(operations), *(one.obj for one in wanted_of(operations)), details=True)
    assert any(placement.tied for placement in with_details)
    for placement, plain in zip(with_details, previewed(operations), strict=True):
        best = max((verdict.score for verdict in placement.verdicts if verdict.feasible), default=None)
        names = tuple(verdict.node for verdict in placement.verdicts if verdict.feasible and verdict.score == best)
        assert placement.score == best
        assert placement.tied == (names if len(names) > 1 else ())
        assert (plain.node, plain.score, plain.tied) == (placement.node, placement.score, placement.tied)


# pods that are there


def seq_order(*pods):
    """Names of pods of one priority on a full node, the newest first: each preemptor evicts one."""
    size = len(pods)
    state = ClusterState([node_object("n", {"cpu": size, "mem": 1, "zone": "a"})], pods)
    urgent = [
        pod_object(f"urgent-{number}", {"requests": {"cpu": 1, "mem": 0}, "priority": 9}) for number in range(size)
    ]
    return [placement.victims[0].pod for placement in placements(state, *urgent)]


def there(name, namespace="default", created="", scheduled="", started=""):
    found = on_node(pod_object(name, {"requests": {"cpu": 1, "mem": 0}}, namespace=namespace), "n", started)
    if created:
        found["metadata"]["creationTimestamp"] = created
    if scheduled:
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": scheduled}
        found["status"]["conditions"] = [{"type": "Ready", "lastTransitionTime": "2020-01-01T00:00:00Z"}, condition]
    return found


def test_pods_are_as_old_as_their_start_or_else_their_binding_or_else_their_creation():
    found = seq_order(
        there("untimed"),
        there("created", created="2026-01-03T00:00:00Z"),
        there("scheduled", created="2026-01-09T00:00:00Z", scheduled="2026-01-02T00:00:00Z"),
        there(
            "started",
            created="2026-01-09T00:00:00Z",
            scheduled="2026-01-08T00:00:00Z",
            started="2026-01-01T00:00:00Z",
        ),
    )
    assert found == ["default/untimed", "default/created", "default/scheduled", "default/started"]


def test_pods_of_one_moment_are_ordered_by_name():
    at = "2026-01-01T00:00:00Z"
    found = seq_order(there("b", started=at), there("c", "a-space", started=at), there("a", started=at))
    assert found == ["default/b", "default/a", "a-space/c"]


def test_only_bound_pods_that_run_or_will_run_take_room():
    full = {"requests": {"cpu": 4, "mem": 0}}
    ended = [on_node(pod_object(phase.lower(), full), "n") for phase in ("Succeeded", "Failed")]
    for one, phase in zip(ended, ("Succeeded", "Failed"), strict=True):
        one["status"]["phase"] = phase
    state = state_of([node("n", 4)], *ended, pod_object("pending", full))
    assert nodes_of(placements(state, pod_object("p", full))) == ["n"]
    going = on_node(pod_object("going", full, deletionTimestamp="2026-01-01T00:00:00Z"), "n")
    assert nodes_of(placements(state_of([node("n", 4)], going), pod_object("p", full))) == [""]


def test_a_node_may_have_more_than_fits():
    state = state_of(
        [node("n1", 4, 8), node("n2", 4, 8)], on_node(pod_object("p", {"requests": {"cpu": 9, "mem": 1}}), "n1")
    )
    [found] = placements(state, pod_object("q", {"requests": {"cpu": 1, "mem": 1}}), details=True)
    assert found.verdicts[0] == Verdict("n1", "Insufficient cpu", detail="1m asked, -5m free of 4m")
    assert found.node == "n2"


# warnings


def placer_of(state, *pods):
    wanted = [WantedPod(one) for one in pods]
    placer = KestrelPlacer(state, wanted)
    return placer, [placer.place(one, details=False) for one in wanted]


def warnings_of(state, *pods):
    return list(placer_of(state, *pods)[0].warnings)


TINY = {"requests": {"cpu": 1, "mem": 1}}


def test_nothing_to_warn_of():
    assert warnings_of(state_of([node("n1"), node("n2")]), pod_object("a", TINY), pod_object("b", TINY)) == []


def test_a_node_that_gets_more_pods_than_it_allows():
    state = state_of([node("n1"), node("n2")], on_node(pod_object("there", TINY), "n1"))
    state.nodes[0]["status"]["allocatable"]["pods"] = 2
    state.nodes[1]["status"]["allocatable"]["pods"] = "110"
    pods = [pod_object(f"p{number}", {**TINY, "selector": {"kubernetes.io/hostname": "n1"}}) for number in range(3)]
    assert warnings_of(state, *pods[:1]) == []
    expected = ["node n1 gets more pods than the 2 that it allows: Kestrel does not count pods"]
    assert warnings_of(state, *pods) == expected
    crowd = [pod_object(f"p{number}", {**TINY, "selector": {"kubernetes.io/hostname": "n2"}}) for number in range(2)]
    urgent = pod_object("urgent", {"requests": {"cpu": 10, "mem": 0}, "priority": 1})
    state.nodes[1]["status"]["allocatable"]["pods"] = 2
    placer, found = placer_of(state, *crowd, urgent)
    assert found[-1].victims == (Victim("default/there", 0, "n2"),)
    assert "node n2 gets more pods than the 2 that it allows: Kestrel does not count pods" in placer.warnings


def test_what_only_matters_for_a_victim_is_told_when_there_is_one():
    hopeful = on_node(pod_object("hopeful", {"requests": {"cpu": 6, "mem": 0}}), "n1")
    hopeful["spec"]["topologySpreadConstraints"] = [{"topologyKey": "zone"}]
    hopeful["spec"]["affinity"] = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}
    state = state_of([node("n1")], hopeful)
    assert warnings_of(state, pod_object("p", TINY), pod_object("q", {"requests": {"cpu": 9, "mem": 0}})) == []
    placer, [found] = placer_of(state, pod_object("p", {"requests": {"cpu": 9, "mem": 0}, "priority": 1}))
    assert found.victims == (Victim("default/hopeful", 0),)
    assert list(placer.warnings) == [
        "there are evictions: Kestrel does not look at PodDisruptionBudgets",
        "pod default/hopeful is evicted, and its new place is found without spec.topologySpreadConstraints: "
        "Kestrel does not spread pods",
        "pod default/hopeful is evicted, and its new place is found without "
        "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution: Kestrel has required terms only",
    ]


def expression_term(key, *values):
    selector = {"matchExpressions": [{"key": key, "operator": "In", "values": [*values]}]}
    return {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}


def test_terms_of_pods_that_stay_and_are_about_none_of_the_wanted():
    """They are no problem, until one is about a victim that is placed again."""
    loner = on_node(pod_object("loner", TINY), "n2")
    loner["spec"]["affinity"] = {"podAntiAffinity": {REQUIRED: [expression_term("app", "db")]}}
    database = on_node(pod_object("db", {"requests": {"cpu": 6, "mem": 0}, "labels": {"app": "db"}}), "n1")
    state = state_of([node("n1"), node("n2", 8)], loner, database)
    assert warnings_of(state, pod_object("p", TINY)) == []
    placer, [found] = placer_of(state, pod_object("p", {"requests": {"cpu": 10, "mem": 0}, "priority": 1}))
    assert found.victims == (Victim("default/db", 0, "n2"),)
    field = f"spec.affinity.podAntiAffinity.{REQUIRED}[0].labelSelector.matchExpressions of pod default/loner"
    text = f"pod default/db is evicted, and its new place is found without {field}"
    assert text in placer.warnings
    state.nodes[1]["spec"]["unschedulable"] = True
    placer, [found] = placer_of(state, pod_object("p", {"requests": {"cpu": 10, "mem": 0}, "priority": 1}))
    assert found.victims == (Victim("default/db", 0),)
    assert text not in placer.warnings
    state.nodes[1]["spec"]["unschedulable"] = False
    about = pod_object("p", {**TINY, "labels": {"app": "db"}})
    with pytest.raises(PreviewError, match=r"^pod default/loner on node n2: spec\.affinity\.podAntiAffinity"):
        KestrelPlacer(state, [WantedPod(about)])


def test_pods_of_one_name_count_each():
    state = state_of([node("n1", 4)], on_node(pod_object("web-0", {"requests": {"cpu": 2, "mem": 0}}), "n1"))
    again = pod_object("web-0", {"requests": {"cpu": 2, "mem": 0}})
    placer, found = placer_of(state, again, pod_object("web-1", {"requests": {"cpu": 1, "mem": 0}}))
    assert nodes_of(found) == ["n1", ""]
    assert list(placer.warnings) == ["there are several pods default/web-0: each counts"]
    urgent = pod_object("urgent", {"requests": {"cpu": 4, "mem": 0}, "priority": 1})
    assert {victim.pod for victim in placer_of(state, again, urgent)[1][-1].victims} == {"default/web-0"}


def test_placers_agree_with_the_protocol():
    placer = KestrelPlacer(ClusterState([], []), [])
    assert (placer.profile, list(placer.warnings)) == ("kestrel", [])


def test_terms_in_shorthand_mean_what_they_say():
    """The helpers of these tests: a term is a Kubernetes term and back."""
    operations = [node("n1"), node("n2"), pod("a", app="x", apart=[term("node", app="x")]), pod("b", app="x")]
    assert nodes_of(previewed(operations)) == ["n1", "n2"]


def test_a_pod_that_a_later_one_evicts_is_shown_where_it_is_in_the_end():
    low, high = bound_less("low", "3"), bound_less("high", "3")
    high["spec"]["priority"] = 10
    nodes = [paper_node("n1", 4000)]
    wanted = [WantedPod(low), WantedPod(high)]
    placer = KestrelPlacer(ClusterState(nodes, []), wanted)
    placed = [placer.place(one, details=False) for one in wanted]
    assert [placement.node for placement in placed] == ["n1", "n1"]
    first, second = placer.in_the_end(placed)
    assert (first.node, first.score, first.note) == ("", None, "evicted from n1 for default/high, and pending")
    assert first.message == "Preempted by default/high on node n1"
    assert second == placed[1]


def test_an_evicted_pod_that_finds_a_place_is_shown_there():
    low, high = bound_less("low", "3"), bound_less("high", "4")
    high["spec"] |= {"priority": 10, "nodeSelector": {"kubernetes.io/hostname": "n1"}}
    nodes = [paper_node("n1", 4000), paper_node("n2", 3000)]
    wanted = [WantedPod(low), WantedPod(high)]
    placer = KestrelPlacer(ClusterState(nodes, []), wanted)
    first, _ = placer.in_the_end([placer.place(one, details=False) for one in wanted])
    assert (first.node, first.note) == ("n2", "evicted from n1 for default/high")
    assert first.message == "Successfully assigned default/low to n2"


def test_the_class_gives_the_priority_of_a_pod_in_a_file():
    resident = {**bound_less("old", "3"), "status": {"phase": "Running"}}
    resident["spec"] |= {"nodeName": "n1", "priorityClassName": "low"}
    wanted = bound_less("new", "3")
    wanted["spec"]["priority"] = 5
    state = ClusterState([paper_node("n1", 4000)], [resident])
    with pytest.raises(PreviewError, match="what priority is 'low'"):
        KestrelPlacer(state, [WantedPod(wanted)])
    placer = KestrelPlacer(replace(state, priority_classes=[{"metadata": {"name": "low"}, "value": 4}]), [])
    assert placer.place(WantedPod(wanted), details=False).victims == (Victim("default/old", 4),)


def test_nodes_that_are_not_ready_and_pods_that_wait_are_told_of():
    gone = paper_node("n1", 4000)
    gone["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    warnings = KestrelPlacer(ClusterState([gone], [bound_less("w", "1")]), []).warnings
    assert "node n1 is not Ready: Kestrel looks at taints only, and places pods there all the same" in warnings
    assert "default/w: without a node, and left out, but may take a place first" in warnings
    gone["spec"] = {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]}
    assert KestrelPlacer(ClusterState([gone], []), []).warnings == ()


def bound_less(name, cpu):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"containers": [container]}}


def paper_node(name, cpu):
    return node_object(name, {"cpu": cpu, "mem": 4096, "zone": "z"})
