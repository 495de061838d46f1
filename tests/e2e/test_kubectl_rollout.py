"""kubectl rollout, scale and wait: rollouts from their start to their end, and waiting for things."""

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


def test_rollout_pause_and_resume(kubectl):
    kubectl("create", "deployment", "web", "--image=web:1", "--replicas=2")
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    assert kubectl("rollout", "pause", "deployment/web") == "deployment.apps/web paused\n"
    assert kubectl.fails("rollout", "pause", "deployment/web") == 'error: deployments.apps "web" is already paused\n'
    assert kubectl.fails("rollout", "restart", "deployment/web") == (
        'error: deployments.apps "web" can\'t restart paused deployment (run rollout resume first)\n'
    )
    kubectl("set", "image", "deployment/web", "web=web:2")
    kubectl("scale", "deployment/web", "--replicas=3")
    kubectl("wait", "--for=jsonpath={.status.readyReplicas}=3", "deployment/web", "--timeout=20s")
    assert images(kubectl) == {"web:1"}
    (row,) = rows(kubectl("get", "deployment", "web"))
    assert (row["READY"], row["UP-TO-DATE"], row["AVAILABLE"]) == ("3/3", "0", "3")
    assert kubectl("rollout", "resume", "deployment/web") == "deployment.apps/web resumed\n"
    assert kubectl.fails("rollout", "resume", "deployment/web") == 'error: deployments.apps "web" is not paused\n'
    assert kubectl("rollout", "status", "deployment/web", "--timeout=20s").endswith("successfully rolled out\n")
    assert images(kubectl) == {"web:2"}


def images(kubectl):
    found = kubectl.json("get", "pods", "-l", "app=web")["items"]
    return {pod["spec"]["containers"][0]["image"] for pod in found if "deletionTimestamp" not in pod["metadata"]}


def test_rollout_history_is_empty_and_undo_says_so(kubectl):
    """As docs/differences.md has it: there are no ReplicaSets that kubectl could look into."""
    kubectl("create", "deployment", "web", "--image=web:1")
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    kubectl("set", "image", "deployment/web", "web=web:2")
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    assert "REVISION" not in kubectl("rollout", "history", "deployment/web")
    assert kubectl("rollout", "history", "deployment/web").endswith("No rollout history found.\n")
    assert kubectl.fails("rollout", "undo", "deployment/web") == (
        'error: no rollout history found for deployment "web"\n'
    )
    assert kubectl.fails("rollout", "undo", "deployment/web", "--to-revision=1") == (
        "error: unable to find specified revision 1 in history\n"
    )
    assert kubectl("rollout", "status", "deployment/web", "--revision=2").endswith("successfully rolled out\n")
    assert kubectl.fails("rollout", "status", "deployment/web", "--revision=1") == (
        "error: desired revision (1) is different from the running revision (2)\n"
    )


def test_rollout_status_gives_up_with_the_deployment(kubectl):
    container = {"name": "c", "image": "i", "resources": {"requests": {"memory": "1Gi"}}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    spec = {"progressDeadlineSeconds": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    kubectl("create", "-f", "-", stdin=json.dumps(obj))
    assert kubectl.fails("rollout", "status", "deployment/web", "--timeout=20s") == (
        'error: deployment "web" exceeded its progress deadline\n'
    )


def test_scale_up_and_down_and_only_from_what_is_expected(kubectl):
    kubectl("create", "deployment", "web", "--image=web:1", "--replicas=2")
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    assert kubectl.fails("scale", "deployment/web", "--replicas=3", "--current-replicas=1") == (
        "error: Expected replicas to be 1, was 2\n"
    )
    version = kubectl("get", "deployment", "web", "-o", "jsonpath={.metadata.resourceVersion}")
    assert kubectl.fails("scale", "deployment/web", "--replicas=3", "--resource-version=1") == (
        f"error: Expected resource version to be 1, was {version}\n"
    )
    for number in ("3", "0", "1"):
        options = ("--current-replicas=2",) if number == "3" else ()
        assert kubectl("scale", "deployment/web", f"--replicas={number}", *options) == "deployment.apps/web scaled\n"
        kubectl("rollout", "status", "deployment/web", "--timeout=20s")
        assert kubectl("get", "deployment", "web", "-o", "jsonpath={.spec.replicas}") == number
        if number == "0":
            kubectl("wait", "--for=delete", "pods", "-l", "app=web", "--timeout=20s")


def test_a_deployment_is_deleted_as_it_is_told(kubectl):
    for name in ("web", "kept"):
        kubectl("create", "deployment", name, "--image=web:1")
        kubectl("rollout", "status", f"deployment/{name}", "--timeout=20s")
    kubectl("delete", "deployment", "web", "--cascade=foreground", "--timeout=20s")
    assert kubectl("get", "pods", "-l", "app=web", "-o", "name") == ""
    kubectl("delete", "deployment", "kept", "--cascade=orphan", "--timeout=20s")
    pods = kubectl.json("get", "pods", "-l", "app=kept")["items"]
    assert [("ownerReferences" in pod["metadata"], pod["status"]["phase"]) for pod in pods] == [(False, "Running")]


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
