"""Nodes and pods of Kubernetes in Kestrel's terms, and what Kestrel refuses."""

import pytest

from kube32_sim.kestrel.models import NODE, ZONE, Taint, Term, Toleration
from kube32_sim.preview.kestrel import KestrelPlacer
from kube32_sim.preview.placements import ClusterState, PreviewError, WantedPod
from kube32_sim.translation.kubernetes import kestrel_node, translation
from kube32_sim.translation.terms import NAMESPACE
from tests.preview.translated import (
    REQUIRED,
    TOPOLOGY_KEYS,
    affinity,
    container,
    node_object,
    on_node,
    placements,
    pod,
    pod_object,
    refusal,
    term,
)

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ROOM = {"cpu": 4000, "mem": 8192, "zone": "a"}
SMALL = {"requests": {"cpu": 100, "mem": 100}}
GIB = 2**30


# nodes


def node(allocatable=None, capacity=None, labels=None, **spec):
    status = {"allocatable": allocatable, "capacity": capacity}
    return {"metadata": {"name": "n", "labels": labels}, "spec": spec, "status": status}


def record(obj):
    found, problems = kestrel_node(obj)
    assert problems == []
    return found


def test_a_node():
    taints = [
        {"key": "a", "effect": "NoSchedule"},
        {"key": "b", "value": "v", "effect": "PreferNoSchedule"},
        {"key": "c", "value": "v", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
    ]
    labels = {"topology.kubernetes.io/zone": "z", "disk": "ssd"}
    found = record(
        node({"cpu": "3920m", "memory": "7Gi", "pods": "110"}, {"cpu": "4", "memory": "8Gi"}, labels, taints=taints)
    )
    assert (found.name, found.zone, found.labels) == ("n", "z", labels)
    assert found.taints == (Taint("a", "", "NoSchedule"), Taint("c", "v", "NoExecute"))
    assert found.free == found.capacity == (3920, 7 * GIB)


@pytest.mark.parametrize(
    ("allocatable", "capacity", "expected"),
    [
        ({"cpu": "1", "memory": "1Ki"}, {"cpu": "2", "memory": "2Ki"}, (1000, 1024)),
        ({}, {"cpu": "2", "memory": "2Ki"}, (2000, 2048)),
        ({"cpu": "1"}, {"memory": "2Ki"}, (1000, 2048)),
        ({"cpu": "0.1m", "memory": "0.5"}, None, (1, 1)),
        ({"cpu": 2, "memory": 1000}, None, (2000, 1000)),
        (None, None, (0, 0)),
    ],
)
def test_allocatable_counts_or_else_capacity_or_else_nothing(allocatable, capacity, expected):
    assert record(node(allocatable, capacity)).free == expected


def test_a_node_that_takes_no_new_pods_has_the_taint_that_says_so():
    taint = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
    assert record(node(unschedulable=True)).taints == (taint,)
    assert record(node(unschedulable=False)).taints == ()
    given = [{"key": taint.key, "effect": taint.effect}]
    assert record(node(unschedulable=True, taints=given)).taints == (taint,)
    tolerating = pod(tolerations=[{"key": taint.key, "operator": "Exists"}])
    assert [found.node for found in placements(ClusterState([node(unschedulable=True)], []), pod(), tolerating)] == [
        "",
        "n",
    ]


def test_nodes_without_a_zone_share_none():
    zones = {record({"metadata": {"name": name}}).zone for name in ("a", "b")}
    assert len(zones) == 2
    assert all("/" in zone for zone in zones)


def test_what_is_wrong_with_a_node_is_said_with_its_name_and_field():
    bad = node({"cpu": "four", "memory": "1Gi"}, taints=[{"key": "k", "effect": "Never"}])
    with pytest.raises(PreviewError) as refused:
        KestrelPlacer(ClusterState([bad], []), [])
    first, second = str(refused.value).splitlines()
    assert first.startswith("node n: status.allocatable[cpu]: quantities must match")
    assert second == "node n: spec.taints[0].effect: 'Never' is no effect"


# what pods take


def taken(*containers, **spec):
    return translation(pod(*containers, **spec)).spec.request.amounts


def test_requests_add_up():
    assert taken(container({"cpu": "250m", "memory": "1Gi"}), container({"cpu": "1"})) == (1250, GIB)


def test_limits_count_where_there_is_no_request():
    one = container({"cpu": "1"}, {"cpu": "2", "memory": "1Ki"})
    assert taken(one) == (1000, 1024)


def test_requests_are_rounded_up_once():
    """Kubernetes adds quantities and looks at whole thousandths of the sum."""
    assert taken(container({"cpu": "0.5m", "memory": "0.5"}), container({"cpu": "0.5m", "memory": "0.7"})) == (1, 2)
    assert taken(container({"cpu": "0.1m"})) == (1, 0)


def test_init_containers_run_before_the_others_and_sidecars_beside_them():
    app = [container({"cpu": "300m"}), container({"cpu": "300m"})]
    sidecar = container({"cpu": "200m"}, restartPolicy="Always")
    first, large = container({"cpu": "700m"}), container({"cpu": "650m"})
    assert taken(*app, initContainers=[first]) == (700, 0)
    assert taken(*app, initContainers=[container({"cpu": "1m"})]) == (600, 0)
    assert taken(*app, initContainers=[sidecar]) == (800, 0)
    # The sidecar runs beside what comes after it, not beside what came before.
    assert taken(*app, initContainers=[first, sidecar]) == (800, 0)
    assert taken(*app, initContainers=[sidecar, large]) == (850, 0)
    assert taken(*app, initContainers=[first, sidecar, container({"memory": "5"}), sidecar]) == (1000, 5)


def test_overhead_comes_on_top():
    assert taken(container({"cpu": "1"}), overhead={"cpu": "100m", "memory": "1Ki"}) == (1100, 1024)


@pytest.mark.parametrize(
    ("resources", "allocated", "condition", "expected"),
    [
        ({"cpu": "1"}, {"cpu": "1"}, None, 1000),
        ({"cpu": "3"}, {"cpu": "1"}, None, 3000),  # still running with more than is wanted
        ({"cpu": "500m"}, {"cpu": "2"}, None, 2000),
        ({"cpu": "500m"}, None, None, 1000),
        ({"cpu": "500m"}, {"cpu": "500m"}, "Deferred", 1000),
        ({"cpu": "500m"}, {"cpu": "500m"}, "Infeasible", 500),  # what is wanted will not be granted
        (None, {"cpu": "2"}, "Infeasible", 2000),
    ],
)
def test_a_resize_counts_with_the_most(resources, allocated, condition, expected):
    resized = pod(container({"cpu": "1"}))
    status = {"name": "c"}
    if resources is not None:
        status["resources"] = {"requests": resources}
    if allocated is not None:
        status["allocatedResources"] = allocated
    conditions = [{"type": "PodResizePending", "reason": condition}] if condition else []
    resized["status"] = {"containerStatuses": [status], "conditions": conditions}
    assert translation(resized).spec.request.amounts == (expected, 0)


# what else pods ask for


def test_a_pod():
    found = translation(
        pod(
            nodeSelector={"b": "2", "a": "1"},
            tolerations=[
                {"key": "k", "value": "v", "effect": "NoSchedule"},
                {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"operator": "Exists"},
                {"key": "soft", "operator": "Exists", "effect": "PreferNoSchedule"},
            ],
            priority=7,
            preemptionPolicy="Never",
            labels={"app": "web"},
        )
    )
    assert found.spec.request.selector == (("a", "1"), ("b", "2"))
    assert found.spec.request.tolerations == (
        Toleration("k", "Equal", "v", "NoSchedule"),
        Toleration("k", "Exists", "", "NoExecute"),
        Toleration("", "Exists", "", ""),
    )
    assert (found.spec.priority, found.spec.preempts) == (7, False)
    assert ("app", "web") in found.spec.labels
    assert (found.lasting, found.placing, found.repelling, found.notes) == ((), (), (), ())


def test_defaults():
    found = translation({"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [{}]}}).spec
    assert (found.priority, found.preempts, found.request.node_name) == (0, True, "")


def test_a_pod_for_one_node():
    """As a DaemonSet's are."""
    only = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]
    bound_to = pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": only}}})
    assert translation(bound_to).placing == ()
    state = ClusterState([node_object(name, ROOM) for name in ("n1", "n2")], [])
    assert [found.node for found in placements(state, bound_to, bound_to)] == ["n2", "n2"]


# affinity


def test_terms():
    spec = translation(
        pod(
            affinity={
                **affinity(term({"b": "2", "a": "1"}, "zone"), kind="podAffinity"),
                **affinity(term({}, "node")),
            }
        )
    ).spec
    here = (NAMESPACE, "default")
    assert spec.affinity_terms == (Term((here, ("a", "1"), ("b", "2")), ZONE),)
    assert spec.anti_terms == (Term((here,), NODE),)


@pytest.mark.parametrize(
    ("namespace", "more", "apart"),
    [
        ("default", {}, True),
        ("other", {}, False),
        ("other", {"namespaces": ["other"]}, True),
        ("other", {"namespaces": ["other", "other"]}, True),
        ("default", {"namespaces": ["other"]}, False),
        ("other", {"namespaceSelector": {}}, True),
        ("other", {"namespaceSelector": {}, "namespaces": ["default", "another"]}, True),
        ("other", {"namespaceSelector": None, "namespaces": []}, False),
    ],
)
def test_terms_are_about_a_namespace(namespace, more, apart):
    """Both ways: who has the term stays away from the other, and keeps it away."""
    state = ClusterState([node_object("n", ROOM)], [])
    owner = pod(labels={"app": "x"}, affinity=affinity(term({"app": "x"}, **more)))
    other = pod(labels={"app": "x"}, namespace=namespace)
    other["metadata"]["name"] = "other"
    expected = ["n", "" if apart else "n"]
    assert [found.node for found in placements(state, other, owner)] == expected
    assert [found.node for found in placements(state, owner, other)] == expected


def test_the_first_pod_of_a_group_starts_in_its_own_namespace_only():
    state = ClusterState([node_object("n", ROOM)], [])
    near = affinity(term({"app": "x"}), kind="podAffinity")
    assert placements(state, pod(labels={"app": "x"}, affinity=near))[0].node == "n"
    far = affinity(term({"app": "x"}, namespaces=["other"]), kind="podAffinity")
    assert placements(state, pod(labels={"app": "x"}, affinity=far))[0].node == ""


def test_a_term_without_a_selector_is_about_no_pod():
    nothing = {"topologyKey": TOPOLOGY_KEYS["node"]}
    state = ClusterState([node_object("n", ROOM)], [on_node(pod_object("there", SMALL), "n")])
    assert placements(state, pod(affinity=affinity(nothing)))[0].node == "n"
    assert placements(state, pod(affinity=affinity(nothing, kind="podAffinity")))[0].node == ""


def test_terms_that_kube_scheduler_reads_together_are_told():
    both = affinity(term({"a": "1"}), term({"b": "2"}), kind="podAffinity")
    state = ClusterState([node_object("n", ROOM)], [])
    placer = KestrelPlacer(state, [WantedPod(pod(affinity=both), source="app.yaml")])
    assert list(placer.warnings) == [
        "app.yaml: spec.affinity.podAffinity: Kestrel lets each term be met by other pods, "
        "where kube-scheduler counts only pods that all of them match"
    ]
    alike = affinity(term({"a": "1"}), term({"a": "1"}, "zone"), kind="podAffinity")
    assert KestrelPlacer(state, [WantedPod(pod(affinity=alike))]).warnings == ()


# domains


def bare(name, **labels):
    """A node with no labels but these, `zone` and `hostname` by their short names."""
    keys = {"zone": TOPOLOGY_KEYS["zone"], "hostname": TOPOLOGY_KEYS["node"]}
    found = node_object(name, ROOM)
    found["metadata"]["labels"] = {keys[key]: value for key, value in labels.items()}
    return found


ZONAL = pod(labels={"app": "x"}, affinity=affinity(term({"app": "x"}, "zone")))
LONELY = pod(labels={"app": "x"}, affinity=affinity(term({"app": "x"})))


def test_terms_about_zones_want_every_node_in_one():
    state = ClusterState([bare("n1", hostname="n1", zone="a"), bare("n2", hostname="n2")], [])
    assert refusal(state, WantedPod(ZONAL, source="app.yaml")) == [
        "no label topology.kubernetes.io/zone on node n2: app.yaml has affinity terms about zones"
    ]
    placer = KestrelPlacer(state, [WantedPod(LONELY)])
    assert placer.warnings == ()


def test_terms_about_nodes_want_names_that_tell_them_apart():
    twins = ClusterState([bare("n1", hostname="x"), bare("n2", hostname="x"), bare("n3", hostname="y")], [])
    assert refusal(twins, WantedPod(LONELY)) == [
        "one kubernetes.io/hostname=x on nodes n1, n2: pod default/p has affinity terms about nodes"
    ]
    assert KestrelPlacer(twins, [WantedPod(pod())]).warnings == ()
    unnamed = ClusterState([bare("n1"), bare("n2", hostname="other"), bare("n3")], [])
    assert list(KestrelPlacer(unnamed, [WantedPod(LONELY)]).warnings) == [
        "no label kubernetes.io/hostname on node n1, n3: its name stands for it in affinity terms"
    ]


def test_a_pod_in_no_zone_keeps_nobody_out_of_it():
    """kube-scheduler finds no domain for the term, also where the pod itself is."""
    state = ClusterState([bare("n", hostname="n")], [on_node(ZONAL, "n")])
    newcomer = pod_object("q", {**SMALL, "labels": {"app": "x"}})
    assert placements(state, newcomer)[0].node == "n"
    zoned = ClusterState([bare("n", hostname="n", zone="a")], [on_node(ZONAL, "n")])
    assert placements(zoned, newcomer)[0].node == ""


def test_a_pod_in_no_zone_that_is_evicted_has_terms_that_did_not_count():
    everything = WantedPod(pod(container({"cpu": "4"}), priority=1))
    evicted = on_node(pod(container({"cpu": "1"}), affinity=ZONAL["spec"]["affinity"]), "n")
    text = "pod default/p is evicted, and its new place is found without spec.affinity: has terms about zones"
    for zone, told in (({}, True), ({"zone": "a"}, False)):
        placer = KestrelPlacer(ClusterState([bare("n", hostname="n", **zone)], [evicted]), [everything])
        assert len(placer.place(everything, details=False).victims) == 1
        assert any(warning.startswith(text) for warning in placer.warnings) == told


# warnings


def test_soft_taints_are_told_with_their_nodes():
    nodes = [
        node_object(f"n{number}", {**ROOM, "taints": [{"key": "k", "effect": "PreferNoSchedule"}]})
        for number in range(7)
    ]
    nodes[0]["spec"]["taints"] = [{"key": "k", "value": "v", "effect": "PreferNoSchedule"}]
    assert list(KestrelPlacer(ClusterState(nodes, []), []).warnings) == [
        "taint k=v:PreferNoSchedule of node n0 does not count: Kestrel has no preferences",
        "taint k:PreferNoSchedule of node n1, n2, n3, n4, n5 and 1 more does not count: Kestrel has no preferences",
    ]


def test_a_node_with_nothing_takes_only_pods_that_ask_for_nothing():
    state = ClusterState([node({"memory": "1Gi"})], [])
    nothing = pod(container({"memory": "256Mi"}))
    [found] = placements(state, nothing, details=True)
    # Of nothing, 0 percent are free.
    assert (found.node, found.score, found.verdicts[0].percentages) == ("n", 37, (("cpu", 0), ("memory", 75)))
    [refused] = placements(state, pod(container({"cpu": "1m"})))
    assert refused.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert list(KestrelPlacer(state, []).warnings) == [
        "no allocatable cpu on node n: only pods that ask for none can be placed there"
    ]


def test_pods_on_nodes_that_are_not_there_are_told():
    state = ClusterState([node_object("n", ROOM)], [on_node(pod_object("lost", SMALL), "gone")])
    assert list(KestrelPlacer(state, []).warnings) == [
        "pod default/lost on node gone: there is no such node, and the pod does not count"
    ]
