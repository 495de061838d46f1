"""The pods that manifests come to: how many, under which names, on what state; and what keeps them from being."""

import json

import pytest
from preview_objects import (
    CONTAINER,
    HOSTNAME,
    limit_range,
    manifest,
    names,
    node,
    pod,
    priority_class,
    problems,
    state,
    template,
    there,
    wanted,
    warnings,
    workload,
)

from kube32_sim.client import DAEMONSETS, DEPLOYMENTS, JOBS, NODES, PODS, Resource
from kube32_sim.preview.manifests import Manifest
from kube32_sim.preview.workloads import wanted_pods

LIMIT_RANGES = Resource("", "v1", "limitranges")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses")


# what makes pods


@pytest.mark.parametrize(
    ("made_by", "expected"),
    [
        (pod("a"), ["a"]),
        (pod("a-"), ["a-0"]),
        (workload("Deployment"), ["web-0"]),
        (workload("Deployment", replicas=3), ["web-0", "web-1", "web-2"]),
        (workload("ReplicaSet", replicas=2), ["web-0", "web-1"]),
        (workload("StatefulSet", replicas=2), ["web-0", "web-1"]),
        (workload("StatefulSet", replicas=2, ordinals={"start": 5}), ["web-5", "web-6"]),
        (workload("Job"), ["web-0"]),
        (workload("Job", parallelism=3), ["web-0"]),
        (workload("Job", parallelism=3, completions=2), ["web-0", "web-1"]),
        (workload("Job", parallelism=2, completions=9), ["web-0", "web-1"]),
        (manifest("v1", "ReplicationController", spec={"replicas": 2, "template": template()}), ["web-0", "web-1"]),
    ],
)
def test_how_many_pods_there_are(made_by, expected):
    found, _ = wanted(made_by)
    assert [each.name for each in found] == expected
    owner = "" if made_by.kind == "Pod" else f"{made_by.kind}/web"
    assert {(each.owner, each.namespace, each.source) for each in found} == {(owner, "default", made_by.title)}


def test_pods_by_themselves_come_first_then_all_in_the_order_of_the_manifests():
    """They are bound within the request that creates them; controllers look a moment later."""
    manifests = [workload("Deployment", "b", replicas=2), pod("z"), workload("Job", "c"), pod("a")]
    assert names(*manifests) == ["z", "a", "b-0", "b-1", "c-0"]


def test_a_daemon_set_has_a_pod_for_each_node_its_selector_matches():
    nodes = [node("c", disk="ssd"), node("a", disk="ssd", **{HOSTNAME: "host-a"}), node("b")]
    found, _ = wanted(workload("DaemonSet", pod={"nodeSelector": {"disk": "ssd"}}), nodes=nodes)
    assert [each.name for each in found] == ["web-0", "web-1"]
    assert [each.obj["spec"]["nodeSelector"][HOSTNAME] for each in found] == ["host-a", "c"]


