"""What kubectl of each version writes: create, apply, diff, patch, edit, replace, delete."""

from __future__ import annotations

import json
import re

from tests.support.manifests import MISTAKEN, SETTINGS, WEB


def test_generators(kubectl, namespace):
    for what in (
        "deployment web --image=web:1 --replicas=2 --port=80",
        "configmap settings --from-literal=a=b",
        "secret generic key --from-literal=a=b",
        "secret docker-registry pull --docker-username=a --docker-password=b --docker-email=c@example.com",
        "service clusterip inside --tcp=80:8080",
        "service nodeport outside --tcp=80 --node-port=0",
        "service loadbalancer balanced --tcp=80",
        "service externalname elsewhere --external-name=other.example",
        "quota few --hard=pods=20,configmaps=5",
        "role reader --verb=get,list --resource=pods,deployments.apps",
        "rolebinding readers --role=reader --user=ann",
        "serviceaccount keeper",
        "poddisruptionbudget one --selector=app=web --min-available=1",
    ):
        kind, *_ = what.split()
        assert re.search(r"/\S+ created\n$", kubectl.quietly("create", *what.split())), what
        assert kind != "deployment" or kubectl.quietly("get", "deploy/web", "-o", "jsonpath={.spec.replicas}") == "2"
    for what in ("cronjob often --image=a:1 --schedule=@hourly", "ingress door --rule=web.example/*=inside:80"):
        assert kubectl.remarks("create", *what.split()).startswith("Warning: kube32-sim stores ")
    endless = kubectl.remarks("create", "job", "once", "--image=once:1", "--", "sleep", "1")
    assert endless.startswith("Warning: spec.template.metadata.annotations: sim.kube32.io/run-seconds is not set: ")
    kubectl.quietly("create", "job", "--from=cronjob/often", "now")
    assert kubectl.quietly("create", "token", "keeper").count(".") == 2
    for what in (f"namespace {namespace}-2", f"clusterrole {namespace} --verb=get --resource=nodes",
                 f"clusterrolebinding {namespace} --clusterrole={namespace} --group=g",
                 f"priorityclass {namespace} --value=5"):  # fmt: skip
        kubectl.quietly("create", *what.split())
    kubectl("delete", "namespace", f"{namespace}-2", "--wait=false")
    kubectl("delete", "clusterrole,clusterrolebinding,priorityclass", namespace)
    dry = kubectl.quietly("create", "deployment", "x", "--image=x", "--dry-run=client", "-o", "yaml")
    assert "image: x" in dry
    other = SETTINGS.replace("name: settings", "name: other")
    assert "uid: " in kubectl.quietly("create", "-f", "-", "--dry-run=server", "-o", "yaml", stdin=other)
    assert kubectl.quietly("get", "cm/other", "--ignore-not-found") == ""


def test_create_and_replace(kubectl):
    assert kubectl.quietly("create", "-f", "-", stdin=SETTINGS) == "configmap/settings created\n"
    assert "(AlreadyExists)" in kubectl.fails("create", "-f", "-", stdin=SETTINGS)
    changed = SETTINGS.replace('"2"', '"3"')
    assert kubectl.quietly("replace", "-f", "-", stdin=changed) == "configmap/settings replaced\n"
    assert kubectl.quietly("get", "cm/settings", "-o", "jsonpath={.data.b}") == "3"
    kubectl.quietly("replace", "--force", "--grace-period=0", "-f", "-", stdin=SETTINGS)
    assert kubectl.quietly("get", "cm/settings", "-o", "jsonpath={.data.b}") == "2"
    assert "(NotFound)" in kubectl.fails("replace", "-f", "-", stdin=SETTINGS.replace("name: settings", "name: none"))
    current = json.loads(kubectl.quietly("get", "cm/settings", "-o", "json"))
    current["metadata"]["resourceVersion"] = "1"
    assert "(Conflict)" in kubectl.fails("replace", "-f", "-", stdin=json.dumps(current))


