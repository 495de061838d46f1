"""kubectl and DaemonSets: apply, rollout status, restart, what is refused."""

import json

from tests.support.text import rows


def daemonset(**pod):
    spec = {"containers": [{"name": "c", "image": "agent:1"}], **pod}
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": spec}
    body = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
    return json.dumps({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": body})


def test_rollout_status_and_restart(kubectl):
    assert kubectl("apply", "-f", "-", stdin=daemonset()) == "daemonset.apps/agent created\n"
    done = 'daemon set "agent" successfully rolled out\n'
    assert kubectl("rollout", "status", "daemonset/agent", "--timeout=20s").endswith(done)
    (row,) = rows(kubectl("get", "daemonset", "agent"))
    assert [row[column] for column in ("DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE")] == ["2"] * 5
    before = kubectl("get", "pods", "-o", "name").split()
    assert kubectl("rollout", "restart", "daemonset/agent") == "daemonset.apps/agent restarted\n"
    assert kubectl("rollout", "status", "daemonset/agent", "--timeout=20s").endswith(done)
    after = kubectl("get", "pods", "-o", "name").split()
    assert (len(after), set(before) & set(after)) == (2, set())


def test_a_new_image_goes_out_and_the_pods_go_with_the_daemonset(kubectl):
    kubectl("apply", "-f", "-", stdin=daemonset())
    kubectl("rollout", "status", "daemonset/agent", "--timeout=20s")
    kubectl("set", "image", "daemonset/agent", "c=agent:2")
    kubectl("rollout", "status", "daemonset/agent", "--timeout=20s")
    images = kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}")
    assert images == "agent:2 agent:2"
    kubectl("delete", "daemonset", "agent")
    kubectl("wait", "--for=delete", "pods", "-l", "app=agent", "--timeout=20s")


def test_another_restart_policy_is_refused(kubectl):
    assert kubectl.fails("apply", "-f", "-", stdin=daemonset(restartPolicy="OnFailure")) == (
        'The DaemonSet "agent" is invalid: spec.template.spec.restartPolicy: Unsupported value: "OnFailure": '
        'supported values: "Always"\n'
    )
