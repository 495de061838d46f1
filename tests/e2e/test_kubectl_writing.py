"""kubectl's commands that change objects: create, apply, scale, label, annotate, patch, edit, set, replace, delete."""

import json
import os
import stat

import pytest

from tests.support.text import rows, section
from tests.support.waiting import until

CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: wiring  # comments are YAML's
data:
  led: "%s"
"""


@pytest.fixture
def web(kubectl):
    """A Deployment of one replica, made; not waited for."""
    kubectl("create", "deployment", "web", "--image=web:1")
    return "deployment/web"


@pytest.mark.parametrize(
    ("arguments", "kind", "path", "value"),
    [
        ("configmap it --from-literal=led=18", "configmap", "{.data.led}", "18"),
        ("secret generic it --from-literal=key=s3cret", "secret", "{.data.key}", "czNjcmV0"),
        ("deployment it --image=a:1 --replicas=3", "deployment", "{.spec.replicas}", "3"),
        ("job it --image=a:1 -- calibrate", "job", "{.spec.template.spec.containers[0].command}", '["calibrate"]'),
        ("cronjob it --image=a:1 --schedule=@hourly", "cronjob", "{.spec.schedule}", "@hourly"),
        ("service clusterip it --tcp=80:8080", "service", "{.spec.ports[0].targetPort}", "8080"),
        ("service nodeport it --tcp=80", "service", "{.spec.type}", "NodePort"),
        ("role it --verb=get,list --resource=pods", "role", "{.rules[0].verbs}", '["get","list"]'),
        ("rolebinding it --role=it --user=u", "rolebinding", "{.subjects[0].name}", "u"),
        ("serviceaccount it", "serviceaccount", "{.metadata.name}", "it"),
        ("quota it --hard=pods=9", "resourcequota", "{.spec.hard.pods}", "9"),
        ("ingress it --rule=a.example/b=s:80", "ingress", "{.spec.rules[0].host}", "a.example"),
        ("pdb it --selector=a=b --min-available=1", "pdb", "{.spec.minAvailable}", "1"),
    ],
)
def test_create(kubectl, arguments, kind, path, value):
    assert kubectl("create", *arguments.split()).endswith("/it created\n")
    assert kubectl("get", kind, "it", "-o", f"jsonpath={path}") == value


def test_create_namespace_and_delete_it_with_what_is_in_it(kubectl, namespace):
    name = f"{namespace}-more"
    assert kubectl("create", "namespace", name) == f"namespace/{name} created\n"
    kubectl("create", "-n", name, "deployment", "web", "--image=web:1")
    assert kubectl("get", "namespace", name, "-o", "jsonpath={.status.phase}") == "Active"
    assert kubectl("delete", "namespace", name, "--timeout=20s") == f'namespace "{name}" deleted\n'
    assert kubectl("get", "all", "-n", name, "-o", "name") == ""


def test_create_token_of_a_service_account(kubectl):
    kubectl("create", "serviceaccount", "robot")
    token = kubectl("create", "token", "robot", "--duration=1h").strip()
    assert token.count(".") == 2
    assert token.startswith("eyJ")


def test_create_twice_is_a_conflict_and_a_wrong_object_is_refused(kubectl):
    kubectl("create", "configmap", "it")
    assert kubectl.fails("create", "configmap", "it") == (
        'error: failed to create configmap: configmaps "it" already exists\n'
    )
    assert 'unknown field "spec.replica"' in kubectl.fails(
        "create", "-f", "-", stdin='{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, '
        '"spec": {"replica": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {}}}',
    )  # fmt: skip


def test_run_and_expose(kubectl):
    assert kubectl("run", "blinky", "--image=blinky:1.0", "--port=80") == "pod/blinky created\n"
    kubectl("wait", "--for=condition=Ready", "pod/blinky", "--timeout=20s")
    assert kubectl("expose", "pod", "blinky") == "service/blinky exposed\n"
    address = kubectl("get", "pod/blinky", "-o", "jsonpath={.status.podIP}")
    assert f"{address}:80" in section(kubectl("describe", "service/blinky"), "Endpoints")
    assert rows(kubectl("get", "endpointslices"))[0]["ENDPOINTS"] == address


def test_apply_creates_then_configures_then_changes_nothing(kubectl):
    assert kubectl("apply", "-f", "-", stdin=CONFIG_MAP % 18) == "configmap/wiring created\n"
    assert kubectl("diff", "-f", "-", stdin=CONFIG_MAP % 18) == ""
    assert kubectl("apply", "-f", "-", stdin=CONFIG_MAP % 19) == "configmap/wiring configured\n"
    assert kubectl("apply", "-f", "-", stdin=CONFIG_MAP % 19) == "configmap/wiring unchanged\n"
    assert kubectl("get", "configmap", "wiring", "-o", "jsonpath={.data.led}") == "19"
    assert kubectl.run("diff", "-f", "-", stdin=CONFIG_MAP % 20).returncode == 1


def test_apply_merges_lists_of_containers_by_name(kubectl, web):
    """What apply owns changes; what others set stays."""
    applied = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "two"},
        "spec": {"selector": {"matchLabels": {"app": "two"}}, "template": {
            "metadata": {"labels": {"app": "two"}},
            "spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]},
        }},
    }  # fmt: skip
    kubectl("apply", "-f", "-", stdin=json.dumps(applied))
    kubectl("set", "env", "deployment/two", "-c", "b", "KEY=value")
    applied["spec"]["template"]["spec"]["containers"][0]["image"] = "a:2"
    assert kubectl("apply", "-f", "-", stdin=json.dumps(applied)) == "deployment.apps/two configured\n"
    containers = kubectl.json("get", "deployment/two")["spec"]["template"]["spec"]["containers"]
    assert [container["image"] for container in containers] == ["a:2", "b:1"]
    assert containers[1]["env"] == [{"name": "KEY", "value": "value"}]


def test_scale(kubectl, web):
    assert kubectl("scale", web, "--replicas=3") == "deployment.apps/web scaled\n"
    kubectl("wait", web, "--for=jsonpath={.status.readyReplicas}=3", "--timeout=20s")
    assert len(rows(kubectl("get", "pods", "-l", "app=web"))) == 3
    kubectl("scale", web, "--replicas=1", "--current-replicas=3")
    kubectl("wait", web, "--for=jsonpath={.status.replicas}=1", "--timeout=20s")
    assert (
        "Expected replicas to be 3, was 1" in kubectl.fails("scale", web, "--replicas=2", "--current-replicas=3")
        or kubectl("get", web, "-o", "jsonpath={.spec.replicas}") == "1"
    )


def test_label(kubectl, web):
    assert kubectl("label", web, "room=kitchen") == "deployment.apps/web labeled\n"
    assert rows(kubectl("get", "deployments", "-L", "room"))[0]["ROOM"] == "kitchen"
    assert "already has a value (kitchen)" in kubectl.fails("label", web, "room=attic")
    kubectl("label", web, "room=attic", "--overwrite")
    assert kubectl("get", "deployments", "-l", "room in (attic, cellar)", "-o", "name") == "deployment.apps/web\n"
    assert kubectl("label", web, "room-") == "deployment.apps/web unlabeled\n"
    assert kubectl("get", "deployments", "-l", "room", "-o", "name") == ""
    assert "a valid label must be" in kubectl.fails("label", web, "room=-")


def test_annotate(kubectl, web):
    assert kubectl("annotate", web, "note=first floor") == "deployment.apps/web annotated\n"
    assert "first floor" in section(kubectl("describe", web), "Annotations")
    assert kubectl("annotate", web, "note-") == "deployment.apps/web annotated\n"
    assert "note" not in kubectl.json("get", web)["metadata"].get("annotations", {})


@pytest.mark.parametrize(
    ("kind", "patch", "images", "keys"),
    [
        ("strategic", '{"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "b:1"}]}}}}',
         ["b:1", "web:1"], {"app"}),
        ("merge", '{"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "b:1"}]}}}}',
         ["b:1"], {"app"}),
        ("json", '[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "web:2"},'
                 ' {"op": "add", "path": "/metadata/labels/a~1b", "value": "c"}]', ["web:2"], {"app", "a/b"}),
    ],
)  # fmt: skip
def test_patch_of_three_types(kubectl, web, kind, patch, images, keys):
    assert kubectl("patch", web, f"--type={kind}", "-p", patch) == "deployment.apps/web patched\n"
    deployment = kubectl.json("get", web)
    containers = deployment["spec"]["template"]["spec"]["containers"]
    assert sorted(container["image"] for container in containers) == images
    assert set(deployment["metadata"]["labels"]) == keys
    nothing = ("patch", web, f"--type={kind}", "-p", "[]" if kind == "json" else "{}")
    until(  # unless its controller changes it between kubectl's look and its patch
        lambda: kubectl(*nothing) == "deployment.apps/web patched (no change)\n", "a patch of nothing changes nothing"
    )


def test_patch_of_a_subresource_and_a_patch_that_is_wrong(kubectl, web):
    kubectl("patch", web, "--subresource=scale", "--type=merge", "-p", '{"spec": {"replicas": 0}}')
    assert kubectl("get", web, "-o", "jsonpath={.spec.replicas}") == "0"
    assert "spec.replicas: Invalid value: -1" in kubectl.fails("patch", web, "-p", '{"spec": {"replicas": -1}}')


def editor(tmp_path, sed: str) -> str:
    """A program for EDITOR that edits with sed."""
    script = tmp_path / "editor"
    script.write_text(f'#!/bin/sh\nexec sed -i {sed!r} "$1"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


@pytest.mark.skipif(os.name == "nt", reason="the editor is a shell script")
def test_edit(kubectl, web, tmp_path):
    answer = kubectl("edit", web, EDITOR=editor(tmp_path, "s/replicas: 1/replicas: 2/"))
    assert answer == "deployment.apps/web edited\n"
    assert kubectl("get", web, "-o", "jsonpath={.spec.replicas}") == "2"
    assert "Edit cancelled, no changes made" in kubectl.run("edit", web, EDITOR=editor(tmp_path, "s/x/x/")).stderr


def test_set_image_and_replace(kubectl, web):
    kubectl("set", "image", web, "web=web:2")
    deployment = kubectl.json("get", web)
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "web:2"
    deployment["spec"]["replicas"] = 4
    del deployment["metadata"]["resourceVersion"]
    assert kubectl("replace", "-f", "-", stdin=json.dumps(deployment)) == "deployment.apps/web replaced\n"
    deployment["metadata"]["resourceVersion"] = "1"
    assert "the object has been modified" in kubectl.fails("replace", "-f", "-", stdin=json.dumps(deployment))


def test_dry_run_makes_nothing(kubectl):
    text = kubectl("create", "deployment", "dry", "--image=a:1", "--dry-run=server", "-o", "yaml")
    assert "terminationGracePeriodSeconds: 30" in text
    assert "NotFound" in kubectl.fails("get", "deployment", "dry")


def test_delete_by_name_by_label_and_all(kubectl, namespace):
    for name in ("a", "b", "c", "d"):
        kubectl("create", "configmap", name)
    kubectl("label", "configmap", "b", "c", "go=yes")
    assert kubectl("delete", "configmap", "a") == f'configmap "a" deleted from {namespace} namespace\n'
    assert set(kubectl("delete", "configmap", "-l", "go=yes", "-o", "name").split()) == {"configmap/b", "configmap/c"}
    assert "d" in kubectl("get", "configmaps")
    kubectl("delete", "configmaps", "--all")
    assert "NotFound" in kubectl.fails("delete", "configmap", "d")
    assert kubectl("delete", "configmap", "d", "--ignore-not-found") == ""


def test_delete_deployment_takes_its_pods_along(kubectl, web):
    kubectl("rollout", "status", web, "--timeout=20s")
    kubectl("delete", web)
    kubectl("wait", "--for=delete", "pod", "-l", "app=web", "--timeout=20s")
    assert kubectl("get", "pods", "-o", "name") == ""
