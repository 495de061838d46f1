"""kubectl's commands that look: get, describe, logs, events, api-resources, explain."""

import json
import re

import pytest

from tests.support.manifests import POD, start_pod
from tests.support.text import rows, section
from tests.support.waiting import until


def test_get_nodes_wide_shows_the_boards(kubectl):
    nodes = rows(kubectl("get", "nodes", "-o", "wide"))
    assert [node["NAME"] for node in nodes] == ["esp32-0", "esp32-1"]
    for node in nodes:
        assert node["STATUS"] == "Ready"
        assert node["VERSION"].startswith("v1.36.")
        assert node["INTERNAL-IP"].count(".") == 3
        assert node["EXTERNAL-IP"] == "<none>"
        assert "ESP32-S3" in node["OS-IMAGE"]
        assert node["CONTAINER-RUNTIME"].startswith("kube32-sim://")


def test_get_all_of_all_namespaces(kubectl, namespace):
    kubectl("create", "deployment", "web", "--image=web:1", "--replicas=2")
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    found = kubectl("get", "all", "-A", "--no-headers")
    here = [line.split()[1:] for line in found.splitlines() if line.startswith(namespace)]
    assert [row[0].split("/")[0] for row in here] == ["pod", "pod", "deployment.apps"]
    assert all(row[1:3] == ["1/1", "Running"] for row in here[:2])
    assert here[2][:4] == ["deployment.apps/web", "2/2", "2", "2"]
    assert "service/kubernetes " in found


def test_get_pods_watching_shows_a_pod_from_creation_to_removal(kubectl):
    with kubectl.streaming("get", "pods", "-w", "-o", "wide") as lines:
        start_pod(kubectl)
        running = lines.wait_for(lambda line: "Running" in line and "1/1" in line, "running pod")
        kubectl("delete", "pod", "blinky", "--wait=false")
        lines.wait_for(lambda line: line.startswith("blinky") and "Terminating" in line, "terminating pod")
    assert lines.seen[0].split()[:6] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP"]
    assert "esp32-" in running
    assert any("0/1" in line for line in lines.seen), lines.seen


def test_get_in_every_output_format(kubectl):
    start_pod(kubectl)
    assert kubectl("get", "pod/blinky", "-o", "name") == "pod/blinky\n"
    assert kubectl("get", "pod/blinky", "-o", "jsonpath={.spec.containers[*].name}") == "led"
    assert kubectl("get", "pods", "-o", "custom-columns=N:.metadata.name,I:.spec.containers[0].image").split() == [
        "N", "I", "blinky", "blinky:1.0",
    ]  # fmt: skip
    assert "\n  name: blinky\n" in kubectl("get", "pod/blinky", "-o", "yaml")
    assert rows(kubectl("get", "pods", "-l", "app=blinky", "--show-labels"))[0]["LABELS"] == "app=blinky"
    assert kubectl("get", "pods", "-l", "app!=blinky", "-o", "name") == ""
    assert kubectl("get", "pods", "--field-selector", "status.phase=Running", "-o", "name") == "pod/blinky\n"


def test_get_says_what_is_not_there(kubectl, namespace):
    assert kubectl.fails("get", "pod/none") == 'Error from server (NotFound): pods "none" not found\n'
    assert 'the server doesn\'t have a resource type "blinkies"' in kubectl.fails("get", "blinkies")
    assert kubectl.run("get", "pods").stderr == f"No resources found in {namespace} namespace.\n"


def test_describe_pod(kubectl, namespace):
    start_pod(kubectl)
    text = kubectl("describe", "pod", "blinky")
    assert section(text, "Namespace").strip() == namespace
    assert section(text, "Node").strip().startswith("esp32-")
    assert section(text, "Status").strip() == "Running"
    assert "Image:          blinky:1.0" in text
    assert "memory:  32Ki" in text
    assert section(text, "QoS Class").strip() == "Burstable"
    assert "node.kubernetes.io/not-ready:NoExecute op=Exists for 300s" in text
    events = section(text, "Events")
    for reason in ("Scheduled", "Pulled", "Started"):
        assert reason in events
    assert f"Successfully assigned {namespace}/blinky to esp32-" in events


def test_describe_node(kubectl, namespace):
    start_pod(kubectl)
    node = kubectl.json("get", "pod/blinky")["spec"]["nodeName"]
    text = kubectl("describe", "node", node)
    assert section(text, "Name").strip() == node
    assert section(text, "Unschedulable").strip() == "false"
    assert f"HolderIdentity:  {node}" in section(text, "Lease")
    assert "KubeletReady" in section(text, "Conditions")
    assert "esp32.io/gpio" in section(text, "Capacity")
    assert "memory" in section(text, "Allocatable")
    pods = [line for line in text.splitlines() if f"{namespace} " in line]
    assert len(pods) == 1
    assert "32Ki" in pods[0]


def test_describe_deployment(kubectl):
    kubectl("create", "deployment", "web", "--image=web:1", "--replicas=2", "--port=80")
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    text = kubectl("describe", "deployment", "web")
    assert section(text, "Replicas").strip() == "2 desired | 2 updated | 2 total | 2 available | 0 unavailable"
    assert section(text, "Selector").strip() == "app=web"
    assert re.search(r"Available +True +MinimumReplicasAvailable", section(text, "Conditions"))
    assert "ScalingReplicaSet" in section(text, "Events")


def test_logs_are_the_simulated_ones(kubectl):
    start_pod(kubectl)
    assert kubectl("logs", "blinky") == "LED on\nLED off\n"
    assert kubectl("logs", "blinky", "-c", "led", "--tail=1") == "LED off\n"
    assert kubectl("logs", "-l", "app=blinky") == "LED on\nLED off\n"
    assert "container none is not valid for pod blinky" in kubectl.fails("logs", "blinky", "-c", "none")
    missing = kubectl.fails("logs", "blinky", "--previous")
    assert 'previous terminated container "led" in pod "blinky" not found' in missing


