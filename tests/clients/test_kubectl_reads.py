"""What kubectl of each version shows: version, discovery, get, describe, explain, logs, events, and what is refused.

A command that has something to remark on stderr fails its test, unless the test says what it may be: no version has a
reason to fall back to anything or to warn.
"""

from __future__ import annotations

import json

import pytest

from tests.support.manifests import start_pod
from tests.support.text import rows, section


def test_version_and_discovery(kubectl, full_server):
    done = kubectl.run("version", "-o", "json")
    versions = json.loads(done.stdout)
    assert versions["clientVersion"]["minor"] == str(kubectl.minor)
    assert versions["serverVersion"]["gitVersion"].startswith("v1.36.")
    skew = "exceeds the supported minor version skew"
    assert (skew in done.stderr) == (abs(kubectl.minor - 36) > 1)
    assert len(done.stderr.splitlines()) <= 1

    resources = {(line["NAME"], line["APIVERSION"]): line for line in rows(kubectl.quietly("api-resources"))}
    assert resources["deployments", "apps/v1"]["SHORTNAMES"] == "deploy"
    assert resources["nodes", "v1"]["NAMESPACED"] == "false"
    wide = rows(kubectl.quietly("api-resources", "-o", "wide", "--api-group=batch"))
    assert [line["NAME"] for line in wide] == ["cronjobs", "jobs"]
    assert "patch" in wide[0]["VERBS"]
    assert {"v1", "apps/v1", "batch/v1"} <= set(kubectl.quietly("api-versions").split())
    assert full_server.url in kubectl.quietly("cluster-info")
    assert kubectl.quietly("get", "--raw", "/readyz") == "ok"


def test_who_may_do_what(kubectl):
    assert kubectl.quietly("auth", "can-i", "create", "deployments") == "yes\n"
    assert "*.*" in kubectl.quietly("auth", "can-i", "--list")
    if kubectl.minor >= 28:
        assert "system:masters" in kubectl.quietly("auth", "whoami")


def test_get_in_every_form(kubectl, namespace):
    start_pod(kubectl)
    kubectl.quietly("create", "configmap", "settings", "--from-literal=a=b")
    assert rows(kubectl.quietly("get", "pods"))[0]["STATUS"] == "Running"
    assert rows(kubectl.quietly("get", "pods", "-o", "wide", "--show-labels"))[0]["LABELS"] == "app=blinky"
    assert kubectl.quietly("get", "pod/blinky", "-o", "name") == "pod/blinky\n"
    assert "\n  name: blinky\n" in kubectl.quietly("get", "pod/blinky", "-o", "yaml")
    assert "managedFields" not in kubectl.quietly("get", "pod/blinky", "-o", "yaml")
    assert kubectl.quietly("get", "pods", "-o", "jsonpath={.items[*].spec.containers[*].name}") == "led"
    columns = "custom-columns=N:.metadata.name,I:.spec.containers[0].image"
    assert kubectl.quietly("get", "pods", "-o", columns).split() == ["N", "I", "blinky", "blinky:1.0"]
    listed = json.loads(kubectl.quietly("get", "pods,configmaps", "-o", "json"))["items"]
    assert {("Pod", "blinky"), ("ConfigMap", "settings")} <= {(i["kind"], i["metadata"]["name"]) for i in listed}
    everywhere = kubectl.quietly("get", "pods", "-A", "--no-headers", "--chunk-size=1", "--sort-by=.metadata.name")
    assert f"{namespace} " in everywhere
    assert "pod/blinky" in kubectl.quietly("get", "all", "-o", "name")
    for option, value, there in [("-l", "app=blinky", True), ("-l", "app notin (blinky)", False),
                                 ("--field-selector", "status.phase=Running", True),
                                 ("--field-selector", "status.phase!=Running", False)]:  # fmt: skip
        assert (kubectl("get", "pods", option, value, "-o", "name") == "pod/blinky\n") is there, (option, value)
    assert kubectl.remarks("get", "pods", "-l", "app=none") == f"No resources found in {namespace} namespace.\n"
    assert kubectl.quietly("get", "pods", "none", "--ignore-not-found") == ""
    assert kubectl.fails("get", "pod/none") == 'Error from server (NotFound): pods "none" not found\n'
    assert kubectl.fails("get", "blinkies") == 'error: the server doesn\'t have a resource type "blinkies"\n'
    assert "Unable to find" in kubectl.fails("get", "pods", "--field-selector", "spec.image=a")


