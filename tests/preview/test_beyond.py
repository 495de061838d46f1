"""What Kestrel cannot say is refused by name: of pods that are wanted all of it, of pods that are there what counts."""

import pytest
from preview_objects import wanted, workload

from kube32_sim.preview.kestrel import KestrelPlacer
from kube32_sim.preview.placements import ClusterState, WantedPod
from kube32_sim.translation.kubernetes import problems_of_new, translation
from tests.preview.translated import (
    REQUIRED,
    affinity,
    container,
    node_object,
    on_node,
    pod,
    refusal,
    term,
)

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ROOM = {"cpu": 4000, "mem": 8192, "zone": "a"}

VOLUME = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
EXPRESSIONS = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
ON_NODE = [{"key": "metadata.name", "operator": "In", "values": ["n"]}]
NODE_TERM = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]}
ANTI, NEAR = "spec.affinity.podAntiAffinity", "spec.affinity.podAffinity"


def anti(**more):
    return {"affinity": affinity(term({}), {**term({}), **more})}


REFUSED = [
    (anti(labelSelector=EXPRESSIONS), f"{ANTI}.{REQUIRED}[1].labelSelector.matchExpressions", "has matchLabels only"),
    (anti(matchLabelKeys=["k"]), f"{ANTI}.{REQUIRED}[1].matchLabelKeys", "has matchLabels only"),
    (anti(mismatchLabelKeys=["k"]), f"{ANTI}.{REQUIRED}[1].mismatchLabelKeys", "has matchLabels only"),
    (
        anti(namespaceSelector={"matchLabels": {"team": "a"}}),
        f"{ANTI}.{REQUIRED}[1].namespaceSelector",
        "does not know the labels of namespaces",
    ),
    (
        anti(namespaces=["a", "b"]),
        f"{ANTI}.{REQUIRED}[1].namespaces",
        "has terms about one namespace, or about all of them",
    ),
    (
        anti(topologyKey="topology.kubernetes.io/region"),
        f"{ANTI}.{REQUIRED}[1].topologyKey",
        "knows no topology but kubernetes.io/hostname and topology.kubernetes.io/zone",
    ),
    (
        {"affinity": affinity({**term({}), "labelSelector": EXPRESSIONS}, kind="podAffinity")},
        f"{NEAR}.{REQUIRED}[0].labelSelector.matchExpressions",
        "has matchLabels only",
    ),
    ({"affinity": {"podAntiAffinity": {PREFERRED: [{}]}}}, f"{ANTI}.{PREFERRED}", "has required terms only"),
    ({"affinity": {"podAffinity": {PREFERRED: [{}]}}}, f"{NEAR}.{PREFERRED}", "has required terms only"),
    ({"affinity": {"nodeAffinity": {REQUIRED: NODE_TERM}}}, "spec.affinity.nodeAffinity", "has node selectors only"),
    ({"affinity": {"nodeAffinity": {PREFERRED: [{}]}}}, "spec.affinity.nodeAffinity", "has node selectors only"),
    ({"topologySpreadConstraints": [{}]}, "spec.topologySpreadConstraints", "does not spread pods"),
    ({"schedulingGates": [{"name": "g"}]}, "spec.schedulingGates", "has no gates and would place the pod at once"),
    ({"schedulingGroup": {"podGroupName": "g"}}, "spec.schedulingGroup", "places pods one by one"),
    ({"resourceClaims": [{"name": "gpu"}]}, "spec.resourceClaims", "knows no devices"),
    ({"resources": {"requests": {"cpu": "1"}}}, "spec.resources", "counts what containers ask for"),
    ({"nodeName": "n"}, "spec.nodeName", "chooses the node itself"),
    ({"schedulerName": "mine"}, "spec.schedulerName", "is not the scheduler 'mine'"),
    (
        {"runtimeClassName": "gvisor"},
        "spec.runtimeClassName",
        "knows no RuntimeClasses, which add overhead, a node selector and tolerations",
    ),
    (
        {"tolerations": [{}, {"key": "k", "operator": "Gt", "value": "3"}]},
        "spec.tolerations[1].operator",
        "knows the operators Equal and Exists only",
    ),
    (
        {"volumes": [{"name": "e", "emptyDir": {}}, VOLUME]},
        "spec.volumes[1].persistentVolumeClaim",
        "does not look at volumes, and this one may tie pods to nodes",
    ),
    (
        {"volumes": [{"name": "e", "ephemeral": {"volumeClaimTemplate": {}}}]},
        "spec.volumes[0].ephemeral",
        "does not look at volumes, and this one may tie pods to nodes",
    ),
    (
        {"containers": [container(), container({"nvidia.com/gpu": "1"})]},
        "spec.containers[1].resources.requests[nvidia.com/gpu]",
        "counts cpu and memory only",
    ),
    (
        {"initContainers": [container(limits={"ephemeral-storage": "1Gi"})]},
        "spec.initContainers[0].resources.limits[ephemeral-storage]",
        "counts cpu and memory only",
    ),
    ({"overhead": {"hugepages-2Mi": "2Mi"}}, "spec.overhead[hugepages-2Mi]", "counts cpu and memory only"),
    (
        {"containers": [container(ports=[{"containerPort": 80}, {"containerPort": 81, "hostPort": 81}])]},
        "spec.containers[0].ports[1].hostPort",
        "does not count ports of nodes",
    ),
    (
        {"hostNetwork": True, "containers": [container(ports=[{"containerPort": 80}])]},
        "spec.containers[0].ports[0].containerPort",
        "does not count ports of nodes (spec.hostNetwork)",
    ),
]