def test_logs_of_a_container_that_fails_again_and_again(kubectl):
    steering = {"sim.kube32.io/run-seconds": "1", "sim.kube32.io/exit-code": "1", "sim.kube32.io/log": "brownout"}
    pod = {**POD, "metadata": {"name": "blinky", "annotations": steering}}
    kubectl("create", "-f", "-", stdin=json.dumps(pod))
    reason = "{.status.containerStatuses[0].state.waiting.reason}"
    kubectl("wait", f"--for=jsonpath={reason}=CrashLoopBackOff", "pod/blinky", "--timeout=20s")
    for flag in ("--previous", "--follow", "--since=1h"):
        assert kubectl("logs", "blinky", flag) == "brownout\n", flag
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[0-9:]{8}\.0{9}Z brownout\n", kubectl("logs", "blinky", "--timestamps"))
    assert kubectl("logs", "blinky", "--since-time=2999-01-01T00:00:00Z") == ""


def test_logs_of_several_containers(kubectl):
    containers = [{"name": name, "image": f"{name}:1"} for name in ("led", "net")]
    pod = {**POD, "spec": {"containers": containers, "initContainers": [{"name": "setup", "image": "setup:1"}]}}
    kubectl("create", "-f", "-", stdin=json.dumps(pod))
    kubectl("wait", "--for=condition=Ready", "pod/blinky", "--timeout=20s")
    lines = kubectl("logs", "-l", "app=blinky", "--all-containers", "--prefix", "--tail=1").splitlines()
    assert sorted(lines) == [f"[pod/blinky/{name}] LED off" for name in ("led", "net", "setup")]


def test_a_followed_log_ends_with_its_container(kubectl):
    start_pod(kubectl)
    with kubectl.streaming("logs", "-f", "blinky") as lines:
        lines.wait_for(lambda line: line == "LED off", "last line")
        kubectl("delete", "pod", "blinky")
        lines.join()
    assert lines.seen == ["LED on", "LED off"]


@pytest.mark.parametrize(
    ("verb", "command"),
    [("exec", ["exec", "blinky", "--", "true"]), ("attach", ["attach", "blinky"]),
     ("portforward", ["port-forward", "pod/blinky", ":80"])],
)  # fmt: skip
def test_what_would_need_a_container_is_refused_at_once(kubectl, verb, command):
    start_pod(kubectl)
    assert f"{verb} is not supported: pod blinky is simulated" in kubectl.fails(*command)


def test_get_events_tells_the_life_of_a_pod(kubectl):
    start_pod(kubectl)
    events = rows(kubectl("get", "events"))
    reasons = {event["REASON"] for event in events if event["OBJECT"] == "pod/blinky"}
    assert {"Scheduled", "Pulled", "Created", "Started"} <= reasons
    assert {event["TYPE"] for event in events} == {"Normal"}
    assert "Scheduled" in kubectl("events", "--for", "pod/blinky")


def test_a_pod_that_fits_nowhere_says_why(kubectl):
    pod = {**POD, "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"memory": "64Mi"}}}]}}
    kubectl("create", "-f", "-", stdin=json.dumps(pod))
    kubectl("wait", "--for=jsonpath={.status.conditions[0].reason}=Unschedulable", "pod/blinky", "--timeout=20s")
    assert "0/2 nodes are available: 2 Insufficient memory." in section(kubectl("describe", "pod/blinky"), "Events")
    assert rows(kubectl("get", "pods"))[0]["STATUS"] == "Pending"


def test_api_resources(kubectl):
    resources = {line["NAME"]: line for line in rows(kubectl("api-resources"))}
    assert resources["pods"] == {
        "NAME": "pods", "SHORTNAMES": "po", "APIVERSION": "v1", "NAMESPACED": "true", "KIND": "Pod",
    }  # fmt: skip
    assert resources["deployments"]["APIVERSION"] == "apps/v1"
    assert resources["nodes"]["NAMESPACED"] == "false"
    assert "nodes" not in kubectl("api-resources", "--namespaced=true", "-o", "name").split()
    assert {"v1", "apps/v1", "batch/v1", "coordination.k8s.io/v1"} <= set(kubectl("api-versions").split())


def test_explain(kubectl):
    text = kubectl("explain", "deployment.spec.replicas")
    assert section(text, "GROUP").strip() == "apps"
    assert "FIELD: replicas <integer>" in text
    assert "Number of desired pods" in text
    assert "containers\t<[]Container> -required-" in kubectl("explain", "pod.spec")
    assert kubectl.fails("explain", "pod.spec.none").strip() == 'error: field "none" does not exist'


def test_version_and_cluster_info(kubectl, full_server):
    assert "Server Version: v1.36." in kubectl("version")
    assert f"is running at {full_server.url}" in kubectl("cluster-info")


def test_a_kind_that_is_not_served_is_named(kubectl):
    gone = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"}}
    error = kubectl.fails("apply", "-f", "-", stdin=json.dumps(gone))
    assert 'no matches for kind "PodDisruptionBudget" in version "policy/v1beta1"' in error


def test_describe_quota_shows_what_is_used(kubectl):
    kubectl("create", "quota", "few", "--hard=pods=2,count/configmaps=3")
    kubectl("run", "one", "--image=a:1")
    until(lambda: re.search(r"\npods +1 +2\n", kubectl("describe", "quota", "few")), "the pod in the quota's status")
    assert rows(kubectl("get", "quota", "few"))[0]["REQUEST"] == "count/configmaps: 0/3, pods: 1/2"