def test_apply(kubectl):
    assert kubectl.quietly("apply", "-f", "-", stdin=WEB) == "deployment.apps/web created\n"
    assert kubectl.quietly("apply", "-f", "-", stdin=WEB) == "deployment.apps/web unchanged\n"
    kubectl.quietly("scale", "deploy/web", "--replicas=2")
    without_b = WEB.replace(', {name: B, value: "2"}', "").replace("  replicas: 1\n", "")
    assert kubectl.quietly("apply", "--dry-run=server", "-f", "-", stdin=without_b).endswith("(server dry run)\n")
    assert kubectl.quietly("apply", "--dry-run=client", "-f", "-", stdin=without_b).endswith("(dry run)\n")
    assert kubectl.quietly("apply", "-f", "-", stdin=without_b) == "deployment.apps/web configured\n"
    spec = json.loads(kubectl.quietly("get", "deploy/web", "-o", "json"))["spec"]
    assert spec["template"]["spec"]["containers"][0]["env"] == [{"name": "A", "value": "1"}]
    assert spec["replicas"] == 1
    without_side = without_b.replace('      - {name: side, image: "side:1"}\n', "")
    kubectl.quietly("apply", "-f", "-", stdin=without_side)
    names = kubectl.quietly("get", "deploy/web", "-o", "jsonpath={.spec.template.spec.containers[*].name}")
    assert names == "web"
    assert "image: web:1" in kubectl.quietly("apply", "view-last-applied", "deploy/web")
    kubectl.quietly("apply", "-f", "-", stdin=SETTINGS)
    pruned = kubectl.run("apply", "--prune", "-l", "set=one", "--prune-allowlist=core/v1/ConfigMap",
                         "--prune-allowlist=apps/v1/Deployment", "-f", "-", stdin=SETTINGS)  # fmt: skip
    if kubectl.minor < 26:  # the option has had this name from 1.26
        pruned = kubectl.run("apply", "--prune", "-l", "set=one", "--prune-whitelist=core/v1/ConfigMap",
                             "--prune-whitelist=apps/v1/Deployment", "-f", "-", stdin=SETTINGS)  # fmt: skip
    assert "deployment.apps/web pruned" in pruned.stdout
    assert "configmap/settings unchanged" in pruned.stdout


def test_diff(kubectl):
    kubectl.quietly("apply", "-f", "-", stdin=WEB)
    kubectl.quietly("rollout", "status", "deploy/web", "--timeout=20s")  # diff tries for seconds while it changes
    assert kubectl.quietly("diff", "-f", "-", stdin=WEB) == ""
    done = kubectl.run("diff", "-f", "-", stdin=WEB.replace("web:1", "web:2"))
    assert (done.returncode, done.stderr) == (1, ""), done
    assert [line[1:].strip(" -") for line in done.stdout.splitlines() if "image: web" in line] == [
        "image: web:1", "image: web:2",
    ]  # fmt: skip
    done = kubectl.run("diff", "-f", "-", stdin=SETTINGS)
    assert (done.returncode, done.stderr) == (1, "")
    assert "+kind: ConfigMap" in done.stdout


def test_unknown_fields_are_found(kubectl):
    by_kubectl = 'unknown field "imag" in io.k8s.api.core.v1.Container'
    by_server = 'strict decoding error: unknown field "spec.containers[0].imag"'
    for how in ("--validate=strict", "--validate=true", "--validate"):
        error = kubectl.fails("apply", how, "-f", "-", stdin=MISTAKEN)
        assert (by_server in error) or (kubectl.minor < 27 and by_kubectl in error), error
    warned = kubectl.remarks("apply", "--validate=warn", "-f", "-", stdin=MISTAKEN)
    assert warned == 'Warning: unknown field "spec.containers[0].imag"\n'
    kubectl.quietly("replace", "--validate=ignore", "--force", "--grace-period=0", "-f", "-", stdin=MISTAKEN)
    error = kubectl.fails("create", "-f", "-", stdin=MISTAKEN.replace(", imag: b", "").replace("name: a,", "name: A,"))
    assert 'spec.containers[0].name: Invalid value: "A"' in error


