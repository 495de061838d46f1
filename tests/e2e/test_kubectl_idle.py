"""What kubectl shows of kinds that the simulator keeps but does not act on."""

import json

TEMPLATE = {"metadata": {"labels": {"app": "it"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
STATEFUL = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "it"},
    "spec": {"serviceName": "it", "replicas": 2, "selector": {"matchLabels": {"app": "it"}}, "template": TEMPLATE},
}
WARNING = "Warning: kube32-sim stores StatefulSets but runs no controller for them\n"


def test_kubectl_shows_the_warning_when_an_object_is_created_and_not_again(kubectl):
    made = kubectl.run("apply", "-f", "-", stdin=json.dumps(STATEFUL))
    assert (made.returncode, made.stdout, made.stderr) == (0, "statefulset.apps/it created\n", WARNING)
    changed = STATEFUL | {"spec": STATEFUL["spec"] | {"replicas": 3}}
    again = kubectl.run("apply", "-f", "-", stdin=json.dumps(changed))
    assert (again.returncode, again.stdout, again.stderr) == (0, "statefulset.apps/it configured\n", "")
    dry = kubectl.run("create", "cronjob", "it", "--image=i", "--schedule=@daily", "--dry-run=server")
    assert dry.stderr == "Warning: kube32-sim stores CronJobs but runs no controller for them\n"
