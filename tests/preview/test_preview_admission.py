"""Pods as admission leaves them: LimitRanges, priority classes, tolerations; and what it refuses."""

from preview_objects import CONTAINER, limit_range, manifest, pod, priority_class, problems, spec_of, wanted, workload


def test_limits_are_requests_too():
    limited = {**CONTAINER, "resources": {"limits": {"memory": "64Ki"}}}
    assert spec_of(workload("Deployment", pod={"containers": [limited]}))["containers"][0]["resources"] == {
        "limits": {"memory": "64Ki"},
        "requests": {"memory": "64Ki"},
    }


def test_limit_ranges_fill_in_requests_of_their_namespace():
    ranges = [limit_range(defaultRequest={"cpu": "100m"}), limit_range("other", defaultRequest={"cpu": "7"})]
    resources = spec_of(workload("Deployment"), ranges=ranges)["containers"][0]["resources"]
    assert resources == {"requests": {"cpu": "100m"}}


def test_a_manifests_own_limit_range_counts():
    own = manifest("v1", "LimitRange", "limits", spec={"limits": [{"type": "Container", "max": {"cpu": "2"}}]})
    found, after = wanted(pod("a"), own, ranges=[limit_range(defaultRequest={"cpu": "1"}), limit_range("other")])
    resources = found[0].obj["spec"]["containers"][0]["resources"]
    assert resources == {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}
    assert [each["metadata"]["namespace"] for each in after.limit_ranges] == ["other", "default"]


def test_what_a_limit_range_forbids_is_refused():
    (said,) = problems(pod("a"), ranges=[limit_range(min={"cpu": "1"})])
    assert said == ('(Pod a): pods "a" is forbidden: minimum cpu usage per Container is 1.  No request is specified')
    small = {**CONTAINER, "resources": {"limits": {"cpu": "1"}}}
    (said,) = problems(
        workload("Deployment", replicas=5, pod={"containers": [small]}), ranges=[limit_range(max={"cpu": "500m"})]
    )
    assert said.startswith('(Deployment web): pods "web-0" is forbidden: maximum cpu usage per Container is 500m')


def test_a_pod_that_admission_makes_invalid_is_refused():
    limited = {**CONTAINER, "resources": {"requests": {"cpu": "2"}}}
    (said,) = problems(pod("a", containers=[limited]), ranges=[limit_range(default={"cpu": "1"})])
    assert said == (
        '(Pod a): pod a: spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to '
        "cpu limit of 1"
    )


def test_priority_is_that_of_the_class():
    high = priority_class("high", 1000, preemptionPolicy="Never")
    spec = spec_of(workload("Deployment", pod={"priorityClassName": "high"}), classes=[high])
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")
    assert spec_of(pod("a"), classes=[high])["priority"] == 0
    spec = spec_of(pod("a"), classes=[high, priority_class("usual", 5, globalDefault=True)])
    assert (spec["priority"], spec["priorityClassName"]) == (5, "usual")


def test_a_manifests_own_priority_class_counts():
    own = manifest("scheduling.k8s.io/v1", "PriorityClass", "high", value=7)
    found, after = wanted(pod("a", priorityClassName="high"), own)
    assert found[0].obj["spec"]["priority"] == 7
    assert {each["metadata"]["name"]: each["value"] for each in after.priority_classes}["high"] == 7


def test_a_priority_class_that_a_cluster_refuses_is_refused():
    own = manifest("scheduling.k8s.io/v1", "PriorityClass", "high", value=7, globalDefault=True)
    assert problems(own, pod("a"), classes=[priority_class("high", 6)]) == [
        "(PriorityClass high): value: Forbidden: may not be changed in an update."
    ]
    assert problems(own, pod("a"), classes=[priority_class("usual", 9, globalDefault=True)]) == [
        '(PriorityClass high): priorityclasses.scheduling.k8s.io "high" is forbidden: PriorityClass usual is already '
        "marked as default. Only one default can exist"
    ]


def test_an_unknown_priority_class_is_refused():
    (said,) = problems(workload("Deployment", replicas=2, pod={"priorityClassName": "none"}))
    assert said == '(Deployment web): pods "web-0" is forbidden: no PriorityClass with name none was found'


def test_every_pod_stays_a_while_on_a_node_that_is_lost():
    assert [each["key"] for each in spec_of(pod("a"))["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