def test_a_daemon_set_of_kubernetes_is_tied_to_nodes_by_name_and_heeds_taints():
    tainted, cordoned = node("control-plane"), node("cordoned")
    tainted["spec"] = {"taints": [{"key": "role", "effect": "NoSchedule"}]}
    cordoned["spec"] = {"unschedulable": True}
    sick = {**node("sick"), "spec": {"taints": [{"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}]}}
    nodes = [node("plain"), tainted, cordoned, sick]
    found = wanted_pods([workload("DaemonSet")], state(nodes=nodes), of_kubernetes=True)[0]
    terms = [
        each.obj["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] for each in found
    ]
    fields = [term["nodeSelectorTerms"][0]["matchFields"] for term in terms]
    assert [field[0]["values"] for field in fields] == [["cordoned"], ["plain"], ["sick"]]
    everywhere = workload("DaemonSet", pod={"tolerations": [{"operator": "Exists"}]})
    assert len(wanted_pods([everywhere], state(nodes=nodes), of_kubernetes=True)[0]) == 4
    assert len(wanted_pods([everywhere], state(nodes=nodes))[0]) == 4


def test_a_job_of_kubernetes_without_completions_is_a_work_queue():
    queue = workload("Job", parallelism=3)
    assert len(wanted_pods([queue], state(), of_kubernetes=True)[0]) == 3
    assert len(wanted_pods([workload("Job", parallelism=3, completions=2)], state(), of_kubernetes=True)[0]) == 2
    assert len(wanted_pods([queue], state())[0]) == 1


def test_indexed_jobs_number_their_pods():
    found, _ = wanted(workload("Job", completionMode="Indexed", completions=3, parallelism=2))
    assert [each.obj["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] for each in found] == ["0", "1"]


def test_pods_of_a_stateful_set_have_an_identity():
    claims = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]
    claims[0]["spec"]["resources"] = {"requests": {"storage": "1Gi"}}
    mounting = {**CONTAINER, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    of = workload("StatefulSet", serviceName="db", volumeClaimTemplates=claims, pod={"containers": [mounting]})
    ((found,), _) = wanted(of)
    assert found.obj["spec"]["hostname"] == "web-0"
    assert found.obj["spec"]["subdomain"] == "db"
    assert found.obj["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}]
    labels = found.obj["metadata"]["labels"]
    assert labels["statefulset.kubernetes.io/pod-name"] == "web-0"
    assert labels["controller-revision-hash"].startswith("web-")


@pytest.mark.parametrize(
    ("nothing", "why"),
    [
        (workload("Deployment", replicas=0), "spec.replicas is 0"),
        (workload("Deployment", paused=True), "spec.paused is true"),
        (workload("StatefulSet", replicas=0), "spec.replicas is 0"),
        (workload("Job", suspend=True), "spec.suspend is true"),
        (workload("Job", parallelism=0), "spec.parallelism or spec.completions is 0"),
        (workload("DaemonSet"), "the labels of no node match its nodeSelector"),
    ],
)
def test_an_object_without_pods_is_told_of(nothing, why):
    told = f"makes no pods: {why}"
    assert warnings(nothing, pod("a")) == [f"{nothing.title}: {told}"]
    assert problems(nothing) == [f"({nothing.kind} web): {told}"]


def test_other_kinds_are_passed_over():
    others = [
        manifest("v1", "Service"),
        manifest("v1", "ConfigMap", data=3),
        manifest("v1", "PodTemplate", template=template()),
        manifest("example.com/v1", "Deployment"),
        manifest("example.com/v1", "deployment"),
        manifest("policy/v1beta1", "PodSecurityPolicy"),
    ]
    assert names(*others, pod("a")) == ["a"]
    assert problems(*others) == [
        "no pods to place: pods are made by Pod, Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, "
        "ReplicationController"
    ]


@pytest.mark.parametrize(
    ("api_version", "kind", "meant"),
    [
        ("apps/v1", "deployment", "; there is Deployment in apps/v1"),
        ("apps/v1", "Deploymnet", "; there is Deployment in apps/v1"),
        ("v1", "Deployment", "; there is Deployment in apps/v1"),
        ("apps/v1beta1", "StatefulSet", "; there is StatefulSet in apps/v1"),
        ("extensions/v1beta1", "DaemonSet", "; there is DaemonSet in apps/v1"),
        ("scheduling.k8s.io/v1", "PriorityClas", "; there is PriorityClass in scheduling.k8s.io/v1"),
        ("batch/v1", "Workflow", ""),
    ],
)
def test_a_kind_that_is_not_there_is_named(api_version, kind, meant):
    said = f'no matches for kind "{kind}" in version "{api_version}"{meant}'
    assert problems(manifest(api_version, kind), pod("a")) == [f"({kind} web): {said}"]


def test_a_cron_job_is_passed_over_with_a_word():
    cron_job = manifest("batch/v1", "CronJob", spec={})
    (said,) = warnings(cron_job, pod("a"))
    assert said.startswith(f"{cron_job.title}: makes Jobs in its own time")
    assert "spec.jobTemplate" in said
    assert problems(cron_job) == [said.removeprefix(cron_job.source + " ")]


def test_nodes_of_the_manifests_are_nodes():
    made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "new"}, "status": {"allocatable": {"cpu": 2}}}
    left = wanted(pod("a"), Manifest(made, "app.yaml", "default"), nodes=[node("a")])[1]
    assert [each["metadata"]["name"] for each in left.nodes] == ["a", "new"]
    assert left.nodes[1]["status"]["allocatable"] == {"cpu": "2"}
    there = {**made, "metadata": {"name": "a"}}
    assert wanted(pod("a"), Manifest(there, "app.yaml", "default"), nodes=[node("a")])[1].nodes == [node("a")]


def test_a_namespace_that_is_not_there_is_told_of():
    (said,) = warnings(pod("a", namespace="mine"), namespaces=["default"])
    assert said == 'namespaces "mine" not found: create it before these manifests'
    assert warnings(pod("a"), namespaces=["default"]) == []
    assert warnings(manifest("v1", "Namespace", "mine"), pod("a", namespace="mine"), namespaces=["default"]) == []


def test_there_is_an_end_to_pods():
    assert problems(pod("a"), workload("Deployment", replicas=2_000_000_000)) == [
        "(Deployment web): makes 2000000000 of 2000000001 pods; a preview places 50000 at most"
    ]


# names


def test_generated_names_go_around_those_that_are_taken():
    manifests = [
        workload("Deployment", replicas=3),
        workload("StatefulSet", ordinals={"start": 1}),
        pod("x-"),
        pod("x-"),
    ]
    assert names(*manifests, pods=[there("web-2"), there("x-0")]) == ["x-1", "x-2", "web-0", "web-3", "web-4", "web-1"]


def test_names_are_taken_in_their_namespace():
    manifests = [workload("Deployment"), workload("Deployment", namespace="other"), pod("web-0", "third")]
    assert names(*manifests) == ["web-0", "web-0", "web-0"]


def test_a_name_that_is_not_generated_must_be_free():
    stateful = workload("StatefulSet")
    assert problems(stateful, pods=[there("web-0")]) == ['(StatefulSet web): pods "web-0" already exists']
    assert problems(stateful, pod("web-0")) == ['(Pod web-0): pods "web-0" already exists']


def test_an_object_is_there_once():
    assert problems(pod("a"), pod("a", "other"), pod("a")) == ["(Pod a): the same object as in app.yaml, document 1"]


# what is in the cluster already


@pytest.mark.parametrize(
    ("kind", "pods", "others"),
    [
        (
            "Deployment",
            [
                there("web-69-a", ("ReplicaSet", "web-69"), {"pod-template-hash": "69"}),
                there("web-69-b", ("Deployment", "web")),
            ],
            [
                there("x", ("ReplicaSet", "web-69")),
                there("y", ("ReplicaSet", "web-a-69"), {"pod-template-hash": "69"}),
                there("z", ("StatefulSet", "web")),
            ],
        ),
        (
            "StatefulSet",
            [there("web-0", ("StatefulSet", "web")), there("web-1", ("StatefulSet", "web"))],
            [there("web-2", ("StatefulSet", "web2")), there("web-3")],
        ),
    ],
)
def test_pods_of_the_same_object_count_as_replaced(kind, pods, others):
    previewed = workload(kind)
    found, left = wanted(previewed, pods=[*pods, *others])
    assert [each.name for each in found] == ["web-0"]
    assert left.pods == others
    said = "is in the cluster already, with 2 pods, which count as replaced; all its pods are placed anew"
    assert left.warnings[1:] == [f"{previewed.title}: {said}"]


def test_a_pod_that_is_there_counts_as_replaced():
    found, left = wanted(pod("a"), pods=[there("a"), there("b")])
    assert [each.name for each in found] == ["a"]
    assert left.pods == [there("b")]
    said = "is on a node already, and counts as replaced: it is placed anew"
    assert left.warnings[1:] == [f"{pod('a').title}: {said}"]


def test_a_pod_that_waits_is_asked_about_without_a_word():
    waiting = there("a", phase="Pending")
    del waiting["spec"]["nodeName"]
    assert warnings(pod("a"), pods=[waiting]) == []
    assert wanted(pod("a"), pods=[waiting])[1].pods == []


def test_a_rollout_that_is_held_replaces_nothing():
    held = workload("Deployment", paused=True)
    own = there("web-69-a", ("Deployment", "web"))
    assert wanted(held, pod("a"), pods=[own])[1].pods == [own]


def test_pods_that_have_ended_are_not_worth_a_word():
    assert warnings(pod("a"), pods=[there("a", phase="Succeeded")]) == []


def test_the_state_given_stays_as_it_is():
    given = state(pods=[there("a")])
    wanted_pods([pod("a"), manifest("scheduling.k8s.io/v1", "PriorityClass", value=1)], given)
    assert given == state(pods=[there("a")])


# what the API server would say


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (pod("a", containers=[]), "(Pod a): spec.containers: Required value"),
        (pod("a", containers=[{"image": "i"}]), "(Pod a): spec.containers[0].name: Required value"),
        (pod("a", nodeSelecter={}), '(Pod a): unknown field "spec.nodeSelecter"'),
        (
            pod("a", nodeSelector={"a": 1}),
            "(Pod a): json: cannot unmarshal number into Go struct field PodSpec.spec.nodeSelector of type string",
        ),
        (
            workload("Deployment", pod={"tolerations": [{"operator": "Equals", "key": "a"}]}),
            '(Deployment web): spec.template.spec.tolerations[0].operator: Unsupported value: "Equals": '
            'supported values: "Equal", "Exists"',
        ),
        (
            workload("Deployment", template={**template(), "metadata": {"labels": {"app": "db"}}}),
            '(Deployment web): spec.template.metadata.labels: Invalid value: {"app":"db"}: '
            "`selector` does not match template `labels`",
        ),
        (
            workload("Deployment", replicas=-1),
            "(Deployment web): spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            manifest("apps/v1", "Deployment", spec=[]),
            "(Deployment web): json: cannot unmarshal array into Go struct field Deployment.spec of type "
            "v1.DeploymentSpec",
        ),
        (pod("a", namespace="No"), '(Pod a): metadata.namespace: Invalid value: "No": a lowercase RFC 1123 label must'),
    ],
)
def test_a_server_would_refuse_it(wrong, said):
    (found,) = problems(wrong)
    assert found.startswith(said)


def test_quantities_that_are_none_are_all_named():
    quantity = "quantities must match the regular expression"
    bad = {"requests": {"cpu": "much", "memory": "1Gi"}, "limits": {"memory": "64KiB"}}
    broken = {"containers": [CONTAINER, {"name": "d", "image": "i", "resources": bad}], "overhead": {"cpu": []}}
    found = problems(workload("Job", pod=broken), pod("a", **broken))
    assert [line.partition(quantity)[0] for line in found] == [
        f"({title}): {path}{field}: "
        for title, path in (("Job web", "spec.template.spec."), ("Pod a", "spec."))
        for field in (
            "containers[1].resources.requests.cpu",
            "containers[1].resources.limits.memory",
            "overhead.cpu",
        )
    ]


def test_what_a_cluster_answered_can_be_previewed_again():
    """`kubectl get -o yaml` shows what the server gave the object."""
    given = pod("a", nodeName="n", ephemeralContainers=[CONTAINER])
    given.obj["metadata"] |= {"resourceVersion": "7", "uid": "x", "managedFields": [{}], "generation": 3}
    given.obj["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "creationTimestamp": "2026-01-01T00:00:00Z"}
    given.obj["status"] = {"phase": "Running", "conditions": []}
    ((found,), _) = wanted(given)
    assert found.obj["metadata"].keys() == {"name", "namespace", "generation"}
    assert found.obj["status"]["phase"] == "Pending"
    assert found.obj["spec"]["nodeName"] == "n"


# a cluster agrees


async def test_every_cluster_has_the_classes_of_the_system(virtual_cluster):
    made = await virtual_cluster.client.list(PRIORITY_CLASSES)
    _, after = wanted(pod("a"))
    assert {(each["metadata"]["name"], each["value"]) for each in after.priority_classes} == {
        (each["metadata"]["name"], each["value"]) for each in made.items
    }


def as_scheduled(obj):
    """A pod without what is chance or comes later, as a text."""
    metadata = obj["metadata"]
    labels = {key: value for key, value in metadata["labels"].items() if not key.endswith("controller-uid")}
    later = ("nodeName", "serviceAccount", "serviceAccountName")
    spec = {key: value for key, value in obj["spec"].items() if key not in later}
    owner = metadata["ownerReferences"][0]["kind"]
    return json.dumps([owner, labels, metadata.get("annotations"), spec], sort_keys=True)


async def test_the_controllers_make_the_same_pods(virtual_cluster):
    client = virtual_cluster.client
    ranges = [limit_range(defaultRequest={"memory": "1Ki"})]
    classes = [priority_class("usual", 5, globalDefault=True)]
    await client.create(LIMIT_RANGES, "default", ranges[0])
    await client.create(PRIORITY_CLASSES, "", classes[0])
    manifests = [
        workload("Deployment", "web", replicas=2, pod={"nodeSelector": {HOSTNAME: "esp32-1"}}),
        workload("DaemonSet", "each", pod={"tolerations": [{"operator": "Exists"}]}),
        workload("Job", "once", completionMode="Indexed", completions=3, parallelism=2, backoffLimitPerIndex=1),
        workload("Job", "twice", parallelism=2),
    ]
    for each in manifests:
        resource = {"Deployment": DEPLOYMENTS, "DaemonSet": DAEMONSETS, "Job": JOBS}[each.kind]
        await client.create(resource, "default", each.obj)
    await virtual_cluster.clock.advance(5)
    made = (await client.list(PODS, "default")).items
    found, _ = wanted(*manifests, nodes=(await client.list(NODES)).items, classes=classes, ranges=ranges)
    assert sorted(as_scheduled(each.obj) for each in found) == sorted(map(as_scheduled, made))
    assert len(found) == 7


def test_that_controllers_do_not_wait_for_each_other_is_told():
    (said,) = warnings(workload("Job", "a"), workload("Deployment", "b"), pod("c"))
    assert said == "which controller makes its pods first is not certain; here: Job, Deployment"
    assert warnings(workload("Job", "a"), workload("Job", "b"), pod("c")) == []