def test_get_watching(kubectl):
    with kubectl.streaming("get", "pods", "-w") as lines:
        start_pod(kubectl)
        lines.wait_for(lambda line: "Running" in line and "1/1" in line, "running pod")
        kubectl.quietly("delete", "pod", "blinky", "--wait=false")
        lines.wait_for(lambda line: line.startswith("blinky") and "Terminating" in line, "terminating pod")
    assert lines.seen[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    with kubectl.streaming("get", "configmaps", "--watch-only", "--output-watch-events", "-o", "name") as lines:
        made = 0

        def next_one(line: str) -> bool:
            return "configmap/" in line and "ADDED" in line

        # watch-only shows what comes after its first look: until it has had that, one more is made
        while not lines.seen and made < 40:
            made += 1
            kubectl.quietly("create", "configmap", f"later-{made}")
            lines.poll(next_one)
    assert lines.seen, f"none of {made} new ConfigMaps was shown"


KEPT = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: keeper}}
- {apiVersion: v1, kind: Secret, metadata: {name: key}, stringData: {a: b}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {selector: {app: web}, ports: [{port: 80}]}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec:
    replicas: 2
    selector: {matchLabels: {app: web}}
    template:
      metadata: {labels: {app: web}}
      spec: {containers: [{name: web, image: "web:1", ports: [{containerPort: 80}]}]}
- apiVersion: apps/v1
  kind: DaemonSet
  metadata: {name: agent}
  spec:
    selector: {matchLabels: {app: agent}}
    template:
      metadata: {labels: {app: agent}}
      spec: {containers: [{name: agent, image: "agent:1"}]}
- apiVersion: batch/v1
  kind: Job
  metadata: {name: once}
  spec:
    completions: 1
    template:
      metadata: {annotations: {sim.kube32.io/run-seconds: "600"}}
      spec: {restartPolicy: Never, containers: [{name: once, image: "once:1"}]}
- apiVersion: v1
  kind: ResourceQuota
  metadata: {name: few}
  spec: {hard: {pods: "20"}}
- apiVersion: v1
  kind: LimitRange
  metadata: {name: small}
  spec: {limits: [{type: Container, default: {memory: 20Ki}, defaultRequest: {memory: 10Ki}}]}
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: one}
  spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata: {name: reader}
  rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: readers}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
  subjects: [{kind: ServiceAccount, name: keeper}]
- apiVersion: coordination.k8s.io/v1
  kind: Lease
  metadata: {name: turn}
  spec: {holderIdentity: keeper}
"""
STORED_ONLY = """
apiVersion: v1
kind: List
items:
- apiVersion: networking.k8s.io/v1
  kind: Ingress
  metadata: {name: door}
  spec:
    rules:
    - host: web.example
      http:
        paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]
- apiVersion: networking.k8s.io/v1
  kind: NetworkPolicy
  metadata: {name: wall}
  spec: {podSelector: {}, policyTypes: [Ingress]}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: disk}
  spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
- apiVersion: autoscaling/v2
  kind: HorizontalPodAutoscaler
  metadata: {name: web}
  spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
- apiVersion: batch/v1
  kind: CronJob
  metadata: {name: often}
  spec:
    schedule: "* * * * *"
    jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: store}
  spec:
    serviceName: store
    selector: {matchLabels: {app: store}}
    template: {metadata: {labels: {app: store}}, spec: {containers: [{name: a, image: "a:1"}]}}