STATE = ClusterState([node_object("n", ROOM)], [])


def test_volumes_of_a_stateful_set_are_named_where_they_were_written():
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volumes = [{"name": "config", "configMap": {"name": "c"}}, {"name": "b", "emptyDir": {}}, VOLUME]
    of = workload(
        "StatefulSet",
        serviceName="db",
        volumeClaimTemplates=[{"metadata": {"name": name}, "spec": claim} for name in ("a", "b")],
        pod={"containers": [container()], "volumes": volumes, "schedulerName": "mine"},
    )
    pods, _ = wanted(of)
    why = "does not look at volumes, and this one may tie pods to nodes; remove it"
    assert [line.rpartition("): ")[2] for line in refusal(STATE, *pods)] == [
        "spec.template.spec.schedulerName: Kestrel is not the scheduler 'mine'; remove it",
        f"spec.volumeClaimTemplates[0]: Kestrel {why}",
        f"spec.volumeClaimTemplates[1]: Kestrel {why}",
        f"spec.template.spec.volumes[2].persistentVolumeClaim: Kestrel {why}",
    ]


@pytest.mark.parametrize(("spec", "field", "what"), REFUSED, ids=[field for _, field, _ in REFUSED])
def test_what_kestrel_cannot_say_is_refused_by_name(spec, field, what):
    obj = pod(container({"cpu": "1"}))
    obj["spec"] |= spec
    source = "app.yaml, document 1 (Deployment web)"
    lines = refusal(STATE, WantedPod(obj, "Deployment/web", source))
    assert f"{source}: spec.template.{field}: Kestrel {what}; remove it" in lines
    assert len(lines) == 1 + (spec.get("tolerations") is not None)


@pytest.mark.parametrize(
    ("terms", "more"),
    [
        ([{"matchFields": ON_NODE}], {PREFERRED: [{}]}),
        ([{"matchFields": ON_NODE}, {"matchFields": ON_NODE}], {}),
        ([{"matchFields": ON_NODE, "matchExpressions": [{"key": "disk", "operator": "Exists"}]}], {}),
        ([{"matchFields": ON_NODE * 2}], {}),
        ([{"matchFields": [{**ON_NODE[0], "operator": "NotIn"}]}], {}),
        ([{"matchFields": [{**ON_NODE[0], "values": ["n", "m"]}]}], {}),
        ([{"matchFields": [{**ON_NODE[0], "key": "metadata.uid"}]}], {}),
    ],
)
def test_node_affinity_that_says_more_than_one_name(terms, more):
    wanted = WantedPod(pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}, **more}}))
    [line] = refusal(STATE, wanted)
    assert line.startswith("pod default/p: spec.affinity.nodeAffinity: Kestrel has node selectors only")


