"""kubectl waiting for things: rollout status, wait."""

import json

from tests.support.text import rows


def test_rollout_status_and_wait_for_available(kubectl):
    kubectl("create", "deployment", "web", "--image=web:1", "--replicas=3")
    status = kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    assert status.endswith('deployment "web" successfully rolled out\n')
    assert kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=20s") == (
        "deployment.apps/web condition met\n"
    )
    (row,) = rows(kubectl("get", "deployment", "web"))
    assert (row["NAME"], row["READY"], row["UP-TO-DATE"], row["AVAILABLE"]) == ("web", "3/3", "3", "3")


def test_rollout_status_follows_while_pods_start(kubectl):
    kubectl("create", "deployment", "web", "--image=web:1")
    with kubectl.streaming("rollout", "status", "deployment/web") as lines:
        lines.wait_for(lambda line: "successfully rolled out" in line, "end of the rollout")
        kubectl("set", "image", "deployment/web", "web=web:2")
    assert kubectl("rollout", "status", "deployment/web", "--timeout=20s").endswith("successfully rolled out\n")
    assert kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.containers[0].image}") == "web:2"


def test_rollout_restart_replaces_the_pods(kubectl):
    kubectl("create", "deployment", "web", "--image=web:1")
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    (old,) = kubectl("get", "pods", "-o", "name").split()
    assert kubectl("rollout", "restart", "deployment/web") == "deployment.apps/web restarted\n"
    kubectl("wait", "--for=delete", old, "--timeout=20s")
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    (new,) = kubectl("get", "pods", "-o", "name").split()
    assert new != old


def test_wait_for_a_job_to_complete(kubectl):
    template = {
        "metadata": {"annotations": {"sim.kube32.io/run-seconds": "0"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "calibrate:1"}]},
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "calibrate"}, "spec": {"template": template}}
    kubectl("create", "-f", "-", stdin=json.dumps(job))
    assert kubectl("wait", "--for=condition=complete", "job/calibrate", "--timeout=20s") == (
        "job.batch/calibrate condition met\n"
    )
    (row,) = rows(kubectl("get", "job", "calibrate"))
    assert (row["STATUS"], row["COMPLETIONS"]) == ("Complete", "1/1")
    assert rows(kubectl("get", "pods"))[0]["STATUS"] == "Completed"


def test_wait_gives_up_in_time(kubectl):
    kubectl("create", "configmap", "it")
    assert "timed out waiting for the condition" in kubectl.fails(
        "wait", "--for=jsonpath={.data.never}=x", "configmap/it", "--timeout=200ms"
    )
