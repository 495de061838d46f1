"""Admission: namespaces that are there, tolerations, priorities, limits, security levels, quotas."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
from strategy_objects import NOW, TABLE

from kube32_sim.api import admission
from kube32_sim.api.admission import AdmissionConfig
from kube32_sim.api.admission.pod_security_checks import violations
from kube32_sim.api.errors import ApiError
from kube32_sim.api.strategies.base import Context

JsonObject = dict[str, Any]
Objects = dict[tuple[str, str], list[JsonObject]]


class Stored:
    """A cluster that holds what a test says, and an active namespace `ns`."""

    def __init__(self, objects: Objects) -> None:
        self.objects = {("", "namespaces"): [{"metadata": {"name": "ns"}, "status": {"phase": "Active"}}], **objects}

    def get(self, storage: tuple[str, str], namespace: str, name: str) -> JsonObject | None:
        return next((each for each in self.objects.get(storage, ()) if each["metadata"]["name"] == name), None)

    def list(self, storage: tuple[str, str], namespace: str = "") -> Sequence[JsonObject]:
        return self.objects.get(storage, [])


def context(plural: str, objects: Objects | None = None, group: str = "", **rest: Any) -> Context:
    row = TABLE.by_path(group, "v1", plural)
    assert row is not None
    full = {
        "namespace": "ns" if row.namespaced else "",
        "name": "p",
        "now": NOW,
        "cluster": Stored(objects or {}),
        **rest,
    }
    return Context(row, **full)


def pod(**spec: Any) -> JsonObject:
    full = {"containers": [{"name": "app", "image": "i", "resources": {}}], **spec}
    return {"metadata": {"name": "p"}, "spec": copy.deepcopy(full)}


def mutated(obj: JsonObject, where: Context, config: AdmissionConfig | None = None) -> list[str]:
    return list(admission.mutate("create", obj, None, where, config or AdmissionConfig()))


def refusal(obj: JsonObject, where: Context, config: AdmissionConfig | None = None) -> ApiError:
    """Why a create is refused, by mutation or after it."""
    try:
        mutated(obj, where, config)
        admission.validate("create", obj, None, where, config or AdmissionConfig())
    except ApiError as error:
        return error
    pytest.fail("the create was accepted")


def test_a_namespace_must_be_there() -> None:
    error = refusal(pod(), context("pods", namespace="absent"))
    assert (error.code, error.message) == (404, 'namespaces "absent" not found')


def test_nothing_new_in_a_namespace_that_ends() -> None:
    ending: Objects = {("", "namespaces"): [{"metadata": {"name": "ns"}, "status": {"phase": "Terminating"}}]}
    error = refusal({"metadata": {"name": "late"}}, context("configmaps", ending, name="late"))
    assert error.code == 403
    assert error.message == (
        'configmaps "late" is forbidden: unable to create new content in namespace ns because it is being terminated'
    )
    assert error.details == {
        "name": "late",
        "kind": "configmaps",
        "causes": [
            {
                "reason": "NamespaceTerminating",
                "message": "namespace ns is being terminated",
                "field": "metadata.namespace",
            }
        ],
    }
    admission.mutate("update", {"metadata": {}}, {"metadata": {}}, context("configmaps", ending), AdmissionConfig())


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_stay(name: str) -> None:
    where = context("namespaces", name=name)
    with pytest.raises(ApiError, match="this namespace may not be deleted"):
        admission.validate("delete", {}, {}, where, AdmissionConfig())
    admission.validate("delete", {}, {}, context("namespaces", name="kube-node-lease"), AdmissionConfig())


NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


def tolerations(*given: JsonObject, seconds: int = 300) -> list[JsonObject]:
    obj = pod(tolerations=list(given))
    mutated(obj, context("pods"), AdmissionConfig(default_toleration_seconds=seconds))
    found: list[JsonObject] = obj["spec"]["tolerations"]
    return found


def test_default_tolerations() -> None:
    assert tolerations(seconds=7) == [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 7}
        for key in (NOT_READY, UNREACHABLE)
    ]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"operator": "Exists"}, []),
        ({"key": NOT_READY, "value": "other"}, [UNREACHABLE]),
        ({"key": NOT_READY, "effect": "NoSchedule"}, [NOT_READY, UNREACHABLE]),
        ({"key": "other"}, [NOT_READY, UNREACHABLE]),
    ],
)
def test_what_is_tolerated_already_gets_no_default(given: JsonObject, kept: list[str]) -> None:
    assert [each.get("key") for each in tolerations(given)[1:]] == kept


def classes(*given: JsonObject) -> Objects:
    return {("scheduling.k8s.io", "priorityclasses"): list(given)}


def test_priorities() -> None:
    high = {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"}
    obj = pod(priorityClassName="high")
    mutated(obj, context("pods", classes(high)))
    assert (obj["spec"]["priority"], obj["spec"]["preemptionPolicy"]) == (1000, "Never")
    obj = pod()
    mutated(obj, context("pods", classes({**high, "globalDefault": True})))
    assert (obj["spec"]["priorityClassName"], obj["spec"]["priority"]) == ("high", 1000)
    obj = pod()
    mutated(obj, context("pods", classes(high)))
    assert (obj["spec"]["priority"], obj["spec"]["preemptionPolicy"]) == (0, "PreemptLowerPriority")


def test_priorities_are_not_invented() -> None:
    text = 'pods "p" is forbidden: no PriorityClass with name odd was found'
    assert refusal(pod(priorityClassName="odd"), context("pods")).message == text
    assert refusal(pod(priority=3), context("pods")).message == (
        'pods "p" is forbidden: the integer value of priority (3) must not be provided in pod spec; priority admission '
        "controller computed 0 from the given PriorityClass name"
    )


def test_one_default_class() -> None:
    first = {"metadata": {"name": "one"}, "value": 1, "globalDefault": True}
    where = context("priorityclasses", classes(first), "scheduling.k8s.io", name="two")
    second = {"metadata": {"name": "two"}, "value": 2, "globalDefault": True}
    assert refusal(second, where).message.endswith(
        "PriorityClass one is already marked as default. Only one default can exist"
    )


def limit_range(**limit: Any) -> Objects:
    return {("", "limitranges"): [{"metadata": {"name": "lr"}, "spec": {"limits": [{"type": "Container", **limit}]}}]}


def test_limit_ranges_fill_in() -> None:
    obj = pod()
    mutated(obj, context("pods", limit_range(default={"cpu": "500m"}, defaultRequest={"memory": "1Mi", "cpu": "100m"})))
    assert obj["spec"]["containers"][0]["resources"] == {
        "requests": {"memory": "1Mi", "cpu": "100m"},
        "limits": {"cpu": "500m"},
    }
    assert obj["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container app; cpu limit for "
        "container app"
    }


@pytest.mark.parametrize(
    ("limit", "resources", "text"),
    [
        ({"max": {"cpu": "2"}}, {"limits": {"cpu": "4"}}, "maximum cpu usage per Container is 2, but limit is 4"),
        ({"max": {"cpu": "2"}}, {}, "maximum cpu usage per Container is 2.  No limit is specified"),
        (
            {"min": {"memory": "64Mi"}},
            {"requests": {"memory": "1Mi"}},
            "minimum memory usage per Container is 64Mi, but request is 1Mi",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 10.000000",
        ),
        (
            {"min": {"cpu": "2"}, "max": {"cpu": "3"}},
            {"requests": {"cpu": "1"}, "limits": {"cpu": "4"}},
            "[minimum cpu usage per Container is 2, but request is 1, maximum cpu usage per Container is 3, but limit "
            "is 4]",
        ),
    ],
)
def test_limit_ranges_refuse(limit: JsonObject, resources: JsonObject, text: str) -> None:
    obj = pod(containers=[{"name": "app", "image": "i", "resources": resources}])
    assert refusal(obj, context("pods", limit_range(**limit))).message == f'pods "p" is forbidden: {text}'


def test_limits_of_whole_pods() -> None:
    containers = [{"name": name, "resources": {"limits": {"cpu": "2"}}} for name in "ab"]
    first = [{"name": "i", "resources": {"limits": {"cpu": "5"}}}]
    text = "maximum cpu usage per Pod is 3, but limit is {}"
    limit: Objects = limit_range(type="Pod", max={"cpu": "3"})
    assert text.format("4") in refusal(pod(containers=containers), context("pods", limit)).message
    both = pod(containers=containers, initContainers=first)
    assert text.format("5") in refusal(both, context("pods", limit)).message


def test_limits_of_claims() -> None:
    claim = {"metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": "3Gi"}}}}
    where = context(
        "persistentvolumeclaims", limit_range(type="PersistentVolumeClaim", max={"storage": "2Gi"}), name="c"
    )
    text = "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"
    assert text in refusal(claim, where).message


RESTRICTED = (
    'allowPrivilegeEscalation != false (container "app" must set securityContext.allowPrivilegeEscalation=false), '
    'unrestricted capabilities (container "app" must set securityContext.capabilities.drop=["ALL"]), '
    'runAsNonRoot != true (pod or container "app" must set securityContext.runAsNonRoot=true), '
    'seccompProfile (pod or container "app" must set securityContext.seccompProfile.type to "RuntimeDefault" or '
    '"Localhost")'
)


def secured(**levels: str) -> Objects:
    labels = {f"pod-security.kubernetes.io/{mode}": level for mode, level in levels.items()}
    return {("", "namespaces"): [{"metadata": {"name": "ns", "labels": labels}, "status": {"phase": "Active"}}]}


def test_security_levels_warn_and_refuse() -> None:
    text = f'would violate PodSecurity "restricted:latest": {RESTRICTED}'
    assert mutated(pod(), context("pods", secured(warn="restricted"))) == [text]
    workload = {"metadata": {"name": "d"}, "spec": {"template": pod()}}
    assert mutated(workload, context("deployments", secured(warn="restricted", enforce="baseline"), "apps")) == [text]
    error = refusal(pod(hostNetwork=True), context("pods", secured(enforce="baseline")))
    assert error.message == (
        'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'
    )


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"volumes": [{"name": "v", "hostPath": {}}]}, 'hostPath volumes (volume "v")'),
        ({"securityContext": {"sysctls": [{"name": "a"}, {"name": "b"}]}}, "forbidden sysctls (a, b)"),
        (
            {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
            'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
        (
            {"securityContext": {"seLinuxOptions": {"type": "foo", "user": "u"}}},
            'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "foo"; user may not be set)',
        ),
    ],
)
def test_baseline_of_pods(spec: JsonObject, text: str) -> None:
    assert violations(spec, "baseline") == text


@pytest.mark.parametrize(
    ("container", "text"),
    [
        ({"ports": [{"hostPort": 80}]}, 'hostPort (container "app" uses hostPort 80)'),
        (
            {"securityContext": {"privileged": True}},
            'privileged (container "app" must not set securityContext.privileged=true)',
        ),
        (
            {"securityContext": {"capabilities": {"add": ["NET_ADMIN", "CHOWN"]}}},
            'non-default capabilities (container "app" must not include "NET_ADMIN" in '
            "securityContext.capabilities.add)",
        ),
        (
            {"livenessProbe": {"httpGet": {"host": "1.2.3.4"}}},
            'probe or lifecycle host (container "app" uses probe or lifecycle host "1.2.3.4")',
        ),
    ],
)
def test_baseline_of_containers(container: JsonObject, text: str) -> None:
    assert violations({"containers": [{"name": "app", **container}]}, "baseline") == text


def test_a_restricted_pod() -> None:
    container = {
        "name": "app",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    security = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    spec = {"containers": [container], "securityContext": security, "volumes": [{"name": "v", "emptyDir": {}}]}
    assert violations(spec, "restricted") == ""


def test_new_nodes_are_tainted_where_wanted() -> None:
    taint = {"key": NOT_READY, "effect": "NoSchedule"}
    node: JsonObject = {"metadata": {"name": "n"}, "spec": {"taints": [{"key": "own", "effect": "NoExecute"}]}}
    mutated(node, context("nodes", name="n"))
    assert node["spec"]["taints"] == [{"key": "own", "effect": "NoExecute"}, taint]
    mutated(node, context("nodes", name="n"))
    assert len(node["spec"]["taints"]) == 2
    other: JsonObject = {"metadata": {"name": "n"}, "spec": {}}
    mutated(other, context("nodes", name="n"), AdmissionConfig(taint_new_nodes=False))
    assert other["spec"] == {}


def test_claims_are_protected_and_of_the_default_class() -> None:
    def storage_class(name: str, created: str, default: str = "true") -> JsonObject:
        annotations = {"storageclass.kubernetes.io/is-default-class": default}
        return {"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}}

    found = [
        storage_class("old", "2026-01-01"),
        storage_class("new", "2026-01-02"),
        storage_class("x", "2026-01-03", "false"),
    ]
    objects: Objects = {("storage.k8s.io", "storageclasses"): found}
    claim: JsonObject = {"metadata": {"name": "c"}, "spec": {}}
    mutated(claim, context("persistentvolumeclaims", objects))
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert claim["spec"]["storageClassName"] == "new"
    classless: JsonObject = {"metadata": {"name": "c"}, "spec": {"storageClassName": ""}}
    mutated(classless, context("persistentvolumeclaims", objects))
    assert classless["spec"]["storageClassName"] == ""


def test_ingresses_are_of_the_default_class() -> None:
    annotations = {"ingressclass.kubernetes.io/is-default-class": "true"}
    objects: Objects = {
        ("networking.k8s.io", "ingressclasses"): [{"metadata": {"name": "c", "annotations": annotations}}]
    }
    ingress: JsonObject = {"metadata": {"name": "i"}, "spec": {}}
    mutated(ingress, context("ingresses", objects, "networking.k8s.io"))
    assert ingress["spec"] == {"ingressClassName": "c"}


ACCOUNTS = AdmissionConfig(service_accounts=True)


def test_pods_run_as_the_default_account() -> None:
    account = {"metadata": {"name": "default"}, "imagePullSecrets": [{"name": "s"}]}
    obj = pod()
    mutated(obj, context("pods", {("", "serviceaccounts"): [account]}), ACCOUNTS)
    assert obj["spec"]["serviceAccountName"] == obj["spec"]["serviceAccount"] == "default"
    assert obj["spec"]["imagePullSecrets"] == [{"name": "s"}]
    mutated(pod(), context("pods"), ACCOUNTS)
    bare = pod()
    mutated(bare, context("pods"))
    assert "serviceAccountName" not in bare["spec"]


def test_other_accounts_must_exist() -> None:
    error = refusal(pod(serviceAccountName="sa"), context("pods"), ACCOUNTS)
    assert error.message == (
        'pods "p" is forbidden: error looking up service account ns/sa: serviceaccount "sa" not found'
    )


def quota(hard: JsonObject, *there: JsonObject, plural: str = "pods", **spec: Any) -> Objects:
    return {
        ("", "resourcequotas"): [{"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}],
        ("", plural): list(there),
    }


def asking(cpu: str, **more: Any) -> JsonObject:
    return {**pod(containers=[{"name": "a", "resources": {"requests": {"cpu": cpu}}}]), **more}


def test_quotas() -> None:
    full = quota({"requests.cpu": "1", "pods": "2"}, asking("600m"))
    error = refusal(asking("500m"), context("pods", full))
    assert error.message == (
        'pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, '
        "limited: requests.cpu=1"
    )
    admission.validate("create", asking("400m"), None, context("pods", full), AdmissionConfig())
    admission.validate("create", asking("2"), None, context("pods", full), AdmissionConfig(resource_quota=False))


def test_ended_pods_leave_room() -> None:
    ended = asking("1", status={"phase": "Succeeded"})
    admission.validate("create", asking("1"), None, context("pods", quota({"cpu": "1"}, ended)), AdmissionConfig())


def test_quotas_count_objects() -> None:
    one: JsonObject = {"metadata": {"name": "a"}}
    for hard in ("configmaps", "count/configmaps"):
        error = refusal(
            {"metadata": {"name": "b"}}, context("configmaps", quota({hard: "1"}, one, plural="configmaps"))
        )
        assert error.message.endswith(f"exceeded quota: q, requested: {hard}=1, used: {hard}=1, limited: {hard}=1")


def test_scoped_quotas() -> None:
    scoped = quota({"pods": "0"}, scopes=["BestEffort"])
    best = {**pod(), "status": {"qosClass": "BestEffort"}}
    assert "exceeded quota" in refusal(best, context("pods", scoped)).message
    burstable = {**pod(), "status": {"qosClass": "Burstable"}}
    admission.validate("create", burstable, None, context("pods", scoped), AdmissionConfig())


@pytest.mark.parametrize("name", ["system-cluster-critical", "system-node-critical"])
def test_the_system_s_priority_classes_stay(name: str) -> None:
    where = context("priorityclasses", group="scheduling.k8s.io", name=name)
    message = f'priorityclasses.scheduling.k8s.io "{name}" is forbidden: this is a system priority class and cannot be'
    with pytest.raises(ApiError, match=message):
        admission.validate("delete", {}, {}, where, AdmissionConfig())