WRONG = [
    ({"tolerations": [{"value": "v"}]}, "spec.tolerations[0].key: may be empty with the operator Exists only"),
    ({"priorityClassName": "high"}, "spec.priorityClassName: what priority is 'high'?"),
    (
        {"containers": [container({"cpu": "lots"})]},
        "spec.containers[0].resources.requests[cpu]: quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
]


@pytest.mark.parametrize(("spec", "line"), WRONG)
def test_what_is_wrong_is_said_without_advice(spec, line):
    obj = pod()
    obj["spec"] |= spec
    assert refusal(STATE, WantedPod(obj)) == [f"pod default/p: {line}"]


@pytest.mark.parametrize(
    "spec",
    [
        {"schedulerName": "default-scheduler", "runtimeClassName": "", "nodeName": ""},
        {"topologySpreadConstraints": [], "schedulingGates": [], "resources": {}, "affinity": {"nodeAffinity": {}}},
        {"affinity": {"podAffinity": {}, "podAntiAffinity": {PREFERRED: []}}, "volumes": [{"configMap": {}}]},
        {"containers": [container({"nvidia.com/gpu": "0"}, ports=[{"containerPort": 80}])], "hostUsers": False},
        {"priorityClassName": "high", "priority": 0, "overhead": {}, "securityContext": {}, "restartPolicy": "Never"},
    ],
)
def test_what_says_nothing_is_not_refused(spec):
    obj = pod()
    obj["spec"] |= spec
    assert problems_of_new(obj, translation(obj)) == ()


def test_all_problems_come_together_and_each_once():
    bad = pod(schedulerName="a", nodeName="n")
    worse = pod(topologySpreadConstraints=[{}])
    wanted = [WantedPod(bad, source="a.yaml"), WantedPod(bad, source="a.yaml"), WantedPod(worse, source="b.yaml")]
    fields = [line.split(":")[:2] for line in refusal(STATE, *wanted)]
    assert fields == [
        ["a.yaml", " spec.nodeName"],
        ["a.yaml", " spec.schedulerName"],
        ["b.yaml", " spec.topologySpreadConstraints"],
    ]


# pods that are there


def bound(**spec):
    found = pod(container({"cpu": "1"}))
    found["spec"] |= spec
    return on_node(found, "n")


@pytest.mark.parametrize(("spec", "field", "what"), REFUSED, ids=[field for _, field, _ in REFUSED])
def test_pods_that_stay_may_say_what_they_like(spec, field, what):
    """But for what they take, and for keeping away a pod that is wanted."""
    there = bound(**{key: value for key, value in spec.items() if key not in ("nodeName", "schedulingGates")})
    state = ClusterState([node_object("n", ROOM)], [there])
    newcomer = WantedPod(pod(namespace="elsewhere"))
    lasting = field == "spec.resources"
    repelling = field.startswith(f"{ANTI}.{REQUIRED}") and "namespaceSelector" in field
    if lasting or repelling:
        line = f"pod default/p on node n: {field}: Kestrel {what}"
        assert line in refusal(state, newcomer)
    else:
        assert KestrelPlacer(state, [newcomer]).place(newcomer, details=False).node == "n"


@pytest.mark.parametrize(
    ("more", "concerned"),
    [
        ({"labelSelector": EXPRESSIONS}, True),
        ({"labelSelector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}}, False),
        ({"labelSelector": EXPRESSIONS, "namespaces": ["other"]}, False),
        ({"matchLabelKeys": ["app"]}, True),
        ({"topologyKey": "rack"}, True),
        ({"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "other"}}}, False),
        ({"topologyKey": "rack", "labelSelector": None}, False),
        ({"namespaces": ["default", "other"]}, True),
        ({"namespaces": ["another", "other"]}, False),
        ({"namespaceSelector": {"matchLabels": {"team": "a"}}}, True),
    ],
)
def test_terms_that_cannot_be_said_matter_where_they_are_about_a_wanted_pod(more, concerned):
    state = ClusterState([node_object("n", ROOM)], [bound(affinity=affinity({**term({}), **more}))])
    newcomer = WantedPod(pod(labels={"app": "x"}))
    if concerned:
        assert all(
            line.startswith(f"pod default/p on node n: {ANTI}.{REQUIRED}[0].") for line in refusal(state, newcomer)
        )
    else:
        assert KestrelPlacer(state, [newcomer]).place(newcomer, details=False).node == "n"


def test_device_claims_that_count_as_cpu_are_refused():
    there = bound()
    there["status"]["nodeAllocatableResourceClaimStatuses"] = [{}]
    [line] = refusal(ClusterState([node_object("n", ROOM)], [there]))
    assert line.startswith("pod default/p on node n: status.nodeAllocatableResourceClaimStatuses: Kestrel counts")


def test_a_sick_status_is_named():
    there = bound()
    there["status"]["containerStatuses"] = [{"name": "c", "allocatedResources": {"cpu": "?"}}]
    [line] = refusal(ClusterState([node_object("n", ROOM)], [there]))
    assert line.startswith("pod default/p on node n: status: quantities must match")