def test_patch(kubectl):
    kubectl.quietly("create", "-f", "-", stdin=WEB)
    strategic = '{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:2"}]}}}}'
    assert kubectl.quietly("patch", "deploy/web", "-p", strategic) == "deployment.apps/web patched\n"
    images = "jsonpath={.spec.template.spec.containers[*].image}"
    assert kubectl.quietly("get", "deploy/web", "-o", images) == "web:2 side:1"
    kubectl.quietly("patch", "deploy/web", "--type=merge", "-p", '{"metadata":{"labels":{"set":null,"x":"y"}}}')
    assert json.loads(kubectl.quietly("get", "deploy/web", "-o", "jsonpath={.metadata.labels}")) == {"x": "y"}
    steps = '[{"op":"test","path":"/spec/replicas","value":1},{"op":"replace","path":"/spec/replicas","value":2}]'
    kubectl.quietly("patch", "deploy/web", "--type=json", "-p", steps)
    assert kubectl.fails("patch", "deploy/web", "--type=json", "-p", steps).startswith("The request is invalid")
    kubectl.quietly("patch", "deploy/web", "--subresource=scale", "--type=merge", "-p", '{"spec":{"replicas":1}}')
    assert kubectl.quietly("get", "deploy/web", "-o", "jsonpath={.spec.replicas}") == "1"
    error = kubectl.fails("patch", "deploy/web", "-p", '{"spec":{"replicas":-1}}')
    assert 'The Deployment "web" is invalid: spec.replicas: Invalid value' in error


def test_edit(kubectl, tmp_path):
    kubectl.quietly("create", "-f", "-", stdin=SETTINGS)
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i \'s/b: "2"/b: "3"/\' "$1"\n')
    editor.chmod(0o755)
    assert kubectl.quietly("edit", "cm/settings", KUBE_EDITOR=str(editor)) == "configmap/settings edited\n"
    assert kubectl.quietly("get", "cm/settings", "-o", "jsonpath={.data.b}") == "3"
    assert "no changes made" in kubectl.run("edit", "cm/settings", KUBE_EDITOR="true").stderr


def test_label_and_annotate(kubectl):
    kubectl.quietly("create", "-f", "-", stdin=SETTINGS)
    assert kubectl.quietly("patch", "cm/settings", "-p", '{"data":{"a":"1"}}').endswith(" patched (no change)\n")
    assert kubectl.quietly("label", "cm/settings", "x=y") == "configmap/settings labeled\n"
    assert "--overwrite is false" in kubectl.fails("label", "cm/settings", "x=z")
    kubectl.quietly("label", "cm", "--all", "x=z", "set-", "--overwrite")
    kubectl.quietly("annotate", "cm", "-l", "x=z", "told=this")
    metadata = json.loads(kubectl.quietly("get", "cm/settings", "-o", "json"))["metadata"]
    assert metadata["labels"] == {"x": "z"}
    assert metadata["annotations"] == {"told": "this"}
    assert "a valid label must be" in kubectl.fails("label", "cm/settings", "x=!")


def test_delete(kubectl, namespace):
    kubectl.quietly("create", "-f", "-", stdin=SETTINGS)
    kubectl.quietly("create", "-f", "-", stdin=WEB)
    kubectl.quietly("rollout", "status", "deploy/web", "--timeout=20s")
    for how, said in (("client", "(dry run)"), ("server", "(server dry run)")):
        assert kubectl.quietly("delete", "cm/settings", f"--dry-run={how}").strip().endswith(said)
    assert kubectl.quietly("delete", "-f", "-", stdin=SETTINGS).startswith('configmap "settings" deleted')
    assert "(NotFound)" in kubectl.fails("delete", "-f", "-", stdin=SETTINGS)
    assert kubectl.quietly("delete", "cm/settings", "--ignore-not-found") == ""
    kubectl.quietly("delete", "deploy/web", "--cascade=orphan")
    pods = kubectl.quietly("get", "pods", "-l", "app=web", "-o", "name").split()
    assert len(pods) == 1
    forced = kubectl.remarks("delete", pods[0], "--grace-period=0", "--force")
    assert "mmediate deletion does not wait" in forced
    kubectl.quietly("create", "-f", "-", stdin=WEB)
    kubectl.quietly("delete", "deployments", "--all", "--cascade=foreground", "--timeout=20s")
    kubectl.quietly("delete", "all,cm,secret", "-l", "app=web", "--timeout=20s")
    assert kubectl.remarks("get", "pods") == f"No resources found in {namespace} namespace.\n"


def test_kustomize(kubectl, tmp_path):
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    (tmp_path / "kustomization.yaml").write_text(
        "resources: [settings.yaml]\nnamePrefix: my-\nconfigMapGenerator: [{name: made, literals: [a=b]}]\n"
    )
    made = kubectl.quietly("apply", "-k", str(tmp_path))
    assert "configmap/my-settings created" in made
    assert re.search(r"configmap/my-made-\w+ created", made)
    assert kubectl.quietly("apply", "-k", str(tmp_path)).count(" unchanged\n") == 2
    kubectl.quietly("delete", "-k", str(tmp_path))