"""
ENDPOINTS = "Warning: v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\n"


def test_describe_many_kinds(kubectl, namespace):
    kubectl.quietly("create", "-f", "-", stdin=KEPT)
    remarks = kubectl.remarks("create", "-f", "-", stdin=STORED_ONLY).splitlines()
    assert remarks
    assert all(line.startswith("Warning: kube32-sim stores ") for line in remarks), remarks
    kubectl.quietly("rollout", "status", "deployment/web", "--timeout=20s")
    told = {
        "sa/keeper": "keeper", "secret/key": "1 bytes", "configmap/settings": "Data\n====\na:",
        "deployment/web": "2 desired | 2 updated | 2 total | 2 available", "daemonset/agent": "Desired Number",
        "job/once": "Completions:", "quota/few": "pods", "limitrange/small": "10Ki", "pdb/one": "Min available:",
        "role/reader": "pods", "rolebinding/readers": "ServiceAccount  keeper", "lease/turn": "keeper",
        "networkpolicy/wall": "Allowing ingress traffic", "pvc/disk": "Pending", "hpa/web": "Deployment/web",
        "cronjob/often": "* * * * *", "statefulset/store": "app=store", f"ns/{namespace}": "Resource Quotas",
    }  # fmt: skip
    text = kubectl.quietly("describe", *told)
    assert [what for what, words in told.items() if words not in text] == []
    assert "Controlled By:  " in kubectl.quietly("describe", "pods")
    for what, words in (("service", "10.96."), ("ingress", "web.example")):
        done = kubectl.run("describe", what)
        assert words in done.stdout
        assert set(done.stderr.splitlines(True)) <= ({ENDPOINTS} if kubectl.minor < 31 else set())
    kubectl.quietly("delete", "pvc/disk", "--timeout=20s")  # nothing uses it, so nothing protects it
    node = kubectl.quietly("describe", "node", "esp32-0")
    assert f"{namespace} " in section(node, "Non-terminated Pods")


def test_explain(kubectl):
    for path, words in {
        "pod": "Pod is a collection of containers", "deployment.spec.replicas": "Number of desired pods",
        "hpa --api-version=autoscaling/v2": "autoscaling", "service.spec.ports": "The list of ports",
        "networkpolicy.spec.ingress.from": "podSelector", "crd.spec": "versions",
    }.items():  # fmt: skip
        assert words in kubectl.quietly("explain", *path.split()), path
    recursive = kubectl.quietly("explain", "deployment", "--recursive")
    assert "ephemeralContainers" in recursive
    assert "timeoutSeconds" in recursive
    assert kubectl.fails("explain", "pod.spec.none").splitlines()[-1] == 'error: field "none" does not exist'
    assert "the server doesn't have a resource type" in kubectl.fails("explain", "blinky")
    if kubectl.minor >= 27:
        assert kubectl.quietly("explain", "pod.spec", "--output=plaintext-openapiv2").startswith("KIND:     Pod")


def test_logs_and_events(kubectl):
    start_pod(kubectl)
    assert kubectl.quietly("logs", "blinky") == "LED on\nLED off\n"
    assert kubectl.quietly("logs", "blinky", "-c", "led", "--tail=1") == "LED off\n"
    assert kubectl.quietly("logs", "-l", "app=blinky", "--prefix", "--tail=1") == "[pod/blinky/led] LED off\n"
    with kubectl.streaming("logs", "-f", "blinky") as lines:
        lines.wait_for(lambda line: line == "LED off", "last line")
    assert "Scheduled" in kubectl.quietly("get", "events", "--field-selector", "involvedObject.name=blinky")
    if kubectl.minor >= 26:
        assert "Scheduled" in kubectl.quietly("events", "--for", "pod/blinky")


def test_what_is_refused_says_why(kubectl, tmp_path):
    start_pod(kubectl)
    (tmp_path / "file").write_text("x")
    reason = "is not supported: pod blinky is simulated, nothing runs in it"
    for verb, command in {
        "exec": ("exec", "blinky", "--", "true"), "attach": ("attach", "blinky"),
        "portforward": ("port-forward", "pod/blinky", ":80"),
    }.items():  # fmt: skip
        assert f"{verb} {reason}" in kubectl.fails(*command)
    assert f"exec {reason}" in kubectl.fails("cp", str(tmp_path / "file"), "blinky:/file")
    for what in ("pods", "nodes"):
        assert kubectl.fails("top", what) == "error: Metrics API not available\n"


@pytest.mark.parametrize("what", ["nodes", "namespaces"])
def test_cluster_scoped_kinds_are_listed_without_a_namespace(kubectl, what):
    assert rows(kubectl.quietly("get", what))
